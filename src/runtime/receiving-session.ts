/** A session that takes in what comes from outside: the messages of people and programs, and those that triggers send. */
import { checkText, checkArgument } from "../core/check-argument.ts";
import type { SessionEvent } from "../core/event.ts";
import type { SessionMessage } from "../core/message.ts";
import type { Ports } from "../core/ports.ts";
import type { Tracing } from "../core/tracing.ts";
import { checkSentBy, type SentBy } from "../core/sent-by.ts";
import { spanOf } from "../core/traceparent.ts";
import { Inbox, isInboxEvent, type InboxEntry, type MakeEvents, type StoredTrigger } from "../session/inbox.ts";
import {
  addingTrigger,
  pausing,
  receiving,
  removingTrigger,
  replacingTrigger,
  type NewTrigger,
  type PauseOptions,
  type ReceiveOptions,
} from "../session/inbox-events.ts";
import { readMessage } from "../session/read-message.ts";
import { recordMessage } from "../session/record-message.ts";
import { Session, type SessionOptions } from "../session/session.ts";
import { callerIn } from "../session/turn.ts";
import { closedSession } from "./session-errors.ts";
import { whenStored } from "./when-stored.ts";
import { ToolError } from "../core/error.ts";

export interface ReceivingSessionOptions extends SessionOptions {
  /** The messages that it had received for later when it was resumed. @default none */
  readonly inbox?: Inbox;
}

/** It records messages between two turns, or in the turn whose handler adds them; what is received for later, whatever runs. */
export abstract class ReceivingSession extends Session {
  #inbox: Inbox | undefined;
  #readiness: Readiness | undefined;

  constructor(options: ReceivingSessionOptions) {
    super(options);
    this.#inbox = options.inbox;
  }

  /** Clock, log, ids and randomness of what is recorded in it. */
  abstract get ports(): Ports;

  /** The traces of its runtime, where it makes such. */
  abstract get tracing(): Tracing | undefined;

  /** Adds what a person or a program said. Resolves when it is durable. @throws ToolError `invalid_argument` for what is not a message. By rejecting */
  async addMessage(message: SessionMessage, options: SentBy = {}): Promise<void> {
    checkSentBy(options, "addMessage()");
    const read = readMessage(message);
    if (this.closed) throw closedSession(this);
    if (this.ready !== undefined) await this.ready;
    await this.turns.run((turn, caller) => {
      const refusal = this.closed ? closedSession(this) : this.broken;
      if (refusal !== undefined) throw refusal;
      recordMessage(this, read, { at: this.ports.clock.wallTime(), madeIn: callerIn(turn, caller), ...options });
    });
    await whenStored(this);
  }

  /**
   * Receives a message for an agent's next request. Resolves when it is durable; a tick that was taken before changes nothing.
   * @throws ToolError `invalid_argument` for what is not a message, and once the session is closed; `not_found` for a trigger that was removed; `store_failed`. By rejecting
   */
  async receive(message: SessionMessage, options: ReceiveOptions = {}): Promise<void> {
    await this.#record(receiving(message, options, () => spanOf(this.tracing?.headersOf())));
  }

  /** The triggers that it keeps, in the order they were added. Those of the session it is a branch of stay with that one. */
  get triggers(): readonly StoredTrigger[] {
    return this.#inbox?.triggers ?? [];
  }

  /** One of them. */
  trigger(id: string): StoredTrigger | undefined {
    return this.#inbox?.trigger(id);
  }

  /** Keeps a trigger, which an agent of this session runs. Resolves when it is durable. @throws ToolError `duplicate`, `invalid_argument`, and as `receive`. By rejecting */
  async addTrigger(trigger: NewTrigger): Promise<void> {
    await this.#record(addingTrigger(trigger));
  }

  /**
   * Keeps a trigger as `addTrigger` does. Where there is one with its id, it takes its place, and is paused where that one is. Resolves when it is
   * durable, which happens as a whole. @throws ToolError as `addTrigger`, without `duplicate`. By rejecting
   */
  async replaceTrigger(trigger: NewTrigger): Promise<void> {
    await this.#record(replacingTrigger(trigger));
  }

  /**
   * Pauses a trigger, of which no message is received then, or resumes it. Resolves when that is durable, to whether something changed.
   * @throws ToolError `invalid_argument` for a `lastTick` that is not a time; as `receive`. By rejecting
   */
  async setTriggerPaused(id: string, paused: boolean, options: PauseOptions = {}): Promise<boolean> {
    checkText(id, "setTriggerPaused(id, paused)", "the id of a trigger");
    checkArgument(typeof paused === "boolean", "setTriggerPaused(id, paused)", "a boolean", paused);
    return this.#record(pausing(id, paused, options));
  }

  /** Removes a trigger for good: no message of it is received from now on. Resolves when that is durable, to whether there was one. */
  removeTrigger(id: string): Promise<boolean> {
    return this.#record(removingTrigger(id));
  }

  /** @internal */
  get received(): Inbox {
    return (this.#inbox ??= new Inbox());
  }

  /** The received messages that the conversation does not have yet, in the order they came. To use one, add its message. */
  get inbox(): readonly InboxEntry[] {
    return this.#inbox?.entries ?? [];
  }

  /** Records what comes from outside, whatever runs; `make` is called when the session can take it. Resolves when it is durable. */
  async #record(make: MakeEvents): Promise<boolean> {
    if (this.ready !== undefined) await this.ready;
    const refusal = this.closed ? closedSession(this) : this.broken;
    if (refusal !== undefined) throw refusal;
    const events = make({ sessionId: this.id, inbox: this.received, ports: this.ports });
    const [first, ...others] = events;
    if (first !== undefined && others.length === 0) this.recordAndTell(first);
    else if (first !== undefined) this.together(() => events.forEach((event) => this.recordAndTell(event)));
    await whenStored(this);
    return first !== undefined;
  }

  override recordAll(events: readonly SessionEvent[]): void {
    super.recordAll(events);
    for (const event of events) if (isInboxEvent(event) && event.sessionId === this.id) this.received.notice(event);
  }

  /** Resolves when its log can be written to, and rejects when it cannot; undefined when there is nothing to wait for. */
  get ready(): Promise<void> | undefined {
    return this.#readiness?.whenReady;
  }

  /** Holds its calls back until this resolves; when it rejects, so do they. @internal */
  waitFor(begin: () => Promise<void>): void {
    (this.#readiness ??= new Readiness()).waitFor(begin);
  }
}

/** Waits for a store that takes a session in. */
class Readiness {
  #ready: Promise<void> | undefined;
  /** Tries again what was waited for: the store could not be used then. */
  #tryAgain: (() => Promise<void>) | undefined;

  /** Undefined when there is nothing to wait for. A store that could not be used is tried again whenever this is asked for. */
  get whenReady(): Promise<void> | undefined {
    const tryAgain = this.#tryAgain;
    if (tryAgain !== undefined) this.waitFor(tryAgain);
    return this.#ready;
  }

  waitFor(begin: () => Promise<void>): void {
    this.#tryAgain = undefined;
    const ready = begin();
    this.#ready = ready;
    ready.then(
      () => (this.#ready = undefined),
      (thrown: unknown) => {
        // Callers get the error. A session that another process has, or that is damaged, stays so.
        if (ToolError.fromUnknown(thrown, "store_failed").code === "store_failed") this.#tryAgain = begin;
      },
    );
  }
}
