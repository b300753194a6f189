/** Sessions that are ended in every way while their calls run, wait for a person or begin sessions, in a store that answers late. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ApprovalAnswer } from "../../../src/core/approvals/ask.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { RuntimeEvent, SessionEvent } from "../../../src/core/event.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { inCI } from "../../ci.ts";
import { gate } from "../bench-runtime.ts";
import { numbersOf, slowed, turns } from "./slow-store.ts";

const toolName = fc.constantFrom("look", "wait", "erase", "delegate", "delegate");
const step = fc.record({
  what: fc.constantFrom(
    "execute",
    "execute",
    "execute",
    "submit",
    "submit",
    "fork",
    "commit",
    "discard",
    "close",
    "leave",
    "resume",
    "remove",
    "answer",
  ),
  slot: fc.nat(3),
  tools: fc.array(toolName, { minLength: 1, maxLength: 3 }),
  keyed: fc.boolean(),
  concurrent: fc.boolean(),
  /** How many turns of the event loop come before the next step. */
  pause: fc.constantFrom(0, 0, 1, 2, 3, 5, 8, 20),
});
const race = fc.record({
  kind: fc.constantFrom("memory", "sqlite"),
  seed: fc.nat(1_000_000),
  steps: fc.array(step, { minLength: 3, maxLength: 16, size: "max" }),
});
type Race = typeof race extends fc.Arbitrary<infer T> ? T : never;
type Step = Race["steps"][number];

/** A request of calls, and what its caller was given. */
interface Asked {
  /** The inputs of its calls, by which they are known in the log. */
  readonly names: readonly string[];
  readonly session: RuntimeSession;
  outcome?: readonly ToolResult[] | ToolError;
}

/** Errors that say that a request was refused, or that its session went on without its caller. */
const REFUSED = new Set(["invalid_argument", "conflict"]);

/** Nothing here waits for a clock: after so long, it never ends. */
const MOST_MS = 20_000;

async function endsIn(work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), MOST_MS)));
  const ended = await Promise.race([work.then(() => true as const), late]);
  clearTimeout(timer);
  return ended;
}

class World {
  readonly runtime: Runtime;
  readonly events: RuntimeEvent[] = [];
  readonly asked: Asked[] = [];
  readonly work: Promise<unknown>[] = [];
  readonly problems: string[] = [];
  readonly #number: (below: number) => number;
  readonly #known: RuntimeSession[] = [];
  readonly #isEnding = gate();
  #count = 0;

  constructor({ kind, seed }: Race, folder: string) {
    this.#number = numbersOf(seed);
    const store = kind === "memory" ? memoryStore() : sqliteStore({ path: join(folder, "a.db"), synchronous: "normal" });
    this.runtime = createRuntime({
      store: slowed(store, this.#number),
      tools: this.#tools(),
      approval: { approve: () => this.#approve() },
      timeoutMs: 0,
      onEvent: (event) => this.events.push(event),
    });
    this.#known.push(this.runtime.session("s"));
  }

  /** A person who answers some time, at the latest when nothing else happens any more. */
  async #approve(): Promise<ApprovalAnswer> {
    await (this.#number(2) === 0 ? turns(this.#number(60)) : this.#isEnding.promise);
    return this.#number(2) === 0 ? "allow-once" : "deny";
  }

  #tools(): readonly Tool[] {
    const inputSchema = { type: "object" } as const;
    const pause = (): Promise<void> => turns(this.#number(12));
    return [
      { name: "look", description: "Looks.", inputSchema, effects: { reads: ["a"] }, execute: () => "seen" },
      {
        name: "wait",
        description: "Waits.",
        inputSchema,
        effects: { reads: ["a"] },
        async execute(_input, { signal }) {
          for (let turn = 0; turn < 3 && !signal.aborted; turn++) await pause();
          return "waited";
        },
      },
      { name: "erase", description: "Erases.", inputSchema, effects: { writes: ["a"], destructive: true }, execute: () => "erased" },
      {
        name: "delegate",
        description: "Has others work.",
        inputSchema,
        composite: true,
        execute: async (_input: unknown, context: ToolContext) => {
          await pause();
          const session = await sessionWithin(context);
          try {
            const made = await session.execute([{ name: "wait" }, { name: "erase" }], { signal: context.signal });
            return made.map(({ status }) => status);
          } finally {
            await pause();
            await session.close();
          }
        },
      },
    ];
  }

  #session({ slot }: Step): RuntimeSession | undefined {
    const open = this.#known.filter(({ closed }) => !closed);
    return open[slot % Math.max(1, open.length)];
  }

  take(step: Step): void {
    const session = this.#session(step);
    const one = step.what === "resume" || step.what === "answer" ? this.#known[0] : session;
    if (one !== undefined) this.#keep(step.what, () => this.#do(step, one));
  }

  /** Every error but a refusal is a problem. */
  #keep(what: string, work: () => unknown): void {
    const allowed = new Set([...REFUSED, "duplicate", "resource_busy", "not_found"]);
    this.work.push(
      (async () => work())().catch((thrown: unknown) => {
        if (!(thrown instanceof ToolError) || !allowed.has(thrown.code)) this.problems.push(`${what}: ${String(thrown)}`);
      }),
    );
  }

