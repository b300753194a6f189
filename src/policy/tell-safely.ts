import { isPromiseLike } from "./attempts/deadline.ts";

/** Calls `tell`. Whatever it throws, or rejects with later, is passed to `failed`. Never throws. */
export function tellSafely(tell: () => unknown, failed: (thrown: unknown) => void): void {
  try {
    const told = tell();
    if (isPromiseLike(told)) void Promise.resolve(told).then(undefined, failed);
  } catch (thrown: unknown) {
    failed(thrown);
  }
}
