import { expect, test } from "vitest";
import { readConversation } from "../../src/cli/input/read-conversation.ts";
import { ToolError } from "../../src/core/error.ts";

function problemsOf(text: string): readonly string[] {
  try {
    readConversation(text, "talk.jsonl");
  } catch (error: unknown) {
    if (error instanceof ToolError && error.code === "invalid_call") return error.details;
    throw error;
  }
  return [];
}

test("reads each role, and ignores blank lines and Windows line ends", () => {
  const text = [
    '{"role": "system", "content": "s"}',
    "",
    '{"role": "user", "content": "u"}',
    '{"role": "assistant", "content": null}',
    '{"role": "assistant", "content": "a", "calls": [{"name": "t"}, 5]}',
    '{"role": "tool", "anything": true}',
    '{"role": "approver", "answer": "allow-always"}',
    '{"role": "approver", "answer": "deny", "afterMs": 60000}',
    "   ",
  ].join("\r\n");
  expect(readConversation(text, "talk.jsonl")).toEqual([
    { role: "system", content: "s" },
    { role: "user", content: "u" },
    { role: "assistant", content: "", calls: [] },
    { role: "assistant", content: "a", calls: [{ name: "t" }, 5] },
    { role: "tool" },
    { role: "approver", answer: "allow-always", afterMs: 0 },
    { role: "approver", answer: "deny", afterMs: 60_000 },
  ]);
});

test("an empty file is an empty conversation", () => {
  expect(readConversation("\n", "talk.jsonl")).toEqual([]);
});

test.for([
  ['{"role": "user"}', 'talk.jsonl:1: "content" must be a string.'],
  ['{"role": "constructor"}', 'talk.jsonl:1: "role" must be one of "user", "assistant", "tool", "approver", "system", not "constructor".'],
  [
    '{"role": "user", "content": "x", "__proto__": {}}',
    'talk.jsonl:1: "__proto__" is not a key of a line of "user", which has "role", "content".',
  ],
  ['{"role": "user", "role": "user"}', 'talk.jsonl:1:18: Not valid JSON: the key "role" is given twice in one object.'],
  ['{"role": "approver", "answer": "deny", "afterMs": 60001}', 'talk.jsonl:1: "afterMs" must be a number from 0 to 60000.'],
  [
    `{"role": "tool", "x": ${"[".repeat(100)}${"]".repeat(100)}}`,
    expect.stringMatching(/^talk\.jsonl:1:\d+: The JSON text nests deeper than 64 levels\.$/u),
  ],
] as const)("%j is refused", ([line, problem]) => {
  expect(problemsOf(line)).toEqual([problem]);
});

test("nineteen of many bad lines are named, and the rest counted", () => {
  const problems = problemsOf("nonsense\n".repeat(1_000));
  expect([problems.length, problems[0], problems.at(-1)]).toEqual([
    20,
    expect.stringMatching(/^talk\.jsonl:1:1: Not valid JSON: /u),
    "and 981 more lines",
  ]);
});

test("every problem of every bad line is reported", () => {
  const lines = [
    '{"role": "user", "content": 1, "x": 2, "y": 3}',
    '{"role": "user", "content": "good"}',
    '{"role": "approver", "answer": "perhaps", "afterMs": -1}',
  ];
  expect(problemsOf(lines.join("\n"))).toEqual([
    'talk.jsonl:1: "x" is not a key of a line of "user", which has "role", "content".',
    'talk.jsonl:1: "y" is not a key of a line of "user", which has "role", "content".',
    'talk.jsonl:1: "content" must be a string.',
    'talk.jsonl:3: "answer" must be one of "allow-once", "allow-always", "deny".',
    'talk.jsonl:3: "afterMs" must be a number from 0 to 60000.',
  ]);
});
