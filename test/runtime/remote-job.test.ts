import { expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import { RemoteJob } from "../../src/core/jobs/remote-job.ts";
import { gate, testRuntime } from "./bench-runtime.ts";

const slow = { name: "slow", description: "Takes its time.", inputSchema: {}, timeoutMs: 1_000, maxAttempts: 1 };

function runtimeOf(call: Engine["call"]) {
  return testRuntime({ toolsets: [{ name: "far", engine: { kind: "far", call }, tools: [slow] }] });
}

test("a remote job is awaited like any answer, whether it resolves at once or later", async () => {
  const answer = gate<string>();
  const { runtime } = runtimeOf(() => new RemoteJob({ id: "1", result: answer.promise }));
  const call = runtime.execute({ name: "slow" });
  answer.open("done");
  expect(await call).toMatchObject({ status: "ok", output: "done" });
  const later = runtimeOf(async () => new RemoteJob({ id: "2", result: Promise.reject(new ToolError("rate_limited", "Too many.")) }));
  expect(await later.runtime.execute({ name: "slow" })).toMatchObject({ error: { code: "rate_limited" } });
});

test("a remote job is cancelled once when its time is up, and a failing cancel changes nothing", async () => {
  let cancels = 0;
  const cancel = (): Promise<void> => (cancels++, Promise.reject(new Error("gone")));
  const { runtime, ports } = runtimeOf(() => new RemoteJob({ id: "1", result: new Promise(() => {}), cancel }));
  const call = runtime.execute({ name: "slow" });
  await ports.clock.advance(1_000);
  expect(await call).toMatchObject({ error: { code: "timeout" } });
  expect(cancels).toBe(1);
});
