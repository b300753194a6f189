/** With the real package `@langchain/core`. */
import { tool } from "@langchain/core/tools";
import { expect, test } from "vitest";
import { z } from "zod";
import { fromLangChainTools, toLangChainTools } from "../../src/adapters/langchain.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { adapterRuntime } from "./adapter-world.ts";

test("ours run in LangChain through the runtime, by value and by tool call, and fail as it wants it", async () => {
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

test("theirs run here, with their schemas checked", async () => {
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

test("a signal of theirs ends our call", async () => {
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
