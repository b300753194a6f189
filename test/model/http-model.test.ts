import { once } from "node:events";
import { createServer } from "node:http";
import * as net from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { httpModel, type HttpModelOptions } from "../../src/model/http-model.ts";
import { modelFrom } from "../../src/model/model-from.ts";
import { UsageMeter } from "../../src/model/usage-meter.ts";
import { FakeClock, seededRandom, settle } from "../../src/testing/fake-ports.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { KEY, QUESTION, hasty, listen, serve } from "./listen.ts";
import type { ServedAnswer } from "./provider-server.ts";

const HELLO = { text: "Hello." } as const;
const CALL = { calls: [{ name: "weather__get", input: { city: "Ålesund" } }] } as const;
const BUSY = { status: 529, kind: "overloaded_error", message: "Overloaded" } as const;

type Options = Omit<HttpModelOptions, "format" | "model" | "baseUrl"> & Partial<Pick<HttpModelOptions, "format" | "baseUrl">>;

function claude(baseUrl: string, options: Options = {}) {
  return httpModel({
    format: anthropicMessages(),
    name: "claude",
    model: "claude-x",
    baseUrl,
    apiKey: KEY,
    keyHeader: "x-api-key",
    keyHint: "Set ANTHROPIC_API_KEY.",
    headers: { "anthropic-version": "2023-06-01" },
    ...options,
  });
}

async function served(script: readonly ServedAnswer[], options: Options = {}) {
  const server = await serve({ format: "anthropic-messages", script, key: KEY });
  return { server, model: claude(server.url, options) };
}

/** A bare server that answers each connection with the next of these bytes and ends it. */
async function rawServer(...answers: readonly string[]): Promise<string> {
  let count = 0;
  const server = net.createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => socket.end(answers[Math.min(count++, answers.length - 1)] ?? ""));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

describe("invalid options are rejected when the model is created", () => {
  const cases: readonly (readonly [string, Options, string])[] = [
    [
      "no address",
      { baseUrl: "api.example.com" },
      "The baseUrl of claude must be an http: or https: address without a user name and password.",
    ],
    [
      "another scheme",
      { baseUrl: "file:///etc/passwd" },
      "The baseUrl of claude must be an http: or https: address without a user name and password.",
    ],
    [
      "a password",
      { baseUrl: `http://me:${KEY}@127.0.0.1` },
      "The baseUrl of claude must be an http: or https: address without a user name and password.",
    ],
    ["a key with a line break", { apiKey: `${KEY}\n${KEY}` }, 'The header "x-api-key" has a character that HTTP does not allow.'],
    ["a header's name", { headers: { "no name": "x" } }, 'The header "no name" has a character that HTTP does not allow.'],
    ["a time", { idleTimeoutMs: -1 }, "idleTimeoutMs of the model claude is -1; it takes a number from 0 to 315576000000."],
    ["a factor", { retry: { factor: 0 } }, "factor of retry is 0; it takes a number from 1."],
  ];
  test.each(cases)("%s", (_what, options, message) => {
    expect(() => claude("http://127.0.0.1:1", options)).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
  });
});

test("E12 the API key appears in no error or event, whatever a provider answers", async () => {
  const raw = `bad key ${KEY}, ${encodeURIComponent(KEY)}`;
  const secret = "hunter2-hunter2";
  const answers: readonly ServedAnswer[] = [
    { status: 401, message: `Incorrect API key provided: ${KEY}` },
    { status: 500, message: raw },
    { raw, headers: { "content-type": "text/html" } },
    { raw: `data: ${raw}\n\n`, headers: { "content-type": "text/event-stream" } },
    {
      raw: `data: {"type":"error","error":{"type":"api_error","message":"${raw} ${secret}"}}\n\n`,
      headers: { "content-type": "text/event-stream" },
    },
    { raw: "", status: 302, headers: { location: `http://127.0.0.1/?key=${KEY}` } },
  ];
  const told: string[] = [];
  for (const answer of answers) {
    const headers = { "anthropic-version": "2023-06-01", "x-gateway-token": `Bearer ${secret}` };
    const { model } = await served([answer], { headers, retry: { maxAttempts: 1 } });
    const { events, error, trace } = await listen(model);
    expect(error).toBeDefined();
    told.push(JSON.stringify({ events, error }), trace);
  }
  const failing = claude("http://127.0.0.1:1", {
    fetch: () => Promise.reject(new Error(`socket ${KEY}`, { cause: new Error(KEY) })),
    retry: { maxAttempts: 1 },
  });
  told.push((await listen(failing)).trace);
  expect(told.filter((text) => text.includes(KEY) || text.includes(secret))).toEqual([]);
});

