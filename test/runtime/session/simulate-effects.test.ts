/** Who answers the calls of a simulation: reads run, writes are pretended, and nothing ever falls back to live. */
import { expect, test } from "vitest";
import type { ApprovalRequest } from "../../../src/core/approvals/ask.ts";
import type { Engine } from "../../../src/core/engine.ts";
import type { Hook } from "../../../src/core/hook.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";

/** A world of values by path, and every handler that was run. */
function world(options: RuntimeOptions = {}) {
  const ran: string[] = [];
  const values = new Map<string, unknown>();
  const path = { inputSchema: { type: "object", properties: { path: { type: "string" } } } };
  const tools: readonly Tool[] = [
    tool("put", ({ path, value }) => (ran.push(`put ${String(path)}`), values.set(String(path), value), "done"), {
      ...path,
      effects: { writes: ({ path }) => [`file:${String(path)}`] },
    }),
    tool("read", ({ path }) => (ran.push(`read ${String(path)}`), values.get(String(path)) ?? null), {
      ...path,
      effects: { reads: ({ path }) => [`file:${String(path)}`] },
    }),
    tool("list", () => (ran.push("list"), [...values.keys()]), { effects: { writes: [] } }),
    tool("whoami", () => (ran.push("whoami"), "me"), { effects: { reads: [] } }),
    { name: "anything", description: "", inputSchema: true, execute: () => ran.push("anything") },
    tool("burn", ({ path }) => (ran.push(`burn ${String(path)}`), values.delete(String(path))), {
      ...path,
      effects: { writes: ({ path }) => [`file:${String(path)}`], destructive: true },
    }),
  ];
  return { ...testRuntime({ ...options, tools }), ran, values };
}

const standIn: Engine = { kind: "stub", call: ({ tool }) => `pretended ${tool.name}` };

const put = (path: string) => ({ name: "put", input: { path, value: "new" } });
const read = (path: string) => ({ name: "read", input: { path } });
const outcome = (result: ToolResult | undefined): readonly unknown[] =>
  result === undefined ? [] : [result.status, result.output ?? result.error?.code, result.origin];

test("F0.34 without a stand-in, reads run, and writes and undeclared tools are not_simulatable with a hint", async () => {
  const { runtime, ran } = world();
  const { results, diff } = await runtime.session().simulate([read("/a"), put("/a"), { name: "anything" }, { name: "list" }, read("/a")]);
  expect(results.map((result) => result.error?.code)).toEqual([undefined, "not_simulatable", "not_simulatable", undefined, undefined]);
  expect(results.map((result) => [result.attempts, result.error?.outcome])).toEqual([
    [1, undefined],
    [0, "not_started"],
    [0, "not_started"],
    [1, undefined],
    [1, undefined],
  ]);
  expect(results[1]?.error?.message).toBe("default::put was not run: it would write file:/a, and this is a simulation.");
  expect(results[2]?.error).toMatchObject({
    message: "default::anything was not run: it declares no effects, so it may do anything, and this is a simulation.",
    operatorHint: "Declare what the tool reads and writes, give the runtime a standIn engine, or allow it with allowSideEffects.",
  });
  // What was refused was not pretended either: the world is still what it was.
  expect([ran, diff.pretended]).toEqual([["read /a", "list", "read /a"], []]);
});

test("F0.34 a stand-in answers writes, and every read of their keys: the same key, inside it, around it, and of everything", async () => {
  const { runtime, ran } = world({ standIn });
  const { results, diff } = await runtime
    .session()
    .simulate([put("/a/b"), read("/a/b"), read("/a/b/c"), read("/a"), { name: "list" }, read("/a/bc"), read("/x"), { name: "whoami" }]);
  expect(results.map(outcome)).toEqual(
    [
      ["ok", "pretended put", "simulated"],
      ["ok", "pretended read", "simulated"],
      ["ok", "pretended read", "simulated"],
      ["ok", "pretended read", "simulated"],
      ["ok", "pretended list", "simulated"],
      ["ok", null, "live"],
      ["ok", null, "live"],
      ["ok", "me", "live"],
    ].map(([status, output, origin]) => [status, output ?? undefined, origin]),
  );
  expect(ran).toEqual(["read /a/bc", "read /x", "whoami"]);
  expect(diff.pretended).toContain("file:/a/b");
});

