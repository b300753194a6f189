/** Runs code with a value of an `AsyncLocalStorage`. */
import { type AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { IS_CLOUDFLARE_WORKER } from "../core/system/node-version.ts";

/**
 * Like `storage.run`, which in Node.js 24 creates two contexts: one with the value, and a copy of the previous one. An `AsyncResource` restores the
 * previous context without a copy. Cloudflare Workers have no `enterWith`.
 */
export function runInContext<Value, Result>(storage: AsyncLocalStorage<Value>, value: Value, work: () => Result): Result {
  if (IS_CLOUDFLARE_WORKER) return storage.run(value, work);
  return new AsyncResource("HAFT_CONTEXT", NOT_DESTROYED).runInAsyncScope(enterContext<Value, Result>, undefined, storage, value, work);
}

/** Saves tracking when the resource is destroyed: it ends with the call that created it. */
const NOT_DESTROYED = Object.freeze({ requireManualDestroy: true });

function enterContext<Value, Result>(storage: AsyncLocalStorage<Value>, value: Value, work: () => Result): Result {
  storage.enterWith(value);
  return work();
}
