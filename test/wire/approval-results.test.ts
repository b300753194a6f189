/** Calls that waited for a person: what is the decision about one, and whether the provider is told that it was allowed. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ResultChange } from "../core/result-change.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import { answered, called, PICTURE, said } from "./conversations.ts";

const INPUT = { x: 1, safety_decision: { decision: "require_confirmation", explanation: "It pays." } };
const WAITS: ResultChange = {
  status: "error",
  attempts: 0,
  error: { code: "approval_required", message: "It needs approval.", retryable: false, outcome: "not_started" },
};
const FORMATS = [openAiResponses(), gemini(), geminiInteractions()];

/** A call that waits, then the same one again, of a message with or without words. */
const again = (words: readonly ModelMessage[]): readonly ModelMessage[] => [
  said("user", "Pay."),
  said("assistant", "I pay."),
  called("a", "pay", { id: "a", input: INPUT }),
  answered("a", "pay", { id: "a", ...WAITS }),
  ...words,
  called("b", "pay", { id: "b", input: INPUT }),
  answered("b", "pay", { id: "b", output: "paid" }),
];

describe.each(FORMATS.map((format) => [format.name, format] as const))("%s", (_name, format) => {
  const write = (words: readonly ModelMessage[]): string => JSON.stringify(format.encodeMessages(again(words)).messages);

  test("a call repeated in a message with text is not a decision: its text and position are kept", () => {
    const written = write([said("assistant", "I try again.")]);
    const places = ["I pay.", "needs approval", "I try again.", "paid"].map((text) => written.indexOf(text));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places).not.toContain(-1);
  });

  test("a call repeated without text is a decision: its result answers the waiting call", () => {
    expect(write([])).toContain("paid");
    expect(write([])).not.toContain("needs approval");
  });

  test("the messages encoded before a decision are not reused after it", () => {
    const messages = again([]);
    expect(JSON.stringify(format.encodeMessages(messages.slice(0, 4)).messages)).toContain("needs approval");
    expect(JSON.stringify(format.encodeMessages(messages).messages)).not.toContain("needs approval");
  });
});

const ANSWERS: readonly (readonly [what: string, fields: ResultChange, isTold: boolean])[] = [
  ["has run", { attempts: 1 }, true],
  ["was denied, and given another answer by a hook", { attempts: 0 }, false],
  ...(["simulated", "stub", "replay", "cache"] as const).map(
    (origin) => [`was answered in place of its tool: ${origin}`, { attempts: 1, origin }, false] as const,
  ),
];
test.each(ANSWERS)("an approval is acknowledged to the provider only for a call that ran; this one %s", (_what, fields, isTold) => {
  const checks = [{ id: "sc", code: "c", message: "m" }];
  const { result } = answered("c", "computer", { id: "c", output: {}, content: [PICTURE], ...fields });
  const native: JsonObject = { type: "computer_call", call_id: "c", actions: [], pending_safety_checks: checks };
  const openAi = (): unknown =>
    openAiResponses().encodeResults([{ id: "c", name: "computer", native, result }], [{ id: "c", name: "computer", input: {} }]);
  if (isTold) expect(openAi()).toMatchObject([{ acknowledged_safety_checks: checks }]);
  else expect(openAi).toThrow("was not run");

  for (const format of [gemini(), geminiInteractions()]) {
    const input = { ...INPUT, action: "click_at" };
    const answers = [{ id: "c", name: "computer", native: { name: "click_at", input }, result }];
    const written = JSON.stringify(format.encodeResults(answers, [{ id: "c", name: "computer", input }]));
    expect(written.includes("safety_acknowledgement")).toBe(isTold);
  }
});

test("a function of the program with a parameter of that name is answered like any other", () => {
  const [call, answer] = [called("c", "pay", { id: "c", input: INPUT }), answered("c", "pay", { id: "c", output: "paid", attempts: 1 })];
  for (const format of FORMATS)
    expect(JSON.stringify(format.encodeMessages([said("user", "Pay."), call, answer]).messages)).not.toMatch(/acknowledge/u);
});
