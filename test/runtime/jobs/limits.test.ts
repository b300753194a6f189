/** Limits under load: of what runs side by side, and of what may wait. */
import { describe, expect, test } from "vitest";
import { heapBytes } from "../../../scripts/exact-accounting.ts";
import type { JobLimits } from "../../../src/call/jobs/job-table.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { fakePorts } from "../../../src/testing/fake-ports.ts";
import { inCI } from "../../ci.ts";
import { testRuntime, tool } from "../bench-runtime.ts";
import { testInCI } from "../../test-in-ci.ts";

const READS = { effects: { reads: [], writes: [] } } as const;

const CALLS = inCI ? 10_000 : 1_000;

test("L16 a batch of 10,000 (2,000 outside CI) obeys the limits of runtime, toolset and tool, in order and without starvation", async () => {
  const ports = fakePorts();
  const limits = { runtime: 64, toolset: 40, tool: 8 };
  const running = { runtime: 0, toolset: 0, tool: 0 };
  const most = { runtime: 0, toolset: 0, tool: 0 };
  const names = Array.from({ length: 20 }, (_, n) => `t${n}`);
  const ofTool = new Map(names.map((name) => [name, 0]));
  const count = (name: string, isShared: boolean, by: 1 | -1): void => {
    running.runtime += by;
    running.toolset += isShared ? by : 0;
    const own = (ofTool.get(name) ?? 0) + by;
    ofTool.set(name, own);
    running.tool = own;
    for (const key of ["runtime", "toolset", "tool"] as const) most[key] = Math.max(most[key], running[key]);
  };
  const made = (name: string, isShared: boolean): Tool =>
    tool(
      name,
      async ({ n }) => {
        count(name, isShared, 1);
        await new Promise<void>((resolve) => ports.clock.timer(resolve, 1 + (Number(n) % 5)));
        count(name, isShared, -1);
        return n;
      },
      { ...READS, maxConcurrent: limits.tool },
    );
  const half = names.length / 2;
  const waits: number[] = [];
  const runtime = createRuntime({
    ports,
    maxConcurrent: limits.runtime,
    toolsets: [{ name: "shared", maxConcurrent: limits.toolset, tools: names.slice(0, half).map((name) => made(name, true)) }],
    tools: names.slice(half).map((name) => made(name, false)),
    onEvent: (event) => void (event.type === "call-wait" && event.reason === "slot" && waits.push(event.waitMs)),
  });
  const calls = Array.from({ length: CALLS }, (_, n) => {
    const name = names[n % names.length] ?? "";
    return { name: n % names.length < half ? `shared::${name}` : name, input: { n } };
  });
  const halves = [runtime.session().execute(calls.slice(0, CALLS / 2)), runtime.session().execute(calls.slice(CALLS / 2))];
  let results: readonly ToolResult[] | undefined;
  void Promise.all(halves).then((both) => (results = both.flat()));
  while (results === undefined) await ports.clock.advance(ports.clock.nextIn ?? 0);
  expect(results.map(({ output }) => output)).toEqual(calls.map(({ input }) => input.n));
  expect(most).toEqual(limits); // reached, and never exceeded
  const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
  expect(Math.max(...waits) / mean).toBeLessThan(3);
  await runtime.close();
}, 60_000);

const SUBMITS = inCI ? 100_000 : 5_000;
const MAX_QUEUED = inCI ? 20_000 : 500;

testInCI(
  `L33 I14 an endless producer is refused past the limit, accepted jobs run, and memory stays bounded (${SUBMITS} submits)`,
  async () => {
    const ports = { ...fakePorts(), log: { debug: () => {}, warn: () => {} } }; // a log that is kept grows with each call
    let ran = 0;
    const wait = (): Promise<void> => new Promise((resolve) => ports.clock.timer(resolve, 1_000));
    const runtime = createRuntime({
      ports,
      tools: [tool("work", () => wait().then(() => void ran++), READS)],
      jobs: { maxRunning: 100, maxQueued: MAX_QUEUED },
    });
    const before = heapBytes();
    const session = runtime.session();
    const refused = new Map<string, number>();
    let accepted = 0;
    for (let n = 0; n < SUBMITS; n++) {
      const { status, error } = await session.execute({ name: "work" }, { background: true, recordHistory: false, concurrent: true });
      if (status === "pending") accepted++;
      else refused.set(error?.code ?? "", (refused.get(error?.code ?? "") ?? 0) + 1);
      if (n % (SUBMITS / 20) === 0) await ports.clock.advance(1_000); // 100 of them end
    }
    expect([...refused.keys()]).toEqual(["resource_busy"]);
    expect(accepted + (refused.get("resource_busy") ?? 0)).toBe(SUBMITS);
    expect(runtime.jobs.list({ states: ["queued"] }).length).toBeLessThanOrEqual(MAX_QUEUED);
    expect((heapBytes() - before) / 2 ** 20).toBeLessThan(inCI ? 130 : 20);
    while (ran < accepted) await ports.clock.advance(1_000);
    expect(runtime.jobs.list({ states: ["queued", "running"] })).toEqual([]);
    await runtime.close();
    expect((heapBytes() - before) / 2 ** 20).toBeLessThan(15);
  },
  300_000,
);

describe("one principal cannot fill the table of background jobs", () => {
  const principalOf = (principal: string) => ({ background: true, principal, concurrent: true });

  function table(jobs: JobLimits) {
    const gate = Promise.withResolvers<void>();
    const { runtime } = testRuntime({ tools: [tool("work", () => gate.promise, READS)], jobs });
    const session = runtime.session("s");
    const submit = async (id: string) => {
      const { status, error } = await session.execute({ name: "work" }, principalOf(id));
      return error === undefined ? status : `${error.code}: ${error.message}`;
    };
    return { runtime, session, submit, gate };
  }

  test("it may have half of the jobs that run and wait; those of others, and those without a principal, are accepted", async () => {
    const { runtime, session, submit, gate } = table({ maxRunning: 2, maxQueued: 3 });
    const refused =
      "resource_busy: default::work was not started: 3 background jobs of the same principal have not ended, which is the limit for one principal.";
    expect([await submit("a"), await submit("a"), await submit("a"), await submit("a")]).toEqual([
      "pending",
      "pending",
      "pending",
      refused,
    ]);
    expect(await submit("b")).toBe("pending");
    expect(await session.execute({ name: "work" }, { background: true, concurrent: true })).toMatchObject({ status: "pending" });
    expect(await submit("b")).toContain("2 background jobs are running and 3 are waiting");
    gate.resolve();
    await Promise.all(runtime.jobs.list().map(({ id }) => runtime.jobs.wait(id)));
    expect(await submit("a")).toBe("pending");
    await runtime.close();
  });

  test("maxPerPrincipal is an integer from 1, at least one job is accepted, and another one when it has ended", async () => {
    expect(() => table({ maxPerPrincipal: 0 })).toThrow("maxPerPrincipal of jobs of the runtime is 0");
    const { runtime, submit, gate } = table({ maxRunning: 1, maxQueued: 0 });
    expect(await submit("a")).toBe("pending");
    gate.resolve();
    await Promise.all(runtime.jobs.list().map(({ id }) => runtime.jobs.wait(id)));
    expect(await submit("a")).toBe("pending");
    await runtime.close();
  });
});