  #do(step: Step, session: RuntimeSession): unknown {
    const { sessions } = this.runtime;
    switch (step.what) {
      case "execute":
      case "submit":
        return this.#ask(step, session);
      case "fork":
        return void this.#known.push(session.fork());
      case "commit":
        return session.parent === undefined ? undefined : session.commit();
      case "discard":
        return session.parent === undefined ? undefined : session.discard();
      case "close":
        return session.close();
      case "leave":
        // Calls that a caller waits for here cannot continue elsewhere.
        return this.#isAskedIn(session.id) ? undefined : sessions.handOver(session.id);
      case "resume":
        return this.runtime.resume("s").then((resumed) => this.#known.push(resumed));
      case "remove":
        return sessions.forget(session.id);
      case "answer":
        return this.answer();
    }
  }

  #isAskedIn(id: string): boolean {
    return this.asked.some(({ session, outcome }) => session.id === id && outcome === undefined);
  }

  async #ask({ what, tools, keyed, concurrent }: Step, session: RuntimeSession): Promise<void> {
    const names = tools.map(() => `n${this.#count++}`);
    const asked: Asked = { names, session };
    this.asked.push(asked);
    const calls = tools.map((name, index) => ({ name, input: { name: names[index] } }));
    const options = { concurrent, ...(keyed ? { idempotencyKey: names.join() } : {}), ...(what === "submit" ? { background: true } : {}) };
    try {
      asked.outcome = await session.execute(calls, options);
    } catch (thrown: unknown) {
      asked.outcome = ToolError.fromUnknown(thrown);
    }
  }

  async answer(): Promise<void> {
    for (const { id, digest } of await this.runtime.approvals.pending())
      await this.runtime.approvals.answer({ id, digest, answer: this.#number(2) === 0 ? "allow-once" : "deny" });
  }

  /** Resolves when all that was asked is over. */
  async end(): Promise<void> {
    this.#isEnding.open();
    const all = Promise.all(this.work);
    if (!(await endsIn(all)))
      throw new Error(`It hangs: ${this.runtime.running.map(({ name, callId }) => `${name} ${callId}`).join(", ") || "no call runs"}.`);
    const jobs = this.runtime.jobs.list().map(({ id }) => this.runtime.jobs.wait(id).catch(() => {})); // one that was left has no end here
    if (!(await endsIn(Promise.all(jobs)))) throw new Error("A job hangs.");
  }

  /** What callers were given, and what the log of each session says that is there. */
  async check(): Promise<void> {
    expect(this.problems).toEqual([]);
    for (const { names, outcome } of this.asked) this.#checkOutcome(names, outcome);
    const { store } = this.runtime;
    for (const { sessionId } of (await store?.list({ limit: 1_000 })) ?? []) {
      const events: SessionEvent[] = [];
      if (store !== undefined) for await (const event of storedEvents(store, sessionId)) events.push(event);
      checkEnds(sessionId, events);
    }
  }

  #checkOutcome(names: readonly string[], outcome: Asked["outcome"]): void {
    if (outcome === undefined) return expect.fail(`${names.join()} had no answer`);
    if (!(outcome instanceof ToolError)) return expect(outcome.map(({ status }) => status).filter(Boolean)).toHaveLength(names.length);
    const begun = this.events.filter((event) => event.type === "call-start" && names.includes(nameOf(event.call.input)));
    const isLeft = outcome.code === "conflict";
    expect([names, REFUSED.has(outcome.code) ? "refused" : outcome, isLeft ? 0 : begun.length]).toEqual([names, "refused", 0]);
  }
}

