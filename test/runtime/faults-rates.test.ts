/** Which calls meet which faults, over many calls, in any order and any session. */
import { expect, test } from "vitest";
import type { ToolCall } from "../../src/core/call.ts";
import type { FaultPlan } from "../../src/core/answers/fault.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { seededRandom, settle } from "../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "./bench-runtime.ts";
import { FailingStore } from "./session/failing-store.ts";
import { repeated } from "../ci.ts";

const COUNT = repeated(10_000);

/** Types whose calls end at once, so that nothing waits for a clock. */
const PLAN: FaultPlan = {
  seed: 42,
  rules: [
    { type: "network_error", probability: 0.05, retryable: false },
    { type: "unparseable_result", probability: 0.01 },
    { type: "schema_violation", probability: 0.05 },
    { type: "rate_limited", probability: 0, retryable: false },
    { type: "crash_before_commit", probability: 1, tools: "default::other", retryable: false },
  ],
};

function runtimeOf(options: RuntimeOptions = {}): Runtime {
  const answer = tool("answer", ({ n }) => ({ n }));
  return createRuntime({ tools: [answer, { ...answer, name: "other" }], circuit: false, faults: PLAN, ...options });
}

const CALLS: readonly ToolCall[] = Array.from({ length: COUNT }, (_, n) => ({ name: "answer", input: { n } }));

const met = (results: readonly ToolResult[]): readonly (string | undefined)[] => results.map(({ fault }) => fault);

async function oneByOne(runtime: Pick<Runtime, "execute">, calls: readonly ToolCall[]): Promise<readonly ToolResult[]> {
  const results: ToolResult[] = [];
  for (const call of calls) results.push(await runtime.execute(call));
  return results;
}

/** So many at a time, each worker taking the next call. */
async function byWorkers(runtime: Runtime, calls: readonly ToolCall[], workers: number): Promise<readonly ToolResult[]> {
  const results: ToolResult[] = [];
  const waiting = calls.entries();
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (const [index, call] of waiting) results[index] = await runtime.execute(call);
    }),
  );
  return results;
}

