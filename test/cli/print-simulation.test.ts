import { expect, test } from "vitest";
import { printSimulation } from "../../src/cli/print/print-simulation.ts";
import { readCommandLine } from "../../src/cli/command-line.ts";
import { screenFor } from "../../src/cli/terminal/terminal-text.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import { diffJson } from "../../src/core/base/json-patch.ts";

/** The lines about the state, on a screen of 80 columns. */
function shown(...values: readonly (readonly [before: JsonValue | undefined, after: JsonValue | undefined])[]): readonly string[] {
  let text = "";
  const out = screenFor({ write: (more: string) => (text += more), isTTY: true, columns: 80 }, { NO_COLOR: "1" });
  const state = values.map(([before, after]) => ({ toolset: "shop", key: "cart", before, after, patch: diffJson(before, after) }));
  printSimulation({ options: readCommandLine(["run"]).options, out }, { state, calls: [], pretended: [] });
  const lines = text.split("\n");
  return lines.slice(lines.indexOf("state that would differ") + 1, lines.indexOf("", 1));
}

const items = Array.from({ length: 30 }, (_, index) => `item number ${index}`);

test("C06 a change deep inside a large value is shown with its path", () => {
  expect(
    shown([
      { items, "a/b": 1, last: true },
      { items: items.with(20, "bread"), "a/b": 2 },
    ]),
  ).toEqual(['  shop cart/items/20: "item number 20" → "bread"', "  shop cart/a~1b: 1 → 2", "  shop cart/last: true → nothing"]);
});

test("C06 changes of an array are shown item by item with the value found there, and nothing for an added item", () => {
  expect(
    shown([
      ["a", "b", "c"],
      ["a", "c", "d"],
    ]),
  ).toEqual(['  shop cart/1: "b" → "c"', '  shop cart/2: "c" → "d"']);
  expect(
    shown([
      ["a", "b"],
      ["a", "x", "b"],
    ]),
  ).toEqual(['  shop cart/1: nothing → "x"']);
  expect(
    shown([
      ["a", "b", "c", "d"],
      ["a", "d"],
    ]),
  ).toEqual(['  shop cart/2: "c" → nothing', '  shop cart/1: "b" → nothing']);
});

test("C06 two long texts with a common beginning are shown from their first difference", () => {
  const text = "word ".repeat(40);
  expect(shown([`${text}old end`, `${text}new end`])).toEqual(['  shop cart: …ord old end" → …ord new end"']);
  expect(shown([undefined, text])).toEqual([expect.stringMatching(/^ {2}shop cart: nothing → "word .*…$/u)]);
  expect(shown([`${text}🙂abc1`, `${text}🙂abc2`])).toEqual(['  shop cart: …abc1" → …abc2"']);
});

test("C06 of very many changes, the first are shown and the others counted", () => {
  const lines = shown([Array.from({ length: 50 }, () => 0), Array.from({ length: 50 }, (_, index) => (index === 0 ? 0 : index))], [1, 2]);
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([21, "  shop cart/1: 0 → 1", "  … and 30 more lines"]);
});
