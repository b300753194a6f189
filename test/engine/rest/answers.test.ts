import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { ONE_GET, apiDocument, openEngine } from "./open-engine.ts";
import { recordingServer, type Reply } from "./recording-server.ts";

/** What a call of `getItem` comes to, without the metadata. */
async function answered(reply: Reply, document: JsonObject = ONE_GET, clock = new FakeClock()): Promise<unknown> {
  const server = await recordingServer([reply]);
  const { call } = await openEngine({ document, baseUrl: server.url }, { clock });
  const outcome = await call("getItem");
  if (typeof outcome !== "object" || outcome === null || !("metadata" in outcome)) return outcome;
  const { metadata: _, ...rest } = outcome;
  return rest;
}

const text = (said: string): unknown => ({ content: [{ type: "text", text: said }] });
const bytes = (...values: readonly number[]): Buffer => Buffer.from(values);

describe("F15 F0.49 every answer is a typed result", () => {
  const rows: readonly (readonly [what: string, reply: Reply, expected: unknown])[] = [
    ["JSON", { body: '{"a":[1,null,"é"]}' }, { output: { a: [1, null, "é"] } }],
    ["a JSON scalar", { body: "7" }, { output: 7 }],
    ["a vendor's JSON", { headers: { "content-type": "application/vnd.x+json; v=1" }, body: "[]" }, { output: [] }],
    ["204", { status: 204 }, { output: null }],
    ["200 with nothing", { body: "" }, { output: null }],
    ["JSON of white space", { body: " \n" }, { output: null }],
    ["HTML", { headers: { "content-type": "text/html; charset=utf-8" }, body: "<h1>é</h1>" }, text("<h1>é</h1>")],
    ["HTML called JSON", { body: "<html>no</html>" }, text("<html>no</html>")],
    ["words called JSON", { body: "OK then" }, text("OK then")],
    ["JSON called text, where JSON is promised", { headers: { "content-type": "text/plain" }, body: '{"a":1}' }, { output: { a: 1 } }],
    ["text that begins as JSON does", { headers: { "content-type": "text/plain" }, body: "[INFO] up" }, text("[INFO] up")],
    ["JSON with a byte order mark", { body: "\uFEFF{}" }, { output: {} }],
    ["JSON in UTF-16", { body: Buffer.from("\uFEFF[1]", "utf16le") }, { output: [1] }],
    ["latin1", { headers: { "content-type": "text/plain; charset=ISO-8859-1" }, body: bytes(0xe9) }, text("é")],
    ["latin1 that calls itself nothing", { headers: { "content-type": "text/plain" }, body: bytes(0x63, 0xe9) }, text("cé")],
    [
      "an unknown charset",
      { headers: { "content-type": "text/plain; charset=utf-7" }, body: "a" },
      { content: [{ type: "file", uri: "data:text/plain;base64,YQ==", mediaType: "text/plain" }] },
    ],
    ["an event stream", { headers: { "content-type": "text/event-stream" }, body: "data: 1\n\n" }, text("data: 1\n\n")],
    ["lines of JSON", { headers: { "content-type": "application/x-ndjson" }, body: '{"a":1}\n{"a":2}\n' }, text('{"a":1}\n{"a":2}\n')],
    [
      "an image",
      { headers: { "content-type": "image/png" }, body: bytes(137, 80) },
      { content: [{ type: "image", mediaType: "image/png", data: "iVA=" }] },
    ],
    [
      "sound",
      { headers: { "content-type": "audio/mpeg" }, body: bytes(255) },
      { content: [{ type: "audio", mediaType: "audio/mpeg", data: "/w==" }] },
    ],
    ["a drawing in XML", { headers: { "content-type": "image/svg+xml" }, body: "<svg/>" }, text("<svg/>")],
    [
      "a file",
      { headers: { "content-type": "application/pdf", "content-disposition": 'attachment; filename="../../a b.pdf"' }, body: "%PDF" },
      { content: [{ type: "file", uri: "data:application/pdf;base64,JVBERg==", mediaType: "application/pdf", name: "a b.pdf" }] },
    ],
    ["text without a type", (response) => void response.end("hello"), text("hello")],
    ["JSON without a type", (response) => void response.end('{"a":1}'), { output: { a: 1 } }],
    [
      "bytes without a type",
      (response) => void response.end(bytes(0, 255)),
      { content: [{ type: "file", uri: "data:application/octet-stream;base64,AP8=", mediaType: "application/octet-stream" }] },
    ],
    [
      "A04 an id that no number can hold",
      { body: '{"id":1915883588174806058,"s":"1915883588174806058","n":-9007199254740993}' },
      { output: { id: "1915883588174806058", s: "1915883588174806058", n: "-9007199254740993" } },
    ],
    ["A09 JSON with a number too large for JavaScript", { body: '{"a":1,"n":[1e400]}' }, { output: { a: 1, n: ["1e400"] } }],
    [
      "A04 JSON with a long integer that has an exponent",
      { body: '{"a":9.007199254740993e15}' },
      { output: { a: "9.007199254740993e15" } },
    ],
    ["A03 JSON with a key given twice", { body: '{"a":1,"a":2}' }, text('{"a":1,"a":2}')],
    ["A05 JSON nested deeper than is read", { body: "[".repeat(100) + "]".repeat(100) }, text("[".repeat(100) + "]".repeat(100))],
    ["A01 JSON with __proto__", { body: '{"__proto__":{"x":1}}' }, { output: JSON.parse('{"__proto__":{"x":1}}') as unknown }],
  ];
  test.each(rows)("%s", async (_, reply, expected) => {
    expect(await answered(reply)).toEqual(expected);
  });

  test("truncated JSON is invalid_output with outcome unknown, and its beginning is in the details", async () => {
    expect(await answered({ body: '{"items":[{"id":1},{"id' })).toEqual({
      code: "invalid_output",
      message: "The call succeeded, but its answer is broken JSON: a string is not closed, after 23 characters.",
      retryable: false,
      outcome: "unknown",
      details: ['{"items":[{"id":1},{"id'],
    });
  });

  test("fewer bytes than announced are a network_error", async () => {
    const lie: Reply = (response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write('{"a":1}');
      response.destroy();
    };
    expect(await answered(lie)).toMatchObject({ code: "network_error", outcome: "unknown" });
  });

  test("a HEAD request returns the headers as its output", async () => {
    const document = apiDocument({ "/item": { head: { operationId: "getItem", responses: { 200: { description: "" } } } } });
    expect(await answered({ headers: { "content-length": "12", etag: '"x"', "content-type": "text/csv" } }, document)).toEqual({
      output: { status: 200, headers: { "content-type": "text/csv", "content-length": "12", etag: '"x"' } },
    });
  });
});

