/** Two runtimes over one SQLite file that use the same session at the same moment, in every way that a session is used or ended. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import type { ErrorCode } from "../../../src/core/error-codes.ts";
import { ToolError } from "../../../src/core/error.ts";
import { ACTIVE_JOB_STATES } from "../../../src/core/jobs/job-status.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import { writeRecording } from "../../../src/core/recording/recording.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { importRecording } from "../../../src/runtime/import-recording.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { useSqliteThreads } from "../../bundled-threads.ts";
import { numbersOf, turns } from "./slow-store.ts";
import { testInCI } from "../../test-in-ci.ts";

useSqliteThreads();

/** Nothing here waits for a clock: after so long, it never ends. */
const MOST_MS = 20_000;

const toolName = fc.constantFrom("look", "wait", "erase", "delegate");

/** What is done with the session, by either runtime. */
const OPERATIONS = [
  "resume",
  "take over",
  "settle",
  "execute",
  "submit",
  "fork",
  "commit",
  "discard",
  "close",
  "hand over",
  "remove",
  "export",
  "snapshot",
  "answer",
  "cancel",
] as const;

const step = fc.record({
  what: fc.constantFrom(...OPERATIONS),
  by: fc.nat(1),
  tools: fc.array(toolName, { minLength: 1, maxLength: 2 }),
  /** How many turns of the event loop come before the next step. */
  pause: fc.constantFrom(0, 0, 1, 10, 100, 600, 3_000),
});
const race = fc.record({
  seed: fc.nat(1_000_000),
  /** What runs in the session before. */
  before: fc.array(fc.record({ tools: fc.array(toolName, { minLength: 1, maxLength: 2 }), submit: fc.boolean() }), {
    minLength: 1,
    maxLength: 2,
  }),
  steps: fc.array(step, { minLength: 2, maxLength: 6, size: "max" }),
});
type Race = typeof race extends fc.Arbitrary<infer T> ? T : never;
type Step = Race["steps"][number];

/** The codes that the operations are documented to reject with when the session is another's, is over, or is not there. */
const DOCUMENTED: ReadonlySet<ErrorCode> = new Set(["invalid_argument", "conflict", "duplicate", "resource_busy", "not_found"]);

async function endsIn(work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), MOST_MS)));
  const ended = await Promise.race([work.then(() => true as const), late]);
  clearTimeout(timer);
  return ended;
}

function toolsOf(number: (below: number) => number): readonly Tool[] {
  const inputSchema = { type: "object" } as const;
  const description = "Does something.";
  return [
    { name: "look", description, inputSchema, effects: { reads: ["a"] }, execute: () => "seen" },
    {
      name: "wait",
      description,
      inputSchema,
      effects: { reads: ["a"] },
      async execute(_input, { signal }) {
        for (let turn = 0; turn < 3 && !signal.aborted; turn++) await turns(number(30));
        return "waited";
      },
    },
    { name: "erase", description, inputSchema, effects: { writes: ["a"], destructive: true }, execute: () => "erased" },
    {
      name: "delegate",
      description,
      inputSchema,
      composite: true,
      execute: async (_input: unknown, context: ToolContext) => {
        await turns(number(12));
        const session = await sessionWithin(context);
        try {
          const made = await session.execute([{ name: "wait" }, { name: "erase" }], { signal: context.signal });
          return made.map(({ status }) => status);
        } finally {
          await turns(number(12));
          await session.close();
        }
      },
    },
  ];
}

class World {
  readonly path: string;
  readonly runtimes: readonly Runtime[];
  readonly problems: string[] = [];
  readonly #work = new Map<Promise<unknown>, string>();
  readonly #branches: RuntimeSession[] = [];
  readonly #number: (below: number) => number;

  constructor({ seed }: Race, folder: string) {
    this.path = join(folder, "a.db");
    this.#number = numbersOf(seed);
    this.runtimes = [this.open(), this.open()];
  }

