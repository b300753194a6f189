import { expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";

test("issue 19.2 a session that is forgotten is closed and gone from the store, and its id is free", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const session = runtime.session("a");
  await session.addMessage({ role: "user", content: "Hello." });
  expect(await runtime.sessions.forget("a")).toBe(true);
  expect(session.closed).toBe(true);
  await expect(runtime.resume("a")).rejects.toMatchObject({ code: "not_found" });
  expect(await runtime.sessions.forget("a")).toBe(false);
  await expect(runtime.sessions.forget("")).rejects.toMatchObject({ code: "invalid_argument" });
  expect(runtime.session("a").length).toBeGreaterThanOrEqual(0);
  await runtime.close();
});
