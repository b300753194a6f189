/** Issue 20.4: which field a schema asks for. */
import { describe, expect, test } from "vitest";
import {
  createInitialValue,
  isNullable,
  findMember,
  resolveLocalReferences,
  toFieldShape,
  type Schema,
} from "../../src/dashboard/tools/field-shape.ts";
import { parseTypedJson, parseTypedNumber } from "../../src/dashboard/tools/typed-value.ts";

describe("issue 20.4 a field", () => {
  const cases: readonly (readonly [what: string, schema: object, shape: object])[] = [
    ["of text", { type: "string", format: "date" }, { kind: "text", format: "date", isLong: false }],
    ["of long text", { type: "string", maxLength: 4_000 }, { kind: "text", format: undefined, isLong: true }],
    ["of a number", { type: "number" }, { kind: "number", isInteger: false }],
    ["that may be null", { type: ["integer", "null"] }, { kind: "number", isInteger: true }],
    ["of anyOf with null", { anyOf: [{ type: "boolean" }, { type: "null" }] }, { kind: "boolean" }],
    ["of fixed values", { enum: ["a", 1, null] }, { kind: "choice", values: ["a", 1, null] }],
    ["of one value", { const: "a" }, { kind: "choice", values: ["a"] }],
    ["of arrays", { type: "array", items: { type: "string" } }, { kind: "array", items: { type: "string" } }],
    ["of tuples is JSON", { type: "array", prefixItems: [{}], items: false }, { kind: "json" }],
    ["of allOf is JSON", { allOf: [{ type: "string" }] }, { kind: "json" }],
    ["of several types is JSON", { type: ["string", "object"] }, { kind: "json" }],
    ["of nothing is JSON", {}, { kind: "json" }],
  ];
  test.each(cases)("%s", (_, schema, shape) => expect(toFieldShape({ ...schema }, schema)).toEqual(shape));

  test("of a union names each member by what distinguishes it", () => {
    const tagged = (kind: string) => ({ type: "object", properties: { kind: { const: kind } } });
    const shape = toFieldShape({ oneOf: [tagged("circle"), tagged("square"), { title: "Other" }, { type: "string" }] }, {});
    expect(shape).toMatchObject({
      kind: "union",
      members: [{ name: "circle" }, { name: "square" }, { name: "Other" }, { name: "string" }],
    });
  });

  test("of a union numbers members that would have one name", () => {
    const shape = toFieldShape({ anyOf: [{ type: "object" }, { type: "null" }, { type: "object" }] }, {});
    expect(shape).toMatchObject({ members: [{ name: "object 1" }, { name: "null" }, { name: "object 3" }] });
  });

  test("of a union gives each member the properties that all members share", () => {
    const [email, phone] = [{ type: "string" }, { type: "integer" }];
    const contact = {
      properties: { email, phone },
      required: ["id"],
      anyOf: [{ required: ["email"] }, { properties: { fax: phone } }, phone],
    };
    expect(toFieldShape(contact, contact)).toEqual({
      kind: "union",
      members: [
        { name: "object 1", schema: { properties: { email, phone }, required: ["id", "email"] } },
        { name: "object 2", schema: { properties: { email, phone, fax: phone }, required: ["id"] } },
        { name: "integer", schema: phone },
      ],
    });
    expect(createInitialValue(contact, contact)).toEqual({ email: "" });
  });

  test("follows local references, and ignores unresolvable and circular ones", () => {
    const root = { $defs: { id: { type: "string" }, loop: { $ref: "#/$defs/loop" }, "a/b": { type: "integer" } } };
    expect(resolveLocalReferences({ $ref: "#/$defs/id", description: "Its id." }, root)).toEqual({
      type: "string",
      description: "Its id.",
    });
    expect(resolveLocalReferences({ $ref: "#/$defs/a~1b" }, root)).toEqual({ type: "integer" });
    expect(toFieldShape(resolveLocalReferences({ $ref: "#/$defs/loop" }, root), root)).toEqual({ kind: "json" });
    expect(toFieldShape(resolveLocalReferences({ $ref: "https://evil.example/schema" }, root), root)).toEqual({ kind: "json" });
  });

  test("of a recursive schema starts with its required properties, and is finite", () => {
    const root = { type: "object", properties: { next: { $ref: "#" }, size: { type: "integer", default: 3 } }, required: ["next"] };
    expect(JSON.stringify(createInitialValue(root, root)).length).toBeLessThan(400);
    expect(createInitialValue(root, root)).toMatchObject({ next: { next: {} }, size: 3 });
  });

  test("that may be null is recognized", () => {
    expect([isNullable({ type: ["string", "null"] }), isNullable({ type: "string" })]).toEqual([true, false]);
  });
});

