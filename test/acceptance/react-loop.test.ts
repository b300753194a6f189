/** The loop of seed 003: reflection that leaves no history, the decision to go on as a function, what a mode and the rules hide, and counts that a replay confirms. */
import { describe, expect, test } from "vitest";
import { createAgent } from "../../src/compose/agent.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { createRuntime } from "../../src/compose/loop-runtime.ts";
import type { LoopOptions } from "../../src/compose/loop-options.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { scriptedModel, type ReplyScript } from "../../src/model/scripted-model.ts";
import { reasonToStop } from "../../src/public/loop.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

const journal = {
  name: "write_journal",
  description: "Writes a line into the journal.",
  inputSchema: { type: "object", properties: { line: { type: "string" } }, required: ["line"] },
  effects: { writes: ["session:journal"] },
  execute: ({ line }: { readonly line: string }, { state }: ToolContext) => {
    state.update("lines", (lines) => `${typeof lines === "string" ? lines : ""}${line};`);
    return state.get("lines");
  },
} as const;

const write = (line: string) => ({ name: "write_journal", input: { line } });

describe("F3.4 a loop that reflects", () => {
  const script: ReplyScript = [
    { text: "Let me think.", calls: [write("a"), { name: "nowhere" }] },
    { calls: [write("b")] },
    { text: "I am wiser." },
  ];

  async function reflect(more: Partial<LoopOptions> = {}) {
    const store = memoryStore();
    const runtime = createRuntime({ tools: [journal], store, ports: fakePorts() });
    const session = runtime.session("mind");
    await session.addMessage({ role: "user", content: "Good morning." });
    await session.execute(write("dawn"));
    const before = { log: [...session.log], messages: session.messages(), state: (await session.snapshot()).state };
    const model = scriptedModel(script);
    const loop = createLoop({ model, session, recordHistory: false, ...more });
    return { store, runtime, session, before, model, loop };
  }

  test("is shown its own calls and results, and leaves neither messages nor calls nor state behind", async () => {
    const { store, runtime, session, before, model, loop } = await reflect();
    const result = await loop.run("Think of yesterday.");

    expect([result.reason, result.text, result.results.map(({ output, error }) => output ?? error?.code)]).toEqual([
      "answered",
      "I am wiser.",
      ["dawn;a;", "not_found", "dawn;a;b;"],
    ]);
    expect(model.requests.map(({ messages }) => messages.map(({ role }) => role).slice(before.messages.length))).toEqual([
      ["user"],
      ["user", "assistant", "call", "call", "result", "result"],
      ["user", "assistant", "call", "call", "result", "result", "call", "result"],
    ]);
    expect({ log: [...session.log], messages: session.messages(), state: (await session.snapshot()).state }).toEqual(before);
    expect(runtime.sessions.list()).toEqual([session]);
    expect((await store.list()).length).toBe(1);
  });

  test("begins each run anew from the session, and leaves nothing either when the model fails or a stream is left", async () => {
    const { store, session, before, model, loop } = await reflect({
      model: scriptedModel([{ calls: [write("x")], error: new Error("down") }]),
    });
    expect(model.requests).toEqual([]);
    expect((await loop.run("One.")).reason).toBe("model-error");
    for await (const event of loop.stream("Two.")) if (event.type === "round-start") break;
    await session.addMessage({ role: "user", content: "Noon." });

    expect(session.messages().map(({ role }) => role)).toEqual([...before.messages.map(({ role }) => role), "user"]);
    expect((await store.list()).length).toBe(1);
    expect(loop.running).toBe(false);
  });

  test("is stopped by the emergency stop that it shares", async () => {
    const failing = { ...journal, name: "fail", execute: () => Promise.reject(new Error("no")) };
    const runtime = createRuntime({ tools: [failing], ports: fakePorts() });
    const loop = createLoop({
      model: scriptedModel(() => ({ calls: [{ name: "fail", input: { line: "x" } }] })),
      session: runtime.session(),
      recordHistory: false,
      limits: { repeat: false },
    });
    expect((await loop.run("Go.")).reason).toBe("emergency-stop");
    expect(await loop.run("Go.")).toMatchObject({ reason: "emergency-stop", rounds: 0 });
  });
});

