import { describe, expect, test } from "vitest";
import { pretendEngine } from "../../src/cli/pretend-engine.ts";
import type { JsonSchema, Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

/** What a pretended call of a tool with this output schema ends with. */
async function pretend(outputSchema?: JsonSchema) {
  const tool: Tool = {
    name: "send",
    description: "Sends.",
    inputSchema: { type: "object" },
    effects: { writes: ["mail:out"] },
    ...(outputSchema === undefined ? {} : { outputSchema }),
    execute: () => {
      throw new Error("it was run");
    },
  };
  await using runtime = createRuntime({ tools: [tool], standIn: pretendEngine() });
  const [result] = (await runtime.simulate({ name: "send", input: {} })).results;
  return { status: result?.status, origin: result?.origin, output: result?.output, content: result?.content };
}

describe("a pretended call", () => {
  test("says so where nothing is promised of its answer", async () => {
    expect(await pretend()).toEqual({
      status: "ok",
      origin: "simulated",
      output: undefined,
      content: [{ type: "text", text: "Pretended: nothing was done." }],
    });
  });

  const cases: readonly (readonly [JsonSchema, unknown])[] = [
    [{ type: "string", minLength: 2 }, "xx"],
    [{ type: ["integer", "null"], minimum: 5 }, 5],
    [{ type: "integer", exclusiveMinimum: 5 }, 6],
    [{ type: "number", maximum: -1 }, -1],
    [{ type: "boolean" }, false],
    [{ type: "null" }, null],
    [{ const: { a: 1 } }, { a: 1 }],
    [{ enum: ["red", "blue"] }, "red"],
    [{ type: "string", examples: ["m-1"] }, "m-1"],
    [{ type: "string", default: "none" }, "none"],
    [{ anyOf: [{ type: "boolean" }, { type: "string" }] }, false],
    [{ type: "array", items: { type: "integer" } }, []],
    [{ type: "array", minItems: 2, items: { type: "integer" } }, [0, 0]],
    [
      { properties: { id: { type: "string" }, more: { type: "string" }, at: { type: "integer" } }, required: ["id", "at"] },
      { id: "", at: 0 },
    ],
    [true, null],
  ];
  test.for(cases)("answers the least value of %j", async ([schema, output]) => {
    expect(await pretend(schema)).toEqual({ status: "ok", origin: "simulated", output, content: undefined });
  });

  test("of a schema that the least value does not fit keeps it as a broken output", async () => {
    expect(await pretend({ type: "string", pattern: "^m-[0-9]+$" })).toMatchObject({ status: "partial", origin: "simulated", output: "" });
  });

  test("of a schema without an end ends all the same", async () => {
    let schema: JsonSchema = { type: "integer" };
    for (let depth = 0; depth < 50; depth++) schema = { type: "object", properties: { next: schema }, required: ["next"] };
    expect(JSON.stringify((await pretend(schema)).output)).toBe(`${'{"next":'.repeat(9)}null${"}".repeat(9)}`);
  });
});
