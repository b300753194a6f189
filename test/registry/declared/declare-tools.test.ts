/** Tools as declarations of TypeScript: readable, the same in every order, and safe whatever names and schemas say. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { testInCI } from "../../test-in-ci.ts";
import { declareTools, type DeclaredTool } from "../../../src/registry/declared/declare-tools.ts";
import { formatType } from "../../../src/registry/declared/format-type.ts";

const declared = (name: string, more: Partial<DeclaredTool> = {}): DeclaredTool => ({ name, description: "", inputSchema: {}, ...more });

const one = (key: string) => ({ type: "object", properties: { [key]: { type: "string" } }, required: [key] });

test("issue 18 tools are declared by toolset, with descriptions, input and output types, and quotes around other names", () => {
  const order = declared("shop::order", {
    description: "Orders an item.\nTwice if asked.",
    inputSchema: {
      type: "object",
      properties: {
        item: { type: "string", description: "What to order." },
        count: { type: "integer", minimum: 1 },
        size: { enum: ["S", "M", 3, null] },
        "gift-wrap": { type: ["boolean", "null"] },
        tags: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } },
        to: { $ref: "#/$defs/place" },
      },
      required: ["item"],
      $defs: { place: { type: "object", properties: { street: { type: "string" } }, required: ["street"], additionalProperties: false } },
    },
    outputSchema: { type: "array", items: { type: "object", properties: { id: { type: "string" } }, required: ["id"] } },
  });
  const tools = [
    order,
    declared("default::ping"),
    declared("my-shop::do it"),
    declared("shop::list", { outputSchema: { type: "string" } }),
  ];
  const text = `declare const tools: {
  ping(input?: unknown): Promise<unknown>;
  "my-shop": {
    "do it"(input?: unknown): Promise<unknown>;
  };
  shop: {
    list(input?: unknown): Promise<string>;
    /** Orders an item. Twice if asked. */
    order(input: { /** What to order. */ item: string; count?: number; size?: "S" | "M" | 3 | null; "gift-wrap"?: boolean | null; tags?: (string | number)[]; to?: { street: string } }): Promise<{ id: string }[]>;
  };
};`;
  expect(declareTools(tools, 10_000)).toBe(text);
  expect(declareTools(tools.toReversed(), 10_000)).toBe(text);
});

test.each([
  [{ type: "array", items: { anyOf: [one("a"), { type: "null" }, one("b")] } }, "({ a: string } | null | { b: string })[]"],
  [{ ...one("kind"), oneOf: [one("a"), one("b")] }, "{ kind: string } & ({ a: string } | { b: string })"],
  [{ allOf: [one("a"), { anyOf: [one("b"), one("c")] }] }, "{ a: string } & ({ b: string } | { c: string })"],
  [{ ...one("a"), anyOf: [{ required: ["a"] }, { required: ["b"] }] }, "{ a: string }"],
  [{ anyOf: [one("a"), { required: ["b", "c-d"] }] }, '{ a: string } | { b: unknown; "c-d": unknown }'],
  [{ ...one("k"), oneOf: [one("a"), { type: "object", required: ["b"] }] }, "{ k: string } & ({ a: string } | { b: unknown })"],
  [{ ...one("k"), anyOf: [one("a"), true] }, "{ k: string }"],
  [{ type: "object", patternProperties: { "^x": { type: "number" } }, additionalProperties: false }, "{ [key: string]: number }"],
  [{ type: "array", prefixItems: [{ type: "string" }], items: { type: "number" } }, "[string, ...number[]]"],
])("issue 18 the type of a schema has everything that TypeScript can express: %j", (schema, text) => {
  expect(formatType(schema)).toBe(text);
});

test("tools beyond the size limit are declared by name only, then counted", () => {
  const long = declared("a::long", { description: "x".repeat(150), inputSchema: { type: "object", properties: { y: {} } } });
  expect(declareTools([long, declared("a::other"), declared("b::last")], 110)).toBe(`declare const tools: {
  a: {
    long(input: object): Promise<unknown>;
    other(input?: unknown): Promise<unknown>;
  };
  // and 1 more that are not listed here
};`);
});

describe("a hostile schema", () => {
  const recursive = { type: "object", properties: { next: { $ref: "#" } }, required: ["next"] };
  const wide = { type: "object", properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}`, recursive])) };

  test.each([
    ["refers to itself", recursive, 1_000],
    ["is wide", wide, 20_000],
    ["refers to nothing", { $ref: "#/nowhere" }, 20],
    ["is no schema", 3 as never, 20],
    ["has a million members", { enum: Array.from({ length: 1_000_000 }, (_, index) => index) }, 20],
    ["is false", false, 20],
  ])("that %s has a short type", (_what, schema, most) => {
    expect(formatType(schema as never).length).toBeLessThan(most);
  });

  test("cannot leave its comment or its quotes", () => {
    const text = declareTools(
      [
        declared('x::a*/"; evil()', {
          description: "*/ evil(); /* \u2028 \u202e \u0000",
          inputSchema: { type: "object", properties: { '"]: evil': { description: "*/ evil" }, __proto__: { enum: ['"\n\u2029'] } } },
        }),
      ],
      10_000,
    );
    expect(text.match(/[\u0000-\u0009\u000b-\u001f\u2028\u2029\u202e]/u)).toBeNull();
    expect(text.split("\n")).toHaveLength(6);
  });

  testInCI("issue 18 the declarations of any tools are valid TypeScript", async () => {
    const { default: ts } = await import("typescript-6");
    const syntaxErrorsIn = (text: string): readonly string[] =>
      (ts.transpileModule(text, { reportDiagnostics: true }).diagnostics ?? []).map(
        ({ messageText }) => `${JSON.stringify(messageText)} in ${text}`,
      );
    const schema = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom({}, true, false, { type: "string" }, { type: "null" }, { const: "a`'\"\\" }, { type: ["array", "object"] }),
        fc.record({ enum: fc.array(fc.jsonValue({ maxDepth: 1 })) }),
        fc.record({ type: fc.constant("array"), items: tie("any") }),
        fc.record({ anyOf: fc.array(tie("any"), { maxLength: 3 }) }),
        fc.record({
          type: fc.constant("object"),
          properties: fc.dictionary(fc.string({ unit: "binary" }), tie("any"), { maxKeys: 3 }),
          description: fc.string({ unit: "binary" }),
        }),
      ),
    })).any;
    const name = fc.string({ unit: "binary", minLength: 1 }).filter((text) => !text.includes("::"));
    fc.assert(
      fc.property(
        fc.array(fc.record({ space: name, name, description: fc.string({ unit: "binary" }), inputSchema: schema, outputSchema: schema }), {
          maxLength: 4,
        }),
        (made) => {
          const tools = made.map(({ space, ...rest }) => ({ ...rest, name: `${space}::${rest.name}` }));
          expect(syntaxErrorsIn(declareTools(tools, 5_000))).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });
});