function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  const random = seededRandom("shuffle");
  return items
    .map((item) => ({ item, at: random.next() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

test("F0.46 10,000 calls (2,000 outside CI) get faults at the rates of their rules, the same in every run, concurrency and order", async () => {
  const first = met(await oneByOne(runtimeOf(), CALLS));
  const rates = new Map<string | undefined, number>();
  for (const type of first) rates.set(type, (rates.get(type) ?? 0) + 1);
  // Of three rules that are drawn independently, the chance that each is the one that is chosen.
  const [a, b, c] = [0.05, 0.01, 0.05];
  const chosen = (p: number, q: number, r: number): number =>
    p * (1 - q) * (1 - r) + (p * q * (1 - r)) / 2 + (p * r * (1 - q)) / 2 + (p * q * r) / 3;
  for (const [type, probability] of [
    ["network_error", chosen(a, b, c)],
    ["unparseable_result", chosen(b, a, c)],
    ["schema_violation", chosen(c, a, b)],
  ] as const)
    expect(Math.abs((rates.get(type) ?? 0) - COUNT * probability)).toBeLessThanOrEqual(
      3 * Math.sqrt(COUNT * probability * (1 - probability)),
    );
  expect([rates.get("rate_limited"), rates.get("crash_before_commit")]).toEqual([undefined, undefined]);

  expect(met(await oneByOne(runtimeOf(), CALLS))).toEqual(first);
  expect(met(await byWorkers(runtimeOf(), CALLS, 64))).toEqual(first);
  expect(met(await runtimeOf({ maxConcurrent: 64 }).execute(CALLS))).toEqual(first);
  const order = shuffled([...CALLS.keys()]);
  const mixed = met(await runtimeOf().execute(order.map((index) => CALLS[index] ?? { name: "?" })));
  expect(
    order
      .map((index, place) => [index, mixed[place]])
      .sort(([one], [other]) => Number(one) - Number(other))
      .map(([, type]) => type),
  ).toEqual(first);
}, 60_000);

test("F0.46 a rule of probability 1 applies to every call of its tools, and to no other", async () => {
  const results = await oneByOne(
    runtimeOf(),
    Array.from({ length: 50 }, (_, n) => ({ name: "other", input: { n } })),
  );
  expect(results.every(({ fault, status }) => fault !== undefined && status === (fault === "unparseable_result" ? "ok" : "error"))).toBe(
    true,
  );
});

test("F0.46 each of several equal calls is drawn separately, in start order", async () => {
  const faults = { seed: 3, rules: [{ type: "schema_violation", probability: 0.5 }] };
  const same = Array.from({ length: 400 }, () => ({ name: "answer", input: { n: 1 } }));
  const first = met(await oneByOne(runtimeOf({ faults }), same));
  const hits = first.filter((type) => type !== undefined).length;
  expect(hits).toBeGreaterThan(170);
  expect(hits).toBeLessThan(230);
  expect(met(await runtimeOf({ faults, maxConcurrent: 8 }).execute(same))).toEqual(first);
  // Other calls in between change nothing.
  const runtime = runtimeOf({ faults });
  const between: ToolResult[] = [];
  for (const call of same) {
    await runtime.execute({ name: "answer", input: { n: 2 } });
    between.push(await runtime.execute(call));
  }
  expect(met(between)).toEqual(first);
});

test("F0.46 call ids and the key order of an input do not affect the draw; the session id does", async () => {
  const faults = { seed: 3, rules: [{ type: "schema_violation", probability: 0.5 }] };
  const calls = (turned: boolean): readonly ToolCall[] =>
    Array.from({ length: 60 }, (_, n) => ({ name: "answer", ...(turned ? { id: `c${n}`, input: { m: 0, n } } : { input: { n, m: 0 } }) }));
  const first = met(await runtimeOf({ faults }).session("one").execute(calls(false)));
  expect(met(await runtimeOf({ faults }).session("one").execute(calls(true)))).toEqual(first);
  expect(met(await runtimeOf({ faults }).session("two").execute(calls(false)))).not.toEqual(first);
  expect(met(await runtimeOf({ faults }).execute(calls(false)))).not.toEqual(first);
});

test("F0.46 sessions without an id are distinguished by the order in which they begin", async () => {
  const faults = { seed: 3, rules: [{ type: "schema_violation", probability: 0.5 }] };
  const calls = CALLS.slice(0, 60);
  const run = async (): Promise<readonly unknown[]> => {
    const runtime = runtimeOf({ faults });
    const [one, two] = [runtime.session(), runtime.session()];
    const second = met(await two.execute(calls));
    return [met(await one.execute(calls)), second];
  };
  const [one, two] = await run();
  expect(one).not.toEqual(two);
  expect(await run()).toEqual([one, two]);
});

const HALF: FaultPlan = { seed: 9, rules: [{ type: "schema_violation", probability: 0.5 }] };
const SAME: readonly ToolCall[] = Array.from({ length: 40 }, () => ({ name: "answer", input: { n: 1 } }));

test("F0.47 a simulation gets the faults that the real calls then get, and does not advance the count of its session", async () => {
  const runtime = runtimeOf({ faults: HALF });
  const session = runtime.session("s");
  const whole = met(await oneByOne(runtimeOf({ faults: HALF }).session("s"), SAME));
  for (let done = 0; done < SAME.length; done += 10) {
    const calls = SAME.slice(done, done + 10);
    const tried = met((await session.simulate(calls)).results);
    expect(met((await session.simulate(calls)).results)).toEqual(tried);
    expect(met(await session.execute(calls))).toEqual(tried);
    expect(tried).toEqual(whole.slice(done, done + 10));
  }
  const alone = met((await runtime.simulate(SAME)).results);
  expect(met((await runtime.simulate(SAME)).results)).toEqual(alone);
  expect(met(await runtime.execute(SAME))).toEqual(alone);
});

test.each([
  ["in memory", {}],
  ["in a store, with the latest events only in memory", { keepEvents: 4 }],
])("F0.47 a fork %s continues its session's count, also when taken during a turn, and a commit advances it", async (_, more) => {
  const whole = met(await oneByOne(runtimeOf({ faults: HALF }).session("s"), SAME));
  const { runtime } = testRuntime({
    tools: [tool("answer", () => 1), tool("branch", () => fork())],
    faults: { seed: 9, rules: [{ type: "schema_violation", probability: 0.5, tools: "*::answer" }] },
    circuit: false,
    ...more,
    ...("keepEvents" in more ? { store: new FailingStore() } : {}),
  });
  const session = runtime.session("s");
  let taken = session;
  const fork = (): string => (taken = session.fork({ id: "taken" })).id;
  expect(met(await session.execute(SAME.slice(0, 10)))).toEqual(whole.slice(0, 10));
  const branch = session.fork({ id: "b" });
  expect(met(await session.execute(SAME.slice(10, 20)))).toEqual(whole.slice(10, 20));
  expect(met(await branch.execute(SAME.slice(10, 30)))).toEqual(whole.slice(10, 30));
  await session.execute([{ name: "answer", input: { n: 1 } }, { name: "branch" }]);
  expect(met(await taken.execute(SAME.slice(20, 40)))).toEqual(whole.slice(20, 40));
  const tried = await session.simulate(SAME.slice(21, 30));
  expect(met(tried.results)).toEqual(whole.slice(21, 30));
  await tried.commit();
  expect(met(await session.execute(SAME.slice(30)))).toEqual(whole.slice(30));
});

test("F0.47 a session continues its count after a resume, from a snapshot, and with only the latest events in memory", async () => {
  const whole = met(await oneByOne(runtimeOf({ faults: HALF }).session("s"), SAME));
  const store = new FailingStore();
  const first = runtimeOf({ faults: HALF, store, keepEvents: 4 }).session("s");
  expect(met(await oneByOne(first, SAME.slice(0, 20)))).toEqual(whole.slice(0, 20));
  const snapshot = await first.snapshot();
  const resumed = await runtimeOf({ faults: HALF, store: store.crash(), keepEvents: 4 }).resume("s");
  expect(met(await oneByOne(resumed, SAME.slice(20)))).toEqual(whole.slice(20));
  for (const options of [{}, { store: new FailingStore(), keepEvents: 4 }]) {
    const restored = runtimeOf({ faults: HALF, ...options }).session("s", { from: snapshot });
    expect(met(await oneByOne(restored, SAME.slice(20)))).toEqual(whole.slice(20));
  }
});

test("F0.47 a resumed branch draws faults under the id of its root session", async () => {
  const whole = met(await oneByOne(runtimeOf({ faults: HALF }).session("s"), SAME));
  const store = new FailingStore();
  const session = runtimeOf({ faults: HALF, store }).session("s");
  await session.execute(SAME.slice(0, 10));
  const branch = session.fork({ id: "b" });
  expect(met(await branch.execute(SAME.slice(10, 20)))).toEqual(whole.slice(10, 20));
  const resumed = await runtimeOf({ faults: HALF, store: store.crash() }).resume("b");
  expect(met(await resumed.execute(SAME.slice(20)))).toEqual(whole.slice(20));
});

test("F0.47 a call that a crash interrupted gets the fault that it would have got", async () => {
  const whole = met(await oneByOne(runtimeOf({ faults: HALF }).session("s"), SAME));
  const store = new FailingStore();
  const stuck = runtimeOf({ faults: HALF, store, tools: [tool("answer", () => new Promise(() => {}))] }).session("s");
  void stuck.execute(SAME.slice(0, 20));
  await settle();
  await store.logs.get("s")?.whenDurable();
  const resumed = await runtimeOf({ faults: HALF, store: store.crash() }).resume("s");
  expect(resumed.history.map(({ result }) => result?.fault)).toEqual(whole.slice(0, 20));
  expect(met(await resumed.execute(SAME.slice(20)))).toEqual(whole.slice(20));
});