describe("the form of a union", () => {
  const root = {
    $defs: { lamp: { type: "object", properties: { watts: { type: "number" } }, required: ["watts"] } },
    oneOf: [
      { type: "object", properties: { kind: { const: "circle" }, radius: { type: "number" } }, required: ["kind", "radius"] },
      { type: "object", properties: { kind: { const: "square" }, side: { type: "number" } }, required: ["kind"] },
      { $ref: "#/$defs/lamp" },
      { type: "array", items: {} },
      { type: "string" },
      { type: "null" },
      { anyOf: [{ type: "integer" }, { type: "boolean" }] },
      { required: ["free"] },
    ],
  };
  const shape = toFieldShape(root, root);
  const members = shape.kind === "union" ? shape.members : [];

  test.each([
    [{ kind: "circle", radius: 2 }, 0],
    [{ kind: "square", side: 2 }, 1],
    [{ kind: "square", side: "typed wrong" }, 1],
    [{ watts: 40 }, 2],
    [[1], 3],
    ["x", 4],
    [null, 5],
    [3, 6],
    [false, 6],
    [{ free: 1 }, 7],
    [{ other: 1 }, 0],
    [undefined, 0],
  ])("that fits %j starts with the member that matches it", (value, index) => expect(findMember(members, value, root)).toBe(index));

  test("that contains itself is finite", () => {
    const loop: Schema = { anyOf: [{ $ref: "#" }, { $ref: "#" }, { type: "string" }] };
    expect(findMember([{ name: "loop", schema: loop }], 3, loop)).toBe(0);
  });
});

test.each([
  ["", { value: undefined }],
  [" 12.5e3 ", { value: 12_500 }],
  ["-0", { value: -0 }],
  ["9007199254740993", { problem: expect.stringContaining("9007199254740993") }],
  ["1e999", { problem: expect.stringContaining("1e999") }],
  ["twelve", { problem: "This is not a number." }],
])("issue 20.4 the number %j is sent as it was typed, or rejected", (text, expected) => {
  expect(parseTypedNumber(text)).toEqual(expected);
});

test.each([
  [" ", { value: undefined }],
  ['{"a": [1, 1000000000000000000000, -1.50]}', { value: { a: [1, 1e21, -1.5] } }],
  ['{"__proto__": {"a": 1}}', { value: JSON.parse('{"__proto__": {"a": 1}}') }],
  ['{"id": 12345678901234567890}', { problem: expect.stringContaining("12345678901234567890") }],
  ['{"id": ', { problem: expect.stringContaining("This is not JSON") }],
])("issue 20.4 the JSON %j is sent as it was typed, or rejected", (text, expected) => {
  expect(parseTypedJson(text)).toEqual(expected);
});

test("a union keeps the member that was chosen last while the value matches it, or none", () => {
  const members = [{ type: "string" }, { enum: ["a", "b"] }, { type: "null" }].map((schema) => ({ name: "", schema }));
  expect([findMember(members, "a", {}, 1), findMember(members, "c", {}, 1), findMember(members, 5, {}, 1)]).toEqual([1, 0, 1]);
  expect([findMember(members, undefined, {}, 2), findMember(members, null, {}, 0)]).toEqual([2, 2]);
  expect(createInitialValue(members[2]?.schema ?? {}, {})).toBe(null);
});
