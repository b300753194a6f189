/** A small runtime that adapters give away. */
import { ToolOutput } from "../../src/core/content.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";

const ADD: Tool = {
  name: "add",
  description: "Adds two numbers.",
  inputSchema: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer", default: 1 } }, required: ["a"] },
  effects: { reads: [], writes: [] },
  execute: ({ a, b }: { readonly a: number; readonly b: number }) => ({ sum: a + b }),
};
const FAIL: Tool = {
  name: "fail",
  description: "Fails.",
  inputSchema: { type: "object" },
  execute: () => {
    throw new Error("the disk is full");
  },
};
const PICTURE: Tool = {
  name: "picture",
  description: "Paints.",
  inputSchema: { type: "object" },
  execute: () =>
    new ToolOutput({
      content: [
        { type: "text", text: "a cat" },
        { type: "image", mediaType: "image/png", data: "iVBORw0KGgoA" },
      ],
    }),
};

export function adapterRuntime(): Runtime {
  return createRuntime({ toolsets: [{ name: "math", tools: [ADD] }], tools: [FAIL, PICTURE], maxAttempts: 1 });
}

/** A runtime whose `ask` keeps what it is asked and answers so; without an answer there is nobody to ask. */
export function askedRuntime(
  tools: readonly Tool[],
  answer?: "accept" | "decline",
): { readonly runtime: Runtime; readonly asked: string[] } {
  const asked: string[] = [];
  const ask = ({ message }: { readonly message: string }) => {
    asked.push(message);
    return answer === "accept" ? ({ action: "accept" } as const) : ({ action: "decline" } as const);
  };
  return { runtime: createRuntime({ tools, maxAttempts: 1, ...(answer === undefined ? {} : { ask }) }), asked };
}

const PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** What a model is shown differs from the JSON, or is nothing. */
export function oddAnswers(): Runtime {
  const inputSchema = { type: "object" };
  return createRuntime({
    tools: [
      { name: "plot", description: "", inputSchema, execute: () => ({ chart: PIXEL }) },
      {
        name: "said",
        description: "",
        inputSchema,
        execute: () => new ToolOutput({ output: { a: 1 }, content: [{ type: "text", text: "one" }] }),
      },
      { name: "nothing", description: "", inputSchema, execute: () => undefined },
      { name: "blocks", description: "", inputSchema, execute: () => [{ type: "haft" }] },
      { name: "posing", description: "", inputSchema, execute: () => ({ type: "haft-content", content: [{ type: "file" }] }) },
      { name: "broken", description: "", inputSchema: { type: "nonsense" }, execute: () => 1 },
    ],
  });
}
