import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StreamedText } from "../../src/cli/commands/chat/streamed-text.ts";

function shown(pieces: readonly string[], width = Infinity): string {
  let out = "";
  const write = (text: string): void => void (out += text);
  const text = new StreamedText({ write, onStart: () => write("model "), margin: "      ", width });
  for (const piece of pieces) text.add(piece);
  text.end();
  return out;
}

const ESC = "\u001b";

describe("streamed text", () => {
  test("H10 escape sequences and control characters are neutralised, even if a sequence is split between pieces", () => {
    const whole = `a ${ESC}[31mred${ESC}[0m ${ESC}]0;title\u0007b \u202ec\u0000`;
    const expected = "model a red b \\u{202e}c\\u{0}\n";
    expect(shown([whole])).toBe(expected);
    expect(shown(Array.from(whole))).toBe(expected);
  });

  test("no text, however it is split, writes a control character to the terminal", () => {
    const hostile = fc.string({
      unit: fc.constantFrom(ESC, "[", "]", "2", "J", "m", ";", "\u0007", "\u009b", "\r", "\n", "\t", " ", "a", "\u200b", "\u{1f600}"),
    });
    fc.assert(
      fc.property(fc.array(hostile), fc.integer({ min: 1, max: 20 }), (pieces, width) => {
        expect(shown(pieces, width)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b]/u);
      }),
    );
  });

  test("text in pieces is shown like the whole text, in lines that fit", () => {
    const words = fc.string({
      unit: fc.constantFrom("a", "b", " ", "  ", "\n", "\r\n", "世", "\u{1f600}", "e\u0301", "\t"),
      maxLength: 200,
    });
    fc.assert(
      fc.property(words, fc.array(fc.nat(200)), fc.integer({ min: 2, max: 30 }), (text, cuts, width) => {
        const ends = [...new Set([...cuts.map((cut) => Math.min(cut, text.length)), text.length])].toSorted((one, other) => one - other);
        const pieces = ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
        const whole = shown([text], width);
        expect(shown(pieces, width)).toBe(whole);
        for (const line of whole.split("\n")) expect(columns(line)).toBeLessThanOrEqual(6 + width);
        expect(whole).not.toMatch(/\n\n\n|[ \t]\n/u);
      }),
    );
  });

  test("lines break between words, keep their indentation, and are separated by at most one empty line", () => {
    const text = "\n\nWords of a line that is long.\n\n\n\n- one\n    code\nabcdefghijklmnopqrstuvwxyz\n\n";
    expect(shown([text], 12)).toBe(
      [
        "model Words of a",
        "      line that is",
        "      long.",
        "",
        "      - one",
        "          code",
        "      abcdefghijkl",
        "      mnopqrstuvwx",
        "      yz",
        "",
      ].join("\n"),
    );
  });

  test("a line broken at a gap or a long word has no trailing spaces", () => {
    expect(shown(["a  aaa"], 2)).toBe("model a\n      aa\n      a\n");
    expect(shown(["ab  cdefgh"], 5)).toBe("model ab  c\n      defgh\n");
  });

  test("a line of unlimited length is shown as it arrives, in linear time", () => {
    let written = 0;
    const text = new StreamedText({ write: ({ length }) => void (written += length), onStart() {}, margin: "", width: 72 });
    for (let piece = 0; piece < 1_000; piece++) text.add("x".repeat(1_000));
    expect(written).toBeGreaterThan(999_000);
    const spaces = new StreamedText({ write() {}, onStart() {}, margin: "", width: 72 });
    for (let piece = 0; piece < 1_000; piece++) spaces.add(" ".repeat(1_000));
    spaces.end();
  });

  test("half of a surrogate pair is held back until the other half arrives", () => {
    const [high = "", low = ""] = "\u{1f600}".split("");
    expect(shown(["x".repeat(300), high, low, "."])).toBe(`model ${"x".repeat(300)}\u{1f600}.\n`);
  });

  test("text of only white space shows nothing", () => {
    expect(shown([" ", "\n\n", "\t"])).toBe("");
  });
});

function columns(line: string): number {
  return Array.from(line.replaceAll(/\p{M}/gu, "")).reduce((sum, character) => sum + (/[世\u{1f600}]/u.test(character) ? 2 : 1), 0);
}
