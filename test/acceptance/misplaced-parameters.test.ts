/** Parameters that a model of the fallback format writes beside an empty `parameters` (seed 003, step 1). */
import { expect, test } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import type { ToolCall } from "../../src/core/call.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { textToolsModel } from "../../src/model/text-model.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

async function play(said: string) {
  const ports = fakePorts();
  const given: unknown[] = [];
  const runtime = createRuntime({
    tools: [
      {
        name: "light_lamp",
        description: "Lights a lamp.",
        inputSchema: { type: "object", properties: { lamp: { type: "string" }, oil: { type: "integer" }, status: { type: "string" } } },
        execute: (input) => (given.push(input), { success: true }),
      },
    ],
    ports,
  });
  const model = textToolsModel(scriptedModel([{ text: said, pieceChars: 5 }, { text: "It is lit." }]), { format: "json" });
  const result = await createLoop({ model, session: runtime.session("cellar") }).run("Make light.");
  const warnings = ports.log.lines.filter(({ level, message }) => level === "warn" && message.includes("light_lamp"));
  return { given, result, warnings: warnings.map(({ message }) => message) };
}

test.each([
  ['{"tool": "light_lamp", "parameters": {}, "lamp": "brass", "oil": 2, "reasoning": "It is dark."}', { lamp: "brass", oil: 2 }],
  ['{"tool": "light_lamp", "lamp": "brass", "reasoning": "It is dark."}', { lamp: "brass" }],
  ['I need light.\n{"tool": "light_lamp", "reasoning": "dark", "oil": 3}', { oil: 3 }],
  ['{"tool": "light_lamp", "status": "on"}', { status: "on" }],
  ['{"tool_calls": [{"name": "light_lamp", "arguments": {}, "lamp": "tin"}]}', { lamp: "tin" }],
] as const)("F3.2 %s: the tool is given them, with a warning in the result and in the log", async (said, input) => {
  const { given, result, warnings } = await play(said);

  expect(given).toEqual([input]);
  expect(result.results[0]?.warnings).toEqual([expect.stringContaining(Object.keys(input).join(", "))]);
  expect(warnings).toEqual([expect.stringContaining(Object.keys(input).join(", "))]);
  expect([result.reason, result.text]).toEqual(["answered", "It is lit."]);
});

test.each(['{"tool": "light_lamp", "parameters": {}, "reasoning": "It is dark."}', '{"tool": "light_lamp", "parameters": {}}'])(
  "F3.2 parameters that are really empty stay so: %s",
  async (said) => {
    const { given, result, warnings } = await play(said);
    expect([given, result.results[0]?.warnings, warnings]).toEqual([[{}], [], []]);
  },
);

test("F3.2 what stands beside parameters that are there is not taken for one of them, and is warned of", async () => {
  const { given, result } = await play('{"tool": "light_lamp", "parameters": {"lamp": "tin"}, "oil": 9}');
  expect(given).toEqual([{ lamp: "tin" }]);
  expect(result.results[0]?.warnings).toEqual([expect.stringContaining("oil beside its arguments")]);
});

test.each([
  ['{"tool": "describe", "parameters": {}, "name": "restart"}', [["describe", { name: "restart" }]]],
  ['{"tool": "describe", "name": "restart", "reasoning": "It is new."}', [["describe", { name: "restart" }]]],
  ['{"tool": "describe", "parameters": {}, "action": "restart"}', [["describe", { action: "restart" }]]],
  ['{"tool": "describe", "parameters": {}, "input": "restart"}', [["describe", { input: "restart" }]]],
  ['{"tool": "describe", "parameters": {}, "args": {"name": "restart"}}', [["describe", { name: "restart" }]]],
  ['{"name": "restart", "arguments": {}, "tool": "describe"}', [["restart", { tool: "describe" }]]],
  ['{"name": "restart", "parameters": {"soon": true}, "tool": "describe"}', [["restart", { soon: true }]]],
] as const)("F3.2 %s: a parameter that is called like a key of a call does not name another tool, and is not lost", async (said, calls) => {
  const given: unknown[] = [];
  const tools = ["describe", "restart"].map((name) => ({
    name,
    description: "",
    inputSchema: {},
    execute: (input: object) => void given.push([name, input]),
  }));
  const runtime = createRuntime({ tools, ports: fakePorts() });
  const model = textToolsModel(scriptedModel([{ text: said }, { text: "Done." }]), { format: "json" });
  const { results } = await createLoop({ model, session: runtime.session("s") }).run("Look.");
  expect(given).toEqual(calls);
  expect(results[0]?.warnings).toHaveLength(said.includes("args") ? 0 : 1);
});

