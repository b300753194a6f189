/** Counts the calls of a session, so that a seed can tell equal calls apart. */
import { hash } from "node:crypto";
import type { ToolCall } from "../../core/call.ts";
import type { SessionEvent } from "../../core/event.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { PersistentMap } from "../../core/collections/persistent-map.ts";

/** How often each call was made so far. Immutable, so that a branch can continue from it. */
export type CallTally = PersistentMap<number>;

/** The identity of a call for a seed, besides its tool and its session. */
export interface CallSample {
  /** Digest of the input as it was sent; the order of its keys does not matter. */
  readonly digest: string;
  /** How many equal calls were made before. */
  readonly earlier: number;
}

export const NO_CALLS: CallTally = PersistentMap.empty<number>();

/** Counts a call. Calls are equal if they have the same name and the same input. */
export function countCall(tally: CallTally, { name, input }: ToolCall): { readonly sample: CallSample; readonly tally: CallTally } {
  const digest = hash("sha256", canonicalJson((input ?? {}) as JsonValue), "base64url"); // the input of a call is always plain JSON
  const key = `${digest}${name}`;
  const earlier = tally.get(key) ?? 0;
  return { sample: { digest, earlier }, tally: tally.set(key, earlier + 1) };
}

/** Counts the calls among these events too. */
export function countCalls(tally: CallTally, events: readonly SessionEvent[]): CallTally {
  let counted = tally;
  for (const event of events) if (event.type === "call-start") ({ tally: counted } = countCall(counted, event.call));
  return counted;
}
