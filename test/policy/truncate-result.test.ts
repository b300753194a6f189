import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { heapBytes } from "../../scripts/exact-accounting.ts";
import type { ContentPart } from "../../src/core/content.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import { truncateResult, type ShownResult } from "../../src/policy/results/truncate-result.ts";
import { repeated } from "../ci.ts";
import { inProcessorTime } from "../processor-time.ts";
import { testInCI } from "../test-in-ci.ts";

const hint = (): string => "Read on with r1.";

function cutOutput(output: JsonValue, maxBytes: number): ShownResult {
  return truncateResult(output, undefined, maxBytes, hint);
}

function cutContent(content: readonly ContentPart[], maxBytes: number): ShownResult {
  return truncateResult(undefined, content, maxBytes, hint);
}

function neverAsked(): string {
  throw new Error("Nothing was cut, so there is nothing to read on.");
}

describe("F1.29 text", () => {
  test("is cut at the limit with a note of the bytes left out and how to read on", () => {
    expect(cutOutput("abcdefghij", 4)).toEqual({
      output: "abcd\n[6 of 10 bytes left out. Read on with r1.]",
      content: undefined,
      totalBytes: 10,
      shownBytes: 4,
      cut: true,
    });
  });

  test.each([
    ["éééé", 5, "éé", 4, 8],
    ["日本語", 8, "日本", 6, 9],
    ["a😀😀", 8, "a😀", 5, 9],
    ["😀", 3, "", 0, 4],
    ["\ud800\ud800", 5, "\ud800", 3, 6],
  ])("%j of at most %d bytes keeps whole code points", (text, maxBytes, head, shownBytes, totalBytes) => {
    const note = `[${totalBytes - shownBytes} of ${totalBytes} bytes left out. Read on with r1.]`;
    expect(cutOutput(text, maxBytes)).toEqual({ output: `${head}\n${note}`, content: undefined, totalBytes, shownBytes, cut: true });
  });

  test("of exactly the limit stays whole, and the hint is not computed", () => {
    const shown = truncateResult("日本語", undefined, 9, neverAsked);
    expect(shown).toEqual({ output: "日本語", content: undefined, totalBytes: 9, shownBytes: 9, cut: false });
  });

  test("without a limit stays whole", () => {
    const text = "x".repeat(1_000_000);
    expect(truncateResult(text, undefined, 0, neverAsked)).toMatchObject({ output: text, cut: false });
  });
});

