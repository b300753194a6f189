/** Calls the listeners of a program: an error of theirs is logged and ends nothing. */
import { isPromiseLike } from "./attempts/deadline.ts";

/** Calls `tell`; what it throws, or rejects with later, goes to `failed`. Throws nothing itself. */
export function tellSafely(tell: () => unknown, failed: (thrown: unknown) => void): void {
  try {
    const told = tell();
    if (isPromiseLike(told)) void Promise.resolve(told).then(undefined, failed);
  } catch (thrown: unknown) {
    failed(thrown);
  }
}
