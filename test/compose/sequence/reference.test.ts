import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copyJson, type JsonValue } from "../../../src/core/base/json.ts";
import { ReferenceReader, referenceId, valueAt, type Reference } from "../../../src/compose/sequence/reference.ts";
import { findReferences, resolveReferences } from "../../../src/compose/sequence/resolve-input.ts";
import { testInCI } from "../../test-in-ci.ts";

const reader = new ReferenceReader(["1", "2", "order", "call_7"]);
const closing = new ReferenceReader(["var1", "var2"], { closingDollar: true });

const short = (reference: Reference | undefined): unknown => reference && [reference.id, ...reference.steps];

function resolve(input: JsonValue, outputs: Readonly<Record<string, JsonValue>>, by = reader): JsonValue {
  return resolveReferences(input, by, (reference) => valueAt(outputs[reference.id] ?? null, reference));
}

describe("F0.60 reference syntax", () => {
  test.each<{ readonly text: string; readonly steps: readonly (string | number)[] }>([
    { text: "$1", steps: ["1"] },
    { text: "$1.items[0].id", steps: ["1", "items", 0, "id"] },
    { text: '$order.items[0]["odd key"]', steps: ["order", "items", 0, "odd key"] },
    { text: "$order['odd.key'].x", steps: ["order", "odd.key", "x"] },
    { text: '$1["a\\"]\\u00e9$"]', steps: ["1", 'a"]é$'] },
    { text: "$order.items.0.id", steps: ["order", "items", "0", "id"] },
    { text: "$1[2][3]", steps: ["1", 2, 3] },
    { text: "$2.größe", steps: ["2", "größe"] },
    { text: "$1.0.id", steps: ["1", "0", "id"] },
    { text: "$1.0[2]", steps: ["1", "0", 2] },
    { text: "$7.items", steps: ["7", "items"] },
    { text: "$HOME.x", steps: ["HOME", "x"] },
    { text: "$9", steps: ["9"] },
    { text: "$call_8", steps: ["call_8"] },
  ])("$text", ({ text, steps }) => {
    expect(short(reader.readWholeText(text))).toEqual(steps);
  });

  test.each([
    "",
    "$",
    "$$1",
    "$HOME",
    "$order_2x",
    "$5.00",
    "$1.50",
    "$1,000",
    "$1.5M",
    "$1.234.567",
    "$1 ",
    " $1",
    "$1.",
    "$1.a b",
    "$1[x]",
    '$1["a]',
    "$1[-1]",
    "price",
    `$1.${"a.".repeat(600)}a`,
  ])("%j is not a reference", (text) => {
    expect(reader.readWholeText(text)).toBeUndefined();
  });

  test("closingDollar reads references as NESTFUL writes them, with spaces in keys", () => {
    expect(
      ["$var1$", "$var1.geoId$", "$var1.Exchange Rate$", "$var2.author[0].id$", "$var9$"].map((text) => short(closing.readWholeText(text))),
    ).toEqual([["var1"], ["var1", "geoId"], ["var1", "Exchange Rate"], ["var2", "author", 0, "id"], ["var9"]]);
    expect(["$var1", "$var1.geoId", "$100-$200", "$var1.x$ - $var2.x$"].map((text) => closing.readWholeText(text))).toEqual(
      Array(4).fill(undefined),
    );
  });

  test("a call id may be written with its dollar", () => {
    expect([referenceId("$1"), referenceId("1"), referenceId("$v$"), referenceId("$v$", { closingDollar: true })]).toEqual([
      "1",
      "1",
      "v$",
      "v",
    ]);
  });
});