function nameOf(input: unknown): string {
  return typeof input === "object" && input !== null && "name" in input ? String(input.name) : "";
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
    expect([sessionId, callId, types.filter((type) => type === "call-end").length, last, types.join()]).toEqual([
      sessionId,
      callId,
      1,
      "call-end",
      types.join(),
    ]);
  }
}

/** One that is still being closed is waited for. */
async function settled(runtime: Runtime, sessionId: string): Promise<RuntimeSession> {
  for (let tries = 0; ; tries++)
    try {
      return await runtime.resume(sessionId, { interrupted: "settle" });
    } catch (thrown: unknown) {
      if (!(thrown instanceof ToolError) || thrown.code !== "duplicate" || tries === MOST_TRIES) throw thrown;
      await turns(20);
    }
}

const MOST_TRIES = 200;

/** Sessions that were left are taken up again, so that their calls end. */
async function settleAll({ runtime }: World): Promise<void> {
  for (let rounds = 0; rounds < 3; rounds++)
    for (const { sessionId } of (await runtime.store?.list({ limit: 1_000 })) ?? []) {
      if (runtime.sessions.get(sessionId) !== undefined || sessionId.includes("/")) continue;
      const session = await settled(runtime, sessionId);
      await session.close();
    }
}

/** The log of one that was removed right after it was resumed takes nothing more, which its end says. */
async function closeKnown(session: RuntimeSession): Promise<void> {
  await session.close().catch((thrown: unknown) => {
    if (!String(thrown).includes(`Session ${JSON.stringify(session.id)} was removed;`)) throw thrown;
  });
}

async function play(one: Race): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "haft-ending-"));
  const world = new World(one, folder);
  try {
    for (const step of one.steps) {
      world.take(step);
      await turns(step.pause);
    }
    await world.end();
    for (const session of world.runtime.sessions.list()) if (session.parentCall === undefined) await closeKnown(session);
    await settleAll(world);
    await world.check();
  } finally {
    await world.runtime.close();
    rmSync(folder, { recursive: true });
  }
}

const doing = (what: Step["what"], more: Partial<Step> = {}): Step => ({
  what,
  slot: 0,
  tools: ["delegate"],
  keyed: false,
  concurrent: false,
  pause: 0,
  ...more,
});

/** A job that is cancelled when it was taken up again, and before it asks for the session that it had begun. */
const cancelledAgain: Race = {
  kind: "memory",
  seed: 999_992,
  steps: [
    doing("submit", { slot: 2, keyed: true, pause: 2 }),
    doing("fork", { slot: 3, pause: 8 }),
    doing("discard", { slot: 3 }),
    doing("fork", { slot: 3, pause: 8 }),
    doing("fork", { slot: 1, pause: 2 }),
    doing("leave", { slot: 3, pause: 8 }),
    doing("close", { slot: 2, pause: 2 }),
    doing("discard", { slot: 2, pause: 8 }),
    doing("resume", { slot: 2, pause: 5 }),
    doing("remove"),
  ],
};

/** A branch that is committed while its session is handed over: the session does not take its events any more. */
const committedWhenLeft: Race = {
  kind: "memory",
  seed: 999_996,
  steps: [
    doing("submit", { keyed: true, pause: 3 }),
    doing("submit", { slot: 2, tools: ["wait"], keyed: true, pause: 8 }),
    doing("answer", { pause: 20 }),
    doing("answer", { pause: 2 }),
    doing("fork", { slot: 3, pause: 8 }),
    doing("commit", { slot: 1, pause: 3 }),
    doing("leave", { slot: 3, pause: 1 }),
  ],
};

test("every call returns one result and has one end in the log, however its session ends meanwhile", async () => {
  await fc.assert(fc.asyncProperty(race, play), {
    examples: [[cancelledAgain], [committedWhenLeft]],
    numRuns: inCI ? 200 : 20,
    endOnFailure: true,
    interruptAfterTimeLimit: 90_000,
  });
}, 180_000);
