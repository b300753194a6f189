/** Turns that run beside one another in one session: what keeps them apart, what waits for them, what they are to each other. */
import { expect, test } from "vitest";
import type { Engine } from "../../../src/core/engine.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { FakeClock, settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const CONCURRENT = { concurrent: true } as const;

/** A tool that says when it begins and ends, and goes on when it is let. */
function gated(names: readonly string[]): {
  readonly tools: readonly ReturnType<typeof tool>[];
  readonly gates: Readonly<Record<string, ReturnType<typeof gate<void>>>>;
  readonly trace: string[];
} {
  const trace: string[] = [];
  const gates = Object.fromEntries(names.map((name) => [name, gate()]));
  const tools = names.map((name) =>
    tool(name, async () => {
      trace.push(`${name} begins`);
      await gates[name]?.promise;
      trace.push(`${name} ends`);
      return name;
    }),
  );
  return { tools, gates, trace };
}

test("F0.36 concurrent calls of a session run in parallel, each a turn with one result, in request order", async () => {
  const clock = new FakeClock();
  const nap = tool("nap", (_, context) => new Promise((resolve) => void clock.timer(() => resolve(context.callId), 300)));
  const { runtime, events } = testRuntime({ tools: [nap], ports: { clock } });
  const session = runtime.session();
  const since = clock.now();
  const calls = Array.from({ length: 4 }, () => session.execute({ name: "nap" }, CONCURRENT));
  await settle();
  await clock.advance(300);
  const results = await Promise.all(calls);
  expect([clock.now() - since, results.map((result) => result.status)]).toEqual([300, ["ok", "ok", "ok", "ok"]]);
  expect(session.history.map(({ callId, result }) => [callId, result?.output])).toEqual(results.map(({ callId }) => [callId, callId]));
  expect(new Set(session.history.map(({ turnId }) => turnId)).size).toBe(4);
  expect(events.filter((event) => event.type === "call-end")).toHaveLength(4);
});

