/** The seam of what wakes an agent: a kind of trigger, and what one of them is given while it runs. */
import type { JsonObject } from "../core/base/json.ts";
import type { Ports } from "../core/ports.ts";
import type { Channels } from "./channels.ts";

/** A kind of trigger, such as `timer`. One that a program writes works as those that are built in. */
export interface Trigger<Settings extends object = JsonObject> {
  /** The word for its kind: `timer`. Its tool is named `add_timer`, unless `toolName` says otherwise. */
  readonly name: string;
  /** The description of its tool for the model. */
  readonly description: string;
  /**
   * A JSON Schema of its settings: an object, whose properties do not include `name` and `type`. A setting `prompt` is the text that is sent, on which no
   * tick depends: a declared trigger continues where it was when that is changed.
   */
  readonly settingsSchema: JsonObject;
  /** Offer it as a tool, with which a model adds triggers of this kind itself. @default false */
  readonly universal?: boolean;
  readonly toolName?: string;
  /**
   * Checks settings that fit the schema, and completes what is to be stored, before a trigger is added.
   *
   * @throws ToolError `invalid_argument`, or another code that says why there can be no such trigger
   */
  complete?(settings: Settings, scope: TriggerScope): Settings;
  /** The first time after `at` that it is due, in wall-clock milliseconds; undefined when there is none. Left out where that cannot be told. */
  nextAt?(settings: Settings, at: number): number | undefined;
  /**
   * The latest tick that is over now, by the clock of what gives the ticks: asked for when a trigger is added and when one is resumed, and kept as its
   * `lastTick`. What comes from then on is for it, after a restart as well. Undefined where its ticks are times of this process's clock.
   *
   * @throws ToolError why that cannot be told, by rejecting: the trigger is not added then, and stays paused
   */
  latestTick?(settings: Settings, scope: TriggerScope): Promise<number | undefined>;
  /**
   * Begins to wait for what wakes the agent, and returns a function that ends that. Called when the trigger is added to a session whose
   * agent runs, and each time such an agent starts. When it throws, that is logged, and it is called again after a second.
   */
  start(context: TriggerContext<Settings>): Stop | Promise<Stop>;
}

/** Ends what was begun. May be nothing where the signal of the context is all that is needed. */
export type Stop = (() => void) | undefined | void;

/** The place of a trigger. */
export interface TriggerScope {
  readonly sessionId: string;
  readonly channels: Channels;
  readonly ports: Ports;
}

/** A trigger that runs, seen from its own kind. */
export interface TriggerContext<Settings extends object = JsonObject> extends TriggerScope {
  readonly id: string;
  readonly settings: Settings;
  /** Wall-clock milliseconds since the epoch. */
  readonly addedAt: number;
  /** The latest tick that is over, before a restart as well: taken, or told by `latestTick`; undefined where there was none. */
  readonly lastTick: number | undefined;
  /** It was added just now, and is not resumed. */
  readonly isNew: boolean;
  /** How many of its messages the model has not received yet. */
  readonly waiting: number;
  /** Aborts when the trigger is removed or its agent stops. */
  readonly signal: AbortSignal;
  /**
   * Sends the agent a message, and wakes it. Resolves to true when the message is durable, and to false when the trigger was stopped or
   * removed before it was in the inbox. A store that cannot be written is tried again every second. Never rejects.
   *
   * @throws ToolError `invalid_argument` at once for a value that is not a message
   */
  readonly fire: (message: string, options?: FireOptions) => Promise<boolean>;
  /** Wakes the agent for those of its messages that wait: a run that was cancelled or failed has left them. At most once a minute. */
  readonly wake: () => void;
  /** Resolves after so long to true, and at once to false when the trigger is stopped. @param options.background it does not keep the process alive */
  readonly sleep: (ms: number, options?: { readonly background?: boolean }) => Promise<boolean>;
  /** Logs a failure, stops what was begun, and starts the trigger again after a second. */
  readonly fail: (error: unknown) => void;
}

/** Options of a message that a trigger sends. */
export interface FireOptions {
  /** The time it is sent for, as wall-clock milliseconds: each tick of a trigger is taken once, and none before its latest. */
  readonly tick?: number;
  /** @default `trigger:` and the id */
  readonly sender?: string;
  /** The span of what it sends the message for, as the header of this name has it: the run of the agent is linked to that. */
  readonly traceparent?: string;
}
