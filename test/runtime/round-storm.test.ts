/** Rounds in any order of events: whatever happens, each call ends once and nothing is held afterwards. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Hook } from "../../src/core/hook.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { Round } from "../../src/runtime/round.ts";
import type { RuntimeSession, SessionTurn } from "../../src/runtime/runtime-session.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { testRuntime, tool } from "./bench-runtime.ts";
import { FailingStore } from "./session/failing-store.ts";
import { repeated } from "../ci.ts";

const NAMES = ["read", "slow", "write", "blind", "once", "say", "fails", "outer", "sub", "nowhere"] as const;

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant("add" as const), name: fc.constantFrom(...NAMES), id: fc.constantFrom("a", "b", undefined) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("end" as const, "end-badly" as const, "void" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ticks: fc.nat(4) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("abort" as const, "say" as const, "fork" as const, "unsayable" as const, "leave" as const),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

const plan = fc.record({
  turns: fc.array(fc.array(step, { maxLength: 14 }), { minLength: 1, maxLength: 3 }),
  closes: fc.option(fc.record({ what: fc.constantFrom("session" as const, "runtime" as const, "store" as const), after: fc.nat(12) })),
  hooked: fc.boolean(),
  stored: fc.boolean(),
});

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function tools(session: () => RuntimeSession, other: () => RuntimeSession): readonly Tool[] {
  const nested = async (turn: SessionTurn): Promise<unknown> => {
    const round = turn.round();
    round.add({ name: "read" });
    round.add({ name: "write" });
    return (await round.end({ content: "In a tool.", finish: "calls", usage: { inputTokens: 0, outputTokens: 0 } })).length;
  };
  return [
    tool("read", () => 1, { effects: { reads: ["k"], writes: [] }, cache: "session" }),
    tool("slow", async () => (await tick(), 2), { effects: { reads: ["k"], writes: [] } }),
    tool("write", async () => (await tick(), 3), { effects: { reads: [], writes: ["k"] } }),
    { name: "blind", description: "", inputSchema: { type: "object" }, execute: () => 4 },
    tool("once", () => 5, { oncePerTurn: true }),
    tool("say", () => 6, { endsTurn: true }),
    tool("fails", () => Promise.reject(new Error("no"))),
    tool("outer", () => session().turn(nested)),
    tool("sub", () => other().turn(nested)),
  ];
}

async function playTurn(session: RuntimeSession, turn: SessionTurn, steps: readonly Step[], abort: AbortController): Promise<void> {
  let round: Round | undefined;
  let sayable = true;
  const ends: Promise<unknown>[] = [];
  const usage = { inputTokens: 0, outputTokens: 0 };
  for (const one of steps) {
    if (one.do === "add")
      (round ??= turn.round({ signal: abort.signal })).add({ name: one.name, input: {}, ...(one.id === undefined ? {} : { id: one.id }) });
    else if (one.do === "wait") for (let left = one.ticks; left > 0; left--) await tick();
    else if (one.do === "abort") abort.abort();
    else if (one.do === "unsayable") sayable = false;
    else if (one.do === "fork") await session.fork({ simulated: true }).execute({ name: "read" });
    else if (one.do === "leave") return;
    else if (one.do === "say") {
      if (round === undefined) turn.addMessage({ role: "user", content: "And?" });
    } else if (round !== undefined) {
      const content = sayable ? "Well." : ([{ type: "text", text: 7 }] as unknown as string);
      const over = one.do === "void" ? round.void("lost") : round.end({ content, finish: one.do === "end" ? "calls" : "length", usage });
      ends.push(over.catch(() => undefined));
      const again = round.void("again");
      ends.push(again.catch(() => undefined));
      await Promise.all(ends);
      round = undefined;
    }
  }
}

function endsOf(log: readonly SessionEvent[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const event of log) if (event.type === "call-start") ends.set(event.callId, 0);
  for (const event of log) if (event.type === "call-end") ends.set(event.callId, (ends.get(event.callId) ?? -9) + 1);
  return ends;
}

function isBusy({ log }: RuntimeSession): boolean {
  return [...endsOf(log).values()].includes(0);
}

test("F1.15 F1.44 rounds filled, ended, voided, aborted, abandoned and closed in any order end each call once and hold nothing", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ turns, closes, hooked, stored }) => {
      const hook: Hook = { name: "late", inSimulation: "run", beforeCall: () => tick() };
      const failing = new FailingStore();
      const store = closes?.what === "store" ? failing : stored ? memoryStore() : undefined;
      const { runtime, ports } = testRuntime({
        tools: tools(
          () => session,
          () => other,
        ),
        maxConcurrent: 64,
        maxAttempts: 1, // the clock stands still
        ...(hooked ? { hooks: [hook] } : {}),
        ...(store === undefined ? {} : { store }),
      });
      const session = runtime.session("s");
      const other = runtime.session("other");
      const errors: unknown[] = [];
      const played = turns.map((steps) => {
        const abort = new AbortController();
        return session.turn((turn) => playTurn(session, turn, steps, abort)).catch((thrown: ToolError) => errors.push(thrown.code));
      });
      for (let left = closes?.after ?? 0; left > 0; left--) await tick();
      if (closes?.what === "session") await session.close();
      if (closes?.what === "runtime") await runtime.close();
      if (closes?.what === "store")
        failing[closes.after % 2 === 0 ? "appendError" : "durableError"] = new ToolError("store_failed", "The disk is full.");
      await Promise.all(played);
      // Turns that tools began in another session go on for a while after a message was taken back.
      for (let left = 100; left > 0 && [session, other].some(isBusy); left--) await tick();
      for (let left = 0; left < 3; left++) await tick();
      for (const one of [session, other]) expect([...endsOf(one.log).values()].filter((ends) => ends !== 1)).toEqual([]);
      expect(runtime.running).toEqual([]);
      const shown = session.messages();
      expect(shown.filter(({ role }) => role === "call")).toHaveLength(shown.filter(({ role }) => role === "result").length);
      for (const code of errors) expect(["invalid_argument", "store_failed"]).toContain(code);
      if (closes === null) expect((await session.execute({ name: "write" })).status).toBe("ok"); // no lock, no slot and no turn is held
      await runtime.close();
      expect(ports.clock.pending).toBe(0);
    }),
    { numRuns: repeated(200) },
  );
});
