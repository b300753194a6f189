/** Tells a session from another one that had its id before. */
import type { Store } from "../../core/store.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";

/** Resolves to undefined where there is no session of the id. */
export type SessionIdentities = (sessionId: string) => Promise<number | undefined>;

/** A stored session is known by the time of its creation, in every process. Without a store a session ends with its object. */
export function sessionIdentities({ runtime, store }: { readonly runtime: Runtime; readonly store: Store | undefined }): SessionIdentities {
  const numbers = new WeakMap<RuntimeSession, number>();
  let last = 0;
  const createdAt = async (sessionId: string): Promise<number | undefined> => (await store?.list({ sessionId }))?.[0]?.createdAt;
  return async (sessionId) => {
    const stored = await createdAt(sessionId);
    const open = runtime.sessions.get(sessionId);
    if (stored !== undefined || open === undefined) return stored;
    if (store !== undefined) {
      await open.snapshot(); // then the store has it
      return createdAt(sessionId);
    }
    const number = numbers.get(open) ?? ++last;
    numbers.set(open, number);
    return number;
  };
}
