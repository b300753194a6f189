import { isPromiseLike } from "./attempts/deadline.ts";

/** Calls `notify`. Whatever it throws, or rejects with later, is passed to `onError`. Never throws. */
export function notifySafely(notify: () => unknown, onError: (thrown: unknown) => void): void {
  try {
    const returned = notify();
    if (isPromiseLike(returned)) void Promise.resolve(returned).then(undefined, onError);
  } catch (thrown: unknown) {
    onError(thrown);
  }
}
