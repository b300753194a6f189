/** A store that cannot write for a while costs no job that was accepted. */
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import { explainPostgres } from "../../../src/store/postgres/postgres-error.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "../session/failing-store.ts";

const OUTAGE = new ToolError("store_failed", "The server does not answer.");
/** Of a database whose password is being replaced: a second try changes nothing, and an operator does. */
const REFUSED_LOGIN = explainPostgres(Object.assign(new Error("refused"), { code: "28P01" }), "The store could not be used");

test.each([
  { effects: { writes: ["x"] } },
  { effects: { writes: ["x"], idempotent: true } },
  { effects: { reads: ["x"], writes: [] } },
  { effects: { writes: ["x"] }, outage: REFUSED_LOGIN },
])(
  "F1.22 queued jobs of %j wait while the store cannot write, and run once when it can again",
  async ({ outage = OUTAGE, ...settings }) => {
    const store = new FailingStore();
    const first = gate<string>();
    const ran: unknown[] = [];
    const work = tool("work", async ({ number }) => (ran.push(number), number === 0 ? first.promise : "done"), settings);
    const { runtime, ports } = testRuntime({ store, tools: [work], jobs: { maxRunning: 1 } });
    const session = runtime.session("s");
    const ids: string[] = [];
    for (const number of [0, 1, 2, 3]) ids.push((await session.submit({ name: "work", input: { number } })).id);
    await settle();
    store.durableError = outage;
    first.open("done");
    await ports.clock.advance(60_000);
    store.durableError = undefined;
    await ports.clock.advance(5_000);
    expect(ids.map((id) => runtime.jobs.get(id)?.state)).toEqual(["done", "done", "done", "done"]);
    expect(ran).toEqual([0, 1, 2, 3]);
  },
);

test("F1.22 a job that waits for the store can be cancelled, and a direct call ends at once", async () => {
  const store = new FailingStore();
  const first = gate<string>();
  const work = tool("work", () => first.promise, { effects: { writes: ["x"] } });
  const { runtime, ports } = testRuntime({ store, tools: [work], jobs: { maxRunning: 1 } });
  const session = runtime.session("s");
  const direct = runtime.session("t");
  await session.submit({ name: "work" });
  await session.submit({ name: "work" });
  await direct.execute([]);
  await settle();
  store.durableError = OUTAGE;
  first.open("done");
  await ports.clock.advance(3_000);
  const [job] = session.jobs;
  expect(job).toMatchObject({ state: expect.not.stringMatching(/error|done/u) });
  runtime.jobs.cancel(job?.id ?? "");
  await ports.clock.advance(10);
  expect(runtime.jobs.get(job?.id ?? "")?.state).toBe("cancelled");
  const answer = direct.execute({ name: "work" }).catch((thrown: unknown) => thrown);
  await ports.clock.advance(10);
  expect(JSON.stringify(await answer)).toContain("store_failed");
});

test.each([true, false])(
  "F1.22 a job whose submission the store rejected does not run later, unless it has an idempotency key (%s)",
  async (keyed) => {
    const store = new FailingStore();
    const first = gate<string>();
    const ran: unknown[] = [];
    const work = tool("work", ({ number }) => (ran.push(number), number === 0 ? first.promise : "done"), { effects: { writes: ["x"] } });
    const { runtime, ports } = testRuntime({ store, tools: [work], jobs: { maxRunning: 2 } });
    const session = runtime.session("s");
    await session.submit({ name: "work", input: { number: 0 } });
    await settle();
    store.durableError = OUTAGE;
    const submit = (number: number): Promise<unknown> =>
      session.execute({ name: "work", input: { number } }, { background: true, ...(keyed ? { idempotencyKey: `${number}` } : {}) });
    const outcomes: unknown[] = [];
    for (const number of [1, 2]) outcomes.push(submit(number).catch((thrown: unknown) => thrown)); // the second has no place
    await ports.clock.advance(5_000);
    expect(await Promise.all(outcomes)).toMatchObject([1, 2].map(() => ({ code: "store_failed", outcome: "unknown" })));
    store.durableError = undefined;
    first.open("done");
    const again = [submit(1), submit(2)];
    await ports.clock.advance(5_000);
    await Promise.all(again);
    expect(ran.toSorted((one, other) => Number(one) - Number(other))).toEqual([0, 1, 2]);
    await runtime.close();
  },
);

test("F1.22 a job that waits for a store that rejects at once ends at its deadline", async () => {
  const store = new FailingStore();
  const first = gate<string>();
  const slow = tool("slow", () => first.promise, { effects: { writes: ["y"] } });
  const work = tool("work", () => "done", { effects: { writes: ["x"] }, deadlineMs: 30_000 });
  const { runtime, ports } = testRuntime({ store, tools: [slow, work], jobs: { maxRunning: 1 } });
  const session = runtime.session("s");
  await session.submit({ name: "slow" });
  const { id } = await session.submit({ name: "work" });
  await settle();
  store.durableError = OUTAGE;
  first.open("done");
  await ports.clock.advance(29_900);
  expect(runtime.jobs.get(id)?.state).toBe("running");
  await ports.clock.advance(200);
  expect(runtime.jobs.get(id)?.error).toMatchObject({ code: "timeout", outcome: "not_started" });
});

test("F1.22 a resume that an outage interrupts leaves the jobs to the next one", async () => {
  const before = new FailingStore();
  const work = () => tool("work", () => "done", { effects: { writes: ["x"] } });
  const first = testRuntime({ store: before, tools: [work()], jobs: { maxRunning: 0 } });
  const session = first.runtime.session("s");
  const { id } = await session.submit({ name: "work" });
  const store = before.crash();
  const { runtime, ports } = testRuntime({ store, tools: [work()] });
  store.appendError = OUTAGE;
  await expect(runtime.resume("s")).rejects.toMatchObject({ code: "store_failed" });
  store.appendError = undefined;
  const resumed = await runtime.resume("s");
  await ports.clock.advance(2_000);
  expect(runtime.jobs.get(id)).toMatchObject({ state: "done" });
  await resumed.close();
});

test.each(["cancel", "deadline"])("F1.22 a job resumed while its store does not answer ends by %s", async (how) => {
  const tools = [tool("look", () => new Promise(() => {}), { effects: { reads: ["x"] }, deadlineMs: 5_000 })];
  const before = new FailingStore();
  const first = testRuntime({ store: before, tools }).runtime.session("s");
  const { id } = await first.submit({ name: "look" });
  await settle();
  await before.logs.get("s")?.whenDurable();
  const store = before.crash();
  store.hold();
  const { runtime, ports } = testRuntime({ store, tools });
  runtime.resume("s").catch(() => {});
  await settle();
  await settle();
  if (how === "cancel") runtime.jobs.cancel(id);
  await ports.clock.advance(60_000);
  expect(runtime.jobs.get(id)?.state).toBe(how === "cancel" ? "cancelled" : "error");
});
