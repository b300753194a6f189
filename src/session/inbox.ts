/** The part of a session that comes from outside: messages that its model has not received yet, and the triggers that send them. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { SessionEvent } from "../core/event.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { SessionMessage } from "../core/message.ts";
import type { Ports } from "../core/ports.ts";

/** A message that waits for the model. */
export interface InboxEntry {
  readonly id: string;
  readonly message: SessionMessage;
  /** The name of the sender, if given. */
  readonly sender?: string;
  /** The trigger that sent the message. */
  readonly triggerId?: string;
  /** The span in which the message was sent, as a `traceparent` header, if traced. */
  readonly traceparent?: string;
}

/** A trigger stored in a session, whether or not an agent runs it now. */
export interface StoredTrigger {
  readonly id: string;
  /** The kind of trigger, such as `timer`. */
  readonly kind: string;
  readonly settings: JsonObject;
  /** Set if a program declared the trigger for all of its sessions: it runs only in programs that declare it. */
  readonly declared?: true;
  /** Wall-clock milliseconds since the epoch. */
  readonly addedAt: number;
  /** The tick of its latest message, or of when it was added or resumed: ticks up to it are finished. Wall-clock milliseconds since the epoch. */
  readonly lastTick?: number;
  /** Set while the trigger is paused: it sends nothing until it is resumed. */
  readonly paused?: true;
  /** How many messages the trigger has sent. */
  readonly sent: number;
  /** How many of these messages the model has not received yet. */
  readonly waiting: number;
}

/** The events that change an inbox. */
export type InboxEvent = SessionEvent & { readonly type: InboxEventType };

type InboxEventType = "message-add" | "inbox-add" | "trigger-add" | "trigger-pause" | "trigger-resume" | "trigger-remove";

const TYPES: ReadonlySet<string> = new Set<InboxEventType>([
  "message-add",
  "inbox-add",
  "trigger-add",
  "trigger-pause",
  "trigger-resume",
  "trigger-remove",
]);

export class Inbox {
  readonly #entries = new Map<string, InboxEntry>();
  readonly #triggers = new Map<string, StoredTrigger>();

  /** Waiting messages, in the order they arrived. */
  get entries(): readonly InboxEntry[] {
    return [...this.#entries.values()];
  }

  /** Triggers, in the order they were added. */
  get triggers(): readonly StoredTrigger[] {
    return [...this.#triggers.values()];
  }

  trigger(id: string): StoredTrigger | undefined {
    return this.#triggers.get(id);
  }

  /** Applies an event. An entry waits until a message of the conversation has its id. */
  apply(event: InboxEvent): void {
    switch (event.type) {
      case "message-add":
        if (event.message.inboxId !== undefined) this.#removeEntry(event.message.inboxId);
        break;
      case "inbox-add":
        this.#add(event);
        break;
      case "trigger-add": {
        const { id, kind, settings, declared, tick, at } = event;
        const own = { id, kind, settings, ...(declared === true ? { declared } : {}), ...(tick === undefined ? {} : { lastTick: tick }) };
        this.#triggers.set(id, Object.freeze({ ...own, addedAt: at, sent: 0, waiting: this.#countWaiting(id) }));
        break;
      }
      case "trigger-pause":
        this.#change(event.id, (trigger) => ({ ...trigger, paused: true }));
        break;
      case "trigger-resume":
        // Ticks that passed while the trigger was paused are skipped.
        this.#change(event.id, ({ paused: _paused, ...trigger }) => ({
          ...trigger,
          lastTick: event.tick ?? Math.max(trigger.lastTick ?? event.at, event.at),
        }));
        break;
      case "trigger-remove":
        this.#triggers.delete(event.id);
    }
  }

  #change(id: string | undefined, change: (trigger: StoredTrigger) => StoredTrigger): void {
    const trigger = id === undefined ? undefined : this.#triggers.get(id);
    if (trigger !== undefined) this.#triggers.set(trigger.id, Object.freeze(change(trigger)));
  }

  #add({ id, message, sender, triggerId, tick, traceparent }: SessionEvent & { readonly type: "inbox-add" }): void {
    const optional = omitUndefined({ sender, triggerId, traceparent });
    this.#entries.set(id, Object.freeze({ id, message, ...optional }));
    this.#change(triggerId, (trigger) => {
      const lastTick = tick ?? trigger.lastTick;
      const counts = { sent: trigger.sent + 1, waiting: trigger.waiting + 1 };
      return { ...trigger, ...counts, ...(lastTick === undefined ? {} : { lastTick }) };
    });
  }

  /** Counts waiting messages, including those of an earlier trigger with the same id: the model has not received them either. */
  #countWaiting(triggerId: string): number {
    return this.entries.filter((entry) => entry.triggerId === triggerId).length;
  }

  #removeEntry(id: string): void {
    const { triggerId } = this.#entries.get(id) ?? {};
    this.#entries.delete(id);
    this.#change(triggerId, (trigger) => ({ ...trigger, waiting: trigger.waiting - 1 }));
  }
}

/** Whether an event changes the inbox of its session. */
export function isInboxEvent(event: SessionEvent): event is InboxEvent {
  return TYPES.has(event.type);
}

/** The session whose inbox is changed. */
export interface InboxScope {
  readonly sessionId: string;
  readonly inbox: Inbox;
  readonly ports: Ports;
}

/** Creates the events for an inbox once the session is ready to record them; none if nothing changes. */
export type CreateInboxEvents = (scope: InboxScope) => readonly SessionEvent[];
