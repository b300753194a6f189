import { expect, test } from "vitest";
import { restateResults } from "../../src/history/restate-results.ts";
import { answered } from "./model-messages.ts";

test("a result that refers to one that refers back to it, as an edited log may have them, is shown as left out", () => {
  const one = answered("a", {}, { sameAs: "b" });
  const other = answered("b", {}, { sameAs: "a" });
  const [shown] = restateResults([one], [one, other]);
  expect(shown).toMatchObject({
    callId: "a",
    result: { content: [{ text: "[left out: it refers to an earlier result that is no longer kept; make the call again]" }] },
  });
});
