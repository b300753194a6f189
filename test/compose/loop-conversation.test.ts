import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ModelCall, ModelEvent } from "../../src/core/model.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { LoopRound } from "../../src/compose/loop-options.ts";
import { supersedesSameInput } from "../../src/history/supersede.ts";
import { createLoop, type Loop } from "../../src/compose/loop.ts";
import { toolOfResult } from "../../src/runtime/tool-of-result.ts";
import { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { MessagesOptions } from "../../src/runtime/session-messages.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { repeated } from "../ci.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";
import { replyEnd, saidBy, testLoop } from "./bench-loop.ts";

const made = fc.record({
  name: fc.constantFrom("leaf", "outer", "wipe", "nowhere"),
  input: fc.constantFrom({}, "{", null),
  id: fc.constantFrom("a", "b"),
});
const message = fc.record({
  text: fc.constantFrom("", "Well."),
  calls: fc.array(made, { maxLength: 3 }),
  sealed: fc.boolean(),
  before: fc.constantFrom("nothing", "voided", "steered"),
  finish: fc.constantFrom("stop", "stop", "stop", "pause", "length"),
  native: fc.boolean(),
} as const);
const plan = fc.record({
  messages: fc.array(message, { maxLength: 16 }),
  runs: fc.array(fc.constantFrom("said", "silent", "decided", "interjected"), { minLength: 1, maxLength: 6 }),
  maxTurns: fc.constantFrom(0, 1, 2, 3, 50),
} as const);

test("F3.40 the messages of each request equal those of the session, for any mix of runs, voided messages and maxTurns", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ messages, runs, maxTurns }) => {
      const seen: (readonly [unknown, unknown])[] = [];
      const model = saidBy((request, index) => {
        seen.push([request.messages, work.session.messages({ maxTurns })]);
        const one = messages[index];
        if (one === undefined) return [replyEnd({ text: "Done." })];
        const calls = one.calls as readonly ModelCall[];
        const seals = calls.map((call, at): ModelEvent => ({ type: "call-seal", index: at, call }));
        if (one.before === "steered") work.loop.steer("Faster.");
        const native = one.native ? { native: { format: "x", blocks: [1] } } : {};
        const isWhole = one.finish === "stop";
        return [
          ...(one.before === "voided" ? [...seals, { type: "reply-void", reason: "lost" } as const] : []),
          ...(one.sealed ? seals : []),
          replyEnd({ text: one.text, calls: isWhole ? calls : [], finish: one.finish, ...native }),
        ];
      });
      const work = testLoop({
        script: [],
        model,
        history: { maxTurns },
        emergencyStop: false,
        limits: { repeat: false, maxRounds: 5, budget: { calls: { soft: 4 } } },
        tools: [
          tool("leaf", () => "leaf"),
          tool("wipe", () => "wiped", { effects: { reads: [], writes: ["d"], destructive: true } }),
          tool("outer", async () => {
            await work.session.addMessage({ role: "document", content: "Found." });
            return (await work.session.execute({ name: "leaf" })).output;
          }),
        ],
      });
      for (const run of runs) {
        if (run === "interjected") await work.session.execute([{ name: "leaf" }, { name: "outer" }]);
        if (run === "decided") {
          const decisions = Object.fromEntries(work.loop.pending().map(({ digest }) => [digest, "allow-once"] as const));
          await work.loop.resume({ decisions });
        } else await work.loop.run(run === "said" ? "Go." : undefined);
      }
      for (const [grown, shown] of seen) expect(grown).toEqual(shown);
    }),
    { numRuns: repeated(300) },
  );
});

const RUN = ["said", "said", "said", "silent", "noted", "ended", "asks", "forked", "moved", "reopened", "outside", "aside"] as const;
const CALL = ["leaf", "again", "oldest", "slow", "outer", "nothing"] as const;
const longPlan = fc.record({
  runs: fc.array(fc.record({ run: fc.constantFrom(...RUN), calls: fc.array(fc.constantFrom(...CALL), { maxLength: 3 }) }), {
    minLength: 4,
    maxLength: 14,
  }),
  history: fc.constantFrom<MessagesOptions>(
    { maxTurns: 0 },
    { maxTurns: 1 },
    { maxTurns: 2 },
    { maxTurns: 3 },
    { maxTurns: 3, maxBytes: 700 },
    { maxTurns: 3, maxBytes: 1500, trim: { threshold: 0.1 } },
    { maxTurns: 0, trim: { budgetBytes: 900 } },
  ),
} as const);

