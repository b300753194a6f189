import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../src/compose/loop-runtime.ts";
import type { Model } from "../../src/core/model.ts";
import type { LoopEvent } from "../../src/compose/loop-event.ts";
import type { LoopResult } from "../../src/compose/loop-result.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { gate, tool } from "../runtime/bench-runtime.ts";
import { notes, testLoop } from "./bench-loop.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";
import { collectUnhandledRejections } from "../unhandled-rejections.ts";

const add = tool("add", ({ a, b }) => Number(a) + Number(b));
const CALL = { name: "add", input: { a: 1, b: 2 } };

/** A model that never says anything. */
const silent: Model = {
  name: "silent",
  async *stream() {
    await new Promise(() => {});
    yield* [];
  },
};

async function read(
  events: AsyncGenerator<LoopEvent, LoopResult, undefined>,
): Promise<{ readonly events: readonly LoopEvent[]; readonly result: LoopResult }> {
  const seen: LoopEvent[] = [];
  for (;;) {
    const step = await events.next();
    if (step.done === true) return { events: seen, result: step.value };
    seen.push(step.value);
  }
}

describe("loop.stream", () => {
  test("yields the events of text, calls and rounds in order, and returns the result", async () => {
    const { loop, events: told } = testLoop({ tools: [add], script: [{ text: "Let me see.", calls: [CALL] }, { text: "Three." }] });
    const { events, result } = await read(loop.stream("1 + 2?"));
    expect(events.map(({ type }) => type)).toEqual([
      "round-start",
      "text-delta",
      "call-open",
      "call-delta",
      "call-seal",
      "call-add",
      "reply-end",
      "round-end",
      "round-start",
      "text-delta",
      "reply-end",
      "round-end",
      "stop",
    ]);
    expect(events.at(-1)).toEqual({ type: "stop", result });
    expect(result).toMatchObject({ text: "Three.", reason: "answered", rounds: 2 });
    expect(told).toEqual(events);
  });

  test("issue 20.2 runtime listeners receive the text while it is written, and the log stores only the whole message", async () => {
    const { runtime } = testRuntime({ tools: [add] });
    const session = runtime.session("told");
    const { loop } = testLoop({ session, script: [{ text: "Let me see.", calls: [CALL] }, { text: "Three." }] });
    const heard: unknown[] = [];
    runtime.subscribe((event) => {
      if (event.type === "round-text" || event.type === "round-end") heard.push(event);
    });
    await loop.run("1 + 2?");
    const place = { sessionId: session.id, turnId: expect.any(String), at: expect.any(Number) };
    expect(heard).toEqual([
      { type: "round-text", ...place, position: 0, text: "Let me see." },
      expect.objectContaining({ type: "round-end" }),
      { type: "round-text", ...place, position: 0, text: "Three." },
      expect.objectContaining({ type: "round-end" }),
    ]);
    expect(session.log.map(({ type }) => type)).not.toContain("round-text");
  });

  test("yields an event while the run continues, and leaving the iteration early cancels the run", async () => {
    const waiting = gate();
    const slow = tool("slow", async (_input, { signal }) => {
      signal.addEventListener("abort", () => waiting.open());
      await waiting.promise;
    });
    const { loop, session } = testLoop({ tools: [slow], script: [{ text: "On it.", calls: [{ name: "slow" }] }, { text: "Never." }] });
    for await (const event of loop.stream("go")) if (event.type === "call-add") break;
    expect(loop.running).toBe(false);
    expect(session.history.map(({ result }) => result?.error?.code)).toEqual(["cancelled"]);
    expect((await loop.run("again")).reason).toBe("answered");
  });

  test("cancels the run if the iteration is left while the next event is awaited", async () => {
    const { loop } = testLoop({ model: silent, script: [] });
    const events = loop.stream("go");
    expect((await events.next()).value).toMatchObject({ type: "round-start" });
    const next = events.next();
    const end = events.return({} as never);
    expect(await next).toMatchObject({ done: false });
    expect((await end).done).toBe(true);
    expect(loop.running).toBe(false);
  });

  test("a run that fails between two reads rejects the next read, and causes no unhandled rejection", async () => {
    let requests = 0;
    const { loop } = testLoop({
      tools: [add],
      script: [{ calls: [CALL] }, { text: "Three." }],
      system: () => {
        if (requests++ > 0) throw new Error("no second time");
        return "";
      },
    });
    const unhandled = collectUnhandledRejections();
    const events = loop.stream("1 + 2?");
    await events.next();
    while (loop.running) await new Promise(setImmediate);
    await new Promise(setImmediate);
    await expect(read(events)).rejects.toThrow("no second time");
    expect(unhandled).toEqual([]);
  });

  test("the iteration throws the error that the run rejects with", async () => {
    const { loop, session } = testLoop({ script: [{ text: "x" }] });
    await session.close();
    await expect(read(loop.stream("go"))).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(loop.stream("go", { sgnal: 1 } as object).next()).rejects.toMatchObject({ hint: 'Did you mean "signal"?' });
  });
});

const answer = z.object({ city: z.string(), degrees: z.number(), at: z.string().transform((text) => new Date(text)) });
const GOOD = '{"city": "Oslo", "degrees": 4, "at": "2026-01-01T00:00:00Z"}';