test("F0.34 a pretended undeclared call makes all keys of its toolset dirty, and no other toolset's", async () => {
  const effects = { reads: ["k"] };
  const toolsets = ["a", "b"].map((name) => ({
    name,
    tools: [
      { name: "do", description: "", inputSchema: true, execute: () => "did" },
      tool("see", () => "seen", { effects }),
      tool("pure", () => "pure", { effects: { reads: [], writes: [] } }),
    ] satisfies readonly Tool[],
  }));
  const { runtime } = testRuntime({ toolsets, standIn });
  const { results } = await runtime.simulate(["a::do", "a::see", "a::pure", "b::see"].map((name) => ({ name })));
  expect(results.map((result) => result.origin)).toEqual(["simulated", "simulated", "live", "live"]);
});

test("F0.34 without a stand-in a read of a dirty key is refused instead of answered by the real tool", async () => {
  let calls = 0;
  const engine: Engine = { kind: "half", call: () => ++calls, simulate: () => "pretended" };
  const tools = [{ name: "put", description: "", inputSchema: true, effects: { writes: ["k"] } }] satisfies readonly Tool[];
  const { runtime } = testRuntime({
    toolsets: [{ name: "t", engine, tools }],
    tools: [tool("see", () => ++calls, { effects: { reads: ["k"] } })],
  });
  const { results } = await runtime.simulate([{ name: "t::put" }, { name: "see" }]);
  expect(results.map((result) => result.error?.message)).toEqual([
    undefined,
    "default::see reads what this simulation has only pretended to write, and there is no stand-in for it.",
  ]);
  expect(calls).toBe(0);
});

test("F0.34 dirty keys stay dirty in later turns, in branches of the simulation, and after those are committed", async () => {
  const { runtime, ran } = world({ standIn });
  const simulation = runtime.session().fork({ simulated: true });
  await simulation.execute(put("/a"));
  const branch = simulation.fork();
  await branch.execute(put("/b"));
  const [own, parents, others] = [
    await branch.execute(read("/a")),
    await simulation.execute(read("/a")),
    await simulation.execute(read("/b")),
  ];
  expect([own.origin, parents.origin, others.origin]).toEqual(["simulated", "simulated", "live"]);
  const second = simulation.fork();
  await second.execute(put("/c"));
  await second.commit();
  expect((await simulation.execute(read("/c"))).origin).toBe("simulated");
  expect(ran).toEqual(["read /b"]);
});

test.each<[string, (branch: RuntimeSession) => Promise<unknown>]>([
  ["a strict batch that was not sound", (branch) => branch.execute([put("/a"), { name: "gone" }], { strict: true })],
  ["a batch that was rolled back", (branch) => branch.execute([put("/a"), { name: "fail" }], { onError: "throw" }).catch(() => {})],
  ["a message that was voided", (branch) => branch.turn(async (turn) => void turn.round().add(put("/a")))],
  [
    "a handler whose batch was rolled back",
    (branch) => branch.execute([{ name: "outer" }, { name: "fail" }], { onError: "throw" }).catch(() => {}),
  ],
])("F0.34 no key becomes dirty by %s, and earlier dirty keys stay dirty", async (_, run) => {
  const ran: string[] = [];
  const path = { inputSchema: { type: "object", properties: { path: { type: "string" } } } };
  const { runtime } = testRuntime({
    standIn,
    tools: [
      tool("put", () => ran.push("put"), { ...path, effects: { writes: ({ path: at }) => [`file:${String(at)}`] } }),
      tool("read", () => "really", { ...path, effects: { reads: ({ path: at }) => [`file:${String(at)}`] } }),
      tool("outer", (__, { execute }) => execute(put("/a")).then(({ status }) => status)),
      tool("fail", () => settle().then(() => Promise.reject(new Error("broken"))), { maxAttempts: 1 }),
    ],
  });
  const branch = runtime.session().fork({ simulated: true });
  await branch.execute([put("/b"), put("/b/c")]);
  await run(branch);
  const origins = [await branch.execute(read("/a")), await branch.execute(read("/b"))].map(({ origin }) => origin);
  expect([branch.diff().pretended, origins, ran]).toEqual([["file:/b", "file:/b/c"], ["live", "simulated"], []]);
});

