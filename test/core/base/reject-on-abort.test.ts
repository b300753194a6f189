import { describe, expect, test } from "vitest";
import { rejectOnAbort } from "../../../src/core/base/reject-on-abort.ts";

describe("rejectOnAbort", () => {
  test("resolves to the result of the work, and leaves no listener", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const counting = new Proxy(signal, {
      get: (target, key) => {
        if (key === "addEventListener")
          return (...args: Parameters<AbortSignal["addEventListener"]>) => (listeners++, target.addEventListener(...args));
        if (key === "removeEventListener")
          return (...args: Parameters<AbortSignal["addEventListener"]>) => (listeners--, target.removeEventListener(...args));
        return Reflect.get(target, key, target);
      },
    });
    expect(await rejectOnAbort(Promise.resolve("done"), counting)).toBe("done");
    await expect(rejectOnAbort(Promise.reject(new Error("failed")), counting)).rejects.toThrow("failed");
    expect(listeners).toBe(0);
  });

  test("rejects with the signal's reason or a given error, and ignores a late rejection", async () => {
    const controller = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const waits = [rejectOnAbort(promise, controller.signal), rejectOnAbort(promise, controller.signal, () => new Error("mine"))];
    controller.abort(new Error("enough"));
    reject(new Error("late"));
    const ends = await Promise.allSettled([...waits, rejectOnAbort(promise, controller.signal)]);
    expect(ends.map((end) => (end.status === "rejected" ? String(end.reason) : "fulfilled"))).toEqual([
      "Error: enough",
      "Error: mine",
      "Error: enough",
    ]);
  });
});
