import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Progress, withProgress } from "../../src/cli/terminal/progress.ts";
import { screenFor } from "../../src/cli/terminal/terminal-text.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function screen(isTTY: boolean): { readonly progress: Progress; readonly written: () => string } {
  let written = "";
  const write = (text: string): void => void (written += text);
  return { progress: new Progress(screenFor({ write, isTTY, columns: 40 }, { NO_COLOR: "1" })), written: () => written };
}

test("work done within a second prints no progress", () => {
  const { progress, written } = screen(true);
  progress.show(() => "1 of 2");
  vi.advanceTimersByTime(999);
  progress.show(() => "2 of 2");
  progress.clear();
  expect(written()).toBe("");
});

test("later progress overwrites one line, at most ten times a second, and clears it at the end", () => {
  const { progress, written } = screen(true);
  vi.advanceTimersByTime(1_000);
  progress.show(() => "a long line");
  progress.show(() => "not shown");
  vi.advanceTimersByTime(100);
  progress.show(() => "short");
  progress.clear();
  progress.clear();
  expect(written()).toBe("\ra long line\rshort      \r     \r");
});

test("the progress line is cut to the width of the terminal", () => {
  const { progress, written } = screen(true);
  vi.advanceTimersByTime(1_000);
  progress.show(() => "x".repeat(100));
  expect(written()).toBe(`\r${"x".repeat(38)}…`);
});

test("nothing is written without a terminal", async () => {
  const { progress, written } = screen(false);
  async function* values(): AsyncGenerator<number> {
    yield 1;
    vi.advanceTimersByTime(5_000);
    yield 2;
  }
  const seen: number[] = [];
  for await (const value of withProgress(values(), progress, (count) => `${count} values`)) seen.push(value);
  expect([seen, written()]).toEqual([[1, 2], ""]);
});

test("counted() reports the number of values that pass through", async () => {
  const { progress, written } = screen(true);
  async function* values(): AsyncGenerator<string> {
    for (const value of ["a", "b"]) {
      vi.advanceTimersByTime(1_000);
      yield value;
    }
  }
  const seen: string[] = [];
  for await (const value of withProgress(values(), progress, (count) => `${count} values`)) seen.push(value);
  expect([seen, written()]).toEqual([["a", "b"], "\r1 values\r2 values"]);
});
