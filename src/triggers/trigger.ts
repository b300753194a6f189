/** The interface of triggers: a kind of trigger, and the context that a running trigger gets. */
import type { JsonObject } from "../core/base/json.ts";
import type { Ports } from "../core/ports.ts";
import type { Channels } from "./channels.ts";

/** A kind of trigger, such as `timer`. A kind that a program defines works like the built-in ones. */
export interface Trigger<Settings extends object = JsonObject> {
  /** The name of the kind, such as `timer`. Its tool is named `add_timer`, unless `toolName` is set. */
  readonly name: string;
  /** The description of its tool for the model. */
  readonly description: string;
  /**
   * A JSON Schema of the settings: an object whose properties do not include `name` and `type`. A setting named `prompt` is the text to send and must
   * not affect ticks: a declared trigger whose prompt has changed continues at its last tick.
   */
  readonly settingsSchema: JsonObject;
  /** Whether the kind is offered as a tool, with which a model adds triggers itself. @default false */
  readonly universal?: boolean;
  readonly toolName?: string;
  /**
   * Checks settings that match the schema, and completes them for storage, before a trigger is added.
   *
   * @throws ToolError `invalid_argument`, or another code that says why the trigger cannot be added
   */
  complete?(settings: Settings, scope: TriggerScope): Settings;
  /** The first time after `at` that the trigger is due, in wall-clock milliseconds; undefined if there is none. Omit it if that cannot be known. */
  nextAt?(settings: Settings, at: number): number | undefined;
  /**
   * The latest tick that is already over, by the clock of the tick's source. Called when a trigger is added and when it is resumed, and stored as its
   * `lastTick`: the trigger handles everything after it, even across a restart. Undefined if the ticks are times of this process's clock.
   *
   * @throws ToolError why the tick cannot be determined, as a rejection: the trigger is not added then, or stays paused
   */
  latestTick?(settings: Settings, scope: TriggerScope): Promise<number | undefined>;
  /**
   * Begins to wait for the event that wakes the agent, and returns a function that stops waiting. Called when the trigger is added to a session whose
   * agent runs, and each time such an agent starts. If it throws, the error is logged and it is called again after a second.
   */
  start(context: TriggerContext<Settings>): Stop | Promise<Stop>;
}

/** Stops what `start` began. May be undefined if the signal of the context is enough. */
export type Stop = (() => void) | undefined | void;

/** Where a trigger belongs. */
export interface TriggerScope {
  readonly sessionId: string;
  readonly channels: Channels;
  readonly ports: Ports;
}

/** A running trigger, as its kind sees it. */
export interface TriggerContext<Settings extends object = JsonObject> extends TriggerScope {
  readonly id: string;
  readonly settings: Settings;
  /** Wall-clock milliseconds since the epoch. */
  readonly addedAt: number;
  /** The latest tick that is over, even from before a restart: delivered, or returned by `latestTick`; undefined if there was none. */
  readonly lastTick: number | undefined;
  /** Whether the trigger was just added, and not resumed. */
  readonly isNew: boolean;
  /** Number of its messages that the model has not received yet. */
  readonly waiting: number;
  /** Aborts when the trigger is removed or its agent stops. */
  readonly signal: AbortSignal;
  /**
   * Sends the agent a message, and wakes it. Resolves to true when the message is durable, and to false if the trigger was stopped or removed before
   * the message was in the inbox. If the store cannot be written, tries again every second. Never rejects.
   *
   * @throws ToolError `invalid_argument`, synchronously, for a value that is not a message
   */
  readonly fire: (message: string, options?: FireOptions) => Promise<boolean>;
  /** Wakes the agent for messages that are still in its inbox, because a run was cancelled or failed. At most once a minute. */
  readonly wake: () => void;
  /** Resolves to true after the time, to false once the trigger is stopped. @param options.background true: the process is not kept alive */
  readonly sleep: (ms: number, options?: { readonly background?: boolean }) => Promise<boolean>;
  /** Logs a failure, stops what `start` began, and starts the trigger again after a second. */
  readonly fail: (error: unknown) => void;
}

/** Options of a message that a trigger sends. */
export interface FireOptions {
  /** The time the message is sent for, in wall-clock milliseconds. Each tick of a trigger is delivered once, and none before the latest. */
  readonly tick?: number;
  /** @default `trigger:` and the id */
  readonly sender?: string;
  /** The span that caused the message, in the format of the `traceparent` header. The run of the agent is linked to it. */
  readonly traceparent?: string;
}
