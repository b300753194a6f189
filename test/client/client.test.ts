/** The client alone: what it sends, and what it makes of answers that no Haft server gives. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { ApiError, createClient, type ClientOptions } from "haft/client";
import { API } from "../../src/server/api.ts";
import type { Route } from "../../src/server/api/requests/route.ts";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";

afterEach(() => vi.useRealTimers());

/** @param signal of the call: that of the request does not follow it once the request is collected */
type Answer = (request: Request, signal: AbortSignal) => Response | Promise<Response>;

function clientOf(answer: Answer, options: Partial<ClientOptions> = {}) {
  const urls: string[] = [];
  const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    urls.push(request.url);
    const signal = init?.signal ?? request.signal;
    signal.throwIfAborted();
    return answer(request, signal);
  };
  return { urls, client: createClient({ url: "http://server.example", retryDelayMs: 1, fetch, ...options }) };
}

const asJson = { "content-type": "application/json" };

test.each(["..", ".", "a\ud800"])("an id that cannot be in a URL (%j) is rejected, and nothing is sent", async (sessionId) => {
  const { client, urls } = clientOf(() => Response.json({}));
  await expect(client.call("getSession", { params: { sessionId } })).rejects.toBeInstanceOf(ApiError);
  await expect(client.follow(sessionId).next()).rejects.toBeInstanceOf(ApiError);
  expect(urls).toEqual([]);
});

test.each<[string, () => Response, number]>([
  ["a page in place of JSON", () => new Response("<html>Log in</html>", { headers: { "content-type": "text/html" } }), 200],
  ["JSON that was cut", () => new Response('{"id":"s', { headers: asJson }), 200],
  ["a problem that was cut", () => new Response('{"det', { status: 404, headers: { "content-type": "application/problem+json" } }), 404],
])("%s is an ApiError", async (_, answer, status) => {
  const { client } = clientOf(answer);
  const failed = client.call("getSession", { params: { sessionId: "s" } });
  await expect(failed).rejects.toBeInstanceOf(ApiError);
  await expect(failed).rejects.toMatchObject({ status });
});

test("a token function that fails ends a call and a stream at once, with the reason", async () => {
  const reason = new Error("The vault is locked.");
  let asked = 0;
  const token = (): never => {
    asked++;
    throw reason;
  };
  const { client, urls } = clientOf(() => Response.json({}), { token });
  await expect(client.call("listSessions")).rejects.toMatchObject({ name: "ApiError", cause: reason });
  await expect(client.follow("s").next()).rejects.toMatchObject({ name: "ApiError", cause: reason });
  expect([asked, urls]).toEqual([2, []]);
});

test.each<[string, string, object, string]>([
  ["an operation that there is not", "sendAgentMessage", {}, 'There is no operation "sendAgentMessage".'],
  ["one of every object", "toString", {}, 'There is no operation "toString".'],
  ["a part of the input that there is not", "sendToAgent", { path: { agentName: "clerk" } }, 'The input of sendToAgent has no "path".'],
  ["a parameter that is missing", "sendToAgent", { params: { agent: "clerk" } }, 'needs the parameter "agentName"'],
  ["a call without its parameters", "getSession", {}, 'needs the parameter "sessionId"'],
])("%s is refused by name, and nothing is sent", async (_, id, input, message) => {
  const { client, urls } = clientOf(() => Response.json({}));
  const untyped: { call: (id: string, input: object) => Promise<unknown> } = client as never; // as a program in JavaScript has it
  await expect(untyped.call(id, input)).rejects.toMatchObject({ name: "ApiError", message: expect.stringContaining(message) });
  expect(urls).toEqual([]);
});

test("a misspelt option of a client or of follow() is refused by name, and nothing is sent", async () => {
  const token = { url: "http://server.example", tokn: "hk_1" };
  expect(() => createClient(token)).toThrow(
    new TypeError('createClient() has no option "tokn". It has url, token, fetch, maxAttempts, retryDelayMs.'),
  );
  const byOtherName = { baseUrl: "http://server.example", token: "hk_1" };
  expect(() => createClient(byOtherName as never)).toThrow('createClient() has no option "baseUrl". It has url, token,');
  const { client, urls } = clientOf(() => Response.json({}));
  const since = { since: 7 };
  await expect(client.follow("s", since as object).next()).rejects.toThrow('follow() has no option "since". It has after, signal, live.');
  expect(urls).toEqual([]);
});

