import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { resultText } from "../../src/core/result.ts";
import { truncateError } from "../../src/policy/results/truncate-error.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

const long = new ToolError("execution_failed", "é".repeat(4_000), {
  hint: "h".repeat(4_000),
  details: Array.from({ length: 20 }, (_, index) => `${index}: ${"d".repeat(4_000)}`),
});

test.each([0, 1, 500, 9_000, 65_536, 1_000_000])(
  "F1.29 an error of a tool with maxResultBytes %d is shown with at most that much text and its 1,000 bytes",
  async (maxResultBytes) => {
    const failing = { ...tool("fail", () => Promise.reject(long)), maxResultBytes, maxAttempts: 1 };
    const result = await testRuntime({ tools: [failing] }).runtime.execute({ name: "fail" });
    const bytes = Buffer.byteLength(resultText(result));
    if (maxResultBytes === 0 || maxResultBytes === 1_000_000) expect(result.error).toEqual(long.toJSON());
    else expect(bytes).toBeLessThanOrEqual(maxResultBytes + 1_000 + 200); // the code, the dashes, and how much is missing
    expect(result.error).toMatchObject({ code: "execution_failed", outcome: long.outcome, message: expect.stringMatching(/^é{500}/u) });
  },
);

test("F1.29 the message is kept before the hint and the details, whose last line counts the missing ones", () => {
  const error = { ...long.toJSON(), message: "It failed.", hint: "Try again.", details: ["one", "d".repeat(2_000), "three"] };
  expect(truncateError(error, 100)).toEqual({ ...error, details: ["one", "2 more lines left out"] });
  expect(truncateError({ ...error, message: "m".repeat(1_090) }, 100)).toEqual({
    ...error,
    message: "m".repeat(1_090),
    details: ["3 more lines left out"],
  });
  expect(truncateError({ ...error, details: ["one"] }, 1)).toEqual({ ...error, details: ["one"] });
});
