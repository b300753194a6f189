/** A delegate whose process ends after any of the events that it and its caller record. */
import { expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { Model } from "../../../src/core/model.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { delegateTool } from "../../../src/compose/delegate/delegate.ts";
import { createLoop } from "../../../src/compose/loop.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { testRuntime, tool } from "../../runtime/bench-runtime.ts";

/** Answers by what the conversation has, as a model does: whoever asks it again after a crash gets what comes next. */
function worker(): Model {
  return scriptedModel((request) => {
    const called = request.messages.flatMap((message) => (message.role === "call" ? [message.call.name] : []));
    if (!called.includes("default::pay")) return { text: "I pay.", calls: [{ name: "default::pay", input: {} }] };
    if (!called.includes("default::put")) return { calls: ["look", "put"].map((name) => ({ name: `default::${name}`, input: {} })) };
    return { text: "All done." };
  });
}

interface World {
  readonly done: string[];
  readonly tools: readonly Tool[];
}

function world(onDone: (name: string) => void = () => {}): World {
  const done: string[] = [];
  const work = (name: string) => async (): Promise<unknown> => {
    done.push(name);
    onDone(name);
    return await Promise.resolve(name);
  };
  const tools = [
    tool("look", work("look")),
    tool("pay", work("pay"), { effects: { writes: ["money"] } }),
    tool("put", work("put"), { effects: { writes: ["place"], idempotent: true } }),
    delegateTool({ name: "work", description: "Works.", model: worker() }),
  ];
  return { done, tools };
}

const caller = (): Model =>
  scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "result") ? { text: "Thanks." } : { calls: [{ name: "default::work", input: { task: "Go." } }] },
  );

/** Every event of both sessions, in the order in which they were recorded, and how many there were when each tool ran. */
async function played(): Promise<{
  readonly events: readonly SessionEvent[];
  readonly ran: ReadonlyMap<string, number>;
  readonly child: string;
}> {
  const ran = new Map<string, number>();
  const { tools } = world((name) => ran.set(name, kept().length));
  const { runtime, events } = testRuntime({ store: memoryStore(), tools });
  const kept = (): SessionEvent[] => events.filter((event): event is SessionEvent => "sessionId" in event && !EPHEMERAL.has(event.type));
  const session = runtime.session("s");
  expect((await createLoop({ model: caller(), session }).run("go")).text).toBe("Thanks.");
  const { callId } = session.history[0] ?? { callId: "" };
  return { events: kept(), ran, child: `s/${callId}` };
}

const EPHEMERAL: ReadonlySet<string> = new Set(["call-wait", "call-attempt", "call-retry", "call-progress", "job-output"]);

test("F1.53 after a crash at any event, a delegate continues from its log: each call has one result, and no payment runs twice", async () => {
  const { events, ran, child } = await played();
  expect(new Set(events.map(({ sessionId }) => sessionId))).toEqual(new Set(["s", child]));
  let resumed = 0;
  for (let length = 2; length <= events.length; length++) {
    const store = memoryStore();
    for (const id of ["s", child]) {
      const own = events.slice(0, length).filter(({ sessionId }) => sessionId === id);
      if (own.length > 0) store.create(id, { at: 0, durability: "sync" }).append(own);
    }
    const after = world();
    const { runtime } = testRuntime({ store, tools: after.tools });
    const session = await runtime.resume("s", { takeOver: true });
    const where = `cut after ${length} events, the last ${events[length - 1]?.type} of ${events[length - 1]?.sessionId}`;
    const payBegan = (ran.get("pay") ?? 0) <= length;
    expect(after.done.filter((name) => name === "pay").length + (payBegan ? 1 : 0), where).toBeLessThanOrEqual(1);
    const results = session.history.map(({ result }) => result?.status);
    expect(
      results.filter((status) => status === undefined),
      where,
    ).toEqual([]);
    expect(session.log.filter(({ type }) => type === "call-end").length, where).toBe(session.history.length);
    if (results[0] === "ok") {
      resumed++;
      expect(session.history[0]?.result?.output, where).toBe("All done.");
    }
    expect((await createLoop({ model: caller(), session }).run("go on")).reason, where).toBe("answered");
    await runtime.close();
  }
  expect(resumed).toBeGreaterThan(events.length / 2);
});
