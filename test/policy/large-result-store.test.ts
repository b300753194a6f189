import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ContentPart } from "../../src/core/content.ts";
import { partText } from "../../src/core/result.ts";
import { formatJsonPath, type JsonValue } from "../../src/core/base/json.ts";
import { truncateResult } from "../../src/policy/results/truncate-result.ts";
import { LargeResultStore, type ResultPage, type ResultRequest } from "../../src/policy/results/large-result-store.ts";
import { testInCI } from "../test-in-ci.ts";

function readOne(output: JsonValue, request: ResultRequest = {}): ResultPage {
  const store = new LargeResultStore();
  return store.read("s1", store.store("s1", "call_1", output, undefined), request);
}

/** Reads every page in turn. */
function readAll(output: JsonValue, request: ResultRequest = {}): readonly ResultPage[] {
  const pages: ResultPage[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined && pages.length < 10_000) {
    const page: ResultPage = readOne(output, { ...request, offset });
    pages.push(page);
    offset = page.nextOffset;
  }
  return pages;
}

test("F1.29 a whole result is returned to its session and that session's branches, and to no other session", () => {
  const store = new LargeResultStore();
  store.store("s1", "call_1", { rows: [1, 2] }, undefined);
  store.share("s1", "branch");
  expect(["s1", "branch"].map((reader) => store.find(reader, "call_1")?.output)).toEqual([{ rows: [1, 2] }, { rows: [1, 2] }]);
  expect([store.find("s2", "call_1"), store.find("s1", "call_2")]).toEqual([undefined, undefined]);
});

test("results of a closed session stay for its branches until the last branch ends or the space is needed", () => {
  const store = new LargeResultStore({ maxBytes: 2_500 });
  const read = (...ids: readonly string[]): unknown[] => ids.map((id) => store.find(id, "call_1")?.output);
  const whole = "x".repeat(1_000);
  store.store("s1", "call_1", whole, undefined);
  store.share("s1", "branch");
  store.share("branch", "inner");
  store.close("s1");
  store.close("branch");
  expect(read("branch", "inner", "s2")).toEqual([whole, whole, undefined]);
  store.close("inner");
  expect(read("s1", "branch", "inner")).toEqual([undefined, undefined, undefined]);

  store.store("s2", "call_2", whole, undefined);
  store.store("s1", "call_1", whole, undefined);
  store.share("s1", "branch");
  store.close("s1");
  store.store("s2", "call_3", whole, undefined);
  expect(read("branch")).toEqual([undefined]);
  expect(["call_2", "call_3"].map((handle) => store.has("s2", handle))).toEqual([true, true]);
});

test("a session that is resumed after closing keeps its new results when its old branches close", () => {
  const store = new LargeResultStore();
  store.store("s1", "call_1", "a", undefined);
  store.share("s1", "branch");
  store.close("s1");
  store.store("s1", "call_2", "b", undefined);
  store.close("branch");
  expect(store.find("s1", "call_2")?.output).toBe("b");
});

describe("a handle is rejected with not_found when it", () => {
  const unknown = { code: "not_found", message: 'No result is kept under the handle "call_1".' };

  test("was never given", () => {
    expect(() => new LargeResultStore().read("s1", "call_1", {})).toThrow(expect.objectContaining(unknown));
  });

  test("C01 belongs to another session", () => {
    const store = new LargeResultStore();
    store.store("s1", "call_1", "secret", undefined);
    expect(() => store.read("s2", "call_1", {})).toThrow(expect.objectContaining(unknown));
  });

  test("was dropped with its session", () => {
    const store = new LargeResultStore();
    store.store("s1", "call_1", "a", undefined);
    store.store("s2", "call_2", "b", undefined);
    store.forget("s1");
    expect(() => store.read("s1", "call_1", {})).toThrow(expect.objectContaining(unknown));
    expect(store.read("s2", "call_2", {}).text).toBe("b");
  });

  test("was the oldest when space was needed, whatever its session; the newest is always kept", () => {
    const store = new LargeResultStore({ maxBytes: 2_500 });
    store.store("s1", "call_1", "x".repeat(1_000), undefined);
    store.store("s2", "call_2", "y".repeat(1_000), undefined);
    store.store("s2", "call_3", "z".repeat(1_000), undefined);
    expect(() => store.read("s1", "call_1", {})).toThrow(expect.objectContaining(unknown));
    expect(store.read("s2", "call_2", {}).totalLines).toBe(1);
    store.store("s2", "call_4", "w".repeat(10_000), undefined);
    expect(() => store.read("s2", "call_3", {})).toThrow("No result is kept");
    expect(store.read("s2", "call_4", {}).totalLines).toBe(10);
  });
});

test("storing a result again under the same id replaces it and frees the space of the old one", () => {
  const store = new LargeResultStore({ maxBytes: 2_500 });
  store.store("s1", "call_0", "a".repeat(1_000), undefined);
  for (let time = 0; time < 5; time++) store.store("s1", "call_1", "b".repeat(1_000), undefined);
  expect(store.read("s1", "call_0", {}).text).toBe("a".repeat(1_000));
});

