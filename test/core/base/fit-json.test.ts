import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copyJson, fitJson } from "../../../src/core/base/json.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";

const never = (): boolean => false;
const value = fc.jsonValue({ maxDepth: 4 });
const limits = fc.record({ maxNodes: fc.nat(12), maxChars: fc.nat(40) });

function wide(keys: number): Readonly<Record<string, number>> {
  return Object.fromEntries(Array.from({ length: keys }, (_, index) => [`key${index}`, index]));
}

/** Whether `part` is what `whole` begins with. */
function begins(part: unknown, whole: unknown): boolean {
  if (typeof part === "string" && typeof whole === "string") return whole.startsWith(part);
  if (Array.isArray(part) && Array.isArray(whole))
    return part.length <= whole.length && part.every((item, index) => begins(item, whole[index]));
  if (typeof part !== "object" || part === null || typeof whole !== "object" || whole === null) return Object.is(part, whole);
  return Object.entries(part).every(([key, item], index) => Object.keys(whole)[index] === key && begins(item, Reflect.get(whole, key)));
}

function fits(whole: unknown, within: object): boolean {
  try {
    copyJson(whole, within);
    return true;
  } catch {
    return false;
  }
}

describe("F1.19 an answer larger than the limits", () => {
  test("keeps as much from its beginning as fits, and wasCut is true exactly then", () => {
    fc.assert(
      fc.property(value, limits, (drawn, within) => {
        const whole: unknown = JSON.parse(JSON.stringify(drawn).replaceAll("__proto__", "proto"));
        const fitted = fitJson(whole, within, never);
        expect(fitted.wasCut).toBe(!fits(whole, within));
        expect(begins(fitted.value, whole)).toBe(true);
        expect(fits(fitted.value, within)).toBe(true);
        if (!fitted.wasCut) expect(fitted.value).toEqual(whole);
      }),
      { numRuns: 1_000, examples: [[[{ " ": "" }, "  "], { maxNodes: 3, maxChars: 0 }]] },
    );
  });

  test("keeps as many keys of wide objects as are allowed in total, and all other values", () => {
    const { value: kept, wasCut } = fitJson([wide(1_500), wide(1_000), wide(1_500), { a: 1 }], { maxWideKeys: 2_000 }, never);
    expect(wasCut).toBe(true);
    expect((kept as readonly object[]).map((each) => Object.keys(each).length)).toEqual([1_500, 1_000, 500, 1]);
  });

  test("has a JSON text of at most the reported maxBytes", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, noUnicodeString: false }), (drawn) => {
        const whole: unknown = JSON.parse(JSON.stringify(drawn).replaceAll("__proto__", "proto"));
        const { maxBytes } = fitJson(whole, {}, never);
        expect(Buffer.byteLength(JSON.stringify(whole))).toBeLessThanOrEqual(maxBytes ?? 0);
      }),
      { numRuns: 2_000, examples: [[-1.2345678901234567e-308], [[-1.2345678901234567e-308, "\u0000\u0001"]], [{}], [{ a: [] }]] },
    );
  });

  test("lists the keys of an object that is too wide once", () => {
    let listed = 0;
    const watched = new Proxy(wide(3_000), {
      ownKeys: (target) => {
        listed++;
        return Reflect.ownKeys(target);
      },
    });
    expect(fitJson(watched, { maxWideKeys: 1_200 }, never).wasCut).toBe(true);
    expect(listed).toBe(1);
  });

  test("keeps all keys of a wide object that is used more than once, up to the limit", () => {
    const row = wide(2_000);
    for (const within of [{ maxWideKeys: 3_000 }, { maxNodes: 3_002 }]) {
      const { value: kept, wasCut } = fitJson([row, row], within, never);
      expect([wasCut, (kept as readonly object[]).map((one) => Object.keys(one).length)]).toEqual([true, [2_000, 1_000]]);
      expect(() => copyJson([row, row], within)).toThrow("$[1]: more");
      expect(copyJson([row, row], { maxNodes: 5_000, maxWideKeys: 4_000 }).value).toEqual([row, row]);
    }
  });

  test("marks where a value was nested too deep, and splits no character", () => {
    expect(fitJson({ a: [[1]] }, { maxDepth: 2 }, never).value).toEqual({ a: ["[left out: nesting deeper than 2 levels]"] });
    expect(fitJson("ab😀", { maxChars: 3 }, never).value).toBe("ab");
  });

  test("is rejected all the same when it is not JSON", () => {
    expect(() => fitJson([1, 2, 3, 4n], { maxNodes: 10 }, never)).toThrow("$[3]: a bigint is not JSON");
  });

  test("is searched while it is copied, whether it fits or not", () => {
    const holds = (text: string): boolean => text.includes("needle");
    const text = `${"-".repeat(30)}needle`;
    expect(fitJson({ a: [text] }, {}, holds).found).toBe(true);
    expect(fitJson({ a: [text, 1, 2] }, { maxNodes: 2 }, holds)).toMatchObject({ found: true, wasCut: true });
    expect(fitJson({ a: ["-".repeat(30)] }, {}, holds).found).toBe(false);
  });
});

test("a JSON text with too wide objects is rejected before it is parsed, counted as in the copy", () => {
  const text = JSON.stringify({ rows: [wide(1_500), wide(1_000), wide(1_500)] });
  expect(parseJson(text, { maxWideKeys: 3_000 })).toBeDefined();
  expect(() => parseJson(text, { maxWideKeys: 2_999 })).toThrow("more than 2999 keys");
});
