/** Calls that handlers make, of what the handler's own call holds: no call waits for itself, and what conflicts still takes turns. */
import { expect, test } from "vitest";
import type { ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { Limits } from "../../src/policy/locks/limits.ts";
import { ResourceLocks } from "../../src/policy/locks/resource-locks.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";

const CALLS = { timeoutMs: 0 } as const;
const writesA = { effects: { writes: "a" }, ...CALLS } satisfies Partial<Tool>;

/** `outer` writes "a" and makes the calls of its input; `inner` writes "a" too. */
function family(
  more: Partial<Tool> = {},
  inner: Partial<Tool> = writesA,
): {
  readonly tools: readonly Tool[];
  readonly from: { caller: Pick<RuntimeSession, "execute"> | undefined };
  readonly trace: string[];
  /** What waits for its gate goes on when it is opened. */
  readonly gates: Map<string, ReturnType<typeof gate<void>>>;
} {
  const from: { caller: Pick<RuntimeSession, "execute"> | undefined } = { caller: undefined };
  const trace: string[] = [];
  const gates = new Map<string, ReturnType<typeof gate<void>>>();
  const outer = tool(
    "outer",
    async ({ calls = ["inner"] }) => {
      trace.push("outer begins");
      const results = await from.caller?.execute((calls as string[]).map((name) => ({ name })));
      trace.push("outer ends");
      return results?.map(({ status, error }) => error?.code ?? status);
    },
    { ...writesA, ...more },
  );
  const leaf = (name: string, part: Partial<Tool>): Tool =>
    tool(
      name,
      async () => {
        trace.push(`${name} begins`);
        await gates.get(name)?.promise;
        trace.push(`${name} ends`);
        return name;
      },
      part,
    );
  return { tools: [outer, leaf("inner", inner), leaf("second", inner), leaf("other", writesA)], from, trace, gates };
}

const WAYS: readonly (readonly [title: string, make: (runtime: Runtime) => [Pick<RuntimeSession, "execute">, () => Promise<unknown>]])[] = [
  [
    "alone in a session",
    (runtime) => {
      const session = runtime.session();
      return [session, () => session.execute({ name: "outer" })];
    },
  ],
  [
    "among others of a message",
    (runtime) => {
      const session = runtime.session();
      return [session, async () => (await session.execute([{ name: "outer" }, { name: "outer" }, { name: "other" }]))[1]];
    },
  ],
  ["of no session", (runtime) => [runtime, () => runtime.execute({ name: "outer" })]],
  ["in another session", (runtime) => [runtime.session("inner"), () => runtime.session("outer").execute({ name: "outer" })]],
  ["of no session, by a call of a session", (runtime) => [runtime, () => runtime.session().execute({ name: "outer" })]],
  ["in a session, by a call of none", (runtime) => [runtime.session(), () => runtime.execute({ name: "outer" })]],
  [
    "in a turn that is held",
    (runtime) => {
      const session = runtime.session();
      return [session, () => session.turn(() => session.execute({ name: "outer" }))];
    },
  ],
  [
    "in a background job",
    (runtime) => {
      const session = runtime.session();
      return [
        session,
        async () => {
          const { callId } = await session.execute({ name: "outer" }, { background: true });
          const end = await runtime.jobs.wait(callId);
          return "result" in end ? end.result : undefined;
        },
      ];
    },
  ],
];

for (const [title, make] of WAYS)
  test(`a nested call does not wait for a lock that its caller holds: ${title}`, async () => {
    const { tools, from } = family();
    const locks = new ResourceLocks();
    const { runtime } = testRuntime({ tools, locks });
    const [caller, run] = make(runtime);
    from.caller = caller;
    expect(((await run()) as ToolResult).output).toEqual(["ok"]);
    expect(locks.size).toBe(0);
  });

test("nested calls of one caller take turns, in their order", async () => {
  const { tools, from, trace } = family();
  const { runtime } = testRuntime({ tools });
  const session = (from.caller = runtime.session());
  await session.execute({ name: "outer", input: { calls: ["inner", "second", "inner"] } });
  expect(trace).toEqual([
    "outer begins",
    "inner begins",
    "inner ends",
    "second begins",
    "second ends",
    "inner begins",
    "inner ends",
    "outer ends",
  ]);
});

test("a lock lent to nested calls stays held until the last of them ends, even if the caller has ended", async () => {
  const { tools, trace, gates } = family();
  const inner = gate();
  gates.set("inner", inner);
  const hasty = tool("hasty", () => void runtime.execute({ name: "inner" }), writesA);
  const { runtime } = testRuntime({ tools: [...tools, hasty] });
  await runtime.execute({ name: "hasty" });
  const other = runtime.execute({ name: "other" });
  await settle();
  expect(trace).toEqual(["inner begins"]);
  inner.open();
  await other;
  expect(trace).toEqual(["inner begins", "inner ends", "other begins", "other ends"]);
});

test("a job started by a handler holds the locks it was lent until it has ended", async () => {
  const { tools, trace, gates } = family();
  const inner = gate();
  gates.set("inner", inner);
  const starter = tool("starter", async () => (await session.execute({ name: "inner" }, { background: true })).status, writesA);
  const locks = new ResourceLocks();
  const { runtime } = testRuntime({ tools: [...tools, starter], locks });
  const session = runtime.session();
  expect((await session.execute({ name: "starter" })).output).toBe("pending");
  const other = session.execute({ name: "other" });
  await settle();
  expect(trace).toEqual(["inner begins"]);
  inner.open();
  await other;
  expect([trace, locks.size]).toEqual([["inner begins", "inner ends", "other begins", "other ends"], 0]);
});

const WEAKER: readonly (readonly [title: string, outer: Partial<Tool>, inner: Partial<Tool>, declares: string])[] = [
  ["a write inside a read of it", { effects: { reads: "a", writes: [] } }, writesA, "Declare that default::outer writes it as well."],
  ["a write around what is written", { effects: { writes: "a/b" } }, writesA, "Declare that default::outer writes it as well."],
  [
    "a plain write inside a commutative one",
    { effects: { writes: "a", commutative: true } },
    writesA,
    "Declare that default::outer writes it as well.",
  ],
  [
    "a read inside a commutative write",
    { effects: { writes: "a", commutative: true } },
    { effects: { reads: "a", writes: [] } },
    "Declare that default::outer reads it as well.",
  ],
];

for (const [title, outer, inner, declare] of WEAKER)
  test(`${title} is refused at once instead of waiting`, async () => {
    const { tools, from, trace } = family(outer, inner);
    const { runtime, ports } = testRuntime({ tools });
    const results: ToolResult[] = [];
    from.caller = {
      execute: (async (calls: never) => {
        const answers = await runtime.execute(calls);
        results.push(...(answers as unknown as ToolResult[]));
        return answers;
      }) as unknown as RuntimeSession["execute"],
    };
    const since = ports.clock.now();
    expect((await runtime.execute({ name: "outer" })).output).toEqual(["resource_busy"]);
    expect(results[0]?.error).toMatchObject({ code: "resource_busy", retryable: false, outcome: "not_started", operatorHint: declare });
    expect([trace, ports.clock.now() - since]).toEqual([["outer begins", "outer ends"], 0]);
  });

test("a nested call without effects in a call that declares some is refused, and the operator hint says to declare its effects", async () => {
  const from: { error: ToolResult["error"] } = { error: undefined };
  const vague: Tool = { name: "vague", description: "Says nothing.", inputSchema: { type: "object" }, execute: () => 1 };
  const outer = tool("outer", async () => void (from.error = (await runtime.execute({ name: "vague" })).error), writesA);
  const { runtime } = testRuntime({ tools: [vague, outer] });
  expect((await runtime.execute({ name: "outer" })).status).toBe("ok");
  expect(from.error).toMatchObject({
    code: "resource_busy",
    operatorHint: "Declare the effects of default::vague: without them it writes all of its toolset.",
  });
});

test("a nested read in a read overtakes a writer that waits for both", async () => {
  const reads = { effects: { reads: "a", writes: [] }, ...CALLS };
  const { tools, from, trace } = family(reads, reads);
  const before = gate();
  const { runtime } = testRuntime({ tools });
  from.caller = {
    execute: (async (calls: never) => {
      await before.promise;
      return runtime.execute(calls);
    }) as unknown as RuntimeSession["execute"],
  };
  const outer = runtime.execute({ name: "outer" });
  const writer = runtime.execute({ name: "other" });
  before.open();
  expect((await outer).output).toEqual(["ok"]);
  await writer;
  expect(trace).toEqual(["outer begins", "inner begins", "inner ends", "outer ends", "other begins", "other ends"]);
});

test("a nested call overtakes calls that wait for its caller's lock and for its own", async () => {
  const trace: string[] = [];
  const begun = gate();
  const leaf = tool("leaf", () => void trace.push("leaf"), { effects: { writes: "b" } });
  const both = tool("both", () => void trace.push("both"), { effects: { writes: ["a", "b"] } });
  const outer = tool(
    "outer",
    async () => {
      await begun.promise;
      return (await runtime.execute({ name: "leaf" })).status;
    },
    writesA,
  );
  const { runtime } = testRuntime({ tools: [leaf, both, outer] });
  const first = runtime.execute({ name: "outer" });
  const rest = [runtime.execute({ name: "both" }), runtime.execute({ name: "both" })];
  begun.open();
  expect((await first).output).toBe("ok");
  await Promise.all(rest);
  expect(trace).toEqual(["leaf", "both", "both"]);
});

test("of two calls whose nested calls each need the other's lock, one is refused and the other ends", async () => {
  const locks = new ResourceLocks();
  const held = gate();
  const crossing = (name: string, own: string, other: string): Tool =>
    tool(
      name,
      async () => {
        await held.promise;
        const { status, error } = await runtime.execute({ name: other });
        return error?.code ?? status;
      },
      { effects: { writes: own }, ...CALLS },
    );
  const leaf = (name: string, key: string): Tool => tool(name, () => name, { effects: { writes: key } });
  const tools = [crossing("first", "a", "leafOfB"), crossing("second", "b", "leafOfA"), leaf("leafOfA", "a"), leaf("leafOfB", "b")];
  const { runtime } = testRuntime({ tools, locks });
  const ends = [runtime.execute({ name: "first" }), runtime.execute({ name: "second" })];
  held.open();
  expect((await Promise.all(ends)).map(({ output }) => output)).toEqual(["ok", "resource_busy"]);
  expect(locks.size).toBe(0);
});

const LIMITS: readonly (readonly [title: string, tools: Partial<Tool>, runtime: { readonly maxConcurrent?: number }])[] = [
  ["its tool", { maxConcurrent: 1 }, {}],
  ["the runtime", {}, { maxConcurrent: 1 }],
];

for (const [title, more, options] of LIMITS)
  test(`a nested call in a call that has the only slot of ${title} does not wait for it, and siblings take turns`, async () => {
    let running = 0;
    const most: number[] = [];
    const self = tool(
      "self",
      async ({ depth = 0 }) => {
        if (depth === 2) {
          most.push(++running);
          await settle();
          running--;
          return 1;
        }
        const calls = [0, 1].map(() => ({ name: "self", input: { depth: Number(depth) + 1 } }));
        return (await runtime.execute(calls)).every(({ status }) => status === "ok");
      },
      { ...more, ...CALLS },
    );
    const { runtime } = testRuntime({ tools: [self], ...options });
    expect((await runtime.execute({ name: "self" })).output).toBe(true);
    expect(most).toEqual([1, 1, 1, 1]);
    expect((await runtime.execute([{ name: "self" }, { name: "self" }])).map(({ output }) => output)).toEqual([true, true]);
  });

test("of two calls whose nested calls each need the other's only slot, one is refused and the other ends", async () => {
  const held = gate();
  const one = (name: string, other: string): Tool =>
    tool(
      name,
      async ({ leaf }) => {
        if (leaf === true) return name;
        await held.promise;
        const { status, error } = await runtime.execute({ name: other, input: { leaf: true } });
        return error?.code ?? status;
      },
      { maxConcurrent: 1, ...CALLS },
    );
  const { runtime } = testRuntime({ tools: [one("left", "right"), one("right", "left")] });
  const ends = [runtime.execute({ name: "left" }), runtime.execute({ name: "right" })];
  held.open();
  expect((await Promise.all(ends)).map(({ output }) => output)).toEqual(["ok", "resource_busy"]);
  expect((await runtime.execute({ name: "left", input: { leaf: true } })).output).toBe("left");
});

test.each(["an abandoned handler", "a call of another runtime with the same limits"])(
  "of two calls whose nested calls each need the other's slot, none is refused where %s will release one",
  async (holder) => {
    const [hung, held] = [gate(), gate()];
    const one = (name: string, other: string): Tool =>
      tool(
        name,
        async ({ part }) => {
          if (part === "hang") await hung.promise;
          if (part !== "call") return name;
          await held.promise;
          const { status, error } = await runtime.execute({ name: other, input: { part: "leaf" } });
          return error?.code ?? status;
        },
        { maxConcurrent: 2, ...CALLS },
      );
    const options = { tools: [one("left", "right"), one("right", "left")], slots: new Limits() };
    const { runtime } = testRuntime(options);
    const given = new AbortController();
    const hanging = holder === "an abandoned handler" ? runtime : testRuntime(options).runtime;
    const hang = ["left", "right"].map((name) => hanging.execute({ name, input: { part: "hang" } }, { signal: given.signal }));
    await settle();
    if (hanging === runtime) {
      given.abort();
      expect((await Promise.all(hang)).map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
    }
    const ends = ["left", "right"].map((name) => runtime.execute({ name, input: { part: "call" } }));
    held.open();
    await settle();
    hung.open();
    expect((await Promise.all(ends)).map(({ output }) => output)).toEqual(["ok", "ok"]);
    await Promise.all(hang);
  },
);

test("a plain call that gets a lock is refused if its slot is held by a call whose nested call waits for that lock", async () => {
  const held = gate();
  const first = tool("first", () => held.promise, writesA);
  const inner = tool("inner", () => "done", writesA);
  const outer = tool("outer", async () => (await runtime.execute({ name: "inner" })).status, CALLS);
  const narrow = { name: "narrow", maxConcurrent: 1, tools: [tool("second", () => "done", writesA), outer] };
  const { runtime } = testRuntime({ tools: [first, inner], toolsets: [narrow] });
  const ends = ["first", "narrow::second", "narrow::outer"].map((name) => runtime.execute({ name }));
  await settle();
  held.open();
  const results = (await Promise.all(ends)).map(({ status, error }) => error?.code ?? status);
  expect(results).toEqual(["ok", "resource_busy", "ok"]);
  expect((await runtime.execute({ name: "narrow::second" })).output).toBe("done");
});

test.each([
  ["lock", "holder", ["ok", "done", "resource_busy"]],
  ["lock", "free", ["resource_busy", "done", "ok"]],
  ["slot", "holder", ["ok", "done", "resource_busy"]],
  ["slot", "free", ["resource_busy", "done", "ok"]],
])("a deadlock of a %s and a turn is detected by whichever handler waits last (first: %s)", async (what, first, expected) => {
  const gates = { holder: gate(), free: gate() };
  const makes = async (door: keyof typeof gates, session: RuntimeSession): Promise<unknown> => {
    await gates[door].promise;
    return (await session.execute({ name: "leaf" })).status;
  };
  const held: Partial<Tool> = what === "lock" ? writesA : CALLS;
  const tools = [tool("holder", () => makes("holder", one), held), tool("waiter", () => "done", held)];
  const { runtime } = testRuntime({
    tools: [tool("leaf", () => "done"), tool("free", () => makes("free", three), CALLS)],
    toolsets: [{ name: "held", tools, ...(what === "slot" ? { maxConcurrent: 1 } : {}) }],
  });
  const [one, two, three] = [runtime.session(), runtime.session(), runtime.session()];
  const ends = [two.execute({ name: "held::holder" }), three.execute({ name: "held::waiter" }), one.execute({ name: "free" })];
  await settle();
  for (const door of first === "holder" ? (["holder", "free"] as const) : (["free", "holder"] as const)) {
    gates[door].open();
    await settle();
  }
  expect((await Promise.all(ends)).map(({ output, error }) => error?.code ?? output)).toEqual(expected);
});

test.each<readonly [string, NonNullable<Tool["effects"]>, NonNullable<Tool["effects"]>]>([
  ["both read", { reads: "a/b", writes: [] }, { reads: "a", writes: [] }],
  ["both commute", { writes: "a/b", commutative: true }, { writes: "a", commutative: true }],
])("a nested call is not refused where its caller holds only a part of its keys and %s", async (_, outer, inner) => {
  const { tools, from } = family({ effects: outer }, { effects: inner, ...CALLS });
  const { runtime } = testRuntime({ tools });
  from.caller = runtime;
  expect((await runtime.execute({ name: "outer" })).output).toEqual(["ok"]);
});

test("jobs that one job started take turns in its slot, and free it when all have ended", async () => {
  let running = 0;
  const most: number[] = [];
  const inner = tool("inner", async () => {
    most.push(++running);
    await settle();
    running--;
  });
  const begin = async (): Promise<unknown> => {
    const begun = await session.execute([{ name: "inner" }, { name: "inner" }], { background: true });
    return Promise.all(begun.map(async ({ callId }) => (await runtime.jobs.wait(callId)).state));
  };
  const { runtime } = testRuntime({ tools: [inner, tool("outer", begin, CALLS)], jobs: { maxRunning: 1 } });
  const session = runtime.session();
  for (let round = 0; round < 2; round++) {
    const { callId } = await session.execute({ name: "outer" }, { background: true });
    expect(await runtime.jobs.wait(callId)).toMatchObject({ state: "done", result: { output: ["done", "done"] } });
  }
  expect(most).toEqual([1, 1, 1, 1]);
});

test("a job can wait for a job that its handler started, even with maxRunning 1", async () => {
  const inner = tool("inner", () => "done");
  const outer = tool(
    "outer",
    async () => {
      const { callId } = await session.execute({ name: "inner" }, { background: true });
      const end = await runtime.jobs.wait(callId);
      return end.state;
    },
    CALLS,
  );
  const { runtime } = testRuntime({ tools: [inner, outer], jobs: { maxRunning: 1 } });
  const session = runtime.session();
  const { callId } = await session.execute({ name: "outer" }, { background: true });
  expect(await runtime.jobs.wait(callId)).toMatchObject({ state: "done", result: { output: "done" } });
  expect(await runtime.jobs.wait((await session.execute({ name: "inner" }, { background: true })).callId)).toMatchObject({ state: "done" });
});

test("a nested call that is cancelled gives the lent lock back to its sibling", async () => {
  const { tools, gates } = family();
  gates.set("inner", gate());
  const stop = new AbortController();
  const outer = tool(
    "parent",
    async () => {
      const first = runtime.execute({ name: "inner" }, { signal: stop.signal });
      const second = runtime.execute({ name: "second" });
      await settle();
      stop.abort();
      return [(await first).status, (await second).status];
    },
    writesA,
  );
  const locks = new ResourceLocks();
  const { runtime, ports } = testRuntime({ tools: [...tools, outer], locks, orphanHoldMs: 1_000 });
  const ended = runtime.execute({ name: "parent" });
  await settle();
  await ports.clock.advance(1_000); // the abandoned handler's hold
  expect((await ended).output).toEqual(["cancelled", "ok"]);
  expect(locks.size).toBe(0);
});

test("a slot that is lent while its holder's next attempt waits for another one is not leaked, nor is the other", async () => {
  const [writing, running] = [gate(), gate()];
  let probed = 0;
  const { runtime, ports } = testRuntime({
    maxConcurrent: 3,
    orphanHoldMs: 0,
    toolsets: [
      {
        name: "a",
        maxConcurrent: 9,
        tools: [
          tool(
            "outer",
            async (_input, { attempt }) => {
              if (attempt > 1) return "ok";
              void session.execute({ name: "inner" });
              return new Promise(() => {});
            },
            { timeoutMs: 50, maxAttempts: 2, effects: { writes: ["q"], idempotent: true } },
          ),
          tool("inner", () => "done", writesA),
          tool("writes", () => writing.promise, writesA),
          tool("runs", () => running.promise, CALLS),
          tool("probe", () => (probed++, new Promise(() => {}))),
        ],
      },
    ],
  });
  const session = runtime.session();
  const begin = async (name: string): Promise<void> => {
    void runtime.session().execute({ name });
    await settle();
  };
  await begin("writes");
  await begin("runs");
  const ends = session.execute({ name: "outer" });
  await settle();
  await ports.clock.advance(60); // the attempt is over, and its call still waits for "a"
  await begin("runs");
  await begin("runs");
  await ports.clock.advance(5_000); // the next attempt has a slot of its toolset, and waits for one of the runtime
  writing.open();
  await settle();
  running.open();
  expect(await ends).toMatchObject({ status: "ok", attempts: 2 });
  for (let count = 0; count < 3; count++) await begin("probe");
  expect(probed).toBe(3);
});
