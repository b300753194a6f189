/** Jobs that end their process again and again, beside jobs that have nothing to do with it. */
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import type { JobStatus } from "../../../src/core/jobs/job-status.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { inCI } from "../../ci.ts";
import { testRuntime, tool } from "../bench-runtime.ts";
import { CrashDisk } from "../crash-disk.ts";
import { FailingStore } from "../session/failing-store.ts";

const never = (): Promise<never> => new Promise(() => {});
const READS = { reads: ["x"], writes: [] } as const;

/** Ids that no process before has given. */
const idsOf = (process: number): { next: (prefix: string) => string } => {
  let count = 0;
  return { next: (prefix) => `${prefix}_${process}_${++count}` };
};

interface Played {
  readonly jobs: readonly JobStatus[];
  /** How many processes it took. */
  readonly processes: number;
  /** How often poison was started, by its key. */
  readonly poisoned: ReadonlyMap<number, number>;
}

interface World {
  /** True for poison. */
  readonly jobs: readonly boolean[];
  readonly maxRunning: number;
  /** Poison calls another tool, which is what ends the process. */
  readonly isNested: boolean;
  /** When a job of each kind comes to its point, in milliseconds. */
  readonly poisonMs: number;
  readonly workMs: number;
}

/** Process after process, until one has come to the end of all jobs. */
async function play({ jobs, maxRunning, isNested, poisonMs, workMs }: World): Promise<Played> {
  let store = new FailingStore();
  const poisoned = new Map<number, number>();
  for (let process = 0; process < 200; process++) {
    const here = store;
    const bench = testRuntime({ store: here, tools: tools(here), jobs: { maxRunning }, ports: { ids: idsOf(process) } });
    const { clock } = bench.ports;

    function tools(dying: FailingStore): readonly Tool[] {
      const wait = (ms: number): Promise<void> => new Promise((resolve) => clock.timer(resolve, ms));
      const kill = async ({ key }: Readonly<Record<string, unknown>>): Promise<never> => {
        await wait(poisonMs);
        poisoned.set(Number(key), (poisoned.get(Number(key)) ?? 0) + 1);
        dying.isDead = true;
        return never();
      };
      return [
        tool("work", () => (dying.isDead ? never() : wait(workMs).then(() => (dying.isDead ? never() : "done"))), { effects: READS }),
        tool("kill", kill, { effects: READS, timeoutMs: 0 }),
        isNested
          ? tool("poison", async (input, { execute }) => (await execute({ name: "kill", input })).output, { effects: { idempotent: true } })
          : tool("poison", kill, { effects: READS, timeoutMs: 0 }),
      ];
    }

    if (process === 0) {
      const session = bench.runtime.session("s");
      for (const [key, isPoison] of jobs.entries()) await session.submit({ name: isPoison ? "poison" : "work", input: { key } });
    } else void bench.runtime.resume("s").catch(() => {});
    for (let step = 0; step < 2_000 && !here.isDead; step++) {
      await settle();
      await here.logs.get("s")?.whenDurable();
      if (clock.nextIn === undefined) break;
      await clock.advance(clock.nextIn);
    }
    if (!here.isDead) {
      const all = bench.runtime.jobs.list();
      await bench.runtime.close();
      return { jobs: all, processes: process + 1, poisoned };
    }
    store = here.crash();
  }
  throw new Error("It never came to an end.");
}

describe.each([false, true])("I09 L32 a job that crashes its process (in a nested call: %s)", (isNested) => {
  test("is parked after three starts, and no job that ran beside it is", async () => {
    const jobs = Array.from({ length: 30 }, (_, at) => at === 7);
    const played = await play({ jobs, maxRunning: 100, isNested, poisonMs: 5, workMs: 50 });
    expect([...played.poisoned.values()]).toEqual([3]);
    expect(played.processes).toBe(4);
    const states = Map.groupBy(played.jobs, ({ state }) => state);
    expect(states.get("parked")).toHaveLength(1);
    expect([...states.keys()].toSorted()).toEqual(["done", "parked"]);
  });

  test("takes down no other job, however many there are and whenever they crash", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          jobs: fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
          maxRunning: fc.integer({ min: 1, max: 10 }),
          isNested: fc.constant(isNested),
          poisonMs: fc.integer({ min: 0, max: 20 }),
          workMs: fc.integer({ min: 0, max: 40 }),
        }),
        async (world) => {
          const { jobs, poisoned } = await play(world);
          // The first start of a job that was queued need not be durable.
          for (const [key, times] of poisoned) expect([key, times <= 4]).toEqual([key, true]);
          expect(jobs.filter(({ state }) => state === "running" || state === "queued")).toEqual([]);
          for (const { toolName, state } of jobs) if (toolName.endsWith("poison")) expect(state).toBe("parked");
        },
      ),
      { numRuns: inCI ? 100 : 12 },
    );
  });
});

