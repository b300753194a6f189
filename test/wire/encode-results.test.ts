import { expect, test } from "vitest";
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

test.each([
  openAiChat(),
  openAiResponses(),
  anthropicMessages(),
  gemini(),
  geminiInteractions(),
  bedrockConverse(),
  mistral(),
  cohere(),
  ollama(),
])("F4.18 results alone show $name their pictures, once, and say what they are of", (format) => {
  const written = JSON.stringify(format.encodeResults([{ id: "abcdefghi", name: "default::look", result: SEEN }]));
  expect({ words: written.includes("a cat"), id: written.includes("abcdefghi"), pictures: written.split(PICTURE).length - 1 }).toEqual({
    words: true,
    id: true,
    pictures: 1,
  });
});
