/** Tells a session from another one that had its id before. */
import type { Ids } from "../../../core/ports.ts";
import type { Store } from "../../../core/store.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { getOrAdd } from "../../../core/base/get-or-add.ts";

/** Resolves to undefined where there is no session of the id. */
export type SessionIdentities = (sessionId: string) => Promise<number | string | undefined>;

/**
 * A stored session is known by the time of its creation, in every process. One that no store keeps, such as a simulated branch, ends with its
 * object: its identity is like no other, also after a restart, as the store keeps the answers.
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
      await open.ready; // then the store has it
      return createdAt(sessionId);
    }
    return getOrAdd(unstored, open, () => ids.next("identity"));
  };
}
