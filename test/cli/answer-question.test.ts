import { expect, test, vi } from "vitest";
import type { QuestionAnswer, AskRequest } from "../../src/core/approvals/ask.ts";
import { createPersonAsk } from "../../src/cli/terminal/answer-question.ts";
import type { Ask } from "../../src/cli/command.ts";
import { hasOpenQuestion } from "../../src/cli/terminal/question-queue.ts";
import { screenFor } from "../../src/cli/terminal/terminal-text.ts";

const REQUEST: AskRequest = {
  message: "Who are you?",
  asker: 'MCP server "people"',
  callId: "call_1",
  toolName: "people::greet",
  sessionId: "session_1",
  signal: new AbortController().signal,
};

/** A person who types these lines; what was shown and asked. */
async function answered(request: Partial<AskRequest>, ...lines: readonly string[]) {
  const shown: string[] = [];
  const typed = [...lines];
  const ask: Ask = async (question) => (shown.push(question), typed.shift() ?? "");
  const err = screenFor({ write: (text: string) => void shown.push(text) }, {});
  const person = createPersonAsk({ ask, err });
  const answer: QuestionAnswer | undefined = await person?.({ ...REQUEST, ...request });
  return { answer, shown: shown.join("|"), left: typed };
}

const schema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Name" },
    age: { type: "integer", description: "In years" },
    colour: { type: "string", enum: ["red", "green"], default: "green" },
    mail: { type: "boolean" },
    days: { type: "array", items: { enum: ["mon", "tue"] } },
  },
  required: ["name", "age"],
};

test("D13 a form names who asks, and asks for each field again until its value is valid", async () => {
  const { answer, shown } = await answered({ schema }, "y", "", "Ada", "many", "36", "", "perhaps", "yes", "mon, tue");
  expect(answer).toEqual({ action: "accept", content: { name: "Ada", age: 36, colour: "green", mail: true, days: ["mon", "tue"] } });
  expect(shown).toContain('? MCP server "people", in a call of people::greet asks: Who are you?');
  expect(shown).toContain("It is needed.");
  expect(shown).toContain("In years (an integer): |    That is not an integer.");
  expect(shown).toContain('colour (one of red, green; Enter for "green"): ');
});

test("answering no, or only Enter, declines without asking for any field", async () => {
  expect((await answered({ schema }, "what", "n", "Ada")).answer).toEqual({ action: "decline" });
  expect(await answered({ schema }, "", "Ada")).toMatchObject({ answer: { action: "decline" }, left: ["Ada"] });
});

test("D04 the URL and the message of a question are shown without control characters", async () => {
  const { answer, shown } = await answered({ url: "https://bank.example/\u001b[8mlogin", message: "Log in\u202e" }, "y");
  expect(answer).toEqual({ action: "accept" });
  expect(shown).not.toMatch(/[\u001b\u202e]/u);
});

test("without a person at the terminal there is no ask function", () => {
  expect(createPersonAsk({ ask: undefined, err: {} as never })).toBeUndefined();
});

test("two simultaneous questions are asked one after the other", async () => {
  const order: string[] = [];
  const ask: Ask = async (question) => {
    order.push(question.trim());
    await Promise.resolve();
    return "y";
  };
  const err = screenFor({ write: (text: string) => void order.push(text.trim()) }, {});
  const person = createPersonAsk({ ask, err });
  const answers = Promise.all([person?.({ ...REQUEST, message: "One?" }), person?.({ ...REQUEST, message: "Two?" })]);
  expect(hasOpenQuestion(ask)).toBe(true);
  await answers;
  await vi.waitFor(() => expect(hasOpenQuestion(ask)).toBe(false));
  expect(order).toEqual([
    '? MCP server "people", in a call of people::greet asks: One?',
    "[y]es, [n]o:",
    '? MCP server "people", in a call of people::greet asks: Two?',
    "[y]es, [n]o:",
  ]);
});