test("F3.2 a call with two names is run under neither", async () => {
  const given: unknown[] = [];
  const tools = ["describe", "restart"].map((name) => ({ name, description: "", inputSchema: {}, execute: () => void given.push(name) }));
  const runtime = createRuntime({ tools, ports: fakePorts() });
  const calls = [
    { tool: "describe", parameters: {}, name: "restart" },
    { name: "describe", input: { a: 1 }, tool: "hammer" },
    { name: "describe", tool: "describe" },
  ] as unknown as readonly ToolCall[];
  expect((await runtime.execute(calls)).map(({ error }) => error?.message)).toEqual([
    'A call has both "name" and "tool", with different values; the call was not run.',
    'A call has both "name" and "tool", with different values; the call was not run.',
    undefined,
  ]);
  expect(given).toEqual(["describe"]);
});

test("F3.2 a call with two inputs is run with neither, and an empty one beside another counts for nothing", async () => {
  const given: unknown[] = [];
  const execute = (input: object) => void given.push(input);
  const runtime = createRuntime({ tools: [{ name: "light", description: "", inputSchema: {}, execute }], ports: fakePorts() });
  const calls = [
    { name: "light", input: { lamp: "tin" }, parameters: { lamp: "brass" } },
    { tool: "light", arguments: '{"lamp": "tin"}', parameters: { lamp: "tin" } },
    { name: "light", arguments: {}, parameters: { lamp: "oak" } },
    { name: "light", input: { lamp: "ash" }, parameters: {} },
    { name: "light", input: null, arguments: {} },
  ] as unknown as readonly ToolCall[];
  const results = await runtime.execute(calls);
  expect(results.map(({ error }) => error?.message)).toEqual([
    'A call has both "input" and "parameters"; the call was not run.',
    'A call has both "arguments" and "parameters"; the call was not run.',
    undefined,
    undefined,
    undefined,
  ]);
  expect(given).toEqual([{ lamp: "oak" }, { lamp: "ash" }, {}]);
});

test("F3.2 an object of another kind, or of a tool that is not there, is an answer and no call", async () => {
  for (const said of ['{"lamp": "brass", "oil": 2}', '{"tool": "hammer", "price": 3}', '{"name": "light_lamp", "price": 3}'])
    expect(await play(said)).toMatchObject({ given: [], result: { reason: "answered", text: said, results: [] } });
});

test.each([(tool: object) => tool, (tool: object) => [tool, tool], (tool: object) => ({ type: "function", function: tool })])(
  "A21 the definition of a tool, as a model that lists its tools writes it, is no call of the tool (case %#)",
  async (wrap) => {
    const parameters = { type: "object", properties: { lamp: { type: "string" } }, required: ["lamp"] };
    const said = JSON.stringify(wrap({ name: "light_lamp", description: "Lights a lamp.", parameters }));
    expect(await play(said)).toMatchObject({ given: [], result: { reason: "answered", text: said, results: [] } });
  },
);

test("F3.2 the calls of a text model are run alike by a program that runs them itself", async () => {
  const ports = fakePorts();
  const runtime = createRuntime({ tools: [{ name: "wait", description: "", inputSchema: {}, execute: (input) => input }], ports });
  const model = textToolsModel(scriptedModel([{ text: '{"tool": "wait", "parameters": {}, "hours": 4}' }]), { format: "json" });
  for await (const event of model.stream({ messages: [], tools: [{ name: "default::wait", description: "", inputSchema: {} }] })) {
    if (event.type !== "reply-end") continue;
    expect(await runtime.execute(event.reply.calls)).toMatchObject([
      { status: "ok", output: { hours: 4 }, warnings: [expect.stringContaining("hours")] },
    ]);
    expect(event.reply.warnings).toEqual([expect.stringContaining("hours")]);
  }
});
