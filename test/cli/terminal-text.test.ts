import { describe, expect, test } from "vitest";
import { truncateToWidth, formatDuration, toOneLine, safeJson, safeText, screenFor, wrap } from "../../src/cli/terminal/terminal-text.ts";

describe("safeText", () => {
  test.for([
    ["plain text, tabs\tand\nline feeds stay", "plain text, tabs\tand\nline feeds stay"],
    ["a\r\nb", "a\nb"],
    ["a\rb", "a\\u{d}b"],
    ["\u001b[8mhidden\u001b[0m", "hidden"],
    ["\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007", "link"],
    ["\u009b31m and \u0007", expect.stringMatching(/^(?:\\u\{9b\}31m)? and \\u\{7\}$/u)],
    ["\u202eabc\u2066", "\\u{202e}abc\\u{2066}"],
    ["a\u200bb\ufeffc\u00add\u061c", "a\\u{200b}b\\u{feff}c\\u{ad}d\\u{61c}"],
    ["\u{e0041}\u{e007f}", "\\u{e0041}\\u{e007f}"],
    ["\u2028", "\\u{2028}"],
  ])("D04 %j", ([text, safe]) => {
    expect(safeText(String(text))).toEqual(safe);
  });
});

test("D04 safeJson escapes control characters and still parses to the same value", () => {
  const value = { "\u202e": ["\u001b[2J", "\u{e0041}", "a\nb", "\u007f\u0085"] };
  const text = safeJson(value);
  expect(text).toBe(String.raw`{"\u202e":["\u001b[2J","\udb40\udc41","a\nb","\u007f\u0085"]}`);
  expect(JSON.parse(text)).toEqual(value);
});

describe("lines that fit the width", () => {
  test("oneLine collapses white space and cuts with an ellipsis within the width", () => {
    expect([toOneLine(" a\n\n b\tc ", 10), toOneLine("abcdef", 6), toOneLine("abcdefg", 6), toOneLine("a", Infinity)]).toEqual([
      "a b c",
      "abcdef",
      "abcde…",
      "a",
    ]);
  });

  test("oneLine reads only the beginning of a huge text", () => {
    expect(toOneLine("ab ".repeat(10_000_000), 6)).toBe("ab ab…");
  });

  test("cut never splits a surrogate pair", () => {
    expect([
      truncateToWidth("ab😀cd", 4),
      truncateToWidth("ab😀cd", 5),
      truncateToWidth("ab😀cd", 6),
      truncateToWidth("abc", 1),
      truncateToWidth("abc", 0),
    ]).toEqual(["ab…", "ab😀…", "ab😀cd", "…", "…"]);
  });

  test("wrap breaks between words, keeps line breaks, and splits only words longer than a line", () => {
    expect(wrap("one two three\n\nfour abcdefghijk", 9)).toEqual(["one two", "three", "", "four", "abcdefghi", "jk"]);
    expect(wrap("one two", Infinity)).toEqual(["one two"]);
  });

  test("durations are printed in a suitable unit", () => {
    expect([0, 0.44, 9.94, 9.96, 999.4, 999.6, 1_000, 5_000, 1_540, 119_999, 120_000].map(formatDuration)).toEqual([
      "0 ms",
      "0.4 ms",
      "9.9 ms",
      "10 ms",
      "999 ms",
      "1 s",
      "1 s",
      "5 s",
      "1.5 s",
      "120 s",
      "2 min",
    ]);
  });
});

describe("screenFor", () => {
  const write = (): void => {};

  test("a file has no colours and unlimited width", () => {
    const { paint, isTerminal, width } = screenFor({ write, columns: 50 }, {});
    expect({ text: paint("red", "x"), isTerminal, width }).toEqual({ text: "x", isTerminal: false, width: Infinity });
  });

  test("a terminal has its current width, 80 if unknown, and at least 40", () => {
    const terminal = { write, isTTY: true, columns: 100 };
    const screen = screenFor(terminal, {});
    const widths = [screen.width];
    for (const columns of [120, 0, 10]) {
      terminal.columns = columns;
      widths.push(screen.width);
    }
    expect(widths).toEqual([100, 120, 80, 40]);
  });

  test("an empty NO_COLOR is ignored", () => {
    expect(screenFor({ write, isTTY: true }, { NO_COLOR: "" }).paint("red", "x")).toBe("\u001b[31mx\u001b[39m");
  });
});