describe("F3.32 the decision to go on is a function that a loop of one's own can ask", () => {
  const call = (category: "SAFE_CHAIN" | "TERMINAL" | "DANGEROUS" | "ASYNC_REQUIRED") => ({ category });
  test.each([
    [{ finish: "calls", calls: [call("SAFE_CHAIN")], rounds: 1 }, {}, undefined],
    [{ finish: "calls", calls: [call("ASYNC_REQUIRED"), call("DANGEROUS")], rounds: 4 }, {}, undefined],
    [{ finish: "calls", calls: [call("SAFE_CHAIN"), call("TERMINAL")], rounds: 1 }, {}, "tool-ended-turn"],
    [{ finish: "calls", calls: [{ ...call("TERMINAL"), admitted: false, code: "invalid_input" }], rounds: 1 }, {}, undefined],
    [{ finish: "stop", calls: [], rounds: 1 }, {}, "answered"],
    [{ finish: "calls", calls: [call("SAFE_CHAIN")], rounds: 5 }, { maxRounds: 5 }, "max-rounds"],
    [{ finish: "calls", calls: [call("SAFE_CHAIN")], rounds: 1 }, { multiAction: false }, "one-action"],
    [{ finish: "calls", calls: [call("SAFE_CHAIN")], rounds: 1, aborted: true }, {}, "cancelled"],
    [{ finish: "calls", calls: [call("SAFE_CHAIN")], rounds: 1, emergency: true }, {}, "emergency-stop"],
  ] as const)("%j with limits %j: %s", (facts, limits, reason) => {
    expect(reasonToStop(facts, limits)).toBe(reason);
  });
});

test("F3.32 facts that are incomplete or misspelt are refused, and do not look like a reason to stop or to go on", () => {
  const wrong = [undefined, {}, { finish: "done", calls: [], rounds: 1 }, { finish: "calls", calls: 2, rounds: 1 }];
  for (const facts of [...wrong, { finish: "stop", calls: [], rounds: 0.5 }, { finish: "stop", calls: [], rounds: 1, emergancy: true }])
    expect(() => reasonToStop(facts as never)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});

test("F3.4 an agent is refused that would record nothing: what it has heard is in the log of its session", () => {
  const options = { session: createRuntime().session(), model: scriptedModel([]), recordHistory: false };
  expect(() => createAgent(options)).toThrow("An agent records its history");
});

test("F3.37 a model is offered neither the tools that the rules deny nor those that its mode hides, and calls of both are refused", async () => {
  const ran: string[] = [];
  const tool = (name: string) => ({ name, description: "", inputSchema: {}, execute: () => void ran.push(name) });
  const runtime = createRuntime({
    tools: ["look", "dream", "blast"].map(tool),
    permission: { deny: ["blast"] },
    ports: fakePorts(),
  });
  const model = scriptedModel([{ calls: [{ name: "blast" }, { name: "dream" }, { name: "look" }] }, { text: "Done." }]);
  const loop = createLoop({ model, session: runtime.session(), allow: { deny: ["default::dream"] } });
  const { results } = await loop.run("Go.");

  expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name).filter((name) => !name.startsWith("haft::")))).toEqual([
    ["default::look"],
    ["default::look"],
  ]);
  expect(results.map(({ status }) => status)).toEqual(["error", "error", "ok"]);
  expect(ran).toEqual(["look"]);
});

test("F3.38 the log of a session gives the counts of each tool again, also as it comes back from a store", async () => {
  const store = memoryStore();
  const runtime = createRuntime({ tools: [journal], store, ports: fakePorts() });
  const session = runtime.session("day");
  await createLoop({
    model: scriptedModel([
      { calls: [write("a"), write("b"), { name: "nowhere" }] },
      { calls: [{ name: "write_journal", input: {}, reasoning: "oops" }] },
      { text: "." },
    ]),
    session,
  }).run("Go.");
  const live = counts(session.log);
  await session.close();
  const again = await runtime.resume("day");
  const stored: SessionEvent[] = [];
  for await (const event of again.events()) stored.push(event);

  expect(live).toEqual({ "default::write_journal": { success: 2, failure: 1 }, nowhere: { success: 0, failure: 1 } });
  expect(counts(stored)).toEqual(live);
  const executed = stored.find((event) => event.type === "call-start" && event.call.reasoning !== undefined);
  expect(executed).toMatchObject({ type: "call-start", call: { name: "write_journal", input: {}, reasoning: "oops" } });
});

function counts(events: Iterable<SessionEvent>): Record<string, { success: number; failure: number }> {
  const found: Record<string, { success: number; failure: number }> = {};
  for (const event of events) {
    if (event.type !== "call-end") continue;
    const count = (found[event.result.name] ??= { success: 0, failure: 0 });
    if (event.result.status === "ok") count.success++;
    else count.failure++;
  }
  return found;
}