test("E12 a key in the query of the baseUrl is not in an error that repeats the address", async () => {
  const server = await serve({
    format: "anthropic-messages",
    script: [{ status: 500, message: "no route for /?key=hunter2-hunter2" }],
    key: KEY,
  });
  const model = claude(`${server.url}?key=hunter2-hunter2&api-version=2026-01-01`, { retry: { maxAttempts: 1 } });
  expect((await listen(model)).error?.message).toContain("no route for /?key=[credential key of baseUrl]");
});

test("a number of tokens in a header is no secret", async () => {
  const answer = { status: 500, message: "more than 16000000 tokens" };
  const { model } = await served([answer], {
    headers: { "anthropic-version": "2023-06-01", "x-max-tokens": "16000000" },
    retry: { maxAttempts: 1 },
  });
  expect((await listen(model)).error?.message).toContain("more than 16000000 tokens");
});

test("an error in a stream has its terminal escape sequences removed", async () => {
  const error = { type: "error", error: { type: "api_error", message: "a\u001b[2Jb\u202ec" } };
  const raw = `data: ${JSON.stringify(error)}\n\n`;
  const { model } = await served([{ raw, headers: { "content-type": "text/event-stream" } }], { retry: { maxAttempts: 1 } });
  expect((await listen(model)).error?.message).toMatch(/a \[2Jb c$/u);
});

test("a rejected key reports which environment variable to set", async () => {
  const { model } = await served([HELLO], { apiKey: "another-key" });
  expect((await listen(model)).error).toEqual({
    code: "permission_denied",
    message: "claude answered HTTP 401 (auth): Incorrect API key provided: [API key]",
    retryable: false,
    outcome: "not_started",
    operatorHint: "Set ANTHROPIC_API_KEY.",
  });
});

describe("a response that is not a model's reply fails with its reason", () => {
  const html = { "content-type": "text/html; charset=utf-8" };
  const sse = { "content-type": "text/event-stream" };
  const json = { "content-type": "application/json" };
  const cases: readonly (readonly [string, ServedAnswer, object, boolean])[] = [
    ["a web page", { raw: "<html><body>Sign in</body></html>", headers: html }, { code: "model_failed", retryable: false }, true],
    [
      "an empty stream",
      { raw: "", headers: sse },
      { code: "model_failed", message: "claude answered with an empty body.", retryable: true },
      true,
    ],
    [
      "a stream of something else",
      { raw: "hello\nthere", headers: sse },
      { code: "model_failed", message: "claude answered with something that is not a model's answer: hello there" },
      true,
    ],
    [
      "a stream of comments and an end mark",
      { raw: ": PROCESSING\n\n: PROCESSING\n\nevent: done\ndata: [DONE]\n\n", headers: sse },
      { code: "model_failed", message: "claude answered with an empty body.", retryable: true },
      true,
    ],
    [
      "a stream that ends before it says anything",
      { raw: 'data: {"type":"ping"}\n\ndata: {"type":"message_start","message":{"id":"m","content":[]}}\n\n', headers: sse },
      { code: "model_failed", message: "claude ended its answer without any content.", retryable: true },
      true,
    ],
    [
      "an error that is no stream",
      { raw: '{"error":{"message":"Slow down","code":429}}', headers: sse },
      { code: "rate_limited", message: "claude answered with an error in place of a reply: Slow down", retryable: true },
      true,
    ],
    [
      "an error of a gateway",
      { raw: '{"error":{"message":"Try later","type":"overloaded_error"}}', headers: json },
      { code: "unavailable", message: "claude answered with an error in place of a reply (overloaded_error): Try later", retryable: true },
      true,
    ],
    [
      "a text as the error",
      { raw: '{"error":"Something broke"}', headers: json },
      { code: "model_failed", message: "claude answered with an error in place of a reply: Something broke", retryable: false },
      false,
    ],
    [
      "a detail as the error",
      { raw: '{"detail":"Not authenticated"}', headers: json },
      { code: "model_failed", message: "claude answered with an error in place of a reply: Not authenticated" },
      false,
    ],
    ["a stream without a content type", { raw: "hello" }, { code: "model_failed" }, true],
    [
      "JSON that is none",
      { raw: "{", headers: json },
      { code: "model_failed", message: "claude answered with something that is not a model's answer: {" },
      false,
    ],
    ["an empty body", { raw: " ", headers: json }, { code: "model_failed", message: "claude answered with an empty body." }, false],
    ["JSON of another kind", { raw: "[]", headers: json }, { code: "model_failed" }, false],
    [
      "a web page in place of JSON",
      { raw: "<!doctype html>x", headers: json },
      { code: "model_failed", message: "claude answered with a web page: <!doctype html>x" },
      false,
    ],
    [
      "a redirect",
      { raw: "", status: 307, headers: { location: "http://127.0.0.1:1/" } },
      { code: "model_failed", message: "claude answered with a redirect (HTTP 307), which is not followed." },
      true,
    ],
  ];
  test.each(cases)("%s", async (_what, answer, error, stream) => {
    const { server, model } = await served([answer], { stream, retry: { maxAttempts: 1 } });
    const heard = await listen(model);
    expect({ error: heard.error, events: heard.events, requests: server.requests.length }).toMatchObject({
      error,
      events: [],
      requests: 1,
    });
  });
});

describe("B08 a request is retried", () => {
  test("before any event is emitted, with growing waits and at most maxAttempts times", async () => {
    const { waits, ports } = hasty();
    const { server, model } = await served([BUSY], { ports });
    expect((await listen(model)).error).toMatchObject({ code: "unavailable", retryable: true });
    expect({ waits, requests: server.requests.length }).toEqual({ waits: [1_000, 2_000, 4_000], requests: 4 });
  });

  test("after 429, 408, 409, 5xx, an empty response or an error in place of a reply, waiting as long as the provider asks", async () => {
    const { waits, ports } = hasty();
    const script = [
      { status: 429, headers: { "retry-after": "7" } },
      { status: 408, headers: { "retry-after-ms": "2500" } },
      { status: 409 },
      { status: 503, headers: { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT", date: "Thu, 01 Jan 2026 00:00:00 GMT" } },
      { raw: "", headers: { "content-type": "text/event-stream" } },
      { raw: 'data: {"type":"ping"}\n\n', headers: { "content-type": "text/event-stream" } },
      {
        raw: '{"error":{"message":"Busy","type":"overloaded_error"}}',
        headers: { "content-type": "application/json", "retry-after": "3" },
      },
      HELLO,
    ];
    const meter = new UsageMeter();
    const { model } = await served(script, { ports, meter, retry: { maxAttempts: 9 } });
    expect((await listen(model)).reply?.text).toBe("Hello.");
    expect(waits).toEqual([7_000, 2_500, 4_000, 30_000, 8_750, 8_750, 8_750]);
    expect(meter.models.get("claude")).toMatchObject({ requests: 1, retries: 7, failures: 0, inputTokens: 10, outputTokens: 5 });
  });

  test("after a connection that broke, was refused or was never established", async () => {
    const { waits, ports } = hasty();
    const url = await rawServer("", "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\ndata: {", "nonsense");
    const { error } = await listen(claude(url, { ports, retry: { maxAttempts: 3 } }));
    expect({ code: error?.code, waits }).toEqual({ code: "network_error", waits: [1_000, 2_000] });
  });

  test("but not when the provider asks for a wait of more than a minute", async () => {
    const { waits, ports } = hasty();
    const { model } = await served([{ status: 429, headers: { "retry-after": "3600" } }], { ports });
    expect((await listen(model)).error).toMatchObject({ code: "rate_limited", retryAfterMs: 3_600_000 });
    expect(waits).toEqual([]);
  });

  test("but not when the error is not retryable", async () => {
    const { waits, ports } = hasty();
    const { server, model } = await served([{ status: 400, kind: "invalid_request_error", message: "prompt is too long" }], { ports });
    expect((await listen(model)).error).toMatchObject({ code: "too_large", retryable: false });
    expect({ waits, requests: server.requests.length }).toEqual({ waits: [], requests: 1 });
  });

  test("but not after the first event: an error in the stream ends it", async () => {
    const { waits, ports } = hasty();
    const pieces = [
      { type: "message_start", message: { id: "m", model: "x", content: [] } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "Well" } },
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ];
    const raw = pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join("");
    const { server, model } = await served([{ raw, headers: { "content-type": "text/event-stream" } }], { ports });
    const { events, error } = await listen(model);
    expect({ events, code: error?.code, waits, requests: server.requests.length }).toEqual({
      events: [{ type: "text-delta", text: "Well" }],
      code: "unavailable",
      waits: [],
      requests: 1,
    });
  });

  test("only within a retry budget when many requests fail", async () => {
    const { ports } = hasty();
    const { server, model } = await served([BUSY], { ports });
    for (let request = 0; request < 50; request++) await listen(model);
    expect(server.requests.length).toBe(60);
  });
});

describe("H07 an incomplete stream", () => {
  test.each(["end", "reset"] as const)("with a connection %s in the middle of a call is truncated and holds no calls", async (then) => {
    const { model } = await served([{ ...CALL, delivery: { after: { pieces: 6, then } } }]);
    const { events, reply, error } = await listen(model);
    expect({ sealed: events.filter(({ type }) => type === "call-seal"), finish: reply?.finish, calls: reply?.calls, error }).toEqual({
      sealed: [],
      finish: "truncated",
      calls: [],
      error: undefined,
    });
  });

  test("that breaks after the finish reason is complete", async () => {
    const { model } = await served([{ ...HELLO, delivery: { after: { pieces: 7, then: "reset" } } }]);
    expect((await listen(model)).reply).toMatchObject({ text: "Hello.", finish: "stop" });
  });

  test("that stalls after the finish reason is complete", async () => {
    const { model } = await served([{ ...HELLO, delivery: { after: { pieces: 7, then: "stall" } } }], { idleTimeoutMs: 50 });
    expect((await listen(model)).reply).toMatchObject({ text: "Hello.", finish: "stop" });
  });

  test("is subject to the model's own timeouts only, and not to those of Node.js's fetch", async () => {
    const seen = watchDispatchers();
    const { model } = await served([HELLO], { firstByteTimeoutMs: 0, idleTimeoutMs: 0 });
    expect((await listen(model)).reply).toMatchObject({ text: "Hello." });
    expect(seen).toEqual([expect.objectContaining({ headersTimeout: 0, bodyTimeout: 0 })]);
  });

  test("is not waited for after its end mark when the connection stays open", async () => {
    const { model } = await served([{ ...HELLO, delivery: { after: { pieces: Infinity, then: "stall" } } }]);
    expect((await listen(model)).reply).toMatchObject({ text: "Hello.", finish: "stop" });
  });

  test("whose body ends just after its end mark returns its connection for the next request", async () => {
    let connections = 0;
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const piece = { choices: [{ index: 0, delta: { content: "Hello." }, finish_reason: "stop" }] };
      response.write(`data: ${JSON.stringify(piece)}\n\ndata: [DONE]\n\n`);
      setImmediate(() => response.end()); // in a piece of its own, after the client has had the answer
    });
    server.on("connection", () => connections++);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo; // it listens on a port
    const model = modelFrom({ provider: "deepseek", model: "m", apiKey: KEY, baseUrl: `http://127.0.0.1:${port}` }, { environment: {} });
    for (let request = 0; request < 20; request++) {
      expect((await listen(model)).reply).toMatchObject({ text: "Hello." });
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(connections).toBeLessThan(5);
  });

  test("that stalls times out after idleTimeoutMs", async () => {
    const clock = new FakeClock();
    const stalling: ServedAnswer = { ...HELLO, delivery: { after: { pieces: 4, then: "stall" } } };
    const { model } = await served([stalling], { ports: { clock, random: seededRandom(1) }, idleTimeoutMs: 5_000 });
    const begun = Promise.withResolvers<void>();
    const heard: string[] = [];
    const listening = (async () => {
      for await (const { type } of model.stream(QUESTION)) {
        heard.push(type);
        begun.resolve();
      }
    })();
    const outcome = expect(listening).rejects.toMatchObject({
      code: "timeout",
      message: "claude stopped in the middle of its answer: it sent nothing for 5000 ms.",
    });
    await begun.promise;
    await clock.advance(5_000);
    await outcome;
    expect({ heard, pending: clock.pending }).toEqual({ heard: ["text-delta"], pending: 0 });
  });

  test("that never begins times out after firstByteTimeoutMs, even if fetch ignores its signal", async () => {
    const clock = new FakeClock();
    const model = claude("http://127.0.0.1:1", {
      ports: { clock, random: seededRandom(1) },
      fetch: () => new Promise(() => undefined),
      firstByteTimeoutMs: 3_000,
      retry: { maxAttempts: 1 },
    });
    const heard = listen(model);
    await settle();
    await clock.advance(3_000);
    expect((await heard).error).toMatchObject({ code: "timeout", message: "claude did not start to answer within 3000 ms." });
    expect(clock.pending).toBe(0);
  });
});

describe("the program's global undici dispatcher", () => {
  test("is the one that fetch itself uses, as some versions of Node.js keep two", async () => {
    const seen = watchDispatchers();
    const { server, model } = await served([HELLO]);
    expect((await listen(model)).reply).toMatchObject({ text: "Hello." });
    await (await fetch(server.url)).arrayBuffer();
    expect(seen.map(({ place }) => place)).toEqual([seen[1]?.place, seen[0]?.place]);
    expect(seen.length).toBe(2);
  });

  test.each([
    ["onConnect", 1],
    ["onRequestStart", 2],
  ])("is chosen by fetch's handler: one with %s goes to the dispatcher at place %i", async (method, place) => {
    const seen = watchDispatchers(() => true);
    const usual = globalThis.fetch;
    onTestFinished(() => void (globalThis.fetch = usual));
    globalThis.fetch = async (_url, init) => {
      (init as unknown as { dispatcher: Dispatcher }).dispatcher.dispatch({}, { [method]: () => {} }); // as each Node.js does with its handler
      return new Response("{}", { status: 401 });
    };
    const { error } = await listen(claude("http://127.0.0.1:1"));
    expect({ code: error?.code, seen }).toEqual({
      code: "permission_denied",
      seen: [{ place, headersTimeout: 0, bodyTimeout: 0 }],
    });
  });

  test.each([1, 2])("gets the request body as text where it is a mock at place %i, which compares it", async (place) => {
    const seen = watchDispatchers(undefined, place);
    const { model } = await served([HELLO]);
    expect((await listen(model)).reply).toMatchObject({ text: "Hello." });
    expect(seen).toEqual([expect.objectContaining({ body: expect.stringContaining('"messages"') })]);
  });
});

interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/** Notes what is sent by the dispatchers at both places where Node.js keeps them. @param mock the place of one that says it is a mock */
function watchDispatchers(instead?: () => boolean, mock?: number): { readonly place: number }[] {
  const seen: { readonly place: number }[] = [];
  void Response; // that fills the places
  for (const place of [1, 2]) {
    const key = Symbol.for(`undici.globalDispatcher.${place}`);
    const usual = Reflect.get(globalThis, key) as Dispatcher | undefined;
    const dispatch = (options: object, handler: object): boolean => {
      seen.push({ place, ...options });
      return instead?.() ?? usual?.dispatch(options, handler) ?? false;
    };
    Reflect.set(globalThis, key, { dispatch, isMockActive: place === mock });
    onTestFinished(() => void (usual === undefined ? Reflect.deleteProperty(globalThis, key) : Reflect.set(globalThis, key, usual)));
  }
  return seen;
}

describe("B10 cancellation", () => {
  test("before the request sends no request", async () => {
    const { server, model } = await served([HELLO]);
    expect((await listen(model, QUESTION, { signal: AbortSignal.abort() })).error).toEqual({
      code: "cancelled",
      message: "The request to claude was cancelled.",
      retryable: false,
      outcome: "unknown",
    });
    expect(server.requests.length).toBe(0);
  });

  test("while the request is being signed ends it, and firstByteTimeoutMs covers signing too", async () => {
    const sign = (): Promise<never> => new Promise(() => {});
    const cancelled = listen(claude("http://127.0.0.1:1", { sign }), QUESTION, { signal: AbortSignal.timeout(20) });
    expect((await cancelled).error).toMatchObject({ code: "cancelled" });
    const late = listen(claude("http://127.0.0.1:1", { sign, firstByteTimeoutMs: 20, retry: { maxAttempts: 1 } }));
    expect((await late).error).toMatchObject({ code: "timeout", message: "claude did not start to answer within 20 ms." });
  });

  test("in the middle of a stream ends it and closes the connection", async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const gate = async (piece: number): Promise<void> => {
      if (piece < 4) return;
      await closed.promise;
    };
    const { model } = await served([{ ...HELLO, delivery: { gate } }]);
    const heard: string[] = [];
    const listening = (async () => {
      for await (const { type } of model.stream(QUESTION, { signal: controller.signal })) {
        heard.push(type);
        controller.abort();
      }
    })();
    await expect(listening).rejects.toMatchObject({ code: "cancelled" });
    closed.resolve();
    expect(heard).toEqual(["text-delta"]);
  });

  test("while waiting for another attempt ends the wait", async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const retrying = Promise.withResolvers<void>();
    const { model } = await served([BUSY], { ports: { clock, random: seededRandom(1) }, onRetry: () => retrying.resolve() });
    const heard = listen(model, QUESTION, { signal: controller.signal });
    await retrying.promise;
    await settle();
    controller.abort();
    expect((await heard).error).toMatchObject({ code: "cancelled" });
    expect(clock.pending).toBe(0);
  });

  test("by leaving the loop cancels the response body", async () => {
    const cancelled = Promise.withResolvers<string>();
    const bytes = new TextEncoder().encode(
      [
        { type: "message_start", message: { id: "m", model: "x", content: [] } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "Well" } },
      ]
        .map((piece) => `data: ${JSON.stringify(piece)}\n\n`)
        .join(""),
    );
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(bytes),
      cancel: () => cancelled.resolve("cancelled"),
    });
    const model = claude("http://127.0.0.1:1", { fetch: () => Promise.resolve(new Response(body)) });
    for await (const { type } of model.stream(QUESTION)) {
      expect(type).toBe("text-delta");
      break;
    }
    expect(await cancelled.promise).toBe("cancelled");
  });
});

