import { describe, expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import type { JsonSchema, Reducer, Tool } from "../../../src/core/tool.ts";
import { lmEngine } from "../../../src/engine/lm.ts";
import { scriptedModel, type ScriptedModel } from "../../../src/model/scripted-model.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { toolContext } from "../engine-contexts.ts";
import { answer, memoryState, modelOf, toolWith } from "./lm-calls.ts";

/** Keeps a balance; what would leave less than nothing fails in the simulated world. */
const move: Reducer = (state, input) => {
  const balance = Number(state ?? 100) + Number(input["amount"]);
  if (balance < 0) throw new ToolError("limit_exceeded", "Not enough money.", { outcome: "failed" });
  return { state: balance, facts: { balance } };
};
const MOVE: Tool = {
  name: "move",
  description: "Moves money.",
  inputSchema: { type: "object", properties: { amount: { type: "integer" } }, required: ["amount"] },
  outputSchema: {
    type: "object",
    properties: { balance: { type: "integer" }, message: { type: "string" } },
    required: ["balance", "message"],
  },
  reducer: move,
};

/** A model that is bad at sums. */
async function bank(replies: readonly string[]): Promise<{ readonly runtime: Runtime; readonly model: ScriptedModel }> {
  const model = scriptedModel(replies.map((text) => ({ text })));
  const runtime = createRuntime({ toolsets: [{ name: "bank", tools: [MOVE], engine: lmEngine({ model }) }] });
  await runtime.open();
  return { runtime, model };
}

const moved = (amount: number) => ({ name: "bank::move", input: { amount } });
const says = (balance: unknown, message = "Done."): string => JSON.stringify({ balance, message });

describe("the reducer keeps the state and the model writes the text", () => {
  test("100 - 30 + 5 + 1 is 76, although the model says 74", async () => {
    const { runtime, model } = await bank([says(60), says("about 70"), says(74, "You have 74.")]);
    const results = await runtime.session().execute([-30, 5, 1].map(moved));
    expect(results.map(({ output }) => output)).toEqual([
      { balance: 70, message: "Done." },
      { balance: 75, message: "Done." },
      { balance: 76, message: "You have 74." },
    ]);
    const [, , last] = model.requests;
    const shown = (last?.messages ?? []).map((message): unknown =>
      "content" in message ? JSON.parse(String(message.content)) : undefined,
    );
    expect(shown.at(-1)).toMatchObject({ tool_call: { name: "bank::move", arguments: { amount: 1 } }, facts: { balance: 76 } });
    expect(shown[1]).toEqual({ balance: 70, message: "Done." });
  });

  test("a call whose text cannot be generated changes no state", async () => {
    const { runtime, model } = await bank([says(0), "I would rather not.", says(0)]);
    const session = runtime.session();
    const results = await session.execute([-30, -20, 5].map(moved));
    expect(results).toMatchObject([{ output: { balance: 70 } }, { error: { code: "invalid_output" } }, { output: { balance: 75 } }]);
    const shown = (model.requests[2]?.messages ?? []).map((message) =>
      "content" in message ? JSON.parse(String(message.content)) : undefined,
    );
    expect(shown).toMatchObject([
      { tool_call: { arguments: { amount: -30 } } },
      { balance: 70 },
      { tool_call: { arguments: { amount: -20 } } },
      { error: results[1]?.error?.message },
      { tool_call: { arguments: { amount: 5 } }, facts: { balance: 75 } },
    ]);
  });

  test("a call that the reducer rejects makes no model request and changes no state", async () => {
    const { runtime, model } = await bank([says(0)]);
    const results = await runtime.execute([-300, -100].map(moved));
    expect(results).toMatchObject([{ error: { code: "limit_exceeded", message: "Not enough money." } }, { output: { balance: 0 } }]);
    expect(model.requests).toHaveLength(1);
  });

  test("each session and each branch has its own state", async () => {
    const { runtime } = await bank(Array.from({ length: 6 }, () => says(0)));
    const [one, two] = [runtime.session(), runtime.session()];
    const balance = async (of: typeof one, amount: number): Promise<unknown> => (await of.execute(moved(amount))).output;
    expect([await balance(one, -1), await balance(two, -10)]).toMatchObject([{ balance: 99 }, { balance: 90 }]);
    const simulated = await one.simulate(moved(-50));
    expect(simulated.results).toMatchObject([{ status: "ok", output: { balance: 49 } }]);
    const branch = one.fork();
    expect(await balance(branch, -2)).toMatchObject({ balance: 97 });
    expect([await balance(one, -1), await balance(two, -10)]).toMatchObject([{ balance: 98 }, { balance: 80 }]);
  });

  test("a state change during the model request is a retryable conflict, and the retry uses the new state", async () => {
    const state = memoryState();
    const model = scriptedModel(() => {
      if (model.requests.length === 1) state.update("haft:world", () => 50);
      return { text: says(1) };
    });
    const engine = lmEngine({ model });
    const request = { tool: MOVE, input: { amount: -10 }, parsed: undefined };
    await expect(engine.call(request, toolContext({ state }))).rejects.toMatchObject({ code: "conflict", retryable: true });
    expect(await engine.call(request, toolContext({ state }))).toEqual({ balance: 40, message: "Done." });
  });
});

const decides = (facts: JsonValue): Partial<Tool> => ({ reducer: () => ({ facts, state: facts }) });

describe("facts replace the values of the model", () => {
  const order: JsonSchema = {
    type: "object",
    properties: {
      id: { type: "string" },
      note: { type: "string" },
      lines: { type: "array", items: { type: "string" } },
      customer: { type: "object", properties: { name: { type: "string" }, points: { type: "integer" } } },
    },
  };
  const cases: readonly (readonly [string, JsonSchema | undefined, JsonValue, JsonObject, JsonValue])[] = [
    ["where they are declared", order, { id: "o1", secret: 1 }, { id: "o9", note: "n" }, { id: "o1", note: "n" }],
    ["where it left them out", order, { id: "o1" }, { note: "n" }, { note: "n", id: "o1" }],
    [
      "in objects property by property",
      order,
      { customer: { points: 5, rank: 1 } },
      { customer: { name: "Ann", points: 9 } },
      { customer: { name: "Ann", points: 5 } },
    ],
    [
      "where it put no object for one",
      order,
      { customer: { points: 5 } },
      { customer: "Ann", note: "n" },
      { customer: { points: 5 }, note: "n" },
    ],
    ["as whole lists, empty ones too", order, { lines: [] }, { lines: ["a", "b"], note: "n" }, { lines: [], note: "n" }],
    [
      "everywhere without a schema",
      undefined,
      { id: "o1", deep: { a: 1 } },
      { deep: { a: 2, b: 3 }, x: 1 },
      { deep: { a: 1, b: 3 }, x: 1, id: "o1" },
    ],
  ];
  test.each(cases)("%s", async (_what, outputSchema, facts, said, output) => {
    expect(await answer(toolWith(outputSchema, decides(facts)), [JSON.stringify(said)])).toEqual({ output });
  });

  test("that do not fit the output schema make the output invalid", async () => {
    const tool = toolWith(order, decides({ id: 5 }));
    expect(await answer(tool, ['{"id":"o1","note":"n"}'])).toMatchObject({
      error: { code: "invalid_output", details: [expect.stringMatching(/^\$\.id: /u)] },
    });
  });
});

describe("no model request is made", () => {
  const point: JsonSchema = {
    type: "object",
    properties: { x: { type: "number" }, at: { type: "object", properties: { y: { type: "number" } } } },
  };

  test.each<[string, JsonSchema | undefined, JsonValue]>([
    ["where the facts are all that is declared", point, { x: 1, at: { y: 2 } }],
    ["where they are the whole output", { type: "integer" }, 76],
    ["where they are a list", { type: "array", items: { type: "string" } }, ["a"]],
    ["where they are no object, and there is no schema", undefined, "sold out"],
  ])("%s", async (_what, outputSchema, facts) => {
    const model = modelOf();
    const state = memoryState();
    expect(await answer(toolWith(outputSchema, decides(facts)), [], { model, context: { state } })).toEqual({ output: facts });
    expect([model.requests, state.get("haft:world")]).toEqual([[], facts]);
  });

  test.each<[string, JsonSchema, JsonValue]>([
    ["a declared property is missing", point, { at: { y: 2 } }],
    ["one of an inner object is missing", point, { x: 1, at: {} }],
    ["the output is a text, and the facts are an object", { type: "string" }, { x: 1 }],
  ])("unless %s", async (_what, outputSchema, facts) => {
    const model = modelOf('{"x":3,"at":{"y":4},"result":"three"}');
    await answer(toolWith(outputSchema, decides(facts)), [], { model });
    expect(model.requests).toHaveLength(1);
  });

  test("where the facts are the whole output and do not fit its schema; the error names the reducer", async () => {
    const model = modelOf();
    const state = memoryState();
    expect(await answer(toolWith(point, decides(5)), [], { model, context: { state, toolName: "map::point" } })).toMatchObject({
      error: { code: "invalid_output", message: "The facts that the reducer of map::point returned do not match its output schema." },
    });
    expect([model.requests, state.get("haft:world")]).toEqual([[], undefined]);
  });
});