const OF_STREAMS = Object.entries<Route>(API).flatMap(([id, { answerType }]) => (answerType === "text/event-stream" ? [id] : []));

test("an operation that answers with a stream is refused, and nothing is sent", async () => {
  const { client, urls } = clientOf(() => Response.json({}));
  expect(OF_STREAMS).toEqual(["listEvents"]);
  await expect(client.call("listEvents", { query: { sessionId: "s" } })).rejects.toThrow("follow() reads that of a session");
  expect(urls).toEqual([]);
});

const never = (_: Request, signal: AbortSignal): Promise<Response> =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

const silent = (signal: AbortSignal) =>
  new ReadableStream({ start: (controller) => signal.addEventListener("abort", () => controller.error(signal.reason)) });

test.each<[string, Answer]>([
  ["an answer", never],
  ["the rest of an answer", (_, signal) => new Response(silent(signal), { headers: asJson })],
  ["the next attempt", () => new Response(null, { status: 503, headers: { "retry-after": "10" } })],
  [
    "results",
    (request, signal) =>
      request.method === "GET" ? never(request, signal) : new Response(null, { status: 202, headers: { location: "/v1/submissions/a" } }),
  ],
])("a call that waits for %s rejects when its signal aborts, even if the signal has other listeners", async (_, answer) => {
  const { client, urls } = clientOf(answer);
  const controller = new AbortController();
  controller.signal.addEventListener("abort", () => {});
  const { signal } = controller;
  const calls = client.call("execute", { body: { calls: [{ name: "look" }] }, idempotencyKey: "k", signal });
  const failed = expect(calls).rejects.toMatchObject({ message: "The wait for the answer was ended by its signal.", status: 0 });
  await vi.waitFor(() => expect(urls).not.toEqual([]));
  controller.abort();
  await failed;
});

const FIRST = `id: 1\nevent: session-start\ndata: {"type":"session-start"}\n\n`;

