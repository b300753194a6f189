/** Distinguishes a session from an earlier one with the same id. */
import type { Ids } from "../../../core/ports.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { getOrAdd } from "../../../core/base/get-or-add.ts";

/** Resolves to the identity of a session; undefined if there is no session with the id. */
export type SessionIdentities = (sessionId: string) => Promise<number | string | undefined>;

/**
 * The identity of a stored session is its creation time, which is the same in every process. A session outside the store, such as a simulated branch,
 * ends with its object: it gets a unique identity, also across restarts, because the store keeps the answers.
 */
export function sessionIdentities({
  runtime,
  store,
  ids,
}: {
  readonly runtime: Runtime;
  readonly store: Store | undefined;
  readonly ids: Ids;
}): SessionIdentities {
  const unstored = new WeakMap<RuntimeSession, string>();
  const createdAt = async (sessionId: string): Promise<number | undefined> => (await store?.list({ sessionId }))?.[0]?.createdAt;
  return async (sessionId) => {
    const stored = await createdAt(sessionId);
    const open = runtime.sessions.get(sessionId);
    if (stored !== undefined || open === undefined) return stored;
    if (store !== undefined && !open.simulated) {
      await open.ready; // only then the store has it
      return createdAt(sessionId);
    }
    return getOrAdd(unstored, open, () => ids.next("identity"));
  };
}
