import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test } from "vitest";
import { runInContext } from "../../src/session/run-in-context.ts";

const storage = new AsyncLocalStorage<string>();
const other = new AsyncLocalStorage<string>();

function values(): readonly (string | undefined)[] {
  return [storage.getStore(), other.getStore()];
}

test("work started by the function sees the value and keeps other storages', and the caller's context is unchanged", async () => {
  const seen = await other.run("other", async () => {
    const later = runInContext(storage, "outer", async () => {
      const nested = runInContext(storage, "inner", async () => [values(), await Promise.resolve().then(values)]);
      return [values(), await nested, values()];
    });
    return [values(), await later, values()];
  });
  const before = [undefined, "other"];
  const outer = ["outer", "other"];
  const inner = ["inner", "other"];
  expect(seen).toEqual([before, [outer, [inner, inner], outer], before]);
});

test("work that throws leaves the caller's context unchanged", () => {
  const attempt = (): never =>
    runInContext(storage, "value", () => {
      throw new Error(`within ${storage.getStore()}`);
    });
  expect(attempt).toThrow("within value");
  expect(storage.getStore()).toBeUndefined();
});
