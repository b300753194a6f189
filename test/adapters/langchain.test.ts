/** With the real package `@langchain/core`. */
import { tool } from "@langchain/core/tools";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { expect, test } from "vitest";
import { ToolMessage, type ToolMessageFields } from "@langchain/core/messages";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { fromLangChainTools, toLangChainTools } from "../../src/adapters/langchain.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { adapterRuntime, oddAnswers } from "./adapter-world.ts";

test("Haft's tools run in LangChain through the runtime, by value and by tool call, and fail as LangChain expects", async () => {
  const runtime = adapterRuntime();
  const session = runtime.session();
  const [fail, add] = toLangChainTools(runtime, (handler, fields) => tool(handler, fields), {
    session,
    only: ["math::*", "default::fail"],
  });
  expect(await add?.invoke({ a: 2 })).toEqual({ sum: 3 });
  const message = await add?.invoke({ type: "tool_call", id: "c1", name: "math__add", args: { a: 4 } });
  expect(message).toMatchObject({ tool_call_id: "c1", content: '{"sum":5}' });
  await expect(fail?.invoke({})).rejects.toThrow("the disk is full");
  expect(session.history.map(({ result }) => result?.status)).toEqual(["ok", "ok", "error"]);
});

test("models get the whole schema, whether their class converts it or sends it unchanged", async () => {
  const [add] = toLangChainTools(adapterRuntime(), (handler, fields) => tool(handler, fields), { only: ["math::add"] });
  const schema = {
    type: "object",
    properties: { a: { type: "integer" }, b: { type: "integer", default: 1 } },
    required: ["a"],
  };
  expect(JSON.parse(JSON.stringify(add?.schema))).toEqual(schema);
  expect(toJsonSchema(add?.schema ?? {})).toEqual(schema);
  expect(await add?.invoke({ a: "2" })).toEqual({ sum: 3 });
});

test("LangChain's tools run in Haft, with their schemas checked", async () => {
  const greet = tool(({ name }) => `Hello ${name}`, { name: "greet", description: "Greets.", schema: z.object({ name: z.string() }) });
  const plain = tool((input: unknown) => input, {
    name: "echo",
    description: "Echoes.",
    schema: { type: "object", properties: { a: { type: "integer" } } },
  });
  const runtime = createRuntime({ tools: fromLangChainTools([greet, plain]) });
  const results = await runtime.execute([
    { name: "greet", input: { name: "Ada" } },
    { name: "greet", input: {} },
    { name: "echo", input: { a: "1" } },
  ]);
  expect(results.map(({ output, error }) => output ?? error?.code)).toEqual(["Hello Ada", "invalid_input", { a: 1 }]);
});

test("LangChain's signal cancels Haft's call", async () => {
  const runtime = createRuntime({
    tools: [{ name: "wait", description: "Waits.", inputSchema: { type: "object" }, execute: () => new Promise(() => {}) }],
  });
  const [wait] = toLangChainTools(runtime, (handler, fields) => tool(handler, fields), { only: ["default::wait"] });
  const controller = new AbortController();
  const waiting = wait?.invoke({}, { signal: controller.signal });
  controller.abort();
  await expect(waiting).rejects.toThrow();
  expect(runtime.running).toEqual([]);
});

test("a message has the text for the model for any kind of answer; a program gets JSON", async () => {
  const tools = toLangChainTools(oddAnswers(), (handler, fields) => tool(handler, fields), { only: ["default::*"] });
  const said: unknown[] = [];
  for (const made of tools) {
    const message: unknown = await made.invoke({ type: "tool_call", id: "c", name: made.name, args: {} });
    said.push([made.name, (message as { readonly content: unknown }).content]);
  }
  expect(said).toEqual([
    ["blocks", '[{"type":"haft"}]'],
    ["nothing", "null"],
    ["plot", '{"chart":"[image 1]"}\n[image image/png]'],
    ["posing", '{"type":"haft-content","content":[{"type":"file"}]}'],
    ["said", "one"],
  ]);
  expect(await tools[0]?.invoke({})).toEqual([{ type: "haft" }]);
});