describe("I09 jobs that were running at two crashes", () => {
  const tools = (store: FailingStore, begun: number[]): readonly Tool[] => [
    tool("look", ({ key }) => (begun.push(Number(key)), never()), { effects: READS, timeoutMs: 0 }),
    tool("ask", () => never(), {
      mode: "stateful",
      effects: READS,
      execute: async function* ({ key }: { readonly key: number }) {
        begun.push(key);
        const said: unknown = yield `${store.isDead}?`;
        return said;
      },
    }),
  ];

  /** The third process of a session with these jobs. */
  async function third(calls: readonly { readonly name: string; readonly input: { readonly key: number } }[]) {
    let store = new FailingStore();
    const begun: number[] = [];
    const first = testRuntime({ store, tools: tools(store, begun) }).runtime.session("s");
    for (const call of calls) await first.submit(call);
    await settle();
    await store.logs.get("s")?.whenDurable();
    store = store.crash();
    await testRuntime({ store, tools: tools(store, begun) }).runtime.resume("s");
    await settle();
    await store.logs.get("s")?.whenDurable();
    begun.length = 0;
    store = store.crash();
    const bench = testRuntime({ store, tools: tools(store, begun) });
    const session = await bench.runtime.resume("s");
    await settle();
    return { ...bench, session, begun };
  }

  test("start one by one, each when the one before has ended or has run for ten seconds", async () => {
    const { runtime, ports, session, begun } = await third([0, 1, 2].map((key) => ({ name: "look", input: { key } })));
    expect(begun).toEqual([0]);
    expect(session.jobs.map(({ state }) => state)).toEqual(["running", "queued", "queued"]);
    runtime.jobs.cancel(session.jobs[0]?.id ?? "");
    await settle();
    expect(begun).toEqual([0, 1]);
    await ports.clock.advance(9_999);
    expect(begun).toEqual([0, 1]);
    await ports.clock.advance(1);
    expect(begun).toEqual([0, 1, 2]);
    await session.submit({ name: "look", input: { key: 3 } }); // a new one waits for nobody
    await settle();
    expect(begun).toEqual([0, 1, 2, 3]);
    await runtime.close();
    await ports.clock.advance(60_000); // its handlers are deaf
    expect(ports.clock.pending).toBe(0);
  });

  test("can be cancelled while they wait to start", async () => {
    const { runtime, session, begun } = await third([0, 1].map((key) => ({ name: "look", input: { key } })));
    const [, queued] = session.jobs;
    expect(runtime.jobs.cancel(queued?.id ?? "")).toBe(true);
    expect(await runtime.jobs.wait(queued?.id ?? "")).toMatchObject({ state: "cancelled" });
    await runtime.close();
    expect(begun).toEqual([0]);
  });
});

describe("F1.12 I09 a job that waits for an answer when its process ends", () => {
  const begun: string[] = [];
  const tools: readonly Tool[] = [
    tool("clerk", () => never(), {
      mode: "stateful",
      effects: READS,
      execute: async function* () {
        begun.push("clerk");
        const name: unknown = yield "Who?";
        if (name === "nobody") await never();
        const count: unknown = yield "How many?";
        return [name, count];
      },
    }),
    tool("look", () => (begun.push("look"), never()), { effects: READS, timeoutMs: 0 }),
    tool("restless", () => never(), {
      mode: "stateful",
      effects: READS,
      execute: async function* (_input: unknown, { execute }: ToolContext) {
        setImmediate(() => void execute({ name: "look" }));
        yield "Who?";
      },
    }),
  ];

  /** Process after process; in each, the session is taken up, and `during` is what happens there before it is killed. */
  async function lives(
    count: number,
    during: (bench: ReturnType<typeof testRuntime>, life: number) => Promise<void> | void,
    name = "clerk",
  ) {
    begun.length = 0;
    let store = new FailingStore();
    for (let life = 1; ; life++) {
      const bench = testRuntime({ store, tools, ports: { ids: idsOf(life) } });
      const session = await bench.runtime.resume("s", { create: true });
      if (life === 1) await session.submit({ name });
      await settle();
      await during(bench, life);
      await settle();
      if (life === count) return { ...bench, session };
      await store.logs.get("s")?.whenDurable();
      store = store.crash();
    }
  }

  test("asks again after each of ten such ends, and accepts answers", async () => {
    const { runtime, session } = await lives(10, () => {});
    const [job] = session.jobs;
    expect(job).toMatchObject({ state: "waiting", question: "Who?" });
    runtime.jobs.send(job?.id ?? "", "Ada");
    await settle();
    runtime.jobs.send(job?.id ?? "", 3);
    expect(await runtime.jobs.wait(job?.id ?? "")).toMatchObject({ state: "done", result: { output: ["Ada", 3] } });
    expect(begun).toHaveLength(10);
    await runtime.close();
  });

  test("is not suspected: it starts at once, and suspected jobs do not wait for it", async () => {
    const { runtime, session } = await lives(3, async ({ runtime: { sessions } }, life) => {
      if (life === 1) await sessions.findById("s")?.submit({ name: "look" });
    });
    expect(session.jobs.map(({ toolName, state }) => [toolName, state])).toEqual([
      ["default::clerk", "waiting"],
      ["default::look", "running"],
    ]);
    await runtime.close();
  });

  test("is parked when a nested call of it was running at each of these ends", async () => {
    const { runtime, session } = await lives(4, () => {}, "restless");
    expect(session.jobs.map(({ state }) => state)).toEqual([]);
    expect(session.history.find(({ call }) => call.name === "restless")?.result?.error).toMatchObject({ code: "job_parked" });
    await runtime.close();
  });

  test("is parked when it had been answered each time and was running", async () => {
    let id = "";
    const { runtime } = await lives(4, ({ runtime: { jobs } }, life) => {
      if (life === 1) id = jobs.list()[0]?.id ?? "";
      if (life < 4) jobs.send(id, "nobody");
    });
    expect(await runtime.jobs.wait(id)).toMatchObject({ state: "parked", error: { message: expect.stringContaining("3 times") } });
    expect(begun).toHaveLength(3);
    await runtime.close();
  });

  test("is parked at the third process end after an answer, even if it was handed over earlier while it waited", async () => {
    let id = "";
    const { runtime, session } = await lives(8, async ({ runtime: { jobs, sessions } }, life) => {
      if (life === 1) id = jobs.list()[0]?.id ?? "";
      if (life <= 4) await sessions.handOver("s");
      else if (life < 8) jobs.send(id, "nobody");
    });
    expect(session.history.find(({ call }) => call.name === "clerk")?.result?.error).toMatchObject({ code: "job_parked" });
    expect(begun).toHaveLength(7);
    await runtime.close();
  });
});

