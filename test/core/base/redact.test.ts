import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import { redactError, redactor } from "../../../src/core/base/redact.ts";

const redact = redactor({ API_KEY: "s3cret-value", LONGER: "s3cret-value-2", SHORT: "on" });

test("values of variables are replaced by their names, the longest first, and short words stay", () => {
  expect(redact("on s3cret-value-2 and s3cret-value")).toBe("on [LONGER] and [API_KEY]");
});

test("an error says nothing secret in its message, details, hint or cause, and is otherwise the same", () => {
  const error = new ToolError("execution_failed", "bad key s3cret-value", {
    details: ["s3cret-value"],
    hint: "not s3cret-value",
    outcome: "failed",
    retryAfterMs: 5,
    cause: new Error("s3cret-value"),
  });
  const redacted = redactError(error, redact);
  expect(redacted.toJSON()).toEqual({ ...error.toJSON(), message: "bad key [API_KEY]", details: ["[API_KEY]"], hint: "not [API_KEY]" });
  expect(redacted.cause).toBeUndefined();
});

test("an error without secrets is left as it is", () => {
  const error = new ToolError("timeout", "late", { cause: new Error("why") });
  expect(redactError(error, redact)).toBe(error);
});

test.each([
  ["a beginning in front of a cut", "bad key s3cret-value…", "bad key [LONGER]…"],
  ["a cut within", "s3cret-v… is bad", "[LONGER]… is bad"],
  ["several cuts", "s3cret-va…s3cret-val… and …", "[LONGER]…[LONGER]… and …"],
  ["a beginning of a few characters", "s3cret… and …", "s3cret… and …"],
  ["words in front of a cut", "a long story…", "a long story…"],
  ["a beginning without a cut", "s3cret-val", "s3cret-val"],
])("what a cut has left of a value is struck out: %s", (_, text, expected) => {
  expect(redactor({ LONGER: "s3cret-value-2" })(text)).toBe(expected);
});
