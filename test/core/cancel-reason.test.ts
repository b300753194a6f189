import fc from "fast-check";
import { expect, test } from "vitest";
import { formatCancelReason } from "../../src/core/cancel-reason.ts";
import { ToolError } from "../../src/core/error.ts";

const said = (reason?: unknown): string => formatCancelReason(AbortSignal.abort(reason));
const hostile = (): Error =>
  Object.defineProperty(new Error("no"), "message", {
    get: () => {
      throw new Error("trap");
    },
  });

test.each<readonly [string, unknown, string]>([
  ["no reason", undefined, "the caller aborted"],
  ["an error", new Error("the user closed the tab"), "the caller aborted: the user closed the tab"],
  ["an AbortError with words", new DOMException("the user left", "AbortError"), "the caller aborted: the user left"],
  ["a string", "changed my mind", "the caller aborted: changed my mind"],
  ["a limit of time", new DOMException("late", "TimeoutError"), "the time limit of its caller was reached"],
  ["an error of ours", new ToolError("cancelled", "Stopped by Ctrl-C."), "Stopped by Ctrl-C"],
  ["an error over several lines", new Error("a\n  at b (c.js:1)\r\n\u001b[31mred"), "the caller aborted: a at b (c.js:1) \\u001b[31mred"],
  ["an error without words", new Error(" \n"), "the caller aborted"],
  ["an error whose getter throws", hostile(), "the caller aborted"],
  ["an object", { message: "not an error" }, "the caller aborted"],
  ["null", null, "the caller aborted"],
])("the reason of a signal aborted with %s", (_, reason, words) => {
  expect(said(reason)).toBe(words);
});

test("the reason of AbortSignal.timeout and of AbortSignal.any is that of the first signal that aborted", async () => {
  const timeout = AbortSignal.timeout(1);
  await new Promise((resolve) => timeout.addEventListener("abort", resolve));
  expect(formatCancelReason(timeout)).toBe("the time limit of its caller was reached");
  expect(formatCancelReason(AbortSignal.any([new AbortController().signal, AbortSignal.abort("enough")]))).toBe(
    "the caller aborted: enough",
  );
});

test("any thrown value becomes one short line", () => {
  const text = fc.oneof(fc.string({ unit: "binary", maxLength: 2_000 }), fc.constant("\n".repeat(900)), fc.constant("\u202e".repeat(900)));
  const reason = fc.oneof(
    text,
    text.map((message) => new Error(message)),
    fc.anything(),
  );
  fc.assert(
    fc.property(reason, (thrown) => {
      const words = said(thrown);
      expect(words).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e]/u);
      expect(words.length).toBeLessThanOrEqual(600);
      expect(words.isWellFormed()).toBe(true);
    }),
  );
});
