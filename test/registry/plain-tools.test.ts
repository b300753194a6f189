import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { supersedesAt } from "../../src/history/supersede.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

const base = { name: "add", description: "Adds.", inputSchema: { type: "object" } };

function refusalOf(make: () => unknown): unknown {
  try {
    make();
  } catch (error: unknown) {
    return error;
  }
  return "accepted";
}

describe("a tool written as a plain object is validated as defineTool validates it", () => {
  test.each<[string, unknown]>([
    ["exectue", () => 1],
    ["__proto__x", 1],
    ["category", "SAFE"],
    ["effects", { destructve: true }],
    ["effects", { writes: [1] }],
    ["effects", { undo: "no" }],
    ["effects", "pure"],
    ["timeoutMs", -1],
    ["unknownKeys", true],
    ["metadata", []],
    ["validate", "no"],
    ["supersedes", true],
  ])("%s = %j", (field, value) => {
    const tool = { ...base, [field]: value } as Tool;
    const defined = refusalOf(() => Reflect.apply(defineTool, undefined, [tool]));
    expect(defined).toMatchObject({ code: "invalid_argument", message: expect.stringContaining(field) });
    expect(refusalOf(() => createRuntime({ tools: [tool] }))).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(field),
    });
  });

  test("a misspelt field is reported with the field that was probably meant", () => {
    expect(refusalOf(() => createRuntime({ tools: [{ ...base, exectue: () => 1 } as Tool] }))).toMatchObject({
      message: 'Tool "add" has an unknown field "exectue".',
      hint: 'Did you mean "execute"?',
    });
  });
});

describe("a tool that is an instance of a class", () => {
  class Counter {
    readonly name = "count";
    readonly description = "Counts.";
    readonly inputSchema = { type: "object", properties: { by: { type: "integer" } }, required: ["by"] };
    total = 0;
    get effects(): { readonly writes: string } {
      return { writes: "total:{by}" };
    }
    execute({ by }: { readonly by: number }): number {
      return (this.total += by);
    }
    validate({ by }: { readonly by?: unknown }): readonly string[] {
      return Number(by) > 5 ? [`At most 5, not ${String(by)}; the total is ${this.total}.`] : [];
    }
  }

  test("runs its methods with its own fields", async () => {
    const runtime = createRuntime({ tools: [new Counter()] });
    const results = await runtime.execute([
      { name: "count", input: { by: 2 } },
      { name: "count", input: { by: 3 } },
    ]);
    expect(results.map(({ output }) => output)).toEqual([2, 5]);
    const refused = await runtime.execute({ name: "count", input: { by: 7 } });
    expect(refused.error).toMatchObject({ code: "invalid_input", details: ["At most 5, not 7; the total is 5."] });
  });

  test("keeps the properties of its functions", () => {
    class Reader extends Counter {
      readonly supersedes = supersedesAt(({ input }) => String(input["by"]));
    }
    const runtime = createRuntime({ tools: [new Reader()] });
    const { supersedes } = runtime.registry.require("count").tool;
    expect(supersedes?.locationOf?.({ name: "count", input: { by: 3 }, output: 3 })).toBe("3");
  });

  test("may have its own fields, and the fields of a tool are validated wherever its class defines them", () => {
    class Bad extends Counter {
      get category(): string {
        return "SAFE";
      }
    }
    expect(refusalOf(() => createRuntime({ tools: [new Bad() as unknown as Tool] }))).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining('category of tool "count" is "SAFE"'),
    });
  });
});
