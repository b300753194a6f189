/** A small runtime that adapters give away. */
import { ToolOutput } from "../../src/core/content.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";

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
        { type: "image", mediaType: "image/png", data: "AAAA" },
      ],
    }),
};

export function adapterRuntime(): Runtime {
  return createRuntime({ toolsets: [{ name: "math", tools: [ADD] }], tools: [FAIL, PICTURE], maxAttempts: 1 });
}