test("A06 a response larger than maxBytes is aborted", async () => {
  const { model } = await served([{ text: "x".repeat(10_000) }], { maxBytes: 2_000 });
  expect((await listen(model)).error).toMatchObject({ code: "too_large", message: "The answer of claude is larger than 2000 bytes." });
});

test("H07 a stream that arrives byte by byte or compressed gives the same events", async () => {
  const whole = await listen((await served([CALL])).model);
  const trickled = await listen((await served([{ ...CALL, delivery: { trickle: true } }])).model);
  const packed = await listen((await served([{ ...CALL, delivery: { gzip: true } }])).model);
  expect(whole.reply?.calls).toEqual([{ id: "toolu_00000001", name: "weather::get", input: { city: "Ålesund" } }]);
  expect([trickled.events, packed.events]).toEqual([whole.events, whole.events]);
});

test("a non-streamed reply gives the same events as a stream", async () => {
  const { server, model } = await served([{ text: "I look.", ...CALL, delivery: { gzip: true } }], { stream: false });
  const { events, reply } = await listen(model);
  const call = { id: "toolu_00000001", name: "weather::get", input: { city: "Ålesund" } };
  expect(events).toEqual([
    { type: "text-delta", text: "I look." },
    { type: "call-open", index: 0, name: "weather::get" },
    { type: "call-delta", index: 0, text: '{"city":"Ålesund"}' },
    { type: "call-seal", index: 0, call },
    { type: "reply-end", reply },
  ]);
  expect(server.requests.map(({ headers, body }) => [headers["accept"], body["stream"]])).toEqual([["application/json", undefined]]);
});

