import type { ServerResponse } from "node:http";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { EventMeter } from "../../src/net/event-meter.ts";
import { guardedFetch } from "../../src/net/guarded-fetch.ts";
import { type TestClientOptions, ownHeaders, testClient } from "./ask.ts";
import { type LoopbackServer, httpServer, rawAnswer } from "./loopback-server.ts";

function fetchFrom(server: LoopbackServer, options: TestClientOptions = {}): typeof fetch {
  return guardedFetch(testClient({ allowPrivate: [server.host], ...options }), { secretHeaders: ["x-api-key"] });
}

/** An event stream of which a test writes the parts; `closed` resolves when the client is gone. */
async function eventServer() {
  let open: (response: ServerResponse) => void = () => {};
  const response = new Promise<ServerResponse>((resolve) => (open = resolve));
  let close: () => void = () => {};
  const closed = new Promise<void>((resolve) => (close = resolve));
  const server = await httpServer((_request, response) => {
    response.on("close", close).writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).flushHeaders();
    open(response);
  });
  return { server, response, closed };
}

/** What a promise rejects with. */
async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error: unknown) {
    return error;
  }
  throw new Error("It was expected to fail and did not.");
}

describe("requests", () => {
  test.each([
    ["a string", () => "a=ü", "text/plain;charset=UTF-8", "a=ü"],
    ["bytes", () => new TextEncoder().encode("bytes"), undefined, "bytes"],
    ["a form", () => new URLSearchParams({ a: "1 2", b: "ü" }), "application/x-www-form-urlencoded;charset=UTF-8", "a=1+2&b=%C3%BC"],
    ["a stream", () => ReadableStream.from([Buffer.from("one "), Buffer.from("two")]), undefined, "one two"],
    ["nothing", () => null, undefined, ""],
  ])("%s is sent like with the platform's fetch", async (_what, body, type, text) => {
    const server = await httpServer((request, response) => {
      let received = "";
      request.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
      request.on("end", () => response.end(JSON.stringify([request.method, request.headers["content-type"], received])));
    });
    const response = await fetchFrom(server)(server.at("/"), { method: "POST", body: body() });
    expect(await response.json()).toEqual(["POST", type ?? null, text]);
  });

  test("a Request, a URL and a string are equivalent; headers that frame the message are dropped", async () => {
    const server = await httpServer((request, response) =>
      response.end(JSON.stringify([request.method, request.url, ownHeaders(request.rawHeaders)])),
    );
    const headers = { "X-One": "1", Connection: "close", "Content-Length": "7", Host: "evil.example", "Transfer-Encoding": "chunked" };
    const url = server.at("/path?q=1");
    const get = fetchFrom(server);
    const responses = [await get(url, { headers }), await get(url.href, { headers }), await get(new Request(url, { headers }))];
    expect(await Promise.all(responses.map((response) => response.json()))).toEqual(
      responses.map(() => ["GET", "/path?q=1", [["x-one", "1"]]]),
    );
  });

  test("the response has status, headers, URL and body", async () => {
    const server = await httpServer((request, response) => {
      if (request.url === "/") response.writeHead(307, { location: "/end" }).end();
      else
        response
          .writeHead(
            404,
            [
              ["set-cookie", "a=1"],
              ["set-cookie", "b=2"],
              ["x-name", "Zoë"],
            ].flat(),
          )
          .end('{"a":1}');
    });
    const response = await fetchFrom(server)(server.at("/"));
    expect([
      response.status,
      response.ok,
      response.url,
      response.redirected,
      response.headers.getSetCookie(),
      response.headers.get("x-name"),
    ]).toEqual([404, false, server.at("/end").href, true, ["a=1", "b=2"], "Zoë"]);
    expect(await response.json()).toEqual({ a: 1 });
  });

  test.each([204, 205, 304])("the response %i has no body", async (status) => {
    const server = await rawAnswer(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`);
    const response = await fetchFrom(server)(server.at("/"));
    expect([response.status, response.body]).toEqual([status, null]);
  });

  test("redirects are followed, returned or rejected as requested, and secrets are not forwarded", async () => {
    const target = await httpServer((request, response) => response.end(JSON.stringify(ownHeaders(request.rawHeaders))));
    const server = await httpServer((_request, response) => response.writeHead(302, { location: target.at("/").href }).end());
    const get = fetchFrom(server, { allowPrivate: [server.host, target.host] });
    const headers = { authorization: "Bearer secret", "x-api-key": "secret", "x-plain": "open" };
    expect(await (await get(server.at("/"), { headers })).json()).toEqual([["x-plain", "open"]]);
    const kept = await get(server.at("/"), { redirect: "manual" });
    expect([kept.status, kept.headers.get("location")]).toEqual([302, target.at("/").href]);
    const refused = await thrownBy(get(server.at("/"), { redirect: "error" }));
    expect(refused).toEqual(expect.objectContaining({ name: "TypeError", cause: expect.any(ToolError) }));
  });
});

describe("failures", () => {
  test("D18 a redirect to a private address rejects with a TypeError whose cause gives the reason", async () => {
    const server = await httpServer((_request, response) => response.writeHead(302, { location: "http://169.254.169.254/" }).end());
    const failure = await thrownBy(fetchFrom(server)(server.at("/sse")));
    expect(failure).toBeInstanceOf(TypeError);
    expect(failure).toEqual(
      expect.objectContaining({ cause: expect.objectContaining({ name: "ToolError", code: "permission_denied", outcome: "unknown" }) }),
    );
  });

  test("F17 a password in the URL is rejected, and not repeated in the error", async () => {
    const failure = await thrownBy(guardedFetch(testClient())("http://root:hunter2@example.com/"));
    expect(failure).toEqual(new TypeError("fetch failed"));
    expect(failure).toEqual(
      expect.objectContaining({
        cause: expect.objectContaining({ message: "The URL of example.com contains a user name or password." }),
      }),
    );
  });

  test("a URL that is not absolute, and an invalid status, reject with a TypeError", async () => {
    const server = await rawAnswer("HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n");
    const get = fetchFrom(server);
    expect([await thrownBy(get("/relative")), await thrownBy(get(server.at("/")))]).toEqual([expect.any(TypeError), expect.any(TypeError)]);
  });

  test("an aborted signal rejects with its reason, before and during the request", async () => {
    const reason = new Error("enough");
    const stop = new AbortController();
    const server = await httpServer(() => stop.abort(reason));
    const get = fetchFrom(server);
    expect(await thrownBy(get(server.at("/"), { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(await thrownBy(get(new Request(server.at("/"), { signal: stop.signal })))).toBe(reason);
  });

  test("a body that breaks off rejects with the cause", async () => {
    const server = await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 50\r\nContent-Encoding: compress\r\n\r\nhello");
    const response = await fetchFrom(server)(server.at("/"));
    const failure = await thrownBy(response.text());
    expect(failure).toEqual(expect.objectContaining({ name: "TypeError", message: "terminated", cause: expect.any(ToolError) }));
  });
});

describe("event streams", () => {
  test("D18 a stream may exceed maxBytes as long as no single event does", async () => {
    const { server, response } = await eventServer();
    const answer = await fetchFrom(server, { maxBytes: 1_000 })(server.at("/"));
    const writer = await response;
    const reader = (answer.body ?? new ReadableStream<Uint8Array>()).getReader();
    let received = 0;
    for (let count = 0; count < 50; count++) {
      writer.write(`data: ${"x".repeat(92)}\n\n`);
      for (let missing = 100; missing > 0;) {
        const { value } = await reader.read();
        missing -= value?.byteLength ?? 0;
        received += value?.byteLength ?? 0;
      }
    }
    expect(received).toBe(5_000);
    await reader.cancel();
  });

  test("D18 an event without end is cut off at maxBytes and the connection closed", async () => {
    const { server, response, closed } = await eventServer();
    const answer = await fetchFrom(server, { maxBytes: 1_000 })(server.at("/"));
    (await response).write(`data: ok\n\ndata: ${"x".repeat(2_000)}`);
    const failure = await thrownBy(answer.text());
    expect(failure).toEqual(expect.objectContaining({ name: "TypeError", cause: expect.objectContaining({ code: "too_large" }) }));
    await closed;
  });

  test("D18 for any other media type, maxBytes limits the whole body", async () => {
    const server = await httpServer((_request, response) =>
      response.writeHead(200, { "content-type": "text/plain" }).end("data: x\n\n".repeat(1_000)),
    );
    const answer = await fetchFrom(server, { maxBytes: 1_000 })(server.at("/"));
    expect(await thrownBy(answer.text())).toEqual(expect.objectContaining({ cause: expect.objectContaining({ code: "too_large" }) }));
  });

  test("aborting after the headers ends the body with the reason and closes the connection", async () => {
    const { server, response, closed } = await eventServer();
    const stop = new AbortController();
    const answer = await fetchFrom(server)(server.at("/"), { signal: stop.signal });
    (await response).write("data: 1\n\n");
    const reader = (answer.body ?? new ReadableStream<Uint8Array>()).getReader();
    const first = await reader.read();
    const next = thrownBy(reader.read());
    const reason = new Error("enough");
    stop.abort(reason);
    expect([Buffer.from(first.value ?? []).toString(), await next]).toEqual(["data: 1\n\n", reason]);
    await closed;
  });

  test("cancelling the body closes the connection, even during a read", async () => {
    const { server, closed } = await eventServer();
    const answer = await fetchFrom(server)(server.at("/"));
    const reader = (answer.body ?? new ReadableStream<Uint8Array>()).getReader();
    const pending = reader.read();
    await reader.cancel();
    await closed;
    expect(await pending).toEqual({ done: true, value: undefined });
  });

  test("D18 the size of an event does not depend on line endings and chunk boundaries", () => {
    const lines = fc.array(fc.stringMatching(/^[a-z ]{0,12}$/u), { maxLength: 20 });
    fc.assert(
      fc.property(lines, fc.constantFrom("\n", "\r\n", "\r"), fc.array(fc.nat(40), { maxLength: 20 }), (lines, lineEnd, cuts) => {
        const bytes = Buffer.from(lines.map((line) => line + lineEnd).join(""));
        const meter = new EventMeter();
        let largest = 0;
        let at = 0;
        for (const cut of [...cuts, bytes.length]) {
          largest = Math.max(largest, meter.add(bytes.subarray(at, at + cut)));
          at += cut;
        }
        expect(largest).toBe(largestEvent(lines));
      }),
      { numRuns: 500 },
    );
  });
});

/** Events end with an empty line, which ends nothing at the very start; a line end counts as one. */
function largestEvent(lines: readonly string[]): number {
  let [largest, size] = [0, 0];
  for (const [index, line] of lines.entries()) {
    size += line.length + 1;
    largest = Math.max(largest, size);
    if (line === "" && index > 0) size = 0;
  }
  return largest;
}
