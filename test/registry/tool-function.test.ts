import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { Tool } from "../../src/core/tool.ts";
import { toolFunction } from "../../src/registry/tool-function.ts";

const inputSchema = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] } as const;

function sum(input: { readonly a: number; readonly b: number }): number {
  return input.a + input.b;
}

describe("toolFunction", () => {
  test.each([undefined, "", "  \n"])("F2.21 without a description it throws and says to give one: %j", (description) => {
    expect(() => Reflect.apply(toolFunction, undefined, [{ description, inputSchema }, sum])).toThrowError(
      expect.objectContaining({
        code: "invalid_argument",
        message: 'Tool "sum" has no description.',
        hint: expect.stringContaining("options"),
      }),
    );
  });

  test("F2.21 without a function, or with a function without a name, it throws", () => {
    expect(() => Reflect.apply(toolFunction, undefined, [{ description: "Adds.", inputSchema }, 5])).toThrowError(
      expect.objectContaining({ code: "invalid_argument" }),
    );
    expect(() =>
      toolFunction(
        { description: "Adds.", inputSchema },
        (
          () => (input: object) =>
            input
        )(),
      ),
    ).toThrowError(expect.objectContaining({ message: expect.stringContaining("needs a name") }));
  });

  test("F2.21 a tool that cannot be defined is not registered", () => {
    const registered: Tool[] = [];
    expect(() =>
      toolFunction({ description: "Adds.", inputSchema, timeoutMs: -1, registry: { register: (tool) => registered.push(tool) } }, sum),
    ).toThrowError();
    expect(registered).toEqual([]);
  });

  test("F2.21 the function stays callable and has its tool as a property", () => {
    const add = toolFunction({ description: "Adds.", inputSchema }, sum);
    expect(add({ a: 1, b: 2 })).toBe(3);
    expect([add.name, add.length]).toEqual(["sum", 1]);
    expect(add.tool).toMatchObject({ name: "sum", description: "Adds.", inputSchema });
    expect(Reflect.apply(add.tool.execute ?? sum, undefined, [{ a: 2, b: 3 }, {}])).toBe(5);
    expect("tool" in sum).toBe(false);
  });

  test("F2.21 it is registered at once, under the given name, when a registry is given", () => {
    const registered: Tool[] = [];
    const add = toolFunction(
      { name: "plus", description: "Adds.", inputSchema, registry: { register: (tool) => registered.push(tool) } },
      sum,
    );
    expect(registered).toEqual([add.tool]);
    expect(registered[0]).toBe(add.tool);
    expect(add.tool.name).toBe("plus");
    expect("registry" in add.tool).toBe(false);
  });

  test("F2.21 `this`, errors and promises pass through", async () => {
    const counter = {
      step: 2,
      next: toolFunction(
        { name: "next", description: "Counts.", inputSchema: { type: "object" } },
        function (this: { step: number } | void) {
          return this?.step ?? 0;
        },
      ),
    };
    expect(counter.next()).toBe(2);
    const fails = toolFunction({ name: "fails", description: "Fails.", inputSchema: { type: "object" } }, async () => {
      throw new Error("boom");
    });
    await expect(fails()).rejects.toThrow("boom");
  });

  test("F2.21 the input type follows from the schema, and the function keeps its own type", () => {
    const double = toolFunction(
      { name: "double", description: "Doubles.", inputSchema: z.object({ n: z.string().transform(Number) }) },
      (input) => {
        expectTypeOf(input).toEqualTypeOf<{ n: number }>();
        return input.n * 2;
      },
    );
    expectTypeOf(double).returns.toBeNumber();
    expect(double({ n: 4 })).toBe(8);
  });
});
