import fc from "fast-check";
import { expect, test } from "vitest";
import { withCallsAsText } from "../../src/wire/calls-as-text.ts";
import { CONVERSATION, PICTURE, answered, called, said } from "./conversations.ts";

const NO_RESULT = "Error (outcome_unknown): This call has no result: it still runs, or it was interrupted. Its effect is not known.";

test("F4.21 calls and results become text, images stay, and everything else is unchanged", () => {
  expect(withCallsAsText(CONVERSATION)).toEqual([
    said("system", "Be brief."),
    said("document", "The house opens at nine.", "Hours"),
    said("user", [{ type: "text", text: "What is this, and how is the weather?" }, PICTURE]),
    said("assistant", 'I look.\n(Called weather::get with {"city":"Oslo"}.)\n(Called eyes::look with {}.)'),
    said(
      "user",
      '(Result of weather::get:)\n{"temperature":12}\n\n(Result of eyes::look:)\nError (timeout): too slow\nHint: Ask for less.',
    ),
    said("user", "Hurry."),
    said("assistant", '(Called camera::shoot with {}.)\n(Called mail::send with "not an object".)'),
    said("user", [
      { type: "text", text: "(Result of camera::shoot:)\nHere:\n[image image/png]" },
      PICTURE,
      { type: "text", text: `(Result of mail::send:)\n${NO_RESULT}` },
    ]),
    said("assistant", "Done."),
  ]);
});

test("F4.21 a message's native form is dropped if it has calls, and kept otherwise", () => {
  const native = { format: "x", blocks: [1] };
  const spoken = { role: "assistant", at: 0, content: "Hi", native } as const;
  expect(withCallsAsText([spoken, said("user", "Go."), spoken, called("a", "look"), answered("a", "look", { output: "ok" })])).toEqual([
    spoken,
    said("user", "Go."),
    said("assistant", "Hi\n(Called look with {}.)"),
    said("user", "(Result of look:)\nok"),
  ]);
});

test("F4.21 a second pass changes nothing, and a conversation without calls is returned as the same object", () => {
  const messages = fc.array(
    fc.oneof(
      fc.constantFrom(...CONVERSATION),
      fc.string().map((text) => said("user", text)),
    ),
  );
  fc.assert(
    fc.property(messages, (some) => {
      const notes = withCallsAsText(some);
      expect(withCallsAsText(notes)).toBe(notes);
      expect(notes.some(({ role }) => role === "call" || role === "result")).toBe(false);
    }),
  );
});