test("a schema of an older zod without JSON Schema is refused with a hint", () => {
  const old = { name: "old", description: "Old.", schema: z3.object({ a: z3.string() }), invoke: () => "" };
  expect(() => fromLangChainTools([old])).toThrow('The schema of "zod" has no JSON Schema');
});

test("a tool without a schema, which takes a string, is refused with a hint", () => {
  const asks = tool((text) => text, { name: "asks", description: "Asks." });
  expect(() => fromLangChainTools([asks])).toThrow('The tool "asks" takes a string, not an object');
});

test("a message as an answer becomes its content, and a message with the status error becomes a failure", async () => {
  const schema = z.object({});
  const made: readonly (readonly [string, ToolMessageFields])[] = [
    ["text", { tool_call_id: "c", content: "Done." }],
    ["blocks", { tool_call_id: "c", content: [{ type: "text", text: "Done." }] }],
    ["failed", { tool_call_id: "c", content: "The disk is full.", status: "error" }],
  ];
  const tools = made.map(([name, fields]) => tool(() => new ToolMessage(fields), { name, description: "Answers with a message.", schema }));
  const runtime = createRuntime({ tools: fromLangChainTools(tools), maxAttempts: 1 });
  const results = await runtime.execute(made.map(([name]) => ({ name, input: {} })));
  expect(results.map(({ output, error }) => output ?? [error?.code, error?.message])).toEqual([
    "Done.",
    [{ type: "text", text: "Done." }],
    ["execution_failed", "The disk is full."],
  ]);
});

test("an input rejected by the tool's schema but not by its JSON Schema counts as not started", async () => {
  const schema = z.object({ from: z.number(), to: z.number() }).refine(({ from, to }) => from < to, "from must be before to");
  const range = tool(({ from, to }) => to - from, { name: "range", description: "Measures.", schema });
  const runtime = createRuntime({ tools: fromLangChainTools([range]), maxAttempts: 1 });
  const [wrong, right] = await runtime.execute([
    { name: "range", input: { from: 2, to: 1 } },
    { name: "range", input: { from: 1, to: 2 } },
  ]);
  expect([wrong?.error?.code, wrong?.error?.outcome, right?.output]).toEqual(["invalid_input", "not_started", 1]);
  expect(wrong?.error?.message).toContain("from must be before to");
});

test("a LangChain tool counts as run if its handler calls another tool that rejects the input", async () => {
  const inner = tool(() => "sent", { name: "mail", description: "Sends.", schema: z.object({ to: z.string() }) });
  const charged: number[] = [];
  const order = tool(
    async ({ amount }) => {
      charged.push(amount);
      return await inner.invoke({ too: "many" } as never); // a mistake in the handler
    },
    { name: "order", description: "Orders.", schema: z.object({ amount: z.number() }) },
  );
  const runtime = createRuntime({ tools: fromLangChainTools([order]), maxAttempts: 1 });
  const { error } = await runtime.execute({ name: "order", input: { amount: 5 } });
  expect([charged, error?.code, error?.outcome]).toEqual([[5], "execution_failed", "unknown"]);
});

test("a command to a graph of LangGraph is a failure, as its update would be lost", async () => {
  const command = { lg_name: "Command", update: { user: "Ada" } }; // the fields of its class
  const tools = [command, [command]].map((answer, index) =>
    tool(() => answer, { name: `look_up_${index}`, description: "Looks up.", schema: z.object({}) }),
  );
  const runtime = createRuntime({ tools: fromLangChainTools(tools), maxAttempts: 1 });
  const results = await runtime.execute(tools.map(({ name }) => ({ name, input: {} })));
  expect(results.map(({ error }) => [error?.code, error?.outcome, error?.message])).toEqual(
    tools.map(() => ["execution_failed", "unknown", "The tool answered with a Command, which only a graph of LangGraph can apply."]),
  );
});
