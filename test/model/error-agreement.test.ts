/** What a provider says in the middle of a stream means what it means in the place of a reply. */
import { expect, test } from "vitest";
import type { ErrorCode } from "../../src/core/error-codes.ts";
import { ToolError } from "../../src/core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import { httpModel } from "../../src/model/http-model.ts";
import { createProviderError } from "../../src/model/provider-failure.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { hasty, listen } from "./listen.ts";

/** One error, as a piece of a stream and as an answer. */
interface Told {
  readonly piece: JsonObject;
  readonly status: number;
  readonly body: JsonObject;
}
type Row = readonly [provider: string, format: WireFormat, told: Told, code: ErrorCode, retryable: boolean];

function anthropic(type: string, status: number, message = "So."): Told {
  const body = { type: "error", error: { type, message } };
  return { piece: body, status, body };
}

function google(status: number, word: string): Told {
  const body = { error: { code: status, status: word, message: "So." } };
  return { piece: body, status, body };
}

function amazon(name: string, status: number): Told {
  return { piece: { [name]: { message: "So." } }, status, body: { __type: name, message: "So." } };
}

function openAi(type: string, status: number, message = "So."): Told {
  const body = { error: { type, code: type, message } };
  return { piece: body, status, body };
}

function response(code: string, status: number): Told {
  const error = { type: "invalid_request_error", code, message: "So." };
  return { piece: { type: "response.failed", response: { status: "failed", error } }, status, body: { error } };
}

const chat = openAiChat();
const ROWS: readonly Row[] = [
  ["Anthropic", anthropicMessages(), anthropic("billing_error", 402), "limit_exceeded", false],
  ["Anthropic", anthropicMessages(), anthropic("authentication_error", 401), "permission_denied", false],
  ["Anthropic", anthropicMessages(), anthropic("permission_error", 403), "permission_denied", false],
  ["Anthropic", anthropicMessages(), anthropic("not_found_error", 404), "not_found", false],
  ["Anthropic", anthropicMessages(), anthropic("request_too_large", 413), "too_large", false],
  ["Anthropic", anthropicMessages(), anthropic("rate_limit_error", 429), "rate_limited", true],
  ["Anthropic", anthropicMessages(), anthropic("timeout_error", 504), "timeout", true],
  ["Anthropic", anthropicMessages(), anthropic("api_error", 500), "unavailable", true],
  ["Anthropic", anthropicMessages(), anthropic("overloaded_error", 529), "unavailable", true],
  ["Anthropic", anthropicMessages(), anthropic("invalid_request_error", 400), "model_failed", false],
  ["Anthropic", anthropicMessages(), anthropic("invalid_request_error", 400, "prompt is too long: 9 > 8"), "too_large", false],
  ["Bedrock", bedrockConverse(), amazon("throttlingException", 429), "rate_limited", true],
  ["Bedrock", bedrockConverse(), amazon("serviceQuotaExceededException", 400), "rate_limited", true],
  ["Bedrock", bedrockConverse(), amazon("accessDeniedException", 403), "permission_denied", false],
  ["Bedrock", bedrockConverse(), amazon("resourceNotFoundException", 404), "not_found", false],
  ["Bedrock", bedrockConverse(), amazon("modelTimeoutException", 408), "timeout", true],
  ["Bedrock", bedrockConverse(), amazon("modelErrorException", 424), "model_failed", true],
  ["Bedrock", bedrockConverse(), amazon("internalServerException", 500), "unavailable", true],
  ["Bedrock", bedrockConverse(), amazon("serviceUnavailableException", 503), "unavailable", true],
  ["Bedrock", bedrockConverse(), amazon("validationException", 400), "model_failed", false],
  ...[gemini(), geminiInteractions()].flatMap((format): readonly Row[] => [
    [format.name, format, google(401, "UNAUTHENTICATED"), "permission_denied", false],
    [format.name, format, google(403, "PERMISSION_DENIED"), "permission_denied", false],
    [format.name, format, google(404, "NOT_FOUND"), "not_found", false],
    [format.name, format, google(429, "RESOURCE_EXHAUSTED"), "rate_limited", true],
    [format.name, format, google(500, "INTERNAL"), "unavailable", true],
    [format.name, format, google(503, "UNAVAILABLE"), "unavailable", true],
    [format.name, format, google(504, "DEADLINE_EXCEEDED"), "timeout", true],
    [format.name, format, google(400, "INVALID_ARGUMENT"), "model_failed", false],
  ]),
  ["OpenAI Chat", chat, openAi("insufficient_quota", 429), "limit_exceeded", false],
  ["OpenAI Chat", chat, openAi("invalid_api_key", 401), "permission_denied", false],
  ["OpenAI Chat", chat, openAi("model_not_found", 404), "not_found", false],
  ["OpenAI Chat", chat, openAi("rate_limit_exceeded", 429), "rate_limited", true],
  ["OpenAI Chat", chat, openAi("server_error", 500), "unavailable", true],
  ["OpenAI Chat", chat, openAi("context_length_exceeded", 400), "too_large", false],
  ["OpenAI Chat", chat, openAi("invalid_request_error", 400), "model_failed", false],
  [
    "OpenRouter",
    openAiChat("openrouter"),
    { ...google(402, ""), piece: { error: { code: 402, message: "So." } } },
    "limit_exceeded",
    false,
  ],
  ["OpenRouter", openAiChat("openrouter"), { ...google(408, ""), piece: { error: { code: 408, message: "So." } } }, "timeout", true],
  ["OpenRouter", openAiChat("openrouter"), { ...google(502, ""), piece: { error: { code: 502, message: "So." } } }, "unavailable", true],
  ["Responses", openAiResponses(), response("insufficient_quota", 429), "limit_exceeded", false],
  ["Responses", openAiResponses(), response("model_not_found", 404), "not_found", false],
  ["Responses", openAiResponses(), response("rate_limit_exceeded", 429), "rate_limited", true],
  ["Responses", openAiResponses(), response("server_error", 500), "unavailable", true],
  ["Responses", openAiResponses(), response("context_length_exceeded", 400), "too_large", false],
  ["Responses", openAiResponses(), response("invalid_prompt", 400), "model_failed", false],
  ["Cohere", cohere(), openAi("too_many_requests", 429), "rate_limited", true],
  ["Ollama", ollama(), { piece: { error: "it broke" }, status: 400, body: { error: "it broke" } }, "model_failed", false],
];

