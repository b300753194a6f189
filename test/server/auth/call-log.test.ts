/** DESIGN 14: the audit has the calls that no session has, and a store that cannot take them holds up nothing. */
import { expect, test } from "vitest";
import type { AuditedCall } from "../../../src/core/store/access-store.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { CallLog } from "../../../src/server/auth/call-log.ts";
import { readAudit } from "../../../src/server/auth/audit.ts";
import { copyCallsToAudit } from "../../../src/server/auth/copy-calls-to-audit.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { tool } from "../../runtime/bench-runtime.ts";

const API = { via: "api", principal: "key:ada" } as const;
const TRACE = "0af7651916cd43dd8448eb211c80319c";

function logged(change: (access: ReturnType<typeof memoryStore>["access"]) => object = () => ({})) {
  const store = memoryStore();
  const [clock, log] = [new FakeClock(), new MemoryLog()];
  const outer = tool("outer", async (_, context) => (await context.execute({ name: "look", input: {} })).output);
  const session = tool("session", async () => (await runtime.session("own").execute({ name: "look", input: {} })).output);
  const runtime: Runtime = createRuntime({ store, ports: { clock }, tools: [tool("look", () => 1), outer, session] });
  const access = { ...store.access, ...change(store.access) };
  return { store, clock, log, runtime, calls: new CallLog(runtime, access, { clock, log }) };
}

async function kept({ store }: { readonly store: ReturnType<typeof memoryStore> }): Promise<readonly AuditedCall[]> {
  return (await store.access.calls({ limit: 100_000 })).calls;
}

test("each call is logged with its principal, outcome, time and trace, and so are nested calls without a session", async () => {
  const one = logged();
  const { runtime, calls, clock } = one;
  const at = clock.wallTime();
  const traced = { ...API, traceparent: `00-${TRACE}-b7ad6b7169203331-01` };
  const results = await calls.recordCalls(traced, () =>
    runtime.execute(
      [
        { name: "outer", input: {} },
        { name: "none", input: { secret: 1 } },
      ],
      { principal: "key:ada" },
    ),
  );
  await runtime.execute({ name: "look", input: {} }); // the program's own
  await calls.recordCalls(API, () => runtime.execute({ name: "session", input: {} }));
  await calls.close();
  const about = { at, via: "api", principal: "key:ada", traceId: TRACE, durationMs: 0 };
  const found = await kept(one);
  expect(found).toHaveLength(4);
  expect(found).toEqual(
    expect.arrayContaining([
      { ...about, callId: results[0]?.callId, toolName: "default::outer", outcome: "ok" },
      { ...about, callId: expect.any(String), toolName: "default::look", outcome: "ok" },
      { ...about, callId: results[1]?.callId, toolName: "none", outcome: "error", errorCode: "not_found" },
    ]),
  );
  expect(JSON.stringify(found)).not.toContain("secret");
});

test("calls are written in groups every 200 ms", async () => {
  const sizes: number[] = [];
  const one = logged((access) => ({
    addCalls: (added: Parameters<typeof access.addCalls>[0]) => (sizes.push(added.calls.length), access.addCalls(added)),
  }));
  const run = () => one.calls.recordCalls(API, () => one.runtime.execute({ name: "look", input: {} }));
  for (let times = 0; times < 3; times++) await run();
  expect(sizes).toEqual([]);
  await one.clock.advance(200);
  await run();
  await one.clock.advance(200);
  expect([sizes, (await kept(one)).length]).toEqual([[3, 1], 4]);
});

