/** Tools that may run once a turn, called by delegates. */
import { describe, expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { ToolCall } from "../../../src/core/call.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { delegateTool } from "../../../src/compose/delegate/delegate.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { testRuntime, tool } from "../../runtime/bench-runtime.ts";

const EPHEMERAL: ReadonlySet<string> = new Set(["call-wait", "call-attempt", "call-retry", "call-progress", "job-output"]);
const LAUNCH: ToolCall = { name: "default::launch", input: {} };

function bench(more: { readonly stored?: boolean; readonly tools?: readonly Tool[]; readonly block?: () => Promise<unknown> } = {}) {
  const ran: string[] = [];
  const launch = tool("launch", (_, { sessionId }) => ran.push(sessionId), { category: "DANGEROUS", effects: { writes: ["pad"] } });
  const pause = tool("pause", () => more.block?.(), { effects: { reads: [], writes: [] } });
  const answers = (calls: readonly ToolCall[]) =>
    scriptedModel(({ messages }) => {
      const done = messages.filter(({ role }) => role === "result").length;
      return done >= calls.length ? { text: "Done." } : { calls: calls.slice(done, done + 1) };
    });
  const crew = (name: string, ...calls: readonly ToolCall[]) => delegateTool({ name, description: "Works.", model: answers(calls) });
  const tools = [
    ...(more.tools ?? []),
    launch,
    pause,
    crew("pilot", LAUNCH, LAUNCH),
    crew("captain", { name: "default::pilot", input: { task: "Launch." } }),
    crew("crew", LAUNCH, { name: "default::pause", input: {} }, LAUNCH),
  ];
  return { ran, ...testRuntime({ tools, ...(more.stored === true ? { store: memoryStore() } : {}) }) };
}

const ask = (name: string): ToolCall => ({ name, input: { task: "Launch." } });

describe("F3.25 a tool that may run once a turn runs once in a turn", () => {
  test.for([
    ["that called it itself before its delegate does", [LAUNCH, ask("pilot")]],
    ["whose two delegates call it", [ask("pilot"), ask("pilot")]],
    ["whose delegate's delegate called it before", [ask("captain"), LAUNCH]],
  ] as const)("%s", async ([, calls]) => {
    for (const stored of [false, true]) {
      const { ran, runtime } = bench({ stored });
      const session = runtime.session("s");
      await session.execute([...calls]);
      expect(ran).toHaveLength(1);
      await session.execute(ask("pilot"));
      expect(ran).toHaveLength(2);
      await runtime.close();
    }
  });

  test("and tells a delegate that a turn of its own does not help", async () => {
    const { events, runtime } = bench();
    await runtime.session("s").execute(ask("pilot"));
    const errors = events.flatMap((event) => (event.type === "call-end" ? (event.result.error ?? []) : []));
    expect(errors).toMatchObject([
      {
        code: "limit_exceeded",
        message: "default::launch may run once a turn, and has run in the turn of the call around this one.",
        hint: "Continue without it, and say so in your answer: it cannot run again before that call has ended.",
      },
    ]);
    await runtime.close();
  });

  test("in which a handler makes calls in a branch of the session of its call", async () => {
    for (const stored of [false, true]) {
      const codes: unknown[] = [];
      const branching = async (_: unknown, context: ToolContext): Promise<void> => {
        const session = await sessionWithin(context);
        const branch = session.fork();
        for (const where of [session, branch, session]) codes.push((await where.execute(LAUNCH)).error?.code);
        await branch.discard();
      };
      const { ran, runtime } = bench({
        stored,
        tools: [{ name: "branching", description: "d", inputSchema: {}, composite: true, execute: branching }],
      });
      await runtime.session("s").execute({ name: "branching", input: {} });
      expect([ran.length, codes]).toEqual([1, [undefined, "limit_exceeded", "limit_exceeded"]]);
      await runtime.close();
    }
  });

  test("of a simulation, whose delegates call it", async () => {
    const { ran, runtime } = bench();
    await runtime.session("s").simulate([ask("pilot"), ask("captain")], { allowSideEffects: ["default::launch"] });
    expect(ran).toHaveLength(1);
    await runtime.close();
  });

  test("that a crash interrupts after a delegate called it", async () => {
    const before = bench({ stored: true, block: () => new Promise(() => {}) });
    void before.runtime.session("s").execute([ask("pilot"), ask("crew")]);
    await expect.poll(() => before.runtime.running.some(({ name }) => name === "default::pause")).toBe(true);
    expect(before.ran).toHaveLength(1);
    const events = before.events.filter((event): event is SessionEvent => "sessionId" in event && !EPHEMERAL.has(event.type));
    const { ran, runtime } = bench({ stored: true });
    const sessionIds = new Set(events.map(({ sessionId }) => sessionId));
    for (const sessionId of sessionIds)
      runtime.store?.create(sessionId, { at: 0, durability: "sync" }).append(events.filter((event) => event.sessionId === sessionId));
    const session = await runtime.resume("s", { takeOver: true });
    expect(session.history.map(({ result }) => result?.status)).toEqual(["ok", "ok"]);
    expect(ran).toEqual([]);
    await runtime.close();
  });
});
