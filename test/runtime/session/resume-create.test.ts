/** Going on with a session, or beginning it when the store has none. */
import { expect, test } from "vitest";
import { testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const tools = [
  tool("count", (_, { state }) => (state.update("n", (n) => Number(n ?? 0) + 1), state.get("n")), { effects: { writes: ["session:n"] } }),
];

test("F3.15 `create` begins a session that the store has not, and goes on with one that it has", async () => {
  const disk = new FailingStore();
  const first = testRuntime({ store: disk, tools }).runtime;
  await expect(first.resume("s")).rejects.toMatchObject({ code: "not_found" });
  const begun = await first.resume("s", { create: true });
  expect([begun.id, (await begun.execute({ name: "count" })).output]).toEqual(["s", 1]);

  const second = testRuntime({ store: disk.crash(), tools }).runtime;
  const again = await second.resume("s", { create: true });
  expect(again.history).toEqual(begun.history);
  expect((await again.execute({ name: "count" })).output).toBe(2);

  const third = testRuntime({ store: new FailingStore(disk.disk), tools }).runtime;
  await expect(third.resume("s", { create: true })).rejects.toMatchObject({ code: "resource_busy" });
});
