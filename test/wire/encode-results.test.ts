import { describe, expect, test } from "vitest";
import type { ToolResult } from "../../src/core/result.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";

const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";

const SEEN: ToolResult = {
  callId: "call_1",
  name: "default::look",
  status: "ok",
  content: [
    { type: "text", text: "a cat" },
    { type: "image", mediaType: "image/png", data: PICTURE },
  ],
  origin: "live",
  attempts: 1,
  durationMs: 1,
  repairs: [],
  warnings: [],
};

const FORMATS = [
  openAiChat(),
  openAiResponses(),
  anthropicMessages(),
  gemini(),
  geminiInteractions(),
  bedrockConverse(),
  mistral(),
  cohere(),
  ollama(),
];

test.each(FORMATS)("F4.18 results encoded alone for $name include each image once, with the text and the id of the call", (format) => {
  const written = JSON.stringify(format.encodeResults([{ id: "abcdefghi", name: "default::look", result: SEEN }]));
  expect({ words: written.includes("a cat"), id: written.includes("abcdefghi"), pictures: written.split(PICTURE).length - 1 }).toEqual({
    words: true,
    id: true,
    pictures: 1,
  });
});

describe.each(FORMATS)("F4.22 $name", (format) => {
  const calls = ["callAAAAA", "callBBBBB"].map((id) => ({ id, name: "default::look", input: {} }));
  const answer = (id: string | undefined, of = id) => {
    const own = of === undefined ? {} : { id: of };
    return { ...(id === undefined ? {} : { id }), name: "default::look", result: { ...SEEN, ...own } };
  };

  test("F4.22 results whose ids do not match the calls of the reply throw, and the error names the id", () => {
    const rows: readonly (readonly [answers: readonly (readonly [id?: string, of?: string])[], message: string])[] = [
      [
        [["callAAAAA"], ["callBBBBB", "callAAAAA"]],
        'The answer to the call "callBBBBB" of default::look has the result of the call "callAAAAA".',
      ],
      [[["callAAAAA"], ["callAAAAA"]], 'The call "callAAAAA" of default::look is answered twice.'],
      [[["callAAAAA"]], 'The call "callBBBBB" of default::look has no answer.'],
      [[["callAAAAA"], ["callBBBBB"], ["unknown"]], 'The answer of default::look is for the call "unknown", which the model did not make.'],
      [[["callAAAAA"], ["callBBBBB"], []], "2 calls and 3 answers do not match."],
    ];
    for (const [answers, message] of rows)
      expect(() =>
        format.encodeResults(
          answers.map(([id, of]) => answer(id, of)),
          calls,
        ),
      ).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
  });

  test("F4.22 matching results are encoded in any order, and without the reply's calls only duplicate ids throw", () => {
    const answers = [answer("callBBBBB"), answer("callAAAAA")];
    expect(format.encodeResults(answers, calls)).toEqual(format.encodeResults(answers));
    expect(() => format.encodeResults([answer("x"), answer("x")])).toThrow("answered twice");
    expect(() => format.encodeResults([answer(undefined), answer(undefined)])).not.toThrow();
  });
});
