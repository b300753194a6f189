import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copyJson, fitJson, type JsonValue } from "../../../src/core/base/json.ts";
import type { JsonLimits } from "../../../src/core/base/json-limits.ts";
import { inProcessorTime } from "../../processor-time.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";

const EVERY_OBJECT: object = Object.prototype;

class Entity {
  readonly #secret = 1;
  constructor(fields: object) {
    Object.assign(this, fields);
  }
  get secret(): number {
    return this.#secret;
  }
}

class Serialised {
  readonly #value: unknown;
  constructor(value: unknown) {
    this.#value = value;
  }
  toJSON(): unknown {
    return this.#value;
  }
}

/** JSON with instances of classes at any place. */
const { answer } = fc.letrec<{ answer: unknown }>((tie) => ({
  answer: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie("answer"), { maxLength: 3 }),
    fc.dictionary(fc.string({ maxLength: 3 }), tie("answer"), { maxKeys: 3 }),
    fc.dictionary(fc.string({ maxLength: 3 }), tie("answer"), { minKeys: 1, maxKeys: 3 }).map((fields) => new Entity(fields)),
    tie("answer").map((value) => new Serialised([value])),
    fc.date({ noInvalidDate: true }),
  ),
}));

describe("F0.10 the output of a handler", () => {
  test("that JSON.stringify accepts is recorded as JSON.stringify writes it, classes included", () => {
    fc.assert(
      fc.property(answer, (value) => {
        const expected = JSON.stringify(value, (key, item: unknown) => (key === "__proto__" ? undefined : item));
        expect(JSON.stringify(copyJson(value).value)).toBe(expected);
      }),
      { numRuns: 300 },
    );
  });

  const circular: { readonly list: unknown[] } = { list: [] };
  circular.list.push({ deep: circular.list });
  test.each<[unknown, string]>([
    [new Map([["a", 1]]), "$: a Map is not JSON"],
    [{ rows: new Set([1]) }, "$.rows: a Set is not JSON"],
    [{ id: 1n }, "$.id: a bigint is not JSON"],
    [[new Response("text")], "$[0]: a Response is not JSON"],
    [[new (class Response$1 extends Response {})("text")], "$[0]: a Response is not JSON"],
    [{ failure: new TypeError("x") }, "$.failure: a TypeError is not JSON"],
    [new Uint8Array(3), "$: an Uint8Array is not JSON"],
    [new Serialised(undefined), "$: undefined is not JSON"],
    [new URLSearchParams("a=1"), "$: an URLSearchParams is not JSON"],
    [(function* () {})(), "$: a Generator is not JSON"],
    [{ parts: (async function* () {})() }, "$.parts: an AsyncGenerator is not JSON"],
    [circular, "$.list[0].deep: is circular: it contains itself"],
  ])("%# that JSON cannot hold is rejected with its place", (value, message) => {
    expect(() => copyJson(value)).toThrow(expect.objectContaining({ code: "not_json", message }));
  });

  test.each<[string, () => unknown, JsonLimits, unknown]>([
    ["a large typed array", () => [new Float64Array(3_000_000)], {}, { code: "not_json" }],
    ["a large Uint8Array", () => ({ file: new Uint8Array(8_000_000) }), {}, { code: "not_json" }],
    [
      "a Buffer above the limits, which is a number for each byte",
      () => Buffer.alloc(20_000_000),
      { maxNodes: 1_000 },
      { code: "too_large" },
    ],
  ])("%s is rejected without listing its bytes", (_what, make, limits, error) => {
    const value = make();
    inProcessorTime(400, () => expect(() => copyJson(value, limits)).toThrow(expect.objectContaining(error)));
  });

  test("a Buffer above the limits is cut like the array of its bytes", () => {
    const { value, wasCut } = fitJson({ file: Buffer.alloc(10, 7) }, { maxNodes: 6 }, () => false);
    expect([value, wasCut]).toEqual([{ file: { type: "Buffer", data: [7, 7, 7] } }, true]);
  });

  test("that is too deep is rejected with a one-line message", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100; level++) deep = { level: deep };
    expect(() => copyJson(deep)).toThrow(expect.objectContaining({ code: "too_large", message: expect.stringMatching(/^.{1,240}$/u) }));
  });

  test("is copied with its own properties only, even if Object.prototype has an enumerable one", () => {
    Object.defineProperty(EVERY_OBJECT, "polluted", { value: { shared: 1 }, enumerable: true, writable: true, configurable: true });
    let copied: JsonValue;
    try {
      copied = copyJson({ id: 1, rows: [{ id: 2 }] }).value;
    } finally {
      Reflect.deleteProperty(EVERY_OBJECT, "polluted");
    }
    expect(copied).toEqual({ id: 1, rows: [{ id: 2 }] });
  });

  test.each([
    ["a Map", () => ({ rows: new Map() }), "Give its entries: Object.fromEntries(map)."],
    ["an async generator", async function* () {}, "Return one value. Give each part as progress: context.progress()."],
    ["an iterator", () => [1].values(), "Give an array of its values: [...values]."],
    ["a Blob", () => new Blob(["text"]), "Give what it holds: await blob.text()."],
    ["a Headers", () => new Headers(), "Give its entries: Object.fromEntries(headers)."],
    ["a URLSearchParams", () => new URLSearchParams(), "Give its text: String(parameters)."],
  ])("that cannot be recorded is rejected with a hint: %s", async (_, execute, hint) => {
    const runtime = createRuntime({ tools: [{ name: "rows", description: "", inputSchema: {}, execute }] });
    const { error } = await runtime.execute({ name: "rows" });
    expect(error).toMatchObject({ code: "not_json", outcome: "unknown", hint });
  });
});

test("a proxy of an array whose length is not a number leaves no part of itself in the copy", () => {
  const length = { valueOf: () => 0, call: () => "live" };
  for (const lie of [length, "0", "2", NaN, -1, 0.5, null]) {
    const liar: unknown = new Proxy([7, 8], { get: (target, key) => (key === "length" ? lie : Reflect.get(target, key)) });
    const { value } = copyJson({ liar });
    expect([[], [7], [7, 8]]).toContainEqual((value as { readonly liar: JsonValue }).liar);
  }
});