  open(): Runtime {
    return createRuntime({
      store: sqliteStore({ path: this.path, synchronous: "normal" }),
      tools: toolsOf(this.#number),
      approval: { approve: "inbox" },
      timeoutMs: 0,
    });
  }

  async begin({ before }: Race): Promise<void> {
    const session = this.runtimes[0]?.session("s");
    await session?.execute({ name: "look" });
    for (const { tools, submit } of before) this.take({ what: submit ? "submit" : "execute", by: 0, tools, pause: 0 });
  }

  take(step: Step): void {
    const runtime = this.runtimes[step.by];
    if (runtime === undefined) return;
    const what = `${step.what} by ${step.by}`;
    const work: Promise<unknown> = (async () => this.#do(step, runtime))().then(
      () => this.#work.delete(work),
      (thrown: unknown) => {
        this.#work.delete(work);
        if (!(thrown instanceof ToolError) || !DOCUMENTED.has(thrown.code))
          this.problems.push(`${what}: ${thrown instanceof ToolError ? `${thrown.code} ${thrown.message}` : String(thrown)}`);
      },
    );
    this.#work.set(work, what);
  }

  #do({ what, tools }: Step, runtime: Runtime): unknown {
    const session = runtime.sessions.get("s");
    const branch = this.#branches.find(({ parent, closed }) => parent === session && !closed);
    switch (what) {
      case "resume":
        return runtime.resume("s");
      case "take over":
        return runtime.resume("s", { takeOver: true });
      case "settle":
        return runtime.resume("s", { interrupted: "settle", takeOver: true });
      case "execute":
      case "submit":
        return this.#ask(what, tools, session);
      case "fork":
        return session === undefined ? undefined : void this.#branches.push(session.fork());
      case "commit":
        return branch?.commit();
      case "discard":
        return branch?.discard();
      case "close":
        return session?.close();
      case "hand over":
        return runtime.sessions.handOver("s");
      case "remove":
        return runtime.sessions.forget("s");
      case "export":
        return runtime.store === undefined ? undefined : exported(runtime.store, "s");
      case "snapshot":
        return session?.snapshot();
      case "answer":
        return this.#answer(runtime);
      case "cancel":
        return runtime.running.map(({ callId }) => runtime.cancel(callId));
    }
  }

  async #ask(what: "execute" | "submit", tools: readonly string[], session: RuntimeSession | undefined): Promise<void> {
    const calls = tools.map((name) => ({ name }));
    const results = await session?.execute(calls, what === "submit" ? { background: true } : {});
    if (results !== undefined && results.filter(({ status }) => status !== undefined).length !== calls.length)
      this.problems.push(`${what}: ${results.length} results for ${calls.length} calls`);
  }

  async #answer(runtime: Runtime): Promise<void> {
    for (const { id, digest } of await runtime.approvals.pending())
      await runtime.approvals.answer({ id, digest, answer: this.#number(2) === 0 ? "allow-once" : "deny" });
  }

  /** Resolves when all that was asked is over. What still waits for a person is answered. */
  async end(): Promise<void> {
    let isOver = false;
    const [first] = this.runtimes;
    const answers = (async () => {
      while (!isOver && first !== undefined) {
        await this.#answer(first);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    const all = (async () => {
      while (this.#work.size > 0) await Promise.all(this.#work.keys());
    })();
    const ended = await endsIn(all);
    isOver = true;
    await answers;
    if (!ended) throw new Error(`It hangs: ${[...this.#work.values()].join(", ")}; ${this.#running()}`);
  }

  #running(): string {
    return this.runtimes
      .map(({ running }, index) => `${index}: ${running.map(({ name, callId }) => `${name} ${callId}`).join()}`)
      .join("; ");
  }

  async close(): Promise<void> {
    if (!(await endsIn(Promise.all(this.runtimes.map((runtime) => runtime.close())))))
      throw new Error(`To close hangs: ${this.#running()}`);
  }
}

async function exported(store: Store, id: string): Promise<string> {
  let text = "";
  for await (const line of writeRecording(storedEvents(store, id), { sessionId: id, exportedAt: 5 })) text += line;
  return text;
}

async function eventsOf(store: Store, id: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of storedEvents(store, id)) events.push(event);
  return events;
}

