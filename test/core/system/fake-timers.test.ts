/** Tests of others replace the timers of Node. What such a test leaves behind must not reach the next one. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";

const { clock } = systemPorts;
const next = (ms: number): Promise<void> => new Promise((resolve) => void clock.timer(resolve, ms));
const turn = setImmediate;

async function run(program: string): Promise<string> {
  const args = ["--no-warnings", "--conditions=haft-source", "--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  return stdout;
}

test("timers fire after a test with fake timers has ended without advancing them", async () => {
  vi.useFakeTimers();
  const abandoned: string[] = [];
  clock.timer(() => abandoned.push("fired"), 5);
  vi.useRealTimers();
  await next(10);
  expect(abandoned).toEqual([]);
});

test("fake timers of two tests that are due at the same time do not wait for one another", async () => {
  onTestFinished(() => void vi.useRealTimers());
  for (const advanceMs of [0, 1_000]) {
    vi.useFakeTimers();
    let fired = 0;
    clock.timer(() => fired++, 1_000);
    await vi.advanceTimersByTimeAsync(advanceMs);
    expect(fired).toBe(advanceMs / 1_000);
    vi.useRealTimers();
  }
});

test("a timer of Node that comes due while timers are fake fires in its own time", async () => {
  onTestFinished(() => void vi.useRealTimers());
  const fired = next(20);
  await new Promise((resolve) => turn(resolve));
  const { setTimeout: nodeTimeout } = globalThis;
  vi.useFakeTimers();
  await new Promise((resolve) => nodeTimeout(resolve, 60));
  vi.useRealTimers();
  await fired;
});

test("a timer that is cancelled while timers are fake does not fire, and its time is free for others", async () => {
  onTestFinished(() => void vi.useRealTimers());
  const fired: string[] = [];
  const cancel = clock.timer(() => fired.push("cancelled"), 20);
  await new Promise((resolve) => turn(resolve));
  vi.useFakeTimers();
  cancel();
  clock.timer(() => fired.push("fake"), 20);
  await vi.advanceTimersByTimeAsync(20);
  vi.useRealTimers();
  await next(40);
  expect(fired).toEqual(["fake"]);
});

test.each([
  [["setTimeout", "clearTimeout"]],
  [["setTimeout", "clearTimeout", "Date"]],
  [["setTimeout", "clearTimeout", "Date", "performance"]],
] as const)("timers follow fake timers that replace only %s", async (toFake) => {
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: [...toFake] });
  const startedAt = clock.now();
  let passedMs: number | undefined;
  clock.timer(() => (passedMs = Math.round(clock.now() - startedAt)), 60_000);
  const lastMs = toFake.length === 2 ? 1_000 : 1; // the real clock may move while the timer is set
  vi.advanceTimersByTime(60_000 - lastMs);
  expect(passedMs).toBeUndefined();
  vi.advanceTimersByTime(lastMs);
  if (toFake.length === 2) expect(passedMs).toBeLessThan(60_000);
  else expect(passedMs).toBe(60_000);
});

test("the fake timers of node:test advance the timers of a runtime, and leave nothing behind", async () => {
  const program = `
    import assert from "node:assert/strict";
    import { mock } from "node:test";
    import { createRuntime, defineTool } from "haft";
    const slow = defineTool({ name: "slow", description: "Never ends.", timeoutMs: 60_000, execute: () => new Promise(() => {}) });
    for (const ms of [0, 60_000]) {
      mock.timers.enable();
      let code;
      void createRuntime({ tools: [slow] }).execute({ name: "slow" }).then(({ error }) => (code = error?.code));
      for (let step = 0; step < 50; step++) await null;
      mock.timers.tick(ms);
      for (let step = 0; step < 50; step++) await null;
      assert.equal(code, ms === 0 ? undefined : "timeout");
      mock.timers.reset();
    }
    const brief = defineTool({ name: "brief", description: "Never ends.", timeoutMs: 20, execute: () => new Promise(() => {}) });
    const { error } = await createRuntime({ tools: [brief] }).execute({ name: "brief" });
    console.log(error?.code);
  `;
  expect(await run(program)).toBe("timeout\n");
});

test("a call times out where setImmediate is no global, as in the imitation of a browser for tests", async () => {
  const program = `
    delete globalThis.setImmediate;
    delete globalThis.clearImmediate;
    const { createRuntime, defineTool } = await import("haft");
    const brief = defineTool({ name: "brief", description: "Never ends.", timeoutMs: 20, execute: () => new Promise(() => {}) });
    const { error } = await createRuntime({ tools: [brief] }).execute({ name: "brief" });
    console.log(error?.code);
  `;
  expect(await run(program)).toBe("timeout\n");
});

test.each([
  ["monitoring", "globalThis.setTimeout = (fire, ms, ...rest) => real(() => fire(...rest), ms);"],
  ["a spy", "mock.method(globalThis, 'setTimeout');"],
])("a program in which %s wraps setTimeout waits for its calls, and times them out", async (_, wrap) => {
  const program = `
    import { mock } from "node:test";
    import { createRuntime, defineTool } from "haft";
    const real = setTimeout;
    ${wrap}
    const slow = () => new Promise((resolve) => real(() => resolve("done"), 50).unref());
    const tools = [
      defineTool({ name: "unref", description: "Keeps no process alive.", timeoutMs: 0, execute: slow }),
      defineTool({ name: "brief", description: "Never ends.", timeoutMs: 20, execute: () => new Promise(() => {}) }),
    ];
    const runtime = createRuntime({ tools });
    console.log((await runtime.execute({ name: "unref" })).output, (await runtime.execute({ name: "brief" })).error?.code);
  `;
  expect(await run(program)).toBe("done timeout\n");
});

test.each([
  ["where a test has replaced it", "mock.timers.enable({ apis: ['setImmediate'] });"],
  ["in the imitation of a browser for tests, which has none", "delete globalThis.setImmediate;"],
])("a request that is sent once does not wait for a setImmediate %s", async (_, replace) => {
  const program = `
    import { createServer } from "node:http";
    import { mock } from "node:test";
    import { createRuntime } from "haft";
    import { openApiToolset } from "haft/rest";
    const server = createServer((_, response) => response.setHeader("content-type", "application/json").end("{}"));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    ${replace}
    const post = { operationId: "send", summary: "Sends.", responses: { 200: { description: "Sent." } } };
    const document = { openapi: "3.1.0", info: { title: "Post", version: "1" }, paths: { "/letters": { post } } };
    const baseUrl = "http://127.0.0.1:" + server.address().port;
    const runtime = createRuntime({ toolsets: [openApiToolset("post", { document, baseUrl })] });
    await runtime.open();
    console.log((await runtime.execute({ name: "post::send", input: {} })).status);
    process.exit();
  `;
  expect(await run(program)).toBe("ok\n");
});