describe("a run with an output schema", () => {
  test.each([
    ["JSON alone", GOOD],
    ["JSON in a fence", `Here it is:\n\`\`\`json\n${GOOD}\n\`\`\``],
    ["JSON among prose, with a number as text", `I think ${GOOD.replace("4", '"4"')} is right.`],
    ["broken form", GOOD.replace('"city"', "city").replace("}", ",}")],
  ])("reads %s, and the result is typed by the schema", async (_, text) => {
    const { loop, model } = testLoop({ tools: [add], system: "Be brief.", script: [{ calls: [CALL] }, { text }] });
    const result = await loop.run("How warm?", { output: answer });
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; degrees: number; at: Date } | undefined>();
    expect(result.output).toEqual({ city: "Oslo", degrees: 4, at: new Date("2026-01-01T00:00:00Z") });
    expect(result.reason).toBe("answered");
    expect(model.requests.map(({ responseFormat }) => responseFormat)).toEqual([undefined, undefined]);
    expect(model.requests[0]?.system).toMatch(/^Be brief\.\n\nGive your final answer as one JSON object/u);
  });

  test("requests an answer that does not match again, with its errors and without calls", async () => {
    const { loop, model } = testLoop({
      tools: [add],
      script: [{ text: "It is 4 degrees." }, { text: '{"city": "Oslo"}' }, { text: GOOD }],
    });
    const result = await loop.run("How warm?", { output: answer });
    expect(result.output?.degrees).toBe(4);
    expect(result.rounds).toBe(3);
    expect(notes(model.requests[1])[0]).toContain("the answer is not a JSON object");
    expect(notes(model.requests[2]).at(-1)).toContain("$.degrees: required field missing");
    expect(model.requests.map(({ toolChoice, responseFormat }) => [toolChoice, responseFormat !== undefined])).toEqual([
      [undefined, false],
      ["none", true],
      ["none", true],
    ]);
  });

  test("ends with the errors and the last text if the answer never matches", async () => {
    const { loop } = testLoop({ script: (_request, index) => ({ text: `{"city": ${index}}` }) });
    const result = await loop.run("How warm?", {
      output: { type: "object", properties: { city: { type: "string" }, n: { type: "integer" } }, required: ["n"] },
    });
    expectTypeOf(result.output).toEqualTypeOf<{ readonly n: number; readonly city?: string } | undefined>();
    expect(result).toMatchObject({ reason: "invalid-output", rounds: 3, text: '{"city": 2}', error: { code: "invalid_output" } });
    expect(result.error?.details).toContain("$.n: required field missing");
    expect("output" in result).toBe(false);
  });

  test("counts corrections towards maxRounds", async () => {
    const { loop } = testLoop({ script: () => ({ text: "no" }), limits: { maxRounds: 1 } });
    expect(await loop.run("?", { output: answer })).toMatchObject({ reason: "invalid-output", rounds: 1 });
  });

  test("without tools sends the response format from the first request", async () => {
    const model = scriptedModel([{ text: GOOD }]);
    const runtime = createRuntime();
    await runtime.loop({ model, tools: () => [] }).run("?", { output: answer });
    await runtime.close();
    expect(model.requests[0]?.responseFormat).toMatchObject({ name: "answer", schema: { type: "object" } });
  });

  test.each([{ type: "array" }, true, z.string()])("rejects a schema that is not of an object: %j", async (output) => {
    const { loop, model } = testLoop({ script: [{ text: "x" }] });
    await expect(loop.run("?", { output })).rejects.toMatchObject({ code: "invalid_schema" });
    expect(model.requests).toEqual([]);
  });

  test("has the output, typed by the schema, in the last event of its stream", async () => {
    const { loop } = testLoop({ script: [{ text: GOOD }] });
    const outputs: unknown[] = [];
    for await (const event of loop.stream("How warm?", { output: answer })) {
      if (event.type !== "stop") continue;
      expectTypeOf(event.result.output).toEqualTypeOf<{ city: string; degrees: number; at: Date } | undefined>();
      outputs.push(event.result.output);
    }
    expect(outputs).toEqual([{ city: "Oslo", degrees: 4, at: new Date("2026-01-01T00:00:00Z") }]);
  });

  test("a run without an output schema has no output", async () => {
    const { loop } = testLoop({ script: [{ text: "x" }] });
    const result = await loop.run("?");
    expectTypeOf(result.output).toEqualTypeOf<undefined>();
    expect("output" in result).toBe(false);
  });
});

describe("runtime.loop", () => {
  test("needs only a model", async () => {
    const runtime = createRuntime({ tools: [add] });
    const loop = runtime.loop({ model: scriptedModel([{ calls: [CALL] }, { text: "Three." }]) });
    const { text, results } = await loop.run("1 + 2?");
    expect([text, results.map(({ output }) => output)]).toEqual(["Three.", [3]]);
    await runtime.close();
  });

  test("accepts a model name: an unknown provider throws at once, a missing key when the loop runs", async () => {
    const runtime = createRuntime();
    for (const [model, message] of [
      ["opnai/gpt-5", 'No provider "opnai". Did you mean "openai"'],
      ["gpt-5", '"gpt-5" does not name a provider.'],
      ["openai/", "A model needs a name after its provider"],
    ] as const)
      expect(() => runtime.loop({ model })).toThrow(
        expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }),
      );
    vi.stubEnv("OPENAI_API_KEY", "");
    await expect(runtime.loop({ model: "openai/gpt-5" }).run("?")).rejects.toMatchObject({ code: "invalid_config" });
    vi.unstubAllEnvs();
    expect(() => runtime.loop({} as { model: string })).toThrow("A loop or an agent needs a model");
    expect(() => runtime.loop({ model: "openai/x", sesion: 1 } as { model: string })).toThrow('createLoop() has no option "sesion".');
    await runtime.close();
  });
});