describe("F0.49 an answer without a success status is an error whose message begins with the status", () => {
  const rows: readonly (readonly [status: number, body: string, expected: JsonObject])[] = [
    [400, '{"message":"bad"}', { code: "execution_failed", message: 'HTTP 400: {"message":"bad"}', retryable: false, outcome: "failed" }],
    [404, "", { code: "execution_failed", message: "HTTP 404: Not Found", retryable: false, outcome: "failed" }],
    [408, "", { code: "timeout", message: "HTTP 408: Request Timeout", retryable: true, outcome: "unknown" }],
    [409, "no", { code: "execution_failed", message: "HTTP 409: no", retryable: false, outcome: "failed" }],
    [410, "", { code: "execution_failed", message: "HTTP 410: Gone", retryable: false, outcome: "failed" }],
    [422, '{"errors":[1]}', { code: "execution_failed", message: 'HTTP 422: {"errors":[1]}', retryable: false, outcome: "failed" }],
    [425, "", { code: "network_error", message: "HTTP 425: Too Early", retryable: true, outcome: "not_started" }],
    [429, "slow\ndown", { code: "rate_limited", message: "HTTP 429: slow down", retryable: true, outcome: "not_started" }],
    [500, '{"error":"x"}', { code: "execution_failed", message: 'HTTP 500: {"error":"x"}', retryable: true, outcome: "unknown" }],
    [501, "", { code: "execution_failed", message: "HTTP 501: Not Implemented", retryable: false, outcome: "failed" }],
    [503, "<h1>down</h1>", { code: "network_error", message: "HTTP 503: <h1>down</h1>", retryable: true, outcome: "unknown" }],
    [504, "", { code: "timeout", message: "HTTP 504: Gateway Timeout", retryable: true, outcome: "unknown" }],
    [304, "", { code: "execution_failed", message: "HTTP 304: Not Modified", retryable: false, outcome: "unknown" }],
    [
      418,
      "\u001b[31mteapot\u001b[0m",
      { code: "execution_failed", message: "HTTP 418: [31mteapot [0m", retryable: false, outcome: "failed" },
    ],
  ];
  test.each(rows)("%i %j", async (status, body, expected) => {
    expect(await answered({ status, body, headers: { "content-type": "text/html" } })).toEqual(expected);
  });

  test("a longer body is cut to 200 characters in the message and 1,000 in the details", async () => {
    const long = "x".repeat(50_000);
    expect(await answered({ status: 400, body: long })).toEqual({
      code: "execution_failed",
      message: `HTTP 400: ${"x".repeat(199)}…`,
      retryable: false,
      outcome: "failed",
      details: [`${"x".repeat(999)}…`],
    });
  });

  test("a binary body is not quoted", async () => {
    expect(await answered({ status: 500, body: bytes(1, 2, 3), headers: { "content-type": "application/pdf" } })).toMatchObject({
      message: "HTTP 500: Internal Server Error",
    });
  });

  test("F08 an endless error body is read only in part", async () => {
    const endless: Reply = (response) => {
      response.writeHead(500, { "content-type": "text/plain" });
      const write = (): void => void (response.write("x".repeat(16_384)) ? setImmediate(write) : response.once("drain", write));
      write();
    };
    expect(await answered(endless)).toMatchObject({ message: `HTTP 500: ${"x".repeat(199)}…` });
  });
});

