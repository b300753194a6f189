/** Trees of calls in messages that end well, are voided at any moment, or are cut off by a crash: what is void leaves nothing. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { testRuntime } from "./bench-runtime.ts";
import { inCI } from "../ci.ts";

/** A call, and those that its handler makes. */
interface Node {
  /** Turns of the event loop before it makes them, and after. */
  readonly before: number;
  readonly after: number;
  /** Some go on when they are cancelled. */
  readonly stops: boolean;
  readonly how: "batch" | "failed batch" | "one by one" | "round" | "voided round";
  readonly calls: readonly Node[];
}

interface Message {
  readonly calls: readonly Node[];
  /** Turns of the event loop before it ends. */
  readonly wait: number;
  readonly end: "well" | "void" | "left open" | "batch" | "failed batch";
}

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.record({
    before: fc.nat(3),
    after: fc.nat(3),
    stops: fc.boolean(),
    how: fc.constantFrom<Node["how"][]>("batch", "batch", "failed batch", "one by one", "round", "voided round"),
    calls: fc.oneof({ maxDepth: 3, depthSize: "small" }, fc.constant([]), fc.array(tie("node"), { maxLength: 3 })),
  }),
}));
const message: fc.Arbitrary<Message> = fc.record({
  calls: fc.array(node, { minLength: 1, maxLength: 3 }),
  wait: fc.nat(12),
  end: fc.constantFrom<Message["end"][]>("well", "void", "void", "left open", "batch", "failed batch"),
});

const WELL = { content: "Well.", finish: "calls", usage: { inputTokens: 1, outputTokens: 1 } } as const;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const asCall = (tree: Node, name: string) => ({ name: "node", input: { name, tree: JSON.stringify(tree) } });

async function wait(ticks: number, signal?: AbortSignal): Promise<void> {
  for (let left = ticks; left > 0 && signal?.aborted !== true; left--) await tick();
}

/** The names of the calls whose handlers have succeeded, and of those that were undone, in order. */
interface Acts {
  readonly done: string[];
  readonly undone: string[];
}

/** A read by its word, so that it starts early; it notes its name in the state, then makes its calls. */
function nodeTool(session: () => RuntimeSession, acts: Acts): Tool {
  return {
    name: "node",
    description: "Calls others.",
    inputSchema: { type: "object", properties: { name: { type: "string" }, tree: { type: "string" } }, required: ["name", "tree"] },
    effects: { reads: [], writes: [], undo: ({ input }) => void acts.undone.push(String(input["name"])) },
    timeoutMs: 0,
    execute: async (input, { state, signal }) => {
      const name = String(input["name"]);
      const tree = JSON.parse(String(input["tree"])) as Node; // this file wrote it
      state.update("names", (names: JsonValue | undefined) => [...(Array.isArray(names) ? names : []), name]);
      state.update(`ran ${name}`, () => true);
      await wait(tree.before, tree.stops ? signal : undefined);
      await makeCalls(session(), tree, name);
      await wait(tree.after, tree.stops ? signal : undefined);
      acts.done.push(name);
      return name;
    },
  };
}

/** Waits until other calls have begun to change the state, and fails. */
const FAIL: Tool = {
  name: "fail",
  description: "Fails.",
  inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  effects: { reads: [], writes: [] },
  execute: async () => {
    await wait(2);
    throw new Error("It fails always.");
  },
};

async function makeCalls(session: RuntimeSession, { how, calls }: Node, name: string): Promise<void> {
  const mark = how === "voided round" ? "v" : how === "failed batch" ? "vf" : "";
  const inner = calls.map((one, index) => asCall(one, `${name}.${mark}${index}`));
  if (inner.length === 0) return;
  if (how === "batch") await session.execute(inner);
  else if (how === "failed batch") await executeAndFail(session, inner, `${name}.vf${calls.length}`);
  else if (how === "one by one") for (const one of inner) await session.execute(one);
  else
    await session.turn(async (turn) => {
      turn.addMessage({ role: "user", content: `In ${name}.` });
      const round = turn.round();
      for (const one of inner) round.add(one);
      await tick();
      await (how === "round" ? round.end(WELL) : round.void("inside"));
    });
}

/** What there is of a session for those who look at it: its state, and what a model is shown. */
function visible(session: RuntimeSession): unknown {
  const names = session.state("default", "names") ?? [];
  return { names, shown: session.messages({ maxTurns: 0 }) };
}

async function playMessage(session: RuntimeSession, message: Message, index: number): Promise<void> {
  const calls = message.calls.map((tree, place) => asCall(tree, `${index}.${place}`));
  if (message.end === "batch") await session.execute(calls);
  else if (message.end === "failed batch") await executeAndFail(session, calls, `${index}.${calls.length}`);
  else await playRound(session, message, index);
}

/** A batch whose last call fails, so that all of it is taken back. */
async function executeAndFail(session: RuntimeSession, calls: readonly ReturnType<typeof asCall>[], name: string): Promise<void> {
  await expect(session.execute([...calls, { name: "fail", input: { name } }], { onError: "throw" })).rejects.toThrow("fails always");
}

