/** Lines of a recording that comes a character at a time: their characters are kept, and not a string for each. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { RecordingDecoder } from "../../../src/core/recording/decoder.ts";
import { LineSplitter } from "../../../src/core/recording/line-splitter.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const splitter = (): LineSplitter => new LineSplitter(new RecordingDecoder(() => ""));

/** Bytes in use once everything that is not held is freed. */
function held(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

test("a line that comes a character at a time takes a few bytes for each", () => {
  const [lines, chars, before] = [splitter(), 1_000_000, held()];
  for (let at = 0; at < chars; at++) lines.push(String.fromCharCode(97 + (at % 26))).next();
  expect((held() - before) / chars).toBeLessThan(8);
  const [line = ""] = lines.push("\n");
  expect([line.length, line.slice(0, 28), line.slice(-2)]).toEqual([chars, "abcdefghijklmnopqrstuvwxyzab", "mn"]);
});

test("chunks of every size give the same lines", () => {
  const text = `\uFEFFfirst\r\n\n${"long 😀 ".repeat(2_000)}\nlast`;
  for (const size of [1, 7, 4_095, 4_096, text.length]) {
    const [lines, seen]: [LineSplitter, string[]] = [splitter(), []];
    for (let at = 0; at < text.length; at += size) seen.push(...lines.push(text.slice(at, at + size)));
    seen.push(...lines.flush());
    expect(seen).toEqual(["first", "", "long 😀 ".repeat(2_000), "last"]);
  }
});