test.each<[string, (controller: ReadableStreamDefaultController<Uint8Array>) => void]>([
  ["dies in silence", () => {}],
  ["breaks off with any error", (controller) => controller.error("reset")],
  ["ends", (controller) => controller.close()],
])("a stream that %s is resumed from its last event", async (_, end) => {
  vi.useFakeTimers();
  const asked: (string | null)[] = [];
  const { client } = clientOf(({ headers }) => {
    asked.push(headers.get("last-event-id"));
    const text = asked.length === 1 ? FIRST : FIRST.replace("id: 1", "id: 2");
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
      pull: (controller) => end(controller),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const events = client.follow("s");
  expect((await events.next()).value).toMatchObject({ position: 1 });
  const next = events.next();
  await vi.advanceTimersByTimeAsync(60_000);
  expect((await next).value).toMatchObject({ position: 2 });
  expect(asked).toEqual(["0", "1"]);
  await events.return();
});

const eventStream = { "content-type": "text/event-stream" };
const gap = (data: object): Response => new Response(`event: gap\ndata: ${JSON.stringify(data)}\n\n`, { headers: eventStream });

test("a stream ends where the log is damaged, with the server's error", async () => {
  const { client, urls } = clientOf(() => gap({ code: "corrupt_record", message: "The log is damaged at event 3." }));
  await expect(client.follow("s").next()).rejects.toMatchObject({ name: "ApiError", message: "The log is damaged at event 3." });
  expect(urls).toHaveLength(1);
});

test("a stream that a store cannot continue now is retried with increasing delays", async () => {
  vi.useFakeTimers();
  const { client, urls } = clientOf(() => gap({ code: "store_failed", message: "The store cannot be used now." }));
  const stop = new AbortController();
  const ended = client.follow("s", { signal: stop.signal }).next();
  await vi.advanceTimersByTimeAsync(60_000);
  stop.abort();
  expect(await ended).toMatchObject({ done: true });
  expect(urls.length).toBeLessThan(13);
});

test.each([
  ["with a key is sent again, and its first results come back", "k", 200],
  ["without one is not sent again", undefined, 404],
])("a call %s if its results are no longer known, as after a restart of the server", async (_, idempotencyKey, status) => {
  let sent = 0;
  const { client } = clientOf(({ method }) => {
    if (method === "GET") return new Response("{}", { status: 404, headers: asJson });
    if (sent++ === 0) return new Response(null, { status: 202, headers: { location: "/v1/submissions/a" } });
    return Response.json({ results: [] });
  });
  const called = client.call("execute", {
    body: { calls: [{ name: "look" }] },
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
  if (status === 200) expect(await called).toEqual({ results: [] });
  else await expect(called).rejects.toMatchObject({ status });
  expect(sent).toBe(status === 200 ? 2 : 1);
});

test("a call whose results are lost each time is not resent forever", async () => {
  const { client, urls } = clientOf(({ method }) =>
    method === "GET"
      ? new Response(null, { status: 404 })
      : new Response(null, { status: 202, headers: { location: "/v1/submissions/a" } }),
  );
  await expect(client.call("execute", { body: { calls: [] }, idempotencyKey: "k" })).rejects.toMatchObject({ status: 404 });
  expect(urls).toHaveLength(10);
});

/** A server that answers nothing but a whole request. */
async function answering(answer: (socket: Socket) => void, port = 0): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port; // it listens at a port
}

async function closedPort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, "127.0.0.1"), "listening");
  const { port } = probe.address() as AddressInfo; // it listens at a port
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

test.each([301, 302, 303, 307, 308])("a request that changes something is sent once if it is redirected (%i)", async (status) => {
  const elsewhere = `http://127.0.0.1:${await closedPort()}/v1/execute`;
  let requests = 0;
  const port = await answering((socket) => {
    requests++;
    socket.end(`HTTP/1.1 ${status} Moved\r\nLocation: ${elsewhere}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
  });
  const client = createClient({ url: `http://127.0.0.1:${port}`, retryDelayMs: 1 });
  for (const key of [{}, { idempotencyKey: "k" }])
    await expect(client.call("execute", { body: { calls: [] }, ...key })).rejects.toMatchObject({
      name: "ApiError",
      status,
      message: expect.stringContaining(elsewhere),
    });
  expect(requests).toBe(2);
});

test("a redirect hidden by the browser is an error", async () => {
  const hidden = Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" });
  const { client, urls } = clientOf(() => hidden);
  const failed = client.call("execute", { body: { calls: [] } });
  await expect(failed).rejects.toMatchObject({ name: "ApiError", status: 0, message: expect.stringContaining("another address") });
  expect(urls).toHaveLength(1);
});

test("a request without a key is sent again if the connection was refused", async () => {
  const port = await closedPort();
  let sent = 0;
  const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 14\r\n\r\n{"results":[]}';
  const failing = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    sent++;
    return fetch(...request).catch(async (refused: unknown) => {
      await answering((socket) => void socket.end(ok), port);
      throw refused;
    });
  };
  const client = createClient({ url: `http://127.0.0.1:${port}`, retryDelayMs: 1, fetch: failing });
  expect([await client.call("execute", { body: { calls: [] } }), sent]).toEqual([{ results: [] }, 2]);
});

test.each([
  [undefined, 1],
  ["k", 5],
])("a request with the key %s whose connection closes before an answer is sent %i times", async (idempotencyKey, times) => {
  let received = 0;
  const port = await answering((socket) => {
    received++;
    socket.destroy();
  });
  const client = createClient({ url: `http://127.0.0.1:${port}`, retryDelayMs: 1 });
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  await expect(client.call("execute", { body: { calls: [] }, ...key })).rejects.toMatchObject({ status: 0 });
  expect(received).toBe(times);
});

test.each([
  [
    "a refused connection",
    new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:1") }),
    "connect ECONNREFUSED 127.0.0.1:1",
  ],
  [
    "several addresses that refuse",
    new TypeError("fetch failed", { cause: Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }) }),
    "ECONNREFUSED",
  ],
  ["a browser, which gives no cause", new TypeError("Failed to fetch"), "Failed to fetch"],
])("a server that cannot be reached is reported with the reason: %s", async (_, failure, reason) => {
  const { client } = clientOf(() => Promise.reject(failure));
  const message = `The server at http://server.example did not answer: ${reason}`;
  await expect(client.call("execute", { body: { calls: [] } })).rejects.toMatchObject({ status: 0, message });
});
