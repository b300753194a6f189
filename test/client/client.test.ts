/** The client alone: what it sends, and what it makes of answers that no Haft server gives. */
import { ApiError, createClient, type ClientOptions } from "haft/client";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => vi.useRealTimers());

function clientOf(answer: (request: Request) => Response, options: Partial<ClientOptions> = {}) {
  const urls: string[] = [];
  const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    urls.push(request.url);
    return answer(request);
  };
  return { urls, client: createClient({ url: "http://server.example", retryDelayMs: 1, fetch, ...options }) };
}

const asJson = { "content-type": "application/json" };

test.each(["..", ".", "a\ud800"])("an id that no address can have (%j) is refused, and nothing is sent", async (sessionId) => {
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

test("a token that cannot be had ends a call and a stream at once, with the reason", async () => {
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

test("a call whose signal aborts says so, and one whose answer is a stream is refused", async () => {
  const controller = new AbortController();
  const { client, urls } = clientOf(({ signal }) => {
    signal.throwIfAborted(); // as fetch does
    controller.abort();
    return Response.json({}, { status: 503, headers: { "retry-after": "9" } });
  });
  const aborted = client.call("getSession", { params: { sessionId: "s" }, signal: controller.signal });
  await expect(aborted).rejects.toMatchObject({
    name: "ApiError",
    message: expect.stringContaining("signal"),
    cause: { name: "AbortError" },
  });
  const streamed = client.call("listEvents");
  await expect(streamed).rejects.toMatchObject({ name: "ApiError", message: expect.stringContaining("follow()") });
  expect(urls.filter((url) => url.endsWith("/events"))).toEqual([]);
});

const FIRST = `id: 1\nevent: session-start\ndata: {"type":"session-start"}\n\n`;

test.each<[string, (controller: ReadableStreamDefaultController<Uint8Array>) => void]>([
  ["dies in silence", () => {}],
  ["breaks off with any error", (controller) => controller.error("reset")],
  ["ends", (controller) => controller.close()],
])("a stream that %s is taken up again where it was", async (_, end) => {
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