test("F3.40 over many turns they equal those of the session, with background jobs, references, branches and resumed sessions", async () => {
  await fc.assert(
    fc.asyncProperty(longPlan, async ({ runs, history }) => {
      const world = longWorld(history);
      try {
        for (const { run, calls } of runs) await world.play(run, calls);
        for (const [grown, shown] of world.seen) expect(grown).toEqual(shown);
      } finally {
        await world.close();
      }
    }),
    { numRuns: repeated(300) },
  );
});

/** A loop whose session is branched, resumed or continued from a snapshot between its runs. */
function longWorld(history: MessagesOptions) {
  const seen: (readonly [unknown, unknown])[] = [];
  const read: string[] = [];
  const slow: PromiseWithResolvers<string>[] = [];
  let calls: readonly string[] = [];
  let round = 0;
  let session: RuntimeSession;
  const refersTo = (callId: string | undefined): ToolOutput =>
    new ToolOutput({ content: [{ type: "text", text: "unchanged" }], sameAs: callId ?? "none" });
  const waitForEnd = (): Promise<string> => {
    const ended = Promise.withResolvers<string>();
    slow.push(ended);
    return ended.promise;
  };
  const { runtime } = testRuntime({
    store: memoryStore(),
    tools: [
      tool("leaf", (_input, { callId }) => (read.push(callId), `content ${read.length}`), { supersedes: supersedesSameInput }),
      tool("again", () => refersTo(read.at(-1))),
      tool("oldest", () => refersTo(read[0])),
      tool("slow", waitForEnd, { mode: "background" }),
      tool("outer", async () => (await session.execute({ name: "leaf" })).output),
    ],
  });
  const model = saidBy((request) => {
    seen.push([request.messages, asked.messages(history)]);
    const made = calls.map((name, index): ModelCall => ({ name, input: {}, id: `m${round}-${index}` }));
    calls = [];
    round++;
    return [
      replyEnd(made.length === 0 ? { text: `Done ${round}.` } : { text: round % 2 === 0 ? "" : "I look.", calls: made, finish: "calls" }),
    ];
  });
  const loopOf = (recordHistory: boolean): Loop => {
    const system = (turn: LoopRound): string => {
      asked = turn.session; // before the messages of the request are built
      return "";
    };
    return createLoop({ session, model, history, recordHistory, system, emergencyStop: false, limits: { repeat: false } });
  };
  session = runtime.session("s");
  let asked = session;
  let loop = loopOf(true);
  let aside = loopOf(false);
  const play = async (run: (typeof RUN)[number], made: readonly string[]): Promise<void> => {
    calls = made;
    if (run === "noted") await session.addMessage({ role: "system", content: "Be brief." });
    if (run === "outside") await session.execute([{ name: "leaf" }, { name: "nothing" }]);
    if (run === "ended") slow.shift()?.resolve("x".repeat(50));
    if (run === "ended") await new Promise(setImmediate);
    if (run === "asks") loop.steer("Faster.");
    if (run === "forked") session = session.fork();
    if (run === "moved") session = runtime.session(`s${round}-${seen.length}`, { from: await session.snapshot() });
    if (run === "reopened") {
      await session.close();
      session = await runtime.resume(session.id);
    }
    if (run === "forked" || run === "moved" || run === "reopened") [loop, aside] = [loopOf(true), loopOf(false)];
    await (run === "aside" ? aside : loop).run(run === "silent" ? undefined : `Question ${round}.`);
  };
  const close = async (): Promise<void> => {
    for (const { resolve } of slow) resolve("late");
    await runtime.close();
  };
  return { session, seen, play, close };
}