describe("F16 Retry-After is limited to one day, and ignored if invalid", () => {
  const NOW = Date.UTC(2026, 0, 1);
  const rows: readonly (readonly [value: string, retryAfterMs: number | undefined])[] = [
    ["2", 2_000],
    ["0", 0],
    ["1.5", 1_500],
    ["1000000000", 86_400_000],
    ["1e9", undefined],
    ["-5", undefined],
    ["never", undefined],
    ["", undefined],
    ["Infinity", undefined],
    [new Date(NOW + 5_000).toUTCString(), 5_000],
    [new Date(NOW - 5_000).toUTCString(), undefined],
    ["Thu, 01 Jan 2099 00:00:00 GMT", 86_400_000],
  ];
  test.each(rows)("%j", async (value, retryAfterMs) => {
    const error = await answered(
      { status: 429, headers: { "retry-after": value, date: new Date(NOW).toUTCString() } },
      ONE_GET,
      new FakeClock({ wallTime: NOW }),
    );
    expect(error).toEqual({
      code: "rate_limited",
      message: "HTTP 429: {}",
      retryable: true,
      outcome: "not_started",
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  });
});

describe("metadata contains the origin of the answer and its next page", () => {
  const rows: readonly (readonly [what: string, reply: Reply, pagination: unknown])[] = [
    [
      "a Link header",
      { headers: { link: '</item?page=1>; rel="prev", </item?page=3&k=v>; rel="last next"' } },
      { next: "URL/item?page=3&k=v", from: "Link" },
    ],
    ["a Link without next", { headers: { link: "<x>; rel=prev" } }, undefined],
    ["a cursor", { body: '{"next_cursor":"abc"}' }, { next: "abc", from: "next_cursor" }],
    [
      "a token inside",
      { body: '{"response_metadata":{"next_cursor":"dXNlcg=="}}' },
      { next: "dXNlcg==", from: "response_metadata.next_cursor" },
    ],
    [
      "an address",
      { body: '{"links":{"next":{"href":"https://elsewhere.example/x?sig=1"}}}' },
      { next: "https://elsewhere.example/x", from: "links.next" },
    ],
    ["a page number", { body: '{"meta":{"next_page":4}}' }, { next: 4, from: "meta.next_page" }],
    ["an empty cursor", { body: '{"next_cursor":"","next":null}' }, undefined],
  ];
  test.each(rows)("%s", async (_, reply, pagination) => {
    const server = await recordingServer([reply]);
    const { call } = await openEngine({ document: ONE_GET, baseUrl: server.url });
    const { metadata } = (await call("getItem")) as { metadata: { pagination?: unknown } };
    expect(JSON.parse(JSON.stringify(metadata.pagination ?? null).replaceAll(server.url, "URL")) ?? undefined).toEqual(pagination);
  });

  test("contains the status, the URL and selected headers", async () => {
    const headers = {
      etag: '"1"',
      "x-ratelimit-remaining": "3",
      "set-cookie": "session=1",
      "x-internal": "no",
      "x-request-id": "r1",
      date: "Thu, 01 Jan 2026 00:00:00 GMT",
    };
    const server = await recordingServer([{ status: 201, headers, body: "{}" }]);
    const { call } = await openEngine({ document: ONE_GET, baseUrl: `${server.url}/v1/` });
    expect(await call("getItem", { q: 1 })).toEqual({
      output: {},
      metadata: {
        status: 201,
        url: `${server.url}/v1/item?q=1`,
        headers: {
          "content-type": "application/json",
          etag: '"1"',
          "x-ratelimit-remaining": "3",
          "x-request-id": "r1",
          date: "Thu, 01 Jan 2026 00:00:00 GMT",
        },
      },
    });
  });
});
