/** The messages of a queue that this process holds in a store: a store knows which process has taken a message, and not which reader there. */
import type { ChannelStore } from "../core/channel-store.ts";

/** A method of the store that says what became of a message that was taken. */
export type Settlement = "end" | "giveBack";

/** Shared by all objects of the process that read the same queue. */
export interface HeldMessages {
  /** Numbers of messages that were received, or are for others, while the store failed: they are settled before another one is taken. */
  readonly unsettled: Map<number, Settlement>;
  /** By whom here each message is held: another reader may have taken one whose way back was not confirmed. */
  readonly holds: Map<number, object>;
  /** Requests for the next message that have no answer yet. */
  readonly taking: Set<Promise<unknown>>;
  /** Set while what is unsettled is being settled. */
  settling: Promise<void> | undefined;
  /** A timer will settle it as well. */
  settlesSoon: boolean;
}

const QUEUES = new WeakMap<ChannelStore, Map<string, HeldMessages>>();

/** By the name of a queue, what is held of it, for as long as anything is: a program may have a queue for each of its users. */
export function heldQueues(store: ChannelStore): Map<string, HeldMessages> {
  const queues = QUEUES.get(store) ?? new Map<string, HeldMessages>();
  QUEUES.set(store, queues);
  return queues;
}

/** The record of a queue: each time the same object, until `letGo` forgets it. */
export function heldOf(queues: Map<string, HeldMessages>, name: string): HeldMessages {
  const before = queues.get(name);
  if (before !== undefined) return before;
  const held: HeldMessages = { unsettled: new Map(), holds: new Map(), taking: new Set(), settling: undefined, settlesSoon: false };
  queues.set(name, held);
  return held;
}

/** Forgets a queue of which nothing is held, taken or settled. */
export function letGo(queues: Map<string, HeldMessages>, name: string): void {
  const held = queues.get(name);
  if (held === undefined || held.settling !== undefined || held.settlesSoon) return;
  if (held.unsettled.size + held.holds.size + held.taking.size === 0) queues.delete(name);
}
