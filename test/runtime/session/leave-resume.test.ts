/** A session that is being resumed when its process is to stop: what had not ended is left to the next process, not cancelled. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { inCI } from "../../ci.ts";
import { tool } from "../bench-runtime.ts";
import { testInCI } from "../../test-in-ci.ts";

/** How a process leaves a session that it resumes. */
const WAYS: Readonly<Record<string, (runtime: Runtime) => Promise<unknown>>> = {
  "sessions.handOver": (runtime) => runtime.sessions.handOver("s"),
  "runtime.close": (runtime) => runtime.close(),
};

/** The stores of the processes of one test. */
const STORES: Readonly<Record<string, () => () => Store>> = {
  memory: () => {
    const store = memoryStore();
    Object.assign(store, { close: async () => {} }); // the other processes have it, too
    return () => store;
  },
  sqlite: () => {
    const folder = mkdtempSync(join(tmpdir(), "haft-leave-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return () => sqliteStore({ path: join(folder, "a.db") });
  },
};

/** After how many steps of the event loop a process leaves. A store in a file takes most of a test's time to be opened. */
const MOMENTS: Readonly<Record<string, readonly number[]>> = {
  memory: Array.from({ length: 40 }, (_, moments) => moments),
  sqlite: inCI ? [0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 28, 39] : [0, 1, 4, 7],
};

const CASES = Object.keys(STORES).flatMap((store) => Object.keys(WAYS).map((way) => [store, way] as const));

/** Tools that hang until `release`, and what they ran. */
class World {
  readonly store: () => Store;
  readonly ran: string[] = [];
  hangs = true;

  constructor(kind: string) {
    this.store = STORES[kind]?.() ?? expect.fail(kind);
  }

  get tools(): readonly Tool[] {
    const hanging = (name: string) => {
      return (_input: unknown, { signal }: ToolContext): unknown => {
        this.ran.push(name);
        if (!this.hangs) return `${name} done`;
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      };
    };
    const composite = { description: "Removes.", inputSchema: { type: "object" }, mode: "background", composite: true } as const;
    const destroys = { writes: ["files"], destructive: true } as const;
    return [
      tool("read", hanging("read"), { effects: { reads: ["files"] } }),
      tool("remove", () => (this.ran.push("remove"), "removed"), { effects: destroys }),
      tool("work", hanging("work"), { mode: "background", effects: { writes: ["out"], idempotent: true } }),
      { ...composite, name: "clean", execute: (_input, context) => context.execute({ name: "remove" }) },
      {
        ...composite,
        name: "delegate",
        async execute(_input, context) {
          const session = await sessionWithin(context);
          try {
            return await session.execute({ name: "remove" }, { signal: context.signal });
          } finally {
            await session.close();
          }
        },
      },
    ];
  }

  process(): Runtime {
    const runtime = createRuntime({ tools: this.tools, store: this.store(), approval: { approve: "inbox" }, timeoutMs: 0 });
    onTestFinished(async () => void (await runtime.close()));
    return runtime;
  }

  /** A process that is gone: it began these calls, and none has ended. */
  async crashed(...names: readonly string[]): Promise<void> {
    const first = this.process();
    const session = first.session("s");
    for (const name of names) {
      if (name === "work") await session.submit({ name });
      else void session.execute({ name }).catch(() => {}); // the session is another's before it has ended
    }
    await vi.waitFor(async () => {
      const types = await typesOf(first);
      expect([types.filter((type) => type === "call-start").length, this.ran.length]).toEqual([
        names.length,
        names.includes("remove") ? names.length - 1 : names.length,
      ]);
      expect(types.includes("approval-ask")).toBe(names.includes("remove"));
    }, 30_000);
  }
}

async function typesOf(runtime: Runtime, id = "s"): Promise<readonly string[]> {
  const { events } = (await runtime.store?.read(id, { limit: 1_000 })) ?? expect.fail("no store");
  return events.map(({ type }) => type);
}

const ends = (types: readonly string[]): readonly string[] => types.filter((type) => /-end$|^approval-answer$/u.test(type));

describe.each(CASES)("a session in a %s store that %s ends while it is being resumed", (kind, way) => {
  const leave = WAYS[way] ?? expect.fail(way);

  test("leaves its question open, and the next process asks it again", async () => {
    const world = new World(kind);
    await world.crashed("work", "remove");
    const second = world.process();
    const resumed = second.resume("s", { takeOver: true });
    const refused = expect(resumed).rejects.toMatchObject({ code: expect.stringMatching(/^(?:conflict|cancelled)$/u) });
    await vi.waitFor(() => expect(world.ran).toEqual(["work", "work"]));
    const position = await vi.waitFor(async () => {
      const [open] = await second.approvals.pending();
      expect((await typesOf(second)).filter((type) => type === "approval-ask")).toHaveLength(2);
      return open?.position ?? expect.fail("no question is open");
    });
    await leave(second);
    await refused;
    world.hangs = false;
    const third = world.process();
    expect([await third.approvals.pending(), ends(await typesOf(third))]).toMatchObject([[{ position, status: "open" }], []]);
    const resuming = third.resume("s");
    const { id, digest } = await vi.waitFor(async () => {
      const [open] = await third.approvals.pending();
      expect(open?.position).toBeGreaterThan(position);
      return open ?? expect.fail("no question is open");
    });
    expect(await third.approvals.answer({ id, digest, answer: "allow-once" })).toBe(true);
    const session = await resuming;
    await vi.waitFor(() => expect(session.jobs).toEqual([]));
    expect(session.history.map(({ call, result }) => [call.name, result?.output])).toEqual([
      ["work", "work done"],
      ["remove", "removed"],
    ]);
  });

  test("records no end of a repeated read, and the next process repeats it", async () => {
    const world = new World(kind);
    await world.crashed("read");
    const second = world.process();
    const resumed = second.resume("s", { takeOver: true });
    const refused = expect(resumed).rejects.toBeInstanceOf(Error);
    await vi.waitFor(() => expect(world.ran).toEqual(["read", "read"]));
    await leave(second);
    await refused;
    world.hangs = false;
    const third = world.process();
    expect(ends(await typesOf(third))).toEqual([]);
    const session = await third.resume("s");
    expect(session.history.map(({ result }) => result?.output)).toEqual(["read done"]);
  });

  test("is free for others, at whatever moment that happens", async () => {
    for (const moments of MOMENTS[kind] ?? expect.fail(kind)) {
      const world = new World(kind);
      await world.crashed("read");
      const second = world.process();
      const over = second.resume("s", { takeOver: true }).then(
        () => expect.fail("it was resumed"),
        () => {},
      );
      for (let moment = 0; moment < moments; moment++) await (kind === "memory" ? Promise.resolve() : new Promise(setImmediate));
      await leave(second);
      await over;
      const third = world.process();
      expect(ends(await typesOf(third))).toEqual([]);
      // where the second was closed before it had claimed the session, that is still the first one's
      await (await third.resume("s", { interrupted: "settle", takeOver: moments === 0 || way === "runtime.close" })).close();
    }
  });
});

describe.each(Object.keys(STORES))("jobs of an open session in a %s store that is handed over", (kind) => {
  test.each([
    ["clean", "s"],
    ["delegate", "s/"],
  ])("leave the question of %s open for the next process, and have no end", async (name, asks) => {
    const world = new World(kind);
    const first = world.process();
    await first.session("s").submit({ name });
    const { sessionId } = await vi.waitFor(async () => {
      const [open] = await first.approvals.pending();
      return open ?? expect.fail("no question is open");
    });
    expect(sessionId.startsWith(asks)).toBe(true);
    await first.sessions.handOver("s");
    const second = world.process();
    expect(await second.approvals.pending()).toMatchObject([{ status: "open", sessionId }]);
    expect([ends(await typesOf(second)), ends(await typesOf(second, sessionId))]).toEqual([[], []]);
    const session = await second.resume("s");
    await vi.waitFor(async () => {
      for (const { id, digest } of await second.approvals.pending()) await second.approvals.answer({ id, digest, answer: "allow-once" });
      expect(session.jobs).toEqual([]);
    });
    expect(new Set(session.history.map(({ result }) => result?.status))).toEqual(new Set(["ok"]));
  });
});

testInCI("handing over a session releases the session that a job's call was about to start, at any moment", async () => {
  for (let moments = 0; moments < 20; moments++) {
    const world = new World("memory");
    const runtime = world.process();
    await runtime.session("s").submit({ name: "delegate" });
    for (let moment = 0; moment < moments; moment++) await Promise.resolve();
    await runtime.sessions.handOver("s");
    const session = await runtime.resume("s");
    await vi.waitFor(async () => {
      for (const { id, digest } of await runtime.approvals.pending()) await runtime.approvals.answer({ id, digest, answer: "allow-once" });
      expect(session.jobs).toEqual([]);
    });
    expect([moments, session.history.map(({ result }) => result?.status)]).toEqual([moments, ["ok"]]);
    await runtime.close();
  }
});

describe.each(Object.keys(STORES))("a question of a job that was handed over, in a %s store", (kind) => {
  async function handedOver(runtime: Runtime) {
    await runtime.session("s").submit({ name: "clean" });
    const question = await vi.waitFor(async () => (await runtime.approvals.pending())[0] ?? expect.fail("no question is open"));
    await runtime.sessions.handOver("s");
    return question;
  }

  test("is not asked again if it was answered meanwhile, in the same process too", async () => {
    const runtime = new World(kind).process();
    const { id, digest } = await handedOver(runtime);
    expect(await runtime.approvals.answer({ id, digest, answer: "allow-once" })).toBe(true);
    const session = await runtime.resume("s");
    await vi.waitFor(() => expect(session.jobs).toEqual([]));
    expect(session.history.map(({ call, result }) => [call.name, result?.status])).toEqual([
      ["clean", "ok"],
      ["remove", "ok"],
    ]);
  });

  test.each([true, false])("is withdrawn once its call has ended without it (in the same process: %s)", async (isSame) => {
    const world = new World(kind);
    const first = world.process();
    await handedOver(first);
    const next = isSame ? first : world.process();
    await next.resume("s", { interrupted: "settle" });
    expect(await next.approvals.pending()).toEqual([]);
  });

  testInCI("can be answered without an approver in the next process", async () => {
    const world = new World(kind);
    const first = world.process();
    const { id, digest } = await handedOver(first);
    await first.approvals.answer({ id, digest, answer: "allow-once" });
    const next = createRuntime({ store: world.store(), tools: world.tools });
    onTestFinished(() => void next.close());
    const session = await next.resume("s");
    await vi.waitFor(() => expect(session.jobs).toEqual([]));
    expect(session.history.map(({ result }) => result?.status)).toEqual(["ok", "ok"]);
  });
});