test("a provider that sends a whole reply although a stream was requested is understood", async () => {
  const body = { id: "x", choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }] };
  const { url } = await serve({
    format: "openai-chat",
    script: [{ raw: JSON.stringify(body), headers: { "content-type": "application/json" } }],
  });
  const { reply } = await listen(httpModel({ format: openAiChat(), model: "x", baseUrl: url }));
  expect(reply).toMatchObject({ text: "Hello.", finish: "stop" });
});

test("the base URL keeps its query, and each attempt is signed anew", async () => {
  const { ports } = hasty();
  const signed: string[] = [];
  const sign: HttpModelOptions["sign"] = ({ method, url, headers, body }) => {
    signed.push(`${method} ${new URL(url).pathname} ${headers["content-type"]} ${body.length > 0}`);
    return Promise.resolve({ "x-signature": `signature-${signed.length}` });
  };
  const server = await serve({ format: "anthropic-messages", script: [BUSY, HELLO], key: KEY });
  const model = claude(`${server.url}/?api-version=1`, { ports, sign });
  expect((await listen(model)).reply?.text).toBe("Hello.");
  expect(signed).toEqual(["POST /messages application/json true", "POST /messages application/json true"]);
  expect(server.requests.map(({ query, headers }) => [query, headers["x-signature"], headers["x-api-key"]])).toEqual([
    ["api-version=1", "signature-1", KEY],
    ["api-version=1", "signature-2", KEY],
  ]);
});