test("up to 10,000 calls wait for a store that fails; the others are counted, and the next call has their number", async () => {
  let isBroken = true;
  const one = logged((access) => ({
    addCalls: (added: Parameters<typeof access.addCalls>[0]) =>
      isBroken ? Promise.reject(new Error("the disk is full")) : access.addCalls(added),
  }));
  const { calls, clock, log } = one;
  for (let times = 0; times < 10_007; times++) calls.recordRefused(API, { toolName: `t${times}`, errorCode: "not_found" });
  await clock.advance(1_000);
  expect(log.lines.map(({ message }) => message)).toEqual(
    expect.arrayContaining([
      "The store does not keep up: calls are missing from the audit.",
      "Calls could not be written to the audit; this is tried again later: the disk is full",
    ]),
  );
  isBroken = false;
  await clock.advance(1_000);
  await expect.poll(async () => (await kept(one)).length).toBe(10_000);
  calls.recordRefused(API, { toolName: "next", errorCode: "not_found" });
  await calls.close();
  expect((await kept(one))[0]).toMatchObject({ toolName: "next", missed: 7 });
  expect(calls.missed).toBe(7);
});

test("calls that a failing store never accepts are lost, and their number is logged", async () => {
  const one = logged(() => ({ addCalls: () => Promise.reject(new Error("gone")) }));
  for (let times = 0; times < 2; times++) one.calls.recordRefused(API, { toolName: "t", errorCode: "not_found" });
  await one.calls.close();
  expect(one.log.lines.at(-1)?.message).toBe("2 calls are not in the audit: the store did not accept them.");
});

test("a call that is still running when the server stops is logged as open", async () => {
  const one = logged();
  const stuck = Promise.withResolvers<number>();
  one.runtime.registry.register(tool("stuck", () => stuck.promise));
  const running = one.calls.recordCalls(API, () => one.runtime.execute({ name: "stuck", input: {} }, { principal: "key:ada" }));
  await one.calls.close();
  expect(await kept(one)).toEqual([
    { at: expect.any(Number), callId: expect.any(String), toolName: "stuck", via: "api", outcome: "open", principal: "key:ada" },
  ]);
  stuck.resolve(1);
  await running;
});

test("calls of a session that the server removes stay in the audit, each once, even before the removal", async () => {
  const { store, runtime, clock } = logged();
  const session = runtime.session("mcp-task-1");
  for (const name of ["look", "none"]) {
    await session.execute({ name, input: {} }, { principal: "key:ada" });
    await clock.advance(1);
  }
  await session.close();
  const before = await readAudit(store, {}, () => {});
  for (let times = 0; times < 2; times++) await copyCallsToAudit(store, { sessionId: "mcp-task-1", via: "mcp" });
  expect(await readAudit(store, {}, () => {})).toHaveLength(2);
  await runtime.sessions.forget("mcp-task-1");
  expect(await readAudit(store, {}, () => {})).toEqual(before.map((entry) => ({ ...entry, via: "mcp" })));
});

test("the audit pages through all calls without a session, in one order with other entries, and filters them", async () => {
  const { store } = logged();
  const calls = Array.from({ length: 1_200 }, (_, index): AuditedCall => ({
    at: index + 1,
    toolName: index % 600 === 0 ? "rare::tool" : "notes::add",
    via: "mcp",
    outcome: index % 2 === 0 ? "ok" : "error",
    callId: `c${index}`,
    principal: index % 3 === 0 ? "key:a" : "key:b",
    ...(index % 2 === 0 ? {} : { errorCode: "timeout" }),
  }));
  await store.access.addCalls({ calls, keep: 10_000 });
  await store.access.addRefusals([{ at: 601.5, status: 429, reason: "r", method: "POST", path: "/v1/execute", principal: "key:a" }]);
  const times = async (options: Parameters<typeof readAudit>[1]): Promise<readonly number[]> =>
    (await readAudit(store, options, () => {})).map(({ at }) => at);
  expect(await times({ limit: 3 })).toEqual([1_200, 1_199, 1_198]);
  expect(await times({ tool: "rare::*" })).toEqual([601, 1]);
  expect(await times({ since: 600, until: 604 })).toEqual([603, 602, 601.5, 601, 600]);
  expect(await times({ outcome: "timeout", until: 5 })).toEqual([4, 2]);
  expect(await times({ outcome: "ok", principal: "key:a", until: 8 })).toEqual([7, 1]);
  expect(await times({ principal: "key:*", until: 3 })).toEqual([2, 1]);
  await expect(times({ outcome: "late" })).rejects.toMatchObject({ code: "invalid_argument" });
});