test("images count towards the space of results", () => {
  const store = new LargeResultStore({ maxBytes: 2_500 });
  store.store("s1", "call_1", undefined, [{ type: "image", mediaType: "image/png", data: "A".repeat(2_000) }]);
  store.store("s1", "call_2", "x".repeat(1_000), undefined);
  expect(() => store.read("s1", "call_1", {})).toThrow("No result is kept");
});

describe("F1.29 a stored result is read", () => {
  test("as its own text", () => {
    expect(readOne("a\nb\n\nc\n")).toEqual({ text: "a\nb\n\nc", totalLines: 4, from: 0, to: 3 });
  });

  test("as JSON laid out in lines", () => {
    expect(readOne({ a: [1] })).toEqual({ text: '{\n "a": [\n  1\n ]\n}', totalLines: 5, from: 0, to: 4 });
  });

  test("as the content that the model was shown, without the data of images", () => {
    const store = new LargeResultStore();
    store.store("s1", "call_1", { hidden: true }, [
      { type: "text", text: "one" },
      { type: "image", mediaType: "image/png", data: "AAAA" },
      { type: "file", uri: "file:/a", text: "two" },
      { type: "file", uri: "file:/b" },
    ]);
    expect(store.read("s1", "call_1", {}).text).toBe("one\n[image image/png]\ntwo\n[file file:/b]");
    expect(store.read("s1", "call_1", { path: "$.hidden" }).text).toBe("true");
  });

  test("F1.19 with the type and size of a file in place of its data URL, and no line of its base64", () => {
    const url = `data:image/jpeg;base64,/9j/${"A".repeat(40_000)}`;
    const store = new LargeResultStore();
    store.store("s1", "json", { photo: url, [url.slice(0, 30)]: 1, notes: ["a"] }, undefined);
    store.store("s1", "text", `one\n${url}\ntwo`, undefined);
    store.store("s1", "own", { photo: url }, [{ type: "text", text: `see ${url}` }]);
    const mention = "[file image/jpeg, 30003 bytes]";
    expect(store.read("s1", "json", {}).text).toBe(
      `{\n "photo": "${mention}",\n "data:image/jpeg;base64,/9j/AAA": 1,\n "notes": [\n  "a"\n ]\n}`,
    );
    for (const handle of ["json", "own"]) expect(store.read("s1", handle, { path: "$.photo" }).text).toBe(mention);
    expect(store.read("s1", "text", {}).text).toBe(`one\n${mention}\ntwo`);
    expect(store.read("s1", "own", {}).text).toBe(`see ${mention}`);
    expect(store.read("s1", "text", { grep: "AAAA" }).text).toBe("");
  });

  test("with a file named as in the truncated result", () => {
    const content: readonly ContentPart[] = [
      { type: "file", uri: "file:///tmp/r.pdf", name: "r.pdf", mediaType: "application/pdf" },
      { type: "text", text: "x".repeat(100) },
    ];
    const store = new LargeResultStore();
    store.store("s1", "call_1", undefined, content);
    const [shown] = truncateResult(undefined, content, 50, () => "Read on.").content ?? [];
    expect(shown === undefined ? "" : partText(shown)).toBe("[file r.pdf: file:///tmp/r.pdf]");
    expect(store.read("s1", "call_1", { limit: 1 }).text).toBe("[file r.pdf: file:///tmp/r.pdf]");
  });

  test("when it is empty", () => {
    expect(readOne("")).toEqual({ text: "", totalLines: 1, from: 0, to: 0 });
  });

  test("from an offset, a number of lines at a time", () => {
    expect(readOne("a\nb\nc\nd", { offset: 1, limit: 2 })).toEqual({ text: "b\nc", totalLines: 4, from: 1, to: 2, nextOffset: 3 });
    expect(readOne("a\nb\nc\nd", { offset: 3, limit: 2 })).toEqual({ text: "d", totalLines: 4, from: 3, to: 3 });
  });

  test("page by page, each line once", () => {
    const text = Array.from({ length: 5_000 }, (_, line) => `line ${line}`).join("\n");
    const pages = readAll(text);
    expect(pages.length).toBe(25);
    expect(pages.map((page) => page.text).join("\n")).toBe(text);
  });

  test("in pages of at most 16,000 characters, whatever limit is requested", () => {
    const pages = readAll(`${"x".repeat(900)}\n`.repeat(100), { limit: 1_000_000 });
    expect(Math.max(...pages.map((page) => page.text.length))).toBeLessThanOrEqual(16_000);
    expect(pages.reduce((lines, page) => lines + page.to - page.from + 1, 0)).toBe(100);
  });

  test("when it is one line of a megabyte, without splitting a code point", () => {
    const text = `a${"😀".repeat(250_000)}`;
    const pages = readAll(text, { limit: 1_000_000 });
    expect(pages.map((page) => page.text.replaceAll("\n", "")).join("")).toBe(text);
    expect(pages.every((page) => page.text.isWellFormed())).toBe(true);
  });

  testInCI("completely page by page, for any text", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 1_500, unit: "binary" }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 3 }),
        (parts, limit) => {
          const text = parts.join("\n");
          const shown = readAll(text, { limit }).map((page) => page.text);
          expect(shown.join("").replaceAll("\n", "")).toBe(text.replaceAll("\n", ""));
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("F1.29 grep", () => {
  test("returns the matching lines with their numbers", () => {
    expect(readOne("one\ntwo a+\nthree\nfour a+", { grep: "a+" })).toEqual({
      text: "1: two a+\n3: four a+",
      totalLines: 4,
      from: 1,
      to: 3,
    });
  });

  test("continues after a limit with the next matching line", () => {
    const page = readOne("x\nx\ny\nx", { grep: "x", offset: 1, limit: 1 });
    expect(page).toEqual({ text: "1: x", totalLines: 4, from: 1, to: 1, nextOffset: 3 });
  });

  test("returns an empty page when no line matches", () => {
    expect(readOne("a\nb", { grep: "c" })).toEqual({ text: "", totalLines: 2, from: 0, to: -1 });
  });

  test("finds text that spans two lines, or the point where a long line was split", () => {
    expect(readOne("ab\ncd", { grep: "b\nc" }).text).toBe("0: ab\nc");
    const parted = readOne(`${"x".repeat(998)}needle`, { grep: "needle" });
    expect(parted.text).toBe(`0: ${"x".repeat(998)}needle`);
  });

  testInCI("A10 takes far less time than a plain search for a text with near matches everywhere", () => {
    const store = new LargeResultStore();
    const text = "a".repeat(3_000_000);
    const almost = `${"a".repeat(500)}b${"a".repeat(499)}`;
    store.store("s1", "call_1", text, undefined);
    const timeOf = (work: () => unknown): number => {
      const startedAt = performance.now();
      work();
      return performance.now() - startedAt;
    };
    const plainMs = timeOf(() => text.indexOf(almost));
    expect(timeOf(() => expect(store.read("s1", "call_1", { grep: almost }).text).toBe(""))).toBeLessThan(plainMs / 2);
  });
});

describe("a path", () => {
  const output = { items: [{ "a b": 1 }, { name: "two\nlines" }], empty: "", "": 7 };

  test.each<[string, string]>([
    ["$", JSON.stringify(output, null, 1)],
    ["$.items[1].name", "two\nlines"],
    ['$.items[0]["a b"]', "1"],
    ["$.empty", ""],
    ['$[""]', "7"],
  ])("%s resolves to its value", (path, text) => {
    expect(readOne(output, { path }).text).toBe(text);
  });

  test.each<[string, string]>([
    ["$.items[2]", "$.items[2] leads nowhere: $.items is an array of 2 items."],
    ["$.items.name", "$.items.name leads nowhere: $.items is an array of 2 items."],
    ["$.item", '$.item leads nowhere: $ is an object with the keys "items", "empty", "".'],
    ["$.empty.x", "$.empty.x leads nowhere: $.empty is a string."],
    ["$.constructor", '$.constructor leads nowhere: $ is an object with the keys "items", "empty", "".'],
    ["$.items.length", "$.items.length leads nowhere: $.items is an array of 2 items."],
  ])("%s does not exist, and the message says where it ends", (path, message) => {
    expect(() => readOne(output, { path })).toThrow(expect.objectContaining({ code: "not_found", message }));
  });

  test.each(["items", "$items", "$.", "$..a", "$[", "$[-1]", "$[1.5]", '$["a]', '$["\\x"]', "$[*]", `$${".a".repeat(1_001)}`])(
    "%s is rejected as invalid",
    (path) => {
      expect(() => readOne(output, { path })).toThrow(expect.objectContaining({ code: "invalid_input" }));
    },
  );

  test("written by jsonPath resolves to any key", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (key) => {
        const value = Object.fromEntries([[key, [null, "found"]]]);
        expect(readOne(value, { path: formatJsonPath([key, 1]) }).text).toBe("found");
      }),
    );
  });

  test("into a result that has only content is rejected", () => {
    const store = new LargeResultStore();
    store.store("s1", "call_1", undefined, [{ type: "text", text: "{}" }]);
    expect(() => store.read("s1", "call_1", { path: "$.a" })).toThrow('The result is text, not JSON: read it without "path".');
  });
});

test.each<[ResultRequest, string]>([
  [{ offset: 4 }, '"offset" is 4, and the result has 4 lines.'],
  [{ offset: -1 }, '"offset" must be an integer of at least 0, not -1.'],
  [{ offset: 0.5 }, '"offset" must be an integer of at least 0, not 0.5.'],
  [{ limit: 0 }, '"limit" must be an integer of at least 1, not 0.'],
  [{ grep: "x".repeat(1_001) }, '"grep" has 1001 characters; 1000 is the limit.'],
])("the request %j is rejected", (request, message) => {
  expect(() => readOne("a\nb\nc\nd", request)).toThrow(expect.objectContaining({ code: "invalid_input", message }));
});