async function playRound(session: RuntimeSession, message: Message, index: number): Promise<void> {
  await session.turn(async (turn) => {
    const round = turn.round();
    for (const [place, tree] of message.calls.entries()) {
      round.add(asCall(tree, `${index}.${place}`));
      await tick();
    }
    await wait(message.wait);
    if (message.end === "well") await round.end(WELL);
    else if (message.end === "void") await round.void("taken back");
  });
}

/** Each call stands under the one whose handler made it, ends once, and counts only if nothing that it was made in is void. */
function checkLog(session: RuntimeSession, ends: readonly Message["end"][]): void {
  const names = new Map<string, string>();
  const ended = new Map<string, number>();
  for (const event of session.log) {
    if (event.type === "call-end") ended.set(event.callId, (ended.get(event.callId) ?? 0) + 1);
    if (event.type !== "call-start") continue;
    const { name } = event.call.input as { readonly name: string }; // as asCall wrote it
    names.set(event.callId, name);
    const parent = event.parentCallId === undefined ? "" : names.get(event.parentCallId);
    const outer = name.split(".").slice(0, -1);
    const end = ends[Number(name.split(".")[0])];
    const isVoid = (end !== "well" && end !== "batch") || name.includes("v");
    // The calls that a handler makes with the session are not linked to it if its message is a plain batch of several calls.
    const isLinked = !end?.includes("batch") || parent !== "";
    if (isLinked) expect(parent).toBe(outer.length === 1 ? "" : outer.join("."));
    expect([name, session.wasRevoked(event.callId)]).toEqual([name, isVoid]);
    expect([name, session.state("default", `ran ${name}`)]).toEqual([name, isVoid ? undefined : true]);
  }
  expect([...ended.values()].every((count) => count === 1)).toBe(true);
  expect(ended.size).toBe(names.size);
}

/** Each call of a failed batch that succeeded is undone, once, and after those that it made; no other is. */
function checkUndone(session: RuntimeSession, ends: readonly Message["end"][], { done, undone }: Acts): void {
  const endOf = (name: string): Message["end"] | undefined => ends[Number(name.split(".")[0])];
  const isUndoable = (name: string): boolean => name.includes("f") || endOf(name) === "failed batch";
  // A batch in a message that is voided may be cancelled before it fails.
  const hasFailed = (name: string): boolean =>
    endOf(name) === "failed batch" || (isUndoable(name) && ["well", "batch"].includes(endOf(name) ?? "") && !/v(?!f)/u.test(name));
  expect(new Set(undone).size).toBe(undone.length);
  expect(undone.filter((name) => !isUndoable(name) || !done.includes(name))).toEqual([]);
  const names = new Map<string, string>();
  for (const event of session.log) {
    if (event.type === "call-start" && event.call.name === "node")
      names.set(event.callId, String((event.call.input as { name: unknown }).name));
    const name = event.type === "call-end" && event.result.status === "ok" ? names.get(event.callId) : undefined;
    if (name !== undefined && hasFailed(name)) expect(undone).toContain(name);
  }
  for (const [at, name] of undone.entries())
    expect([name, undone.slice(at).filter((other) => other.startsWith(`${name}.`))]).toEqual([name, []]);
}

test("F1.33 F1.44 nested calls of a voided message and of a failed batch leave no trace, at any depth, however it is voided, forked, restored or resumed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 3 }), fc.option(message), async (messages, cutOff) => {
      const store = memoryStore();
      const begin = () => {
        let session: RuntimeSession | undefined;
        const own = (): RuntimeSession => session ?? expect.fail("no session yet");
        const acts: Acts = { done: [], undone: [] };
        const { runtime } = testRuntime({ store, tools: [nodeTool(own, acts), FAIL] });
        return { runtime, acts, keep: (one: RuntimeSession) => (session = one) };
      };
      const first = begin();
      const session = first.keep(first.runtime.session("s"));
      for (const [index, one] of messages.entries()) {
        const before = visible(session);
        await playMessage(session, one, index);
        if (one.end !== "well" && one.end !== "batch") expect(visible(session)).toEqual(before);
      }
      await wait(30); // handlers that go on after they were cancelled
      const ends = messages.map(({ end }) => end);
      const last = visible(session);
      checkLog(session, ends);
      checkUndone(session, ends, first.acts);
      expect(visible(session.fork())).toEqual(last);
      expect(visible(first.runtime.session("restored", { from: await session.snapshot() }))).toEqual(last);
      if (cutOff !== null) {
        void playMessage(session, { ...cutOff, end: "void", wait: 10_000 }, messages.length).catch(() => {});
        await wait(cutOff.wait);
      }
      const second = begin();
      const resumed = second.keep(await second.runtime.resume("s", { takeOver: true }));
      await settle();
      expect(visible(resumed)).toEqual(last);
      checkLog(resumed, ends);
    }),
    { numRuns: inCI ? 200 : 15 },
  );
});
