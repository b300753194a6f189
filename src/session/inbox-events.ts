/** Creates the events for received messages and changed triggers, and checks their input. */
import { quoteValue } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { copyJson, isJsonObject } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { checkVisibleName } from "../core/base/visible-name.ts";
import type { SessionEvent } from "../core/event.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { SessionMessage } from "../core/message.ts";
import type { Inbox, InboxScope, CreateInboxEvents, StoredTrigger } from "./inbox.ts";
import { findPrincipalError } from "../core/sender.ts";
import { checkTraceparent } from "../core/formats/traceparent.ts";
import { readMessage } from "./read-message.ts";

/** Options for a received message. */
export interface ReceiveOptions {
  /** The name of the sender, for people who look into the inbox. */
  readonly sender?: string;
  /** The trigger of this session that sends the message. */
  readonly triggerId?: string;
  /** The tick that the trigger sends the message for, in wall-clock milliseconds: each tick is accepted once, and none before the latest. */
  readonly tick?: number;
  /** The id of the principal that sends the message, as an authenticator determined it: stored with the message, for the audit. */
  readonly principal?: string;
  /** The span in which the message was sent, as a `traceparent` header. @default the current span, unless a trigger sends the message */
  readonly traceparent?: string;
}

/** A trigger to be added. `lastTick` is the position from which a trigger that reads something starts: ticks up to it are finished. */
export type NewTrigger = Pick<StoredTrigger, "id" | "kind" | "settings" | "declared" | "lastTick">;

/** Options for pausing or resuming a trigger. */
export interface PauseOptions {
  /** For resuming: ticks up to this one are finished. @default now */
  readonly lastTick?: number | undefined;
}

const RECEIVE_OPTIONS: OptionNames<ReceiveOptions> = { sender: true, triggerId: true, tick: true, principal: true, traceparent: true };
/** A trigger's clock that is ahead by more than this was wrong: ticks do not wait until its time is reached. */
export const MAX_AHEAD_MS = 86_400_000;
const TRIGGER_FIELDS: OptionNames<NewTrigger> = { id: true, kind: true, settings: true, declared: true, lastTick: true };

/**
 * Creates the event for a received message; no event if its tick was accepted before, or its trigger is paused.
 *
 * @param sentIn the span in which the message is sent, as a `traceparent`; unused if the options name another one or a trigger
 * @throws ToolError `invalid_argument`; the returned function throws `not_found`
 */
export function createReceiveEvents(message: SessionMessage, options: ReceiveOptions, sentIn: () => string | undefined): CreateInboxEvents {
  checkReceiveOptions(options);
  const read = readMessage(message);
  const { triggerId, tick } = options;
  const traceparent = options.traceparent ?? (triggerId === undefined ? sentIn() : undefined);
  return (scope) => {
    const trigger = triggerId === undefined ? undefined : scope.inbox.trigger(triggerId);
    if (triggerId !== undefined && trigger === undefined) throw unknownTriggerError(triggerId, scope.inbox);
    if (trigger?.paused === true) return [];
    if (tick !== undefined && trigger?.lastTick !== undefined && wasTickAccepted(tick, trigger.lastTick, scope.ports.clock.wallTime()))
      return [];
    const id = scope.ports.ids.next("inbox");
    return [
      { type: "inbox-add", ...eventBase(scope), id, message: { ...read, inboxId: id }, ...omitUndefined({ ...options, traceparent }) },
    ];
  };
}

/**
 * Whether a tick was accepted before. New ticks are accepted if the latest came from a clock that was ahead by more than a day and has been set back.
 */
function wasTickAccepted(tick: number, lastTick: number, now: number): boolean {
  return tick <= lastTick && !(tick <= now && lastTick > now + MAX_AHEAD_MS);
}

/** Creates a new trigger's event. @throws ToolError `invalid_argument`, `not_json`, `too_large`; the result throws `duplicate` for an id in use */
export function createAddTriggerEvents(trigger: NewTrigger): CreateInboxEvents {
  const { lastTick, ...read } = readNewTrigger(trigger);
  return (scope) => {
    if (scope.inbox.trigger(read.id) === undefined)
      return [{ type: "trigger-add", ...eventBase(scope), ...read, ...omitUndefined({ tick: lastTick }) }];
    throw new ToolError("duplicate", `There is already a trigger ${JSON.stringify(read.id)}.`, {
      hint: "Remove it first, or take another name.",
    });
  };
}

