/** Lines of a program that writes a byte at a time: their bytes are kept, and not an object for each. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { LineReader } from "../../src/processes/line-reader.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function reading(maxBytes?: number) {
  const seen: { readonly lines: string[]; readonly long: string[] } = { lines: [], long: [] };
  const listener = { onLine: (line: string) => void seen.lines.push(line), onLongLine: (edges: string) => void seen.long.push(edges) };
  return { reader: new LineReader(listener, maxBytes), seen };
}

const letters = (count: number): string => Array.from({ length: count }, (_, index) => String.fromCharCode(97 + (index % 26))).join("");

/** Passes on each byte as a chunk of its own. Resolves to how many of the chunks are still held, by the memory of each. */
async function pushBytes(reader: LineReader, text: string): Promise<number> {
  const pushed: WeakRef<ArrayBuffer>[] = [];
  for (const byte of Buffer.from(text)) {
    const chunk = Buffer.alloc(1, byte);
    pushed.push(new WeakRef(chunk.buffer));
    reader.push(chunk);
  }
  await new Promise((resolve) => setImmediate(resolve)); // a WeakRef is held until the end of its turn
  collect();
  return pushed.filter((chunk) => chunk.deref() !== undefined).length;
}

test("a line that comes a byte at a time holds few of its small chunks", async () => {
  const { reader, seen } = reading();
  const text = letters(20_000);
  expect(await pushBytes(reader, text)).toBeLessThan(2_000);
  reader.push(Buffer.from("\r\n"));
  expect(seen).toEqual({ lines: [text], long: [] });
});

test("chunks of every size give the same lines, without byte order marks, carriage returns and empty lines", () => {
  const bytes = Buffer.from(`\uFEFF{"a":"ü€😀"}\r\n\n \n${letters(5_000)}\nlast\n`);
  for (const size of [1, 2, 3, 1_001, bytes.length]) {
    const { reader, seen } = reading();
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(seen).toEqual({ lines: ['{"a":"ü€😀"}', letters(5_000), "last"], long: [] });
  }
});

test("of a line that is too long its beginning and its end are kept, whatever the size of its chunks", () => {
  const long = `{${letters(30_000)}}`;
  const bytes = Buffer.from(`${long}\nnext\n`);
  for (const size of [1, 999, 1_000, 7_001, bytes.length]) {
    const { reader, seen } = reading(10_000);
    for (let at = 0; at < bytes.length; at += size) expect(reader.push(bytes.subarray(at, at + size))).toBe(true);
    expect(seen).toEqual({ lines: ["next"], long: [long.slice(0, 1_000) + long.slice(-1_000)] });
  }
});
