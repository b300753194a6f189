/** Runs code with a value of an asynchronous storage. */
import { type AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { IS_CLOUDFLARE_WORKER } from "../core/node-version.ts";

/**
 * As `storage.run`, which in Node.js 24 makes two contexts: one that has the value, and a copy of the one before. A resource restores the
 * one before without a copy. Cloudflare Workers have no `enterWith`.
 */
export function runInContext<Value, Result>(storage: AsyncLocalStorage<Value>, value: Value, work: () => Result): Result {
  if (IS_CLOUDFLARE_WORKER) return storage.run(value, work);
  return new AsyncResource("HAFT_CONTEXT", NOT_DESTROYED).runInAsyncScope(enter<Value, Result>, undefined, storage, value, work);
}

/** Hooks that ask when resources are destroyed need not follow this one: it ends with the call that made it. */
const NOT_DESTROYED = Object.freeze({ requireManualDestroy: true });

function enter<Value, Result>(storage: AsyncLocalStorage<Value>, value: Value, work: () => Result): Result {
  storage.enterWith(value);
  return work();
}
