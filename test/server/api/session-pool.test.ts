import { onTestFinished, expect, test } from "vitest";
import type { Engine } from "../../../src/core/engine.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { SessionPool } from "../../../src/server/api/session-pool.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";

test("issue 21.2 a request for a session that is just being closed for want of use takes it up again when it is closed", async () => {
  const closed = Promise.withResolvers<void>();
  const engine: Engine = { kind: "slow", call: () => "done", openSession() {}, closeSession: () => closed.promise };
  const store = sqliteStore({ path: temporaryFile(), synchronous: "normal" });
  const tool = { name: "work", description: "Works.", inputSchema: { type: "object" } } as const;
  const runtime = createRuntime({ store, toolsets: [{ name: "slow", engine, tools: [tool] }] });
  onTestFinished(async () => void (await runtime.close()));
  const clock = new FakeClock();
  const pool = new SessionPool({ runtime, store, clock, log: new MemoryLog(), settings: { maxOpenSessions: 10, sessionIdleMs: 1_000 } });
  const call = { name: "slow::work", input: {} };
  const work = (): Promise<string> => pool.use("shop", async (session) => (await session.execute(call)).status, { create: true });
  expect(await work()).toBe("ok");
  await clock.advance(1_000);
  expect(runtime.sessions.get("shop")).toBeUndefined(); // it is being closed
  const again = work();
  closed.resolve();
  expect(await again).toBe("ok");
  expect(pool.size).toBe(1);
  await pool.end();
});
