/** Errors in a stream that are not in the form of its API, as gateways and servers of other providers' APIs send them. */
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { ModelEvent } from "../../src/core/model.ts";
import { httpModel } from "../../src/model/http-model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";

const data = (json: JsonValue): string => `data: ${JSON.stringify(json)}\n\n`;

/** The beginning of a reply whose text is `Hi`. */
const STREAMS: readonly (readonly [WireFormat, string])[] = [
  [openAiChat(), data({ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: null }] })],
  [openAiResponses(), data({ type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Hi" })],
  [anthropicMessages(), data({ type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi" } })],
  [gemini(), data({ candidates: [{ content: { parts: [{ text: "Hi" }] } }] })],
  [cohere(), data({ type: "content-delta", index: 0, delta: { message: { content: { text: "Hi" } } } })],
];

const ERRORS = [
  data({ error: { message: "It is full.", code: 503 } }),
  `event: error\n${data({ message: "It is full.", code: 503 })}`,
  `error: ${JSON.stringify({ message: "It is full.", code: 503, type: "server_error" })}\n\n`,
  `${data({ message: "It is full.", code: 503 })}${data({ ping: 1 })}data: [DONE]\n\n`,
];

/** The text that was read, and the error that ended the stream. */
async function read(format: WireFormat, body: string): Promise<readonly [string, unknown]> {
  const fetch = async (): Promise<Response> => new Response(body, { headers: { "content-type": "text/event-stream" } });
  const model = httpModel({ format, model: "m", baseUrl: "http://127.0.0.1", apiKey: "key", retry: { maxAttempts: 1 }, fetch });
  const events: ModelEvent[] = [];
  let failure: unknown;
  try {
    for await (const event of model.stream({ messages: [{ role: "user", at: 0, content: "Hi" }] })) events.push(event);
  } catch (error: unknown) {
    failure = error;
  }
  return [events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join(""), failure];
}

describe.each(STREAMS.map(([format, begin]) => ({ name: format.name, format, begin })))("B08 $name", ({ format, begin }) => {
  test.each(ERRORS)("the error of %j ends the stream, at its beginning and in its middle", async (error) => {
    const wanted = expect.objectContaining({ code: "unavailable", retryable: true, message: expect.stringContaining("It is full.") });
    expect(await read(format, error)).toEqual(["", wanted]);
    expect(await read(format, begin + error)).toEqual(["Hi", wanted]);
  });

  test("a message of a gateway before the reply is not an error, also if the reply has no finish reason", async () => {
    const [text, failure] = await read(format, `${data({ message: "Waiting for a machine.", status: "queued" })}${begin}data: [DONE]\n\n`);
    expect([text, failure]).toEqual(["Hi", undefined]);
  });
});