test("F0.36 locks separate concurrent calls: those that write the same key wait for each other in request order", async () => {
  const trace: string[] = [];
  const write = tool(
    "write",
    async (input, { state }) => {
      const text = String(input["text"]);
      trace.push(`${text} begins`);
      const before = String(state.get("text") ?? "");
      await settle();
      state.update("text", () => `${before}${text}`);
      trace.push(`${text} ends`);
      return state.get("text");
    },
    { effects: { writes: ["session:text"] } },
  );
  const { runtime } = testRuntime({ tools: [write] });
  const session = runtime.session();
  const results = await Promise.all(["a", "b", "c"].map((text) => session.execute({ name: "write", input: { text } }, CONCURRENT)));
  expect(results.map((result) => result.output)).toEqual(["a", "ab", "abc"]);
  expect(trace).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("F0.36 a turn that is not concurrent waits for concurrent ones, and those requested after it wait for it", async () => {
  const { tools, gates, trace } = gated(["one", "two", "alone", "three", "four"]);
  const { runtime } = testRuntime({ tools });
  const session = runtime.session();
  const all = [
    session.execute({ name: "one" }, CONCURRENT),
    session.execute({ name: "two" }, CONCURRENT),
    session.execute({ name: "alone" }),
    session.addMessage({ role: "user", content: "hello" }),
    session.execute({ name: "three" }, CONCURRENT),
    session.execute({ name: "four" }, CONCURRENT),
  ];
  for (const name of ["two", "one", "four", "alone", "three"]) {
    await settle();
    gates[name]?.open();
  }
  await Promise.all(all);
  const beside = "one begins, two begins, two ends, one ends";
  expect(trace.join(", ")).toBe(`${beside}, alone begins, alone ends, three begins, four begins, four ends, three ends`);
  const pair = "call-start call-start call-end call-end";
  expect(session.log.map((event) => event.type).join(" ")).toBe(`${pair} call-start call-end message-add ${pair}`);
});

test("F0.36 when the turn that they wait for is cancelled, concurrent calls run beside those that already run", async () => {
  const { tools, gates, trace } = gated(["one", "alone", "two"]);
  const { runtime } = testRuntime({ tools });
  const session = runtime.session();
  const stop = new AbortController();
  const one = session.execute({ name: "one" }, CONCURRENT);
  const alone = session.execute({ name: "alone" }, { signal: stop.signal });
  const two = session.execute({ name: "two" }, CONCURRENT);
  await settle();
  stop.abort();
  gates["two"]?.open();
  expect([(await alone).status, (await two).output]).toEqual(["cancelled", "two"]);
  gates["one"]?.open();
  await one;
  expect(trace).toEqual(["one begins", "two begins", "two ends", "one ends"]);
});

test("F0.36 a concurrent call that is cancelled while it waits ends at once, and starts nothing", async () => {
  const { tools, gates, trace } = gated(["alone", "one"]);
  const { runtime } = testRuntime({ tools });
  const session = runtime.session();
  const stop = new AbortController();
  const alone = session.execute({ name: "alone" });
  const one = session.execute({ name: "one" }, { ...CONCURRENT, signal: stop.signal });
  stop.abort();
  expect(await one).toMatchObject({ status: "cancelled", attempts: 0 });
  gates["alone"]?.open();
  await alone;
  expect(trace).toEqual(["alone begins", "alone ends"]);
});

test("F0.36 a sequential engine runs one call at a time, concurrent calls included", async () => {
  let together = 0;
  let most = 0;
  const engine: Engine = {
    kind: "example",
    order: "sequential",
    open: async () => [{ name: "say", description: "", inputSchema: {}, effects: { reads: [], writes: [] } }],
    call: async (_request, { history }) => {
      most = Math.max(most, ++together);
      await settle();
      together--;
      return history.length;
    },
  };
  const { runtime } = testRuntime({ toolsets: [{ name: "lm", engine }] });
  await runtime.open();
  const session = runtime.session();
  const results = await Promise.all([1, 2, 3].map(() => session.execute({ name: "lm::say" }, CONCURRENT)));
  expect([most, results.map((result) => result.output)]).toEqual([1, [0, 1, 2]]);
});

test.each([
  ["only a simulation would ask it", {}, {}, 2],
  ["a rule names it", { rules: [{ tools: "default::other", from: "stub" }] }, {}, 1],
  ["the caller names it", {}, { answerFrom: "stub" }, 1],
] as const)("F0.36 with a sequential stand-in where %s, this many concurrent calls run at once", async (_, answers, chosen, atOnce) => {
  let running = 0;
  let most = 0;
  const work = async (): Promise<string> => {
    most = Math.max(most, ++running);
    await settle();
    running--;
    return "done";
  };
  const stub: Engine = { kind: "stub", origin: "stub", order: "sequential", state: "none", effectFree: true, call: work };
  const { runtime } = testRuntime({ tools: [tool("one", work), tool("other", work)], answers: { engines: { stub }, ...answers } });
  const session = runtime.session();
  const results = await Promise.all([1, 2].map(() => session.execute({ name: "one" }, { ...CONCURRENT, ...chosen })));
  expect([most, results.map(({ output }) => output)]).toEqual([atOnce, ["done", "done"]]);
});

test("F0.36 concurrent calls of a simulation reach a sequential stand-in one at a time", async () => {
  let running = 0;
  let most = 0;
  const standIn: Engine = {
    kind: "stub",
    origin: "stub",
    order: "sequential",
    state: "none",
    effectFree: true,
    async call() {
      most = Math.max(most, ++running);
      await settle();
      running--;
      return "pretended";
    },
  };
  const { runtime } = testRuntime({
    tools: [tool("write", () => 1, { effects: { writes: ["a:b"] } })],
    answers: { engines: { stub: standIn } },
  });
  const branch = runtime.session().fork({ simulated: true });
  const results = await Promise.all([1, 2].map(() => branch.execute({ name: "write" }, CONCURRENT)));
  expect([most, results.map(({ output }) => output)]).toEqual([1, ["pretended", "pretended"]]);
});

test("F0.36 nested calls of a concurrent turn belong to that turn: only its own rollback undoes them", async () => {
  const going = gate();
  const note = tool("note", ({ key }, { state }) => state.update(String(key), () => 1), { effects: {} });
  const { runtime } = testRuntime({
    tools: [
      note,
      tool("keeps", async () => (await going.promise, (await session.execute({ name: "note", input: { key: "kept" } })).status)),
      tool("fails", async () => {
        await session.execute({ name: "note", input: { key: "lost" } });
        going.open();
        await settle();
        throw new Error("no");
      }),
      tool("recall", (_, { state }) => [state.get("kept") ?? null, state.get("lost") ?? null]),
    ],
  });
  const session: RuntimeSession = runtime.session();
  // The one that fails began first: what the other's handler does meanwhile is not its own.
  const fails = session.execute([{ name: "fails" }], { ...CONCURRENT, onError: "throw" });
  const keeps = session.execute({ name: "keeps" }, CONCURRENT);
  await expect(fails).rejects.toThrow("no");
  expect((await keeps).output).toBe("ok");
  expect((await session.execute({ name: "recall" })).output).toEqual([1, null]);
  expect(session.history.map(({ call }) => call.name)).toEqual(["keeps", "note", "recall"]);
});

test("F0.36 concurrent turns of two sessions that wait for each other are refused instead of deadlocked", async () => {
  const met = gate();
  let waiting = 0;
  const meet = async (other: () => RuntimeSession): Promise<unknown> => {
    if (++waiting === 2) met.open();
    await met.promise;
    return (await other().execute({ name: "answer" })).output;
  };
  const { runtime } = testRuntime({
    tools: [
      tool("ask-two", () => meet(() => two)),
      tool("ask-one", () => meet(() => one)),
      tool("answer", () => 42),
      tool("idle", () => idle.promise),
    ],
  });
  const idle = gate();
  const one: RuntimeSession = runtime.session();
  const two: RuntimeSession = runtime.session();
  const others = [one, two].map((session) => session.execute({ name: "idle" }, CONCURRENT));
  const both = [one.execute({ name: "ask-two" }, CONCURRENT), two.execute({ name: "ask-one" }, CONCURRENT)];
  await settle();
  idle.open();
  const results = await Promise.all(both);
  expect(results.map((result) => result.error?.code).filter((code) => code !== undefined)).toEqual(["resource_busy"]);
  expect(results.map((result) => result.output).filter((output) => output !== undefined)).toEqual([42]);
  await Promise.all(others);
});

test.each([2, 3])(
  "F0.36 held turns of %d sessions that each wait for the next one's turn are refused instead of deadlocked",
  async (count) => {
    const { runtime } = testRuntime({ tools: [tool("answer", () => 42)] });
    const sessions: readonly RuntimeSession[] = Array.from({ length: count }, () => runtime.session());
    const met = gate();
    let begun = 0;
    const turns = sessions.map((session, index) =>
      session.turn(async () => {
        if (++begun === count) met.open();
        await met.promise;
        return await sessions[(index + 1) % count]?.execute({ name: "answer" });
      }),
    );
    const ends = await Promise.allSettled(turns);
    const codes = ends.flatMap((end) => (end.status === "rejected" ? [(end.reason as { readonly code: string }).code] : []));
    expect([codes, ends.filter(({ status }) => status === "fulfilled").length]).toEqual([["resource_busy"], count - 1]);
  },
);

test.each(["call", "job"])(
  "F0.36 a call that returns to its first session and waits for the session between is refused instead of deadlocked, in a %s",
  async (kind) => {
    const { runtime } = testRuntime({
      tools: [
        tool("outer", async () => (await two.execute({ name: "middle" })).output),
        tool("middle", async () => (await one.execute({ name: "inner" })).output),
        tool("inner", () => two.execute({ name: "answer" }).catch((thrown: unknown) => ToolError.fromUnknown(thrown).code)),
        tool("answer", () => 42),
      ],
    });
    const [one, two] = [runtime.session(), runtime.session()];
    const begun = await one.execute({ name: "outer" }, { background: kind === "job" });
    const end = kind === "job" ? await runtime.jobs.wait(begun.callId) : { result: begun };
    expect(end).toMatchObject({ result: { output: "resource_busy" } });
    expect((await two.execute({ name: "answer" })).output).toBe(42);
  },
);

test("F0.36 concurrent calls run side by side again once others that waited have ended", async () => {
  const { tools, gates, trace } = gated(["first", "second", "third", "fourth"]);
  const { runtime } = testRuntime({ tools });
  const session = runtime.session();
  const earlier = [session.execute({ name: "first" }), session.execute({ name: "second" })];
  gates["first"]?.open();
  gates["second"]?.open();
  await Promise.all(earlier);
  const later = [session.execute({ name: "third" }, CONCURRENT), session.execute({ name: "fourth" }, CONCURRENT)];
  await settle();
  expect(trace.slice(4)).toEqual(["third begins", "fourth begins"]);
  gates["third"]?.open();
  gates["fourth"]?.open();
  await Promise.all(later);
});

test("F0.36 F0.26 a branch forked meanwhile starts before all of them; a snapshot waits for them", async () => {
  const { tools, gates } = gated(["one", "two"]);
  const { runtime } = testRuntime({ tools });
  const session = runtime.session();
  const calls = ["one", "two"].map((name) => session.execute({ name }, CONCURRENT));
  gates["two"]?.open();
  await calls[1];
  const branch = session.fork();
  const snapshot = session.snapshot();
  gates["one"]?.open();
  expect([branch.history.length, (await snapshot).events.length]).toEqual([0, 4]);
  await Promise.all(calls);
  expect(session.fork().history.map(({ result }) => result?.output)).toEqual(["one", "two"]);
});

test("F0.36 I03 concurrent turns that a crash cut off are resumed, each with its result", async () => {
  const store = new FailingStore();
  const { tools } = gated(["one", "two"]);
  const before = testRuntime({ store, tools }).runtime.session("s");
  for (const name of ["one", "two"]) before.execute({ name }, CONCURRENT).catch(() => {});
  await settle();
  await store.logs.get("s")?.whenDurable();
  const again = ["one", "two"].map((name) => tool(name, () => `${name} again`));
  const session = await testRuntime({ store: store.crash(), tools: again }).runtime.resume("s");
  expect(session.history.map(({ call, result }) => [call.name, result?.status, result?.output])).toEqual([
    ["one", "ok", "one again"],
    ["two", "ok", "two again"],
  ]);
});