test("F0.34 a stand-in with the origin live is recorded as simulated, and one with the origin stub as stub", async () => {
  for (const [origin, shown] of [
    ["live", "simulated"],
    ["stub", "stub"],
    [undefined, "simulated"],
  ] as const) {
    const { runtime } = world({ standIn: { ...standIn, ...(origin === undefined ? {} : { origin }) } });
    const session = runtime.session();
    const simulation = await session.simulate(put("/a"));
    await simulation.commit();
    expect([simulation.results[0]?.origin, session.history[0]?.result?.origin]).toEqual([shown, shown]);
  }
});

test("F0.34 a failing stand-in fails the call, and the real tool does not replace it", async () => {
  const { runtime, ran } = world({ standIn: { kind: "stub", call: () => Promise.reject(new Error("no idea")) } });
  const { results } = await runtime.simulate([put("/a"), read("/a")]);
  expect(results.map((result) => [result.error?.message, result.origin])).toEqual([
    ["no idea", "simulated"],
    ["no idea", "simulated"],
  ]);
  expect(ran).toEqual([]);
});

test("F0.34 allowSideEffects lets the tools that it names have effects, and no others", async () => {
  const { runtime, ran, values } = world({ standIn });
  const session = runtime.session();
  const some = await session.simulate([put("/a"), { name: "anything" }], { allowSideEffects: ["default::p*"] });
  expect(some.results.map(outcome)).toEqual([
    ["ok", "done", "live"],
    ["ok", "pretended anything", "simulated"],
  ]);
  const all = await session.simulate([put("/b"), { name: "anything" }], { allowSideEffects: true });
  expect(all.results.map((result) => result.origin)).toEqual(["live", "live"]);
  for (const allowSideEffects of [false, []] as const) {
    expect((await session.simulate(put("/c"), { allowSideEffects })).results[0]?.origin).toBe("simulated");
  }
  expect([ran, [...values.keys()], session.length]).toEqual([["put /a", "put /b", "anything"], ["/a", "/b"], 0]);
  await expect(session.simulate(put("/a"), { allowSideEffects: ["put"] })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("F0.34 allowing a read does not let it read a dirty key from the real tool", async () => {
  const { runtime, ran } = world({ standIn });
  const { results } = await runtime.simulate([put("/a"), read("/a"), read("/b")], { allowSideEffects: ["*::read"] });
  expect([results.map((result) => result.origin), ran]).toEqual([["simulated", "simulated", "live"], ["read /b"]]);
});

test("F0.34 a branch of a simulation may have the same side effects as the simulation, unless it allows fewer", async () => {
  const { runtime, values } = world({ standIn });
  const simulation = runtime.session().fork({ simulated: true, allowSideEffects: ["*::put"] });
  expect((await simulation.fork().execute(put("/a"))).origin).toBe("live");
  expect((await simulation.fork({ allowSideEffects: false }).execute(put("/b"))).origin).toBe("simulated");
  expect((await simulation.fork({ simulated: false }).execute({ name: "anything" })).origin).toBe("simulated");
  expect([...values.keys()]).toEqual(["/a"]);
});

test("F0.34 a destructive call needs approval when it would have an effect, and not when it is pretended", async () => {
  const asked: ApprovalRequest[] = [];
  const { runtime, ran } = world({ standIn, approval: { approve: (request) => (asked.push(request), "deny") } });
  const session = runtime.session("s");
  const call = { name: "burn", input: { path: "/a" } };
  const [pretended] = (await session.simulate(call)).results;
  const [real] = (await session.simulate(call, { allowSideEffects: true })).results;
  expect([outcome(pretended), outcome(real)]).toEqual([
    ["ok", "pretended burn", "simulated"],
    ["error", "approval_denied", "live"],
  ]);
  expect(asked.map((request) => [request.toolName, request.simulated, request.sessionId.startsWith("s~")])).toEqual([
    ["default::burn", true, true],
  ]);
  expect(ran).toEqual([]);
});

test("F0.34 an allow-always approval of a session does not apply to its simulations", async () => {
  let asked = 0;
  const { runtime } = world({ approval: { approve: () => (asked++, "allow-always") } });
  const session = runtime.session();
  const call = { name: "burn", input: { path: "/a" } };
  await session.execute(call);
  await session.execute(call);
  await session.simulate(call, { allowSideEffects: true });
  await session.execute(call);
  expect(asked).toBe(2);
});

test("F0.34 hooks run in a simulation, are skipped or stop it, by their inSimulation", async () => {
  const told: string[] = [];
  const hook = (name: string, inSimulation?: "run" | "skip"): Hook => ({
    name,
    ...(inSimulation === undefined ? {} : { inSimulation }),
    beforeCall: (_, context) => void told.push(`${name} before ${context.simulated}`),
    afterCall: (_, context) => void told.push(`${name} after ${context.simulated}`),
  });
  const decided = world({ standIn, hooks: [hook("runs", "run"), hook("skips", "skip")] });
  const { results } = await decided.runtime.session().simulate(put("/a"));
  expect([results[0]?.status, told]).toEqual(["ok", ["runs before true", "runs after true"]]);
  const undecided = world({ standIn, hooks: [hook("audit"), hook("runs", "run")] });
  told.length = 0;
  const session = undecided.runtime.session();
  const refused = await session.simulate([read("/a"), put("/a")]);
  expect(refused.results.map((result) => result.error)).toEqual([
    expect.objectContaining({
      code: "not_simulatable",
      message: 'default::read was not run: the hook "audit" does not say whether it runs in a simulation.',
    }),
    expect.objectContaining({ code: "not_simulatable" }),
  ]);
  expect([undecided.ran, told.filter((line) => line.startsWith("audit"))]).toEqual([[], []]);
  await session.execute(put("/a"));
  expect(told).toContain("audit before false");
});

test("C06 pretended calls neither wait for locks nor hold them, do not count for the circuit, and may fail repeatedly", async () => {
  const { runtime, ran } = world({
    circuit: { failures: 1 },
    standIn: { kind: "stub", call: () => Promise.reject(new Error("no")) },
  });
  for (let round = 0; round < 20; round++) await runtime.simulate(put("/a"));
  expect(outcome(await runtime.execute(put("/a")))).toEqual(["ok", "done", "live"]);
  expect(ran).toEqual(["put /a"]);
});

test.each(["a handler that ran out of time", "work that its handler did not wait for"])(
  "F0.34 calls that %s makes after the simulation has ended are not_simulatable, on the runtime and on a real session",
  async (kind) => {
    let paid = 0;
    const hold = gate();
    const codes: string[] = [];
    const call = { name: "pay" };
    const late = async (): Promise<void> => {
      await hold.promise;
      for (const target of [runtime, real])
        await target.execute(call).catch((error: unknown) => codes.push(`${(error as { readonly code: string }).code} of execute`));
      await real.turn(async () => ++paid).catch((error: unknown) => codes.push(`${(error as { readonly code: string }).code} of turn`));
    };
    const tools: readonly Tool[] = [
      tool("pay", () => ++paid, { effects: { writes: ["bank"] } }),
      tool("slow", () => (kind === "a handler that ran out of time" ? late() : void late()), { timeoutMs: 60 }),
    ];
    const { runtime, ports } = testRuntime({ tools, maxAttempts: 1 });
    const real: RuntimeSession = runtime.session("real");
    const simulating = real.simulate({ name: "slow" });
    await settle();
    await ports.clock.advance(60);
    await simulating;
    hold.open();
    await settle();
    expect([paid, codes]).toEqual([0, ["not_simulatable of execute", "not_simulatable of execute", "not_simulatable of turn"]]);
    expect((await real.execute(call)).status).toBe("ok");
  },
);
