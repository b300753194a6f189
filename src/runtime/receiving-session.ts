/** A session that receives messages from outside: from people, programs and triggers. */
import { checkString, checkArgument } from "../core/check-argument.ts";
import type { SessionEvent } from "../core/event.ts";
import type { SessionMessage } from "../core/message.ts";
import type { Ports } from "../core/ports.ts";
import type { Tracing } from "../core/tracing.ts";
import { checkSender, type SentBy } from "../core/sender.ts";
import { readTraceparent } from "../core/formats/traceparent.ts";
import { Inbox, isInboxEvent, type InboxEntry, type CreateInboxEvents, type StoredTrigger } from "../session/inbox.ts";
import {
  createAddTriggerEvents,
  createPauseEvents,
  createReceiveEvents,
  createRemoveTriggerEvents,
  createReplaceTriggerEvents,
  type NewTrigger,
  type PauseOptions,
  type ReceiveOptions,
} from "../session/inbox-events.ts";
import { readMessage } from "../session/read-message.ts";
import { recordMessage } from "../session/record-message.ts";
import { Session, type SessionOptions } from "../session/session.ts";
import { findCaller } from "../session/turn.ts";
import { closedSessionError } from "./session-errors.ts";
import { whenStored } from "./when-stored.ts";
import { ToolError } from "../core/error.ts";

export interface ReceivingSessionOptions extends SessionOptions {
  /** The messages in its inbox when it was resumed. @default none */
  readonly inbox?: Inbox;
}

/** Records added messages between two turns, or in the turn whose handler adds them; records received messages at any time. */
export abstract class ReceivingSession extends Session {
  #inbox: Inbox | undefined;
  #readiness: Readiness | undefined;

  constructor(options: ReceivingSessionOptions) {
    super(options);
    this.#inbox = options.inbox;
  }

  /** The clock, log, ids and randomness for its records. */
  abstract get ports(): Ports;

  /** The tracing of its runtime, if any. */
  abstract get tracing(): Tracing | undefined;

  /**
   * Adds a message of a person or a program. Resolves when it is durable. @throws ToolError `invalid_argument` for an invalid message, as a rejection
   */
  async addMessage(message: SessionMessage, options: SentBy = {}): Promise<void> {
    checkSender(options, "addMessage()");
    const read = readMessage(message);
    if (this.closed) throw closedSessionError(this);
    if (this.ready !== undefined) await this.ready;
    await this.turns.run((turn, caller) => {
      const refusal = this.closed ? closedSessionError(this) : this.broken;
      if (refusal !== undefined) throw refusal;
      recordMessage(this, read, { at: this.ports.clock.wallTime(), parentCall: findCaller(turn, caller), ...options });
    });
    await whenStored(this);
  }

  /**
   * Receives a message for an agent's next request. Resolves when it is durable; a trigger's tick that was received before has no effect.
   * @throws ToolError `invalid_argument` for an invalid message, and once the session is closed; `not_found` for a trigger that was removed;
   * `store_failed`; as a rejection
   */
  async receive(message: SessionMessage, options: ReceiveOptions = {}): Promise<void> {
    await this.#record(createReceiveEvents(message, options, () => readTraceparent(this.tracing?.headersOf())));
  }

  /** The triggers of the session, in the order in which they were added. Those of the session it branched from stay with that one. */
  get triggers(): readonly StoredTrigger[] {
    return this.#inbox?.triggers ?? [];
  }

  /** One trigger, by its id. */
  trigger(id: string): StoredTrigger | undefined {
    return this.#inbox?.trigger(id);
  }

  /**
   * Adds a trigger, which an agent of this session runs. Resolves when it is durable. @throws ToolError `duplicate`, `invalid_argument`, and as
   * `receive`, as a rejection
   */
  async addTrigger(trigger: NewTrigger): Promise<void> {
    await this.#record(createAddTriggerEvents(trigger));
  }

  /**
   * Adds a trigger as `addTrigger` does, or replaces the one with its id, which stays paused if it was. Resolves when it is durable; the replacement
   * is atomic. @throws ToolError as `addTrigger`, without `duplicate`, as a rejection
   */
  async replaceTrigger(trigger: NewTrigger): Promise<void> {
    await this.#record(createReplaceTriggerEvents(trigger));
  }

  /**
   * Pauses a trigger, so that no messages of it are received, or resumes it. Resolves when that is durable, to whether something changed.
   * @throws ToolError `invalid_argument` if `lastTick` is not a time; as `receive`; as a rejection
   */
  async setTriggerPaused(id: string, paused: boolean, options: PauseOptions = {}): Promise<boolean> {
    checkString(id, "setTriggerPaused(id, paused)", "the id of a trigger");
    checkArgument(typeof paused === "boolean", "setTriggerPaused(id, paused)", "a boolean", paused);
    return this.#record(createPauseEvents(id, paused, options));
  }

  /** Removes a trigger for good: none of its messages are received any more. Resolves when that is durable, to whether the trigger existed. */
  removeTrigger(id: string): Promise<boolean> {
    return this.#record(createRemoveTriggerEvents(id));
  }

  /** @internal */
  get inboxState(): Inbox {
    return (this.#inbox ??= new Inbox());
  }

  /** The received messages that are not in the conversation yet, in order of arrival. To use one, add its message. */
  get inbox(): readonly InboxEntry[] {
    return this.#inbox?.entries ?? [];
  }

  /** Records events from outside, regardless of running turns; `make` is called when the session can record them. Resolves when they are durable. */
  async #record(make: CreateInboxEvents): Promise<boolean> {
    if (this.ready !== undefined) await this.ready;
    const refusal = this.closed ? closedSessionError(this) : this.broken;
    if (refusal !== undefined) throw refusal;
    const events = make({ sessionId: this.id, inbox: this.inboxState, ports: this.ports });
    const [first, ...others] = events;
    if (first !== undefined && others.length === 0) this.recordAndNotify(first);
    else if (first !== undefined) this.recordTogether(() => events.forEach((event) => this.recordAndNotify(event)));
    await whenStored(this);
    return first !== undefined;
  }

  override recordAll(events: readonly SessionEvent[]): void {
    super.recordAll(events);
    for (const event of events) if (isInboxEvent(event) && event.sessionId === this.id) this.inboxState.apply(event);
  }

  /** Resolves when its log can be written to, and rejects if it cannot; undefined if there is nothing to wait for. */
  get ready(): Promise<void> | undefined {
    return this.#readiness?.whenReady;
  }

  /** Holds back its calls until this resolves; if it rejects, so do they. @internal */
  holdCallsUntil(whenReady: () => Promise<void>): void {
    (this.#readiness ??= new Readiness()).holdCallsUntil(whenReady);
  }
}

/** Waits until the store has accepted a session. */
class Readiness {
  #ready: Promise<void> | undefined;
  /** Repeats the wait after a failure of the store. */
  #retry: (() => Promise<void>) | undefined;

  /** Undefined if there is nothing to wait for. After a failure of the store, each read of this property tries again. */
  get whenReady(): Promise<void> | undefined {
    const tryAgain = this.#retry;
    if (tryAgain !== undefined) this.holdCallsUntil(tryAgain);
    return this.#ready;
  }

  holdCallsUntil(whenReady: () => Promise<void>): void {
    this.#retry = undefined;
    const ready = whenReady();
    this.#ready = ready;
    ready.then(
      () => (this.#ready = undefined),
      (thrown: unknown) => {
        // Callers get the error. A claim by another process, or damage, is permanent and not tried again.
        if (ToolError.fromUnknown(thrown, "store_failed").code === "store_failed") this.#retry = whenReady;
      },
    );
  }
}
