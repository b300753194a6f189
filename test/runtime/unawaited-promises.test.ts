/** A promise that a program forgot to await ends its call with an error, and never the process. */
import { beforeEach, expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { Tool } from "../../src/core/tool.ts";
import { collectUnhandledRejections } from "../unhandled-rejections.ts";

let unhandled: readonly unknown[] = [];

beforeEach(() => void (unhandled = collectUnhandledRejections()));

const failing = (): never => Promise.reject(new Error("the service is down")) as never;
const handler = (execute: (input: never, context: ToolContext) => unknown): Partial<Tool> => ({ execute });

test.each<[string, Partial<Tool>]>([
  ["a field of its answer", handler(() => ({ user: failing() }))],
  ["every item of its answer", handler(() => [1, 2, 3].map(() => failing()))],
  ["a field that is left out of an answer that is too large", handler(() => ({ text: "x".repeat(20_000_000), user: failing() }))],
  ["a value of a map in its answer", handler(() => new Map([["user", failing()]]))],
  ["its state", handler((_, { state }) => state.update("k", failing))],
  ["the input of a nested call", handler((_, { execute }) => execute({ name: "t", input: { user: failing() } }))],
  ["a nested call", handler((_, { execute }) => execute(failing()))],
  ["its progress", handler((_, { progress }) => progress(failing()))],
  ["a field of its progress", handler((_, { progress }) => progress({ message: failing() }))],
  ["a field of its log line", handler((_, { log }) => log("Asked.", { user: failing() }))],
  ["a question", handler((_, { ask }) => ask(failing()))],
  ["the text of a question", handler((_, { ask }) => ask({ message: failing() }))],
  ["a field of its partial answer", handler((_, { partial }) => partial({ users: [failing()] }))],
  ["its partial answer", handler((_, { partial }) => partial(failing()))],
  ["its output", handler((_, { output }) => output(failing()))],
  ["a key of its effects", { effects: { writes: () => [failing(), failing()] } }],
])("B01 B05 a rejected promise as %s leaves no unhandled rejection", async (_what, parts) => {
  const tool: Tool = { name: "t", description: "d", inputSchema: {}, effects: { writes: ["session:k"] }, execute: () => 1, ...parts };
  const runtime = createRuntime({ tools: [tool], ports: { log: { debug: () => {}, warn: () => {} } } });
  const session = runtime.session("s");
  const { status } = await session.execute({ name: "t", input: {} });
  await new Promise<void>((resolve) => setImmediate(resolve));
  await runtime.close();
  expect(unhandled).toEqual([]);
  expect(["ok", "partial", "error"]).toContain(status);
  expect(session.log.filter(({ type }) => type === "call-end").length).toBeGreaterThan(0);
});