/** How servers that speak OpenAI's Chat Completions say that a request is too long, and that there is no credit. */
const WORDINGS: readonly (readonly [provider: string, status: number, body: JsonObject, code: ErrorCode])[] = [
  [
    "llama.cpp",
    400,
    { error: { code: 400, message: "request (13392 tokens) exceeds the available size", type: "exceed_context_size_error" } },
    "too_large",
  ],
  ["llama.cpp", 400, { error: { code: 400, message: "request (9 tokens) exceeds the available context size (8 tokens)" } }, "too_large"],
  ["xAI", 400, { code: "Client specified an invalid argument", error: "This model's maximum prompt length is 131072" }, "too_large"],
  ["Moonshot", 400, { error: { message: "Your request exceeded model token limit: 262144", type: "invalid_request_error" } }, "too_large"],
  ["Moonshot", 400, { error: { message: "Input token length too long", type: "invalid_request_error" } }, "too_large"],
  ["Alibaba", 400, { error: { message: "<400> InternalError: Range of input length should be [1, 98304]", code: "x" } }, "too_large"],
  ["Zhipu", 400, { error: { code: "1261", message: "Prompt exceeds max length" } }, "too_large"],
  [
    "vLLM",
    400,
    { error: { message: "The decoder prompt (length 9) is longer than the maximum model length of 8.", code: 400 } },
    "too_large",
  ],
  ["SGLang", 400, { error: { message: "The input (9 tokens) is longer than the model's context length (8 tokens)." } }, "too_large"],
  ["Together", 422, { error: { message: "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000" } }, "too_large"],
  ["Hugging Face", 422, { error: "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000" }, "too_large"],
  ["Anthropic", 400, { error: { message: "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000" } }, "too_large"],
  ["a gateway", 400, { error: { message: "Input is too long for requested model." } }, "too_large"],
  ["xAI", 403, { code: "No permission", error: "Your team has either used all available credits or reached its limit." }, "limit_exceeded"],
  ["Moonshot", 429, { error: { message: "Your account is suspended.", type: "exceeded_current_quota_error" } }, "limit_exceeded"],
  ["Zhipu", 429, { error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } }, "limit_exceeded"],
  ["Anthropic", 400, { error: { message: "Your credit balance is too low.", type: "invalid_request_error" } }, "limit_exceeded"],
  ["a bad tool", 400, { error: { message: "tools.0.name: string is too long", type: "invalid_request_error" } }, "model_failed"],
];
const ALL = [
  ...ROWS,
  ...WORDINGS.map(([provider, status, body, code]): Row => [provider, chat, { piece: body, status, body }, code, false]),
];

test.each(ALL.map(([provider, format, told, code, retryable]) => ({ provider, format, told, code, retryable })))(
  "B08 $provider: an error in the stream and an error response with HTTP $told.status are both $code",
  ({ format, told: { piece, status, body }, code, retryable }) => {
    const answer = { model: "m", status, headers: new Headers(), text: JSON.stringify(body), keyHint: "" };
    const errors = [createProviderError(answer, hasty().ports.clock), thrownBy(() => format.decodeStream().push(piece))];
    expect(errors.map((error) => [error.code, error.retryable])).toEqual([
      [code, retryable],
      [code, retryable],
    ]);
  },
);

test.each(ALL.map(([provider, format, { body }, code, retryable]) => ({ provider, format, body, code, retryable })))(
  "B08 $provider: an error with HTTP 200 in place of a reply is $code too, with the provider's message",
  async ({ format, body, code, retryable }) => {
    const error: JsonValue = body["error"] ?? body;
    const said = isJsonObject(error) ? error["message"] : error;
    const headers = { "content-type": "application/json" };
    for (const [stream, sent] of [
      [false, body],
      [true, body],
      [false, [body]],
      [false, { error }],
    ] as const) {
      if (stream && format.framing === "json-lines") continue;
      const fetch = (): Promise<Response> => Promise.resolve(new Response(JSON.stringify(sent), { headers }));
      const model = httpModel({ format, model: "m", baseUrl: "http://x.test", stream, fetch, retry: { maxAttempts: 1 } });
      const heard = await listen(model);
      expect(heard.error).toMatchObject({ code, retryable, message: expect.stringContaining(String(said)) });
    }
  },
);

function thrownBy(work: () => unknown): ToolError {
  try {
    work();
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown);
  }
  return expect.fail("It threw nothing.");
}
