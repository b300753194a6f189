/** The messages of a stored queue that this process holds. A store records which process has taken a message, but not which of its readers. */
import type { ChannelStore } from "../core/store/channel-store.ts";

/** The store method that settles a message that was taken. */
export type Settlement = "end" | "release";

/** The state of one queue, shared by all objects of the process that read it. */
export interface HeldMessages {
  /** Numbers of messages whose settlement failed in the store. They are settled before another message is taken. */
  readonly unsettled: Map<number, Settlement>;
  /** A token for each held message. A new token means that another reader took the message, after a `release` whose answer was lost. */
  readonly holds: Map<number, object>;
  /** Requests for the next message that are not answered yet. */
  readonly taking: Set<Promise<unknown>>;
  /** Set while the unsettled messages are being settled. */
  settling: Promise<void> | undefined;
  /** Whether a timer will settle the unsettled messages. */
  isSettleScheduled: boolean;
}

const QUEUES = new WeakMap<ChannelStore, Map<string, HeldMessages>>();

/** The records of queues by name. A record exists only while something is held, because a program may have a queue for each of its users. */
export function getHeldQueues(store: ChannelStore): Map<string, HeldMessages> {
  const queues = QUEUES.get(store) ?? new Map<string, HeldMessages>();
  QUEUES.set(store, queues);
  return queues;
}

/** Returns the record of a queue: the same object each time, until `forgetIfUnused` forgets it. */
export function getHeldMessages(queues: Map<string, HeldMessages>, name: string): HeldMessages {
  const before = queues.get(name);
  if (before !== undefined) return before;
  const held: HeldMessages = { unsettled: new Map(), holds: new Map(), taking: new Set(), settling: undefined, isSettleScheduled: false };
  queues.set(name, held);
  return held;
}

/** Forgets a queue of which no message is held, being taken or being settled. */
export function forgetIfUnused(queues: Map<string, HeldMessages>, name: string): void {
  const held = queues.get(name);
  if (held === undefined || held.settling !== undefined || held.isSettleScheduled) return;
  if (held.unsettled.size + held.holds.size + held.taking.size === 0) queues.delete(name);
}