describe("F0.60 a reference is replaced", () => {
  const outputs = { "1": { items: [{ id: 7, ok: true, tags: ["a"], none: null, text: "x" }], "odd key": 1.5 }, "2": "two", order: null };

  test("by the value with its JSON type, deep in objects and arrays", () => {
    const input = {
      a: "$1.items[0].id",
      b: ["$1.items[0].ok", { c: "$1.items[0].tags", d: "$1.items[0].none" }],
      e: '$1["odd key"]',
      f: "$2",
    };
    expect(resolve(input, outputs)).toEqual({ a: 7, b: [true, { c: ["a"], d: null }], e: 1.5, f: "two" });
  });

  test("inside a longer string by the text of the value", () => {
    expect(resolve("Order $1.items[0].id, $2 ($order): $1.items[0].tags.", outputs)).toBe('Order 7, two (null): ["a"].');
    expect(resolve("2 * $var1.Exchange Rate$", { var1: { "Exchange Rate": 1.5 } }, closing)).toBe("2 * 1.5");
    expect(resolve("$var1$$var2$", { var1: "a", var2: "b" }, closing)).toBe("ab");
  });

  test("unless its dollar is doubled", () => {
    expect(
      ["$$1.items", "$$5.00", "$$", "pay $$1 now", "pay $$9 now", "$5.00 for $1.50", "$HOME/bin"].map((text) => resolve(text, outputs)),
    ).toEqual(["$1.items", "$5.00", "$", "pay $1 now", "pay $$9 now", "$5.00 for $1.50", "$HOME/bin"]);
    expect(resolve("$$var1$", {}, closing)).toBe("$var1$");
  });

  test("only once: a resolved value is not searched for references", () => {
    expect(resolve(["$1", "see $1"], { "1": "$2", "2": "secret" })).toEqual(["$2", "see $2"]);
  });

  test("and a part of the input without references stays the same object", () => {
    const input = { a: ["x", { b: "$HOME" }], c: "$1" };
    const resolved = resolve(input, { "1": 1 });
    expect(resolved).toEqual({ ...input, c: 1 });
    expect((resolved as typeof input).a).toBe(input.a);
  });

  test.each([
    { text: "$1.items[1]", why: "[1] is not in an array of 1 item" },
    { text: "$1.item", why: '"item" is not in an object with the keys "items", "odd key"' },
    { text: "$1.toString", why: '"toString" is not in an object with the keys "items", "odd key"' },
    { text: "$1.__proto__.x", why: '"__proto__" is not in an object with the keys "items", "odd key"' },
    { text: "$1.items.length", why: '"length" is not in an array of 1 item' },
    { text: "$2.length", why: '"length" is not in a string' },
    { text: "$order.a", why: '"a" is not in null' },
  ])("but $text does not exist and throws", ({ text, why }) => {
    expect(() => resolve([text], outputs)).toThrow(
      expect.objectContaining({ code: "invalid_input", message: `The reference "${text}" cannot be resolved: ${why}.` }),
    );
  });

  test("but a text that grows too large throws", () => {
    const text = "$1 ".repeat(20);
    expect(() => resolve(text, { "1": "x".repeat(1_000_000) })).toThrow(expect.objectContaining({ code: "too_large" }));
  });
});

describe("F0.60 references in generated values", () => {
  const key = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("id", "items", "odd key", 'a"b', "x.y", "$1", "0", "toString", "ü"));
  const tree = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 4 }),
    ),
  })).value;

  /** Every place of a value, with what stands there. */
  function places(
    value: JsonValue,
    at: readonly (string | number)[] = [],
  ): readonly { readonly at: readonly (string | number)[]; readonly value: JsonValue }[] {
    const inside =
      typeof value !== "object" || value === null
        ? []
        : Object.entries(value).flatMap(([name, item]: [string, JsonValue]) =>
            places(item, [...at, Array.isArray(value) ? Number(name) : name]),
          );
    return [{ at, value }, ...inside];
  }
  const spell = (at: readonly (string | number)[]): string =>
    at
      .map((step) => (typeof step === "string" && /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`))
      .join("");

  test("a reference to any place resolves to the value there", () => {
    fc.assert(
      fc.property(tree, (generated) => {
        const output = copyJson(generated).value;
        for (const { at, value } of places(output)) {
          const text = `$order${spell(at)}`;
          expect(reader.readWholeText(text)?.text).toBe(text);
          expect(resolve({ deep: [text] }, { order: output })).toEqual({ deep: [value] });
        }
      }),
    );
  });

  test("an input without a dollar has no references and stays the same object", () => {
    fc.assert(
      fc.property(tree, (generated) => {
        const input = copyJson(JSON.parse(JSON.stringify(generated).replaceAll("$", "S"))).value;
        expect(findReferences(input, reader)).toEqual([]);
        expect(resolve(input, {})).toBe(input);
      }),
    );
  });

  test("a doubled dollar at the beginning escapes any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("$", "1", ".", "a", "[", "0", "]", " ", '"') }), (text) => {
        const others = new ReferenceReader([]); // names no call, so nothing is inside it
        expect(resolve(`$$${text}`, {}, others)).toBe(`$${text}`);
      }),
    );
  });

  testInCI("a text of one megabyte of dollar signs is read in linear time", () => {
    for (const unit of ["$", "$1", "$1.", '$1["', "$order.a", "$var1.a ", "$$1"]) {
      const text = unit.repeat(1_000_000 / unit.length);
      expect(reader.readWholeText(text)).toBeUndefined();
      expect(reader.findParts(text).length).toBeLessThanOrEqual(text.length);
      expect(closing.findParts(text).length).toBeLessThanOrEqual(text.length);
    }
  });
});