describe("F1.29 JSON that is too large", () => {
  test("keeps small members whole and cuts only the large ones", () => {
    const shown = cutOutput({ stdout: "x".repeat(10_000), exitCode: 1, stderr: "oops" }, 1_000);
    expect(shown.output).toMatchObject({ exitCode: 1, stderr: "oops" });
    expect(shown).toMatchObject({
      totalBytes: 10_042,
      cut: true,
      output: { "[cut]": expect.stringMatching(/^\[\d+ of 10042 bytes left out\. Read on with r1\.\]$/) },
    });
    expect(shown.output).toMatchObject({ stdout: expect.stringMatching(/^x{700,}… \[\d+ more\]$/) });
  });

  test("keeps the first items of an array and counts the others", () => {
    const shown = cutOutput(
      Array.from({ length: 1_000 }, (_, id) => ({ id })),
      200,
    );
    expect(shown.output).toEqual([
      ...Array.from({ length: 13 }, (_, id) => ({ id })),
      "[987 more items]",
      expect.stringMatching(/bytes left out\. Read on with r1\.\]$/),
    ]);
  });

  test("counts the members left out of an object that has too many", () => {
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key${index}`, "v".repeat(50)]));
    const { output } = cutOutput(wide, 1_000);
    expect(output).toMatchObject({ key0: "v".repeat(50), "[more]": expect.stringMatching(/^99\d\d more keys$/) });
  });

  test("is shown as text where its structure does not fit", () => {
    expect(cutOutput({ a: "x".repeat(100), b: 1 }, 20)).toEqual({
      output: '{"a":"xxxxxxxxxxxxxx\n[94 of 114 bytes left out. Read on with r1.]',
      content: undefined,
      totalBytes: 114,
      shownBytes: 20,
      cut: true,
    });
  });

  test("is not changed itself", () => {
    const output: JsonValue = Object.freeze({ rows: Object.freeze(Array.from({ length: 100 }, () => "x".repeat(100))) });
    const before = JSON.stringify(output);
    expect(cutOutput(output, 500).cut).toBe(true);
    expect(JSON.stringify(output)).toBe(before);
  });

  test("never exceeds the limit, says how much is missing, and stays an object or an array", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: "binary" }), fc.integer({ min: 1, max: 400 }), (value, maxBytes) => {
        const json: JsonValue = value as JsonValue; // fast-check's JSON values are ours, not readonly
        const shown = cutOutput(json, maxBytes);
        const totalBytes = Buffer.byteLength(typeof json === "string" ? json : JSON.stringify(json));
        expect(shown.cut).toBe(totalBytes > maxBytes);
        if (shown.cut) {
          expect(shown.shownBytes).toBeLessThanOrEqual(maxBytes);
          expect(shown.totalBytes).toBe(totalBytes);
          const keepsKind = typeof shown.output === typeof json && Array.isArray(shown.output) === Array.isArray(json);
          expect(keepsKind || typeof shown.output === "string").toBe(true);
        } else {
          expect(shown.output).toBe(json);
        }
      }),
      { numRuns: repeated(1_000) },
    );
  });

  test("stays JSON for any object once the limit is 256 bytes", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), fc.integer({ min: 256, max: 600 }), (value, maxBytes) => {
        expect(typeof cutOutput(value as JsonValue, maxBytes).output).toBe("object"); // as above
      }),
      { numRuns: repeated(1_000) },
    );
  });
});

describe("F1.29 content", () => {
  const image: ContentPart = { type: "image", mediaType: "image/png", data: "A".repeat(10_000) };

  test("has only its text cut; images stay", () => {
    const content: readonly ContentPart[] = [{ type: "text", text: "ééé" }, image, { type: "text", text: "more" }, image];
    expect(cutContent(content, 5)).toEqual({
      output: undefined,
      content: [{ type: "text", text: "éé" }, image, image, { type: "text", text: "[6 of 10 bytes left out. Read on with r1.]" }],
      totalBytes: 10,
      shownBytes: 4,
      cut: true,
    });
  });

  test("that is larger by no more than a note stays whole, as the server that cut it added a note of its own", () => {
    const note = { type: "text", text: `[900 of 65436 bytes left out. ${"x".repeat(200)}]` } as const;
    const content: readonly ContentPart[] = [{ type: "text", text: "a".repeat(65_536) }, note];
    expect(cutContent(content, 65_536)).toMatchObject({ content, cut: false });
    expect(cutContent([...content, note], 65_536).cut).toBe(true);
    expect(cutContent([{ type: "text", text: "a".repeat(17) }], 16).cut).toBe(false);
    expect(cutContent([{ type: "text", text: "a".repeat(18) }], 16).cut).toBe(true);
  });

  test("has the text of files cut, keeps files like images, and replaces files that no provider takes by their name", () => {
    const report = (bytes: number): ContentPart => ({
      type: "file",
      uri: `data:application/pdf;base64,${"AAA=".repeat(bytes / 2)}`,
      mediaType: "application/pdf",
      name: "report.pdf",
    });
    const large = { type: "file", uri: `data:application/pdf;base64,${"A".repeat(6_000_004)}`, name: "large.pdf" } as const;
    const content: readonly ContentPart[] = [{ type: "file", uri: "file:/a", text: "abcdef" }, report(100), large];
    expect(cutContent(content, 10).content).toEqual([
      { type: "file", uri: "file:/a", text: "abc" },
      report(100),
      { type: "text", text: "[file large.pdf: 4500003 bytes left out]" },
      { type: "text", text: "[4500006 of 4500016 bytes left out. Read on with r1.]" },
    ]);
  });

  test("with large images and little text stays whole", () => {
    const content: readonly ContentPart[] = [image, { type: "text", text: "four" }];
    expect(truncateResult(undefined, content, 4, neverAsked)).toEqual({
      output: undefined,
      content,
      totalBytes: 4,
      shownBytes: 4,
      cut: false,
    });
  });

  test("is what the model reads, so the output beside it stays whole", () => {
    const output = { rows: "x".repeat(100) };
    const shown = truncateResult(output, [{ type: "text", text: "short" }], 20, neverAsked);
    expect(shown).toMatchObject({ output, cut: false });
  });
});

test("A06 a result of 16 MB is truncated without blocking for long", () => {
  const rows = Array.from({ length: 100_000 }, (_, id) => ({ id, text: "x".repeat(140) }));
  const shown = inProcessorTime(10_000, () => cutOutput({ rows, total: rows.length }, 65_536));
  expect(shown).toMatchObject({ cut: true, output: { total: 100_000 } });
});

test("values nested deeper than the limit of JSON copies are still truncated", () => {
  let deep: JsonValue = "x".repeat(10_000);
  for (let level = 0; level < 500; level++) deep = [deep];
  const shown = cutOutput(deep, 5_000);
  expect(shown.cut).toBe(true);
  expect(shown.shownBytes).toBeLessThanOrEqual(5_000);
});

testInCI("a truncated output does not hold the whole in memory", () => {
  const before = heapBytes();
  const shown = Array.from({ length: 5 }, (_, n) => {
    const text = `${n} ${"x".repeat(1_000_000)}`;
    return [cutOutput(text, 100), cutOutput({ text, more: [text] }, 300), cutContent([{ type: "text", text }], 100)];
  });
  expect(shown.flat().every((one) => one.cut)).toBe(true);
  expect(heapBytes() - before).toBeLessThan(3_000_000);
  expect(shown).toHaveLength(5);
});
