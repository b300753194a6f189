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

const HELD = new WeakMap<ChannelStore, Map<string, HeldMessages>>();

/** Those of a queue: each time the same object. */
export function heldMessages(store: ChannelStore, channel: string): HeldMessages {
  const ofStore = HELD.get(store) ?? new Map<string, HeldMessages>();
  HELD.set(store, ofStore);
  const before = ofStore.get(channel);
  if (before !== undefined) return before;
  const held: HeldMessages = { unsettled: new Map(), holds: new Map(), taking: new Set(), settling: undefined, settlesSoon: false };
  ofStore.set(channel, held);
  return held;
}