test("a job is not parked after orderly shutdowns", async () => {
  const store = memoryStore();
  let stops = 0;
  const waits = tool("waits", async () => (stops < 5 ? never() : "done"), { effects: READS, mode: "background" });
  const runtimeOf = () => testRuntime({ store, tools: [waits], ports: { ids: idsOf(stops) } }).runtime;
  const first = runtimeOf();
  const { id } = await first.session("s").submit({ name: "waits" });
  await first.sessions.handOver("s");
  for (stops = 1; stops < 5; stops++) {
    const runtime = runtimeOf();
    await runtime.resume("s");
    await vi.waitFor(async () => expect(await runtime.jobs.listStored()).toMatchObject([{ state: "running", starts: stops + 1 }]));
    await runtime.sessions.handOver("s");
    expect(await runtime.jobs.listStored()).toMatchObject([{ state: "queued", starts: stops + 1 }]);
  }
  const last = runtimeOf();
  await last.resume("s");
  expect(await last.jobs.wait(id)).toMatchObject({ state: "done", result: { output: "done" } });
});

test("a job that was handed over at its first start is parked at the third end of its process, as any other", async () => {
  let store = new FailingStore();
  const started = vi.fn<() => Promise<never>>(never);
  const runtimeOf = (life: number) =>
    testRuntime({
      store,
      tools: [tool("starts", started, { effects: READS, mode: "background" })],
      ports: { ids: idsOf(life) },
    });
  const { runtime: first } = runtimeOf(0);
  const { id } = await first.session("s").submit({ name: "starts" });
  await first.sessions.handOver("s");
  for (let life = 1; life <= 3; life++) {
    const { runtime } = runtimeOf(life);
    await runtime.resume("s");
    await vi.waitFor(() => expect(started).toHaveBeenCalledTimes(life + 1));
    await store.logs.get("s")?.whenDurable();
    store = store.crash();
  }
  const { runtime: last } = runtimeOf(4);
  await last.resume("s");
  const { state, error } = await last.jobs.wait(id);
  expect([state, error?.message, started.mock.calls.length]).toEqual(["parked", expect.stringContaining("ended 3 times"), 4]);
});

test("a nested call of a job starts only after its approval is written, so a crash in it does not count as waiting", async () => {
  const disk = new CrashDisk();
  const store = disk.store();
  let writtenBefore: readonly string[] | undefined;
  const look = tool("look", () => void (writtenBefore = disk.events("s").map(({ type }) => type)), { effects: READS });
  const outer: Tool = {
    name: "outer",
    description: "Looks.",
    inputSchema: { type: "object" },
    composite: true,
    mode: "background",
    execute: (_, { execute }) => execute({ name: "look" }),
  };
  const { runtime } = testRuntime({ store, tools: [look, outer], approval: { approve: () => "allow-once", always: ["look"] } });
  void runtime.session("s").execute({ name: "outer" });
  for (let turn = 0; turn < 100 && writtenBefore === undefined; turn++) {
    await settle();
    store.flush();
  }
  expect(writtenBefore).toContain("approval-answer");
});
