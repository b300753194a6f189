import { describe, expect, test } from "vitest";
import { createProviderError } from "../../src/model/provider-failure.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";

const CLOCK = new FakeClock({ wallTime: Date.UTC(2026, 0, 1) });

function failure(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer = { model: "openai/gpt-5", status, headers: new Headers(headers), text, keyHint: "Set OPENAI_API_KEY." };
  return createProviderError(answer, CLOCK).toJSON();
}

describe("error responses of providers map to a code and to whether a retry helps", () => {
  const openAi = (message: string, type: string, code: string | null = null) => ({ error: { message, type, param: null, code } });
  const anthropic = (type: string, message: string) => ({ type: "error", error: { type, message }, request_id: "req_1" });
  const google = (code: number, status: string, message: string) => ({ error: { code, message, status } });
  const cases: readonly (readonly [string, number, unknown, string, boolean])[] = [
    [
      "OpenAI: a wrong key",
      401,
      openAi("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
      "permission_denied",
      false,
    ],
    [
      "OpenAI: no quota, which is a 429",
      429,
      openAi("You exceeded your quota.", "insufficient_quota", "insufficient_quota"),
      "limit_exceeded",
      false,
    ],
    ["OpenAI: too many requests", 429, openAi("Rate limit reached.", "requests", "rate_limit_exceeded"), "rate_limited", true],
    ["OpenAI: a request larger than the limit of a minute", 429, openAi("Request too large for gpt-4.", "tokens"), "too_large", false],
    ["OpenAI: no such model", 404, openAi("The model `x` does not exist.", "invalid_request_error", "model_not_found"), "not_found", false],
    ["OpenAI: too long", 400, openAi("Your input exceeds.", "invalid_request_error", "context_length_exceeded"), "too_large", false],
    ["OpenAI: a bad tool", 400, openAi("Invalid schema for function 'x'.", "invalid_request_error"), "model_failed", false],
    ["OpenAI: broken", 500, openAi("The server had an error.", "server_error"), "unavailable", true],
    ["Anthropic: overloaded", 529, anthropic("overloaded_error", "Overloaded"), "unavailable", true],
    [
      "Anthropic: no credit, which is a 400",
      400,
      anthropic("invalid_request_error", "Your credit balance is too low."),
      "limit_exceeded",
      false,
    ],
    ["Anthropic: too long", 400, anthropic("invalid_request_error", "prompt is too long: 1 > 0"), "too_large", false],
    ["Anthropic: too large", 413, anthropic("request_too_large", "Request exceeds the maximum size"), "too_large", false],
    ["Anthropic: not allowed", 403, anthropic("permission_error", "No."), "permission_denied", false],
    [
      "Gemini: a wrong key, which is a 400",
      400,
      google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
      "permission_denied",
      false,
    ],
    ["Gemini: in a list", 503, [google(503, "UNAVAILABLE", "The model is overloaded.")], "unavailable", true],
    ["Gemini: too slow", 504, google(504, "DEADLINE_EXCEEDED", "Deadline expired."), "timeout", true],
    ["Bedrock: throttled", 429, { message: "Too many tokens, please wait before trying again." }, "rate_limited", true],
    ["Bedrock: no such model", 400, { message: "The provided model identifier is invalid." }, "not_found", false],
    ["Mistral: a list of faults", 422, { detail: [{ loc: ["body", "messages"], msg: "Field required" }] }, "model_failed", false],
    ["Cohere: a text", 400, { id: "1", message: "invalid tool generation" }, "model_failed", false],
    ["Ollama: a text", 404, { error: 'model "x" not found, try pulling it first' }, "not_found", false],
    [
      "xAI: a text and a code",
      400,
      { code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***." },
      "permission_denied",
      false,
    ],
    ["DeepSeek: no money", 402, openAi("Insufficient Balance", "unknown_error"), "limit_exceeded", false],
    ["OpenRouter: too slow to be read", 408, google(408, "", "Request timed out."), "timeout", true],
    ["a conflict", 409, openAi("Conflict", "conflict"), "model_failed", true],
    ["what cannot be done", 501, "", "model_failed", false],
  ];
  test.each(cases)("%s", (_what, status, body, code, retryable) => {
    const { code: given, retryable: again } = failure(status, body);
    expect([given, again]).toEqual([code, retryable]);
  });
});

test("the message is the provider's own, with the error type and the request id", () => {
  const body = { type: "error", error: { type: "invalid_request_error", message: "messages.0: empty" } };
  expect(failure(400, body, { "request-id": "req_011" })).toEqual({
    code: "model_failed",
    message: "openai/gpt-5 answered HTTP 400 (invalid_request_error): messages.0: empty",
    retryable: false,
    outcome: "failed",
    details: ["The provider calls this request req_011."],
  });
});

test("a rejected key reports which environment variable to set", () => {
  expect(failure(401, { error: { message: "No auth" } }).operatorHint).toBe("Set OPENAI_API_KEY.");
});

test("the error of the provider behind a gateway is part of the message", () => {
  const error = { message: "Provider returned error", code: 400, metadata: { raw: "tool ids must be unique", provider_name: "X" } };
  expect(failure(400, { error }).message).toBe("openai/gpt-5 answered HTTP 400: Provider returned error: tool ids must be unique");
});

test("the error type of Bedrock is read from a header", () => {
  expect(failure(400, { message: "slow" }, { "x-amzn-errortype": "ThrottlingException:http://x/" })).toMatchObject({
    code: "rate_limited",
    message: "openai/gpt-5 answered HTTP 400 (ThrottlingException): slow",
  });
});

describe("error bodies without a provider's error", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["nothing", "", "it gave no reason."],
    ["text", "upstream connect error", "upstream connect error"],
    ["a web page", "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>", "a web page: 502 Bad Gateway"],
    ["JSON of another kind", '{"a":1}', '{"a":1}'],
    ["a number", "5", "5"],
    ["null", '{"error":null}', '{"error":null}'],
    ["JSON that nests too deep", "[".repeat(10_000), "[".repeat(999).concat("…")],
    ["control characters", '{"error":"a\\u001b[31mb\\u0000\\u202ec"}', "a [31mb c"],
  ];
  test.each(cases)("%s", (_what, body, told) => {
    expect(failure(502, body)).toMatchObject({ code: "unavailable", message: `openai/gpt-5 answered HTTP 502: ${told}` });
  });
});