test("F3.40 a loop builds its messages from the log once, however many turns it drops, jobs end, and results refer to earlier ones", async () => {
  const world = longWorld({ maxTurns: 5 });
  const copies = vi.spyOn(world.session, "log", "get");
  for (let turn = 0; turn < 60; turn++) {
    await world.play("said", turn % 2 === 0 ? ["leaf", "slow", "again"] : ["slow", "again"]);
    await world.play("ended", ["again"]);
  }
  const comparisons = world.seen.length;
  expect(copies.mock.calls.length - comparisons).toBe(1);
  for (const [grown, shown] of world.seen) expect(grown).toEqual(shown);
  expect(JSON.stringify(world.seen.at(-1)?.[0])).toContain("oldest turns of this conversation are left out");
  await world.close();
});

test.each<[string, MessagesOptions, boolean]>([
  ["maxTurns", { maxTurns: 5 }, true],
  ["maxBytes", { maxTurns: 5, maxBytes: 500 }, true],
  ["trim", { maxTurns: 5, trim: { budgetBytes: 100 } }, true],
  ["maxTurns, and no record", { maxTurns: 5 }, false],
  ["trim, and no record", { maxTurns: 5, trim: { budgetBytes: 100 } }, false],
])(
  "F3.40 F4.29 a run of a long session reads the log of neither the session nor a branch again (%s)",
  async (_what, history, recordHistory) => {
    const model = saidBy((_, round) => [
      replyEnd(round % 2 === 1 ? { text: "Done." } : { calls: [{ id: `c${round}`, name: "leaf", input: {} }], finish: "calls" }),
    ]);
    const leaf = tool("leaf", () => "leaf".repeat(20), { supersedes: supersedesSameInput });
    const { loop, session } = testLoop({ script: [], model, tools: [leaf] });
    for (let turn = 0; turn < 20; turn++) await loop.run("Go.");
    const other = createLoop({ session, model, history, recordHistory });
    await other.run("First.");
    const builds = vi.spyOn(RuntimeSession.prototype, "messages");
    const copies = vi.spyOn(RuntimeSession.prototype, "log", "get");
    onTestFinished(() => void vi.restoreAllMocks());
    for (let turn = 0; turn < 5; turn++) {
      await other.run("Go on.");
      await loop.run("And here.");
    }
    expect([builds.mock.calls.length, copies.mock.calls.length]).toEqual([0, 0]);
  },
);

test("the log of a session is copied once for a loop, however many calls it makes", async () => {
  const rounds = 6;
  const calls = (round: number): ModelCall[] =>
    [1, 2, 3].map((n) => ({ id: `c${round}-${n}`, name: "leaf", input: { n: round * 10 + n } }));
  const model = saidBy((_, round) => [replyEnd(round === rounds ? { text: "Done." } : { calls: calls(round), finish: "calls" })]);
  const { loop, session } = testLoop({ script: [], model, tools: [tool("leaf", () => "leaf")] });
  const copies = vi.spyOn(session, "log", "get");
  const { reason, results } = await loop.run("Go.");
  expect([reason, results.length, copies.mock.calls.length]).toEqual(["answered", 18, 1]);
});

test("the tool of a result and the calls that wait are found without a copy of the log, however long it is", async () => {
  const overload = (name: string) =>
    tool("look", () => name, {
      inputSchema: { type: "object", properties: { [name]: {} }, required: [name], additionalProperties: false },
    });
  const { runtime } = testRuntime({ toolsets: [{ name: "shop", overloads: true, tools: [overload("by_name"), overload("by_number")] }] });
  const session = runtime.session("s");
  const copies = vi.spyOn(session, "log", "get");
  const model = saidBy((_, round) => [
    replyEnd(round % 2 === 1 ? { text: "Done." } : { calls: [{ name: "shop::look", input: { by_number: round } }], finish: "calls" }),
  ]);
  const loop = createLoop({ session, model });
  for (let turn = 0; turn < 60; turn++) {
    const { results } = await loop.run("Look.");
    const [result] = results;
    expect(result === undefined ? undefined : toolOfResult(session, result)?.tool.inputSchema).toMatchObject({ required: ["by_number"] });
    expect(loop.pending()).toEqual([]);
  }
  expect(copies.mock.calls.length).toBe(1); // the first messages
});