/**
 * Creates the events that replace the trigger with this id, if any; the new one is paused if the old one is.
 *
 * @throws ToolError as `createAddTriggerEvents`
 */
export function createReplaceTriggerEvents(trigger: NewTrigger): CreateInboxEvents {
  const { lastTick, ...read } = readNewTrigger(trigger);
  return (scope) => {
    const before = scope.inbox.trigger(read.id);
    const added: SessionEvent = { type: "trigger-add", ...eventBase(scope), ...read, ...omitUndefined({ tick: lastTick }) };
    if (before === undefined) return [added];
    const removed: SessionEvent = { type: "trigger-remove", ...eventBase(scope), id: read.id };
    return before.paused === true ? [removed, added, { type: "trigger-pause", ...eventBase(scope), id: read.id }] : [removed, added];
  };
}

/** Creates the event for pausing or resuming a trigger; none if it does not exist or nothing changes. @throws ToolError `invalid_argument` */
export function createPauseEvents(id: string, paused: boolean, options: PauseOptions = {}): CreateInboxEvents {
  checkKnownKeys(options, { lastTick: true }, "setTriggerPaused()");
  checkTick(options.lastTick, "lastTick of setTriggerPaused()");
  return (scope) => {
    const trigger = scope.inbox.trigger(id);
    if (trigger === undefined || (trigger.paused === true) === paused) return [];
    if (paused) return [{ type: "trigger-pause", ...eventBase(scope), id }];
    return [{ type: "trigger-resume", ...eventBase(scope), id, ...omitUndefined({ tick: options.lastTick }) }];
  };
}

/** Creates the event for removing a trigger; none if it does not exist. */
export function createRemoveTriggerEvents(id: string): CreateInboxEvents {
  return (scope) => (scope.inbox.trigger(id) === undefined ? [] : [{ type: "trigger-remove", ...eventBase(scope), id }]);
}

function checkReceiveOptions(options: ReceiveOptions): void {
  checkKnownKeys(options, RECEIVE_OPTIONS, "receive()");
  const { sender, triggerId, tick, principal, traceparent } = options;
  const notPrincipal = findPrincipalError(principal, "receive()");
  if (notPrincipal !== undefined) throw notPrincipal;
  for (const [name, value] of Object.entries({ sender, triggerId }))
    if (value !== undefined && typeof value !== "string")
      throw new ToolError("invalid_argument", `The option "${name}" of receive() must be a string.`);
  checkTraceparent(traceparent, "traceparent of receive()");
  if (tick === undefined) return;
  checkTick(tick, "tick of receive()");
  if (triggerId === undefined) throw new ToolError("invalid_argument", 'The option "tick" of receive() needs a "triggerId".');
}

function checkTick(tick: number | undefined, what: string): void {
  if (tick !== undefined && !Number.isFinite(tick))
    throw new ToolError("invalid_argument", `${what} is ${quoteValue(tick)}; it takes a time in milliseconds.`);
}

/** Returns a checked, frozen copy. */
function readNewTrigger(trigger: NewTrigger): NewTrigger {
  checkKnownKeys(trigger, TRIGGER_FIELDS, "addTrigger()");
  const settings = copyJson(trigger.settings).value;
  if (!isJsonObject(settings)) throw new ToolError("invalid_argument", "The settings of a trigger must be an object.");
  const declared: unknown = trigger.declared;
  if (declared !== undefined && declared !== true)
    throw new ToolError("invalid_argument", '"declared" of a trigger must be true, or left out.');
  checkTick(trigger.lastTick, "lastTick of addTrigger()");
  return Object.freeze({
    id: checkVisibleName(trigger.id, "The id of a trigger"),
    kind: checkVisibleName(trigger.kind, "The kind of a trigger"),
    settings,
    ...(trigger.declared ? { declared: true } : {}),
    ...omitUndefined({ lastTick: trigger.lastTick }),
  });
}

function unknownTriggerError(id: string, { triggers }: Inbox): ToolError {
  const ids = triggers.map((trigger) => trigger.id);
  return new ToolError("not_found", `There is no trigger ${JSON.stringify(id)}.`, {
    hint: ids.length === 0 ? "The session has no triggers." : `Its triggers are ${ids.slice(0, 20).join(", ")}.`,
  });
}

function eventBase({ sessionId, ports }: InboxScope): { readonly sessionId: string; readonly at: number } {
  return { sessionId, at: ports.clock.wallTime() };
}
