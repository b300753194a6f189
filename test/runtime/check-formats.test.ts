/** Whose inputs are checked against `format`. */
import { expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import type { Engine } from "../../src/core/engine.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { Toolset } from "../../src/core/toolset.ts";

const inputSchema = { type: "object", properties: { day: { type: "string", format: "date" } } } as const;
const tool: Tool = { name: "book", description: "Books a day.", inputSchema, effects: {}, execute: () => "booked" };

async function outcome(toolset: Toolset): Promise<unknown> {
  const runtime = createRuntime({ toolsets: [toolset] });
  await runtime.open();
  const { status, error } = await runtime.execute({ name: "days::book", input: { day: "tomorrow" } });
  await runtime.close();
  return error === undefined ? status : [error.code, error.details];
}

const REFUSED = ["invalid_input", ['$.day: expected a date such as 2026-01-31, got "tomorrow"']];
const bringing: Engine = {
  kind: "books",
  open: () => Promise.resolve([{ ...tool }]),
  call: () => Promise.resolve("booked"),
  close: () => Promise.resolve(),
};

test("an input that violates a format of a declared tool is invalid_input, with a valid example", async () => {
  expect(await outcome({ name: "days", tools: [tool] })).toEqual(REFUSED);
  expect(
    await outcome({
      name: "days",
      tools: [defineTool({ name: "book", description: "Books a day.", inputSchema, execute: () => "booked" })],
    }),
  ).toEqual(REFUSED);
});

test("formats of tools that an engine lists are left to their server", async () => {
  expect(await outcome({ name: "days", engine: bringing })).toBe("ok");
});

test("checkFormats of a toolset overrides the default", async () => {
  expect(await outcome({ name: "days", tools: [tool], checkFormats: false })).toBe("ok");
  expect(await outcome({ name: "days", engine: bringing, checkFormats: true })).toEqual(REFUSED);
  expect(() => createRuntime({ toolsets: [{ name: "days", checkFormats: Object("yes") }] })).toThrow("checkFormats of toolset");
});

test("the format of an output is not checked", async () => {
  const outputSchema = { type: "object", properties: { day: { type: "string", format: "date" } } };
  const answering: Tool = { ...tool, inputSchema: {}, outputSchema, execute: () => ({ day: "soon" }) };
  expect(await outcome({ name: "days", tools: [answering] })).toBe("ok");
});
