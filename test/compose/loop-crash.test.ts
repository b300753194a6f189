/** A loop whose process ends after any of the events that it records. */
import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { Model, ModelCall, ModelEvent } from "../../src/core/model.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";
import { replyEnd, saidBy } from "./bench-loop.ts";

const call = (name: string, id: string): ModelCall => ({ name, id, input: { id } });
const seal = (index: number, made: ModelCall): ModelEvent => ({ type: "call-seal", index, call: made });

/** Three messages: one of reads and writes, one that is taken back in its middle and begun anew, and an answer. */
const SCRIPT: readonly (readonly ModelEvent[])[] = [
  [
    { type: "text-delta", text: "First." },
    seal(0, call("read", "r1")),
    seal(1, call("pay", "p1")),
    seal(2, call("put", "u1")),
    replyEnd({ text: "First.", finish: "calls", calls: [call("read", "r1"), call("pay", "p1"), call("put", "u1")] }),
  ],
  [
    seal(0, call("pay", "lost1")),
    seal(1, call("read", "lost2")),
    seal(2, call("put", "lost3")),
    { type: "reply-void", reason: "lost" },
    seal(0, call("pay", "p2")),
    seal(1, call("nowhere", "n2")),
    seal(2, call("outer", "o2")),
    replyEnd({ finish: "calls", calls: [call("pay", "p2"), call("nowhere", "n2"), call("outer", "o2")] }),
  ],
  [replyEnd({ text: "Done." })],
];

/** Notes what its tools did, and how many events there were when they did. */
function world(length: () => number) {
  const done: { readonly id: string; readonly at: number }[] = [];
  const work = async ({ id }: Readonly<Record<string, unknown>>): Promise<unknown> => {
    done.push({ id: String(id), at: length() });
    await Promise.resolve();
    return id;
  };
  return {
    done,
    tools: (nested: () => unknown): readonly Tool[] => [
      tool("read", work),
      tool("pay", work, { effects: { reads: [], writes: ["money"] } }),
      tool("put", work, { effects: { reads: [], writes: ["place"], idempotent: true } }),
      tool("outer", nested, { effects: { reads: [], writes: ["outer"] } }),
    ],
  };
}

const model = (): Model => saidBy((_request, index) => SCRIPT[index] ?? [replyEnd({ text: "Yes." })]);

async function played(): Promise<{ readonly events: readonly SessionEvent[]; readonly done: ReturnType<typeof world>["done"] }> {
  const { done, tools } = world(() => session.length);
  const nested = async (): Promise<unknown> => (await session.execute({ name: "pay", input: { id: "nested" } })).output;
  const { runtime } = testRuntime({ store: memoryStore(), tools: tools(nested) });
  const session = runtime.session("s");
  expect((await createLoop({ model: model(), session }).run("go")).text).toBe("Done.");
  return { events: session.log, done };
}

test("I03 after a crash at any event of a loop, each call has one result, no payment runs twice, and voided calls do not run", async () => {
  const { events, done } = await played();
  expect(done.map(({ id }) => id)).toEqual(["r1", "p1", "u1", "lost2", "p2", "nested"]);
  for (let length = 1; length <= events.length; length++) {
    const kept = events.slice(0, length);
    const store = memoryStore();
    store.create("s", { at: 0, durability: "sync" }).append(kept);
    const after = world(() => 0);
    const { runtime } = testRuntime({ store, tools: after.tools(() => "again") });
    const session = await runtime.resume("s", { takeOver: true });
    const where = `cut after ${length} events, the last ${kept.at(-1)?.type}`;
    expect(callsWithout(session.log, "call-end"), where).toEqual([]);
    const paid = done.filter(({ id, at }) => /^(?:p|nested)/u.test(id) && at <= length).map(({ id }) => id);
    expect(
      after.done.filter(({ id }) => paid.includes(id) || id.startsWith("lost")),
      where,
    ).toEqual([]);
    expect(unpaired(session.messages()), where).toEqual([]);
    expect(JSON.stringify(session.messages()), where).not.toContain("lost");
    const again = await testRuntime({ store, tools: after.tools(() => "again") }).runtime.resume("s", { takeOver: true });
    expect([again.messages(), again.length], where).toEqual([session.messages(), session.length]);
    expect((await createLoop({ model: model(), session: again }).run("go on")).reason, where).toBe("answered");
  }
});

/** Ids of calls with none or several of these events. */
function callsWithout(log: readonly SessionEvent[], type: SessionEvent["type"]): readonly string[] {
  const started = log.flatMap((event) => (event.type === "call-start" ? [event.callId] : []));
  const ended = log.flatMap((event) => (event.type === type && "callId" in event ? [event.callId] : []));
  return started.filter((callId) => ended.filter((other) => other === callId).length !== 1);
}

function unpaired(messages: readonly ModelMessage[]): readonly string[] {
  const calls = messages.flatMap((message) => (message.role === "call" ? [message.callId] : []));
  const results = messages.flatMap((message) => (message.role === "result" ? [message.callId] : []));
  return [...calls.filter((id) => results.filter((other) => other === id).length !== 1), ...results.filter((id) => !calls.includes(id))];
}