/** Each call of a log has one end, and nothing of it comes behind that but the end of its job. */
function checkEnds(sessionId: string, events: readonly SessionEvent[]): void {
  const byCall = Map.groupBy(
    events.filter((event) => "callId" in event && event.sessionId === sessionId),
    (event) => ("callId" in event ? event.callId : ""),
  );
  for (const [callId, own] of byCall) {
    const types = own.map(({ type }) => type);
    const last = types.findLast((type) => type !== "job-end" && type !== "output-keep");
    const ends = types.filter((type) => type === "call-end").length;
    expect([sessionId, callId, ends, last, types.join()]).toEqual([sessionId, callId, 1, "call-end", types.join()]);
  }
}

/** A third process that comes later settles what was left, and finds each log whole. */
async function check(world: World): Promise<void> {
  expect(world.problems).toEqual([]);
  const later = world.open();
  try {
    const { store } = later;
    if (store === undefined) return;
    await store.open();
    const ids = (await store.list({ limit: 1_000 })).map(({ sessionId }) => sessionId);
    for (const id of ids) if (!id.includes("/")) await (await later.resume(id, { interrupted: "settle" })).close();
    for (const id of ids) {
      checkEnds(id, await eventsOf(store, id));
      const text = await exported(store, id);
      for (const other of [id, `${id}-again`]) {
        const imported = await importRecording(memoryStore(), text, { id: other });
        expect(imported.isNew).toBe(true);
      }
    }
    expect((await later.approvals.pending()).map(({ sessionId, toolName }) => [sessionId, toolName])).toEqual([]);
    expect(await store.jobs.list({ states: ACTIVE_JOB_STATES })).toEqual([]);
  } finally {
    await later.close();
  }
}

async function play(one: Race): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "haft-owners-"));
  const world = new World(one, folder);
  try {
    await world.begin(one);
    for (const step of one.steps) {
      world.take(step);
      await turns(step.pause);
    }
    await world.end();
    await world.close();
    await check(world);
  } finally {
    await Promise.all(world.runtimes.map((runtime) => runtime.close()));
    rmSync(folder, { recursive: true });
  }
}

/** What the calls had left open in sessions of their own had no end. */
const removedWhileHandedOver: Race = {
  seed: 702_582,
  before: [
    { tools: ["wait", "delegate"], submit: false },
    { tools: ["erase"], submit: false },
  ],
  steps: [
    { what: "export", by: 1, tools: ["wait", "look"], pause: 3_000 },
    { what: "export", by: 0, tools: ["wait"], pause: 600 },
    { what: "remove", by: 1, tools: ["look"], pause: 600 },
    { what: "hand over", by: 0, tools: ["look"], pause: 600 },
  ],
};

testInCI(
  "whatever two processes do with one session at once, every call has one result, nothing hangs and every log is complete",
  async () => {
    await fc.assert(fc.asyncProperty(race, play), {
      numRuns: 100,
      endOnFailure: true,
      interruptAfterTimeLimit: 90_000,
      examples: [[removedWhileHandedOver]],
    });
  },
  180_000,
);

test.each(["execute", "submit", "message", "close"] as const)(
  "a process that lost its session cannot write even if the new owner has written nothing, and the owner can: %s",
  async (how) => {
    const folder = mkdtempSync(join(tmpdir(), "haft-owners-"));
    const world = new World({ seed: 1, before: [], steps: [] }, folder);
    const [first, second] = world.runtimes;
    try {
      const lost = first?.session("s");
      await lost?.execute({ name: "look" });
      const own = await second?.resume("s", { takeOver: true });
      const before = own?.length;
      const use = {
        execute: () => lost?.execute({ name: "look" }),
        submit: () => lost?.submit({ name: "look" }),
        message: () => lost?.addMessage({ role: "user", content: "Go on." }),
        close: () => lost?.close(),
      };
      if (how === "close") await use.close();
      else await expect(use[how]()).rejects.toMatchObject({ code: "conflict" });
      const { store } = second ?? {};
      expect((await (store === undefined ? [] : eventsOf(store, "s"))).length).toBe(before);
      expect((await own?.execute({ name: "look" }))?.status).toBe("ok");
    } finally {
      await world.close();
      rmSync(folder, { recursive: true });
    }
  },
);
