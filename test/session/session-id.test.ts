import { expect, test } from "vitest";
import { checkSessionId } from "../../src/session/session-id.ts";

test.each([
  ["", "this one has 0"],
  ["x".repeat(2_000), "this one has 2000"],
  [{ id: "s" }, "this is of type object"],
  [7, "this is of type number"],
  [null, "this is of type null"],
])("an invalid id is rejected with the given value: %j", (id, given) => {
  expect(() => checkSessionId(id)).toThrow(`The id of a session must be a string of 1 to 1024 characters; ${given}.`);
});