test("a long message is cut", () => {
  expect(failure(400, { error: { message: "x".repeat(100_000) } }).message.length).toBeLessThan(1_100);
});

describe("the wait that a provider asks for", () => {
  const info = {
    error: { code: 429, message: "", details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "18.5s" }] },
  };
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, unknown, number | undefined])[] = [
    ["seconds", { "retry-after": "7" }, {}, 7_000],
    ["a date", { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, {}, 30_000],
    [
      "a date by the provider's clock",
      { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT", date: "Thu, 01 Jan 2026 00:00:20 GMT" },
      {},
      10_000,
    ],
    ["milliseconds before seconds", { "retry-after": "7", "retry-after-ms": "1500" }, {}, 1_500],
    ["Google's", {}, info, 18_500],
    ["nonsense", { "retry-after": "soon", "retry-after-ms": "-1" }, { error: { details: [5, { retryDelay: "never" }] } }, undefined],
  ];
  test.each(cases)("%s", (_what, headers, body, waitMs) => {
    expect(failure(429, body, headers).retryAfterMs).toBe(waitMs);
  });
});

test("x-should-retry overrides the status", () => {
  expect([failure(429, {}, { "x-should-retry": "false" }).retryable, failure(400, {}, { "x-should-retry": "true" }).retryable]).toEqual([
    false,
    true,
  ]);
});
