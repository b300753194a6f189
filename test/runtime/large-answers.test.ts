import { describe, expect, test } from "vitest";
import { resultText } from "../../src/core/result.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

function keys(count: number): Readonly<Record<string, number>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, index]));
}

describe("F1.19 an answer over the size limits", () => {
  test.each<[string, () => unknown]>([
    ["one object of 60,000 keys", () => keys(60_000)],
    ["60,000 keys in several wide objects", () => Array.from({ length: 30 }, () => keys(2_000))],
    ["600,000 values", () => Array.from({ length: 600_000 }, (_, index) => index)],
    ["a text of 17,000,000 characters", () => ({ text: "x".repeat(17_000_000) })],
    ["a hundred levels", () => JSON.parse(`${"[".repeat(100)}1${"]".repeat(100)}`)],
  ])("%s is partial, keeps its beginning, and has a known outcome", async (_, make) => {
    let runs = 0;
    const { runtime } = testRuntime({
      tools: [
        tool("book", () => {
          runs++;
          return make();
        }),
      ],
    });
    const result = await runtime.execute({ name: "book", input: {} });
    expect(result).toMatchObject({
      status: "partial",
      attempts: 1,
      error: { code: "too_large", retryable: false, message: "default::book ran, but its answer is too large: the beginning is kept." },
    });
    expect(result.output).toBeDefined();
    expect(resultText(result)).toContain("Its effect has happened.");
    expect(runs).toBe(1);
    await runtime.close();
  });

  test("one of 50,000 keys, or of 490,000 values, is ok and whole", async () => {
    const { runtime } = testRuntime({
      maxResultBytes: 0,
      tools: [tool("wide", () => keys(50_000)), tool("long", () => Array(490_000).fill(0))],
    });
    const [wide, long] = await runtime.execute([
      { name: "wide", input: {} },
      { name: "long", input: {} },
    ]);
    expect([wide?.status, long?.status]).toEqual(["ok", "ok"]);
    expect(JSON.stringify(wide?.output)).toBe(JSON.stringify(keys(50_000)));
    expect(JSON.stringify(long?.output).length).toBe(2 * 490_000 + 1);
    await runtime.close();
  });
});
