/** The output of a program that writes a character at a time: its characters are kept, and not a string for each. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { OutputBuffer } from "../../src/processes/output-buffer.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes in use once everything that is not held is freed. */
function held(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

test("output that comes a character at a time takes a few bytes for each", () => {
  const [output, chars, before] = [new OutputBuffer(), 1_000_000, held()];
  for (let at = 0; at < chars; at++) output.push(Buffer.from("€"));
  expect((held() - before) / chars).toBeLessThan(8);
  expect([output.text().length, output.bytes]).toEqual([chars, 3 * chars]);
});

test("chunks of every size give the same text and reach the listener as they arrive", () => {
  const text = `${"long ü€😀 line\n".repeat(90_000)}end`;
  const bytes = Buffer.from(text);
  const shown = new Set<string>();
  for (const size of [7, 4_096, 65_536, bytes.length]) {
    let heard = "";
    const output = new OutputBuffer((more) => void (heard += more));
    for (let at = 0; at < bytes.length; at += size) output.push(bytes.subarray(at, at + size));
    output.end();
    expect(heard === text).toBe(true);
    shown.add(output.text());
  }
  const [kept = ""] = shown;
  const leftOut = text.length - (256 + 768) * 1_024;
  expect([shown.size, kept]).toEqual([
    1,
    `${text.slice(0, 256 * 1_024)}\n[… ${leftOut} characters left out …]\n${text.slice(-768 * 1_024)}`,
  ]);
});

test("the text is whole at any time, while more is written", () => {
  const output = new OutputBuffer();
  let written = "";
  for (const each of ["a", "", "b".repeat(5_000), "c"]) {
    output.push(Buffer.from(each));
    written += each;
    expect(output.text()).toBe(written);
  }
});

test("E12 no part of a credential is kept where the output is cut, in the middle or because the program was stopped", () => {
  const secret = `sk-${"0123456789".repeat(20)}`;
  const output = new OutputBuffer(undefined, { API_TOKEN: secret });
  const before = 256 * 1024 - 100; // the beginning that is kept ends within the credential
  output.push(Buffer.from("x".repeat(before) + secret + "y".repeat(1024 * 1024)));
  output.push(Buffer.from(secret.slice(0, 100)));
  expect(output.text()).not.toContain("012345");
  output.end(true);
  expect(output.text()).not.toContain("012345");
  expect(output.text()).toMatch(/^x+\[API_TOKEN\]y*\n\[… \d+ characters left out …\]\ny+\[API_TOKEN\]$/u);
});

test("E12 a text that begins like a credential is kept if the program has ended by itself", () => {
  const output = new OutputBuffer(undefined, { API_TOKEN: "abcdefgh-secret" });
  output.push(Buffer.from("abcdefgh"));
  expect(output.text()).toBe("");
  output.end();
  expect(output.text()).toBe("abcdefgh");
});
