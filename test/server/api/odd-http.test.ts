/** Bytes that are no usual request, over a plain socket: each gets an answer that says what would work, nothing starts, and equal ones get the same. */
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { TOKEN, startApi } from "./api-server.ts";
import { testInCI } from "../../test-in-ci.ts";

const AUTH = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const JSON_TYPE = "Content-Type: application/json\r\n";
const CALL = JSON.stringify({ calls: [{ name: "notes::add", input: { text: "never" } }] });

function post(body: string, { path = "/v1/execute", headers = "" } = {}): string {
  return `POST ${path} HTTP/1.1\r\n${AUTH}${JSON_TYPE}${headers}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}

/** A body that is promised and does not come. */
function endless(path: string, length: string, headers = ""): string {
  return `POST ${path} HTTP/1.1\r\n${AUTH}${JSON_TYPE}${headers}Content-Length: ${length}\r\n\r\n`;
}

function coded(coding: string, version = "1.1"): string {
  const chunks = `${CALL.length.toString(16)}\r\n${CALL}\r\n0\r\n\r\n`;
  return `POST /v1/execute HTTP/${version}\r\n${AUTH}${JSON_TYPE}Connection: keep-alive\r\nTransfer-Encoding: ${coding}\r\n\r\n${chunks}`;
}

function get(path: string, { method = "GET", version = "1.1", headers = "" } = {}): string {
  return `${method} ${path} HTTP/${version}\r\n${AUTH}${headers}Connection: close\r\n\r\n`;
}

function wide(keys: number): string {
  return Array.from({ length: keys }, (_, key) => `"k${key}":1`).join(",");
}

function upgrade(path: string, headers = ""): string {
  const webSocket =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}${webSocket}\r\n`;
}

/** What the server sends until it closes, or waits for more; "silence" where it does neither. */
function exchange(port: number, sent: string): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(sent, "latin1"));
    const end = (what: string): void => {
      socket.destroy();
      resolve(what);
    };
    socket.setTimeout(5_000).on("timeout", () => end(text === "" ? "silence" : text));
    socket
      .setEncoding("utf8")
      .on("data", (chunk: string) => {
        text += chunk;
        socket.setTimeout(300);
      })
      .on("close", () => end(text))
      .on("error", () => end(text));
  });
}

const ODD: readonly (readonly [string, string, number])[] = [
  ["a path with two slashes at its front", get("//v1/info"), 404],
  ["a path that ends with a slash", get("/v1/tools/"), 404],
  ["a slash that is encoded", get("/v1/tools/notes%2Fadd"), 404],
  ["E11 a path that climbs", get("/v1/../../etc/passwd"), 404],
  ["E11 an encoded path that climbs", get("/v1/tools/%2e%2e%2f%2e%2e%2fetc"), 404],
  ["E11 a NUL that is encoded", get("/v1/tools/a%00b"), 404],
  ["an encoding that is none", get("/v1/tools/%ff%zz"), 404],
  ["an encoding that is cut", get("/v1/sessions/%"), 404],
  ["a path of 8,000 characters", get(`/v1/tools/${"a".repeat(8_000)}`), 400],
  ["HTTP/1.0 without a host", "GET /v1/info HTTP/1.0\r\n\r\n", 403],
  ["HTTP/1.0 without a host, as balancers ask", "GET /readyz HTTP/1.0\r\n\r\n", 200],
  ["HTTP/1.1 without a host", "GET /v1/info HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
  ["an absolute target without a host", "GET http://localhost/readyz HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
  ["an expectation that is unknown", get("/v1/info", { headers: "Expect: 200-maybe\r\n" }), 417],
  ["an expectation in HTTP/1.0, which has none", get("/v1/info", { version: "1.0", headers: "Expect: 200-maybe\r\n" }), 200],
  ["a call with an expectation that is unknown", post(CALL, { headers: "Expect: 200-maybe\r\n" }), 417],
  ["HTTP/1.0", get("/v1/info", { version: "1.0" }), 200],
  ["E16 an absolute target", get("http://localhost/v1/info"), 200],
  ["E16 an absolute target without a path", get("HTTP://localhost?x=1"), 404],
  ["E16 an absolute target of another host", get("http://evil.example/v1/info"), 403],
  ["E16 a target that is no address", get("v1/info"), 400],
  ["E16 two hosts", get("/v1/info", { headers: "host: evil.example\r\n" }), 400],
  ["HEAD", get("/v1/info", { method: "HEAD" }), 200],
  ["OPTIONS", get("/v1/info", { method: "OPTIONS" }), 405],
  ["OPTIONS of the server", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 204],
  ["the target of such a request with another method", get("*"), 400],
  ["TRACE", get("/v1/info", { method: "TRACE" }), 501],
  ["TRACE to the MCP server", get("/mcp", { method: "TRACE" }), 501],
  ["TRACE as the preflight of a page", get("/v1/info", { method: "TRACE", headers: "Access-Control-Request-Method: GET\r\n" }), 501],
  ["a method in small letters", get("/v1/info", { method: "get" }), 501],
  ["a method that no one knows", get("/v1/info", { method: "FOO" }), 501],
  ["a method of its own", get("/v1/info", { method: "PROPFIND" }), 405],
  ["E16 CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 501],
  ["CONNECT to a path", get("/v1/info", { method: "CONNECT" }), 501],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  ["TLS", "\u0016\u0003\u0001\u0000\u00a5\u0001\u0000\u0000\u00a1\u0003\u0003", 501],
  ["E17 a WebSocket without a token", upgrade("/v1/events"), 401],
  ["E17 a WebSocket of another origin", upgrade("/mcp", "Origin: http://evil.example\r\n"), 403],
  ["E16 two lengths", post(CALL, { headers: "Content-Length: 3\r\n" }), 400],
  ["E16 a length and chunks", post(CALL, { headers: "Transfer-Encoding: chunked\r\n" }), 400],
  ["E16 chunks in HTTP/1.0, which has none", coded("chunked", "1.0"), 400],
  ["E16 a coding besides chunks", coded("gzip, chunked"), 501],
  ["E16 a line that ends with LF alone", `GET /v1/info HTTP/1.1\nHost: localhost\n\n`, 400],
  ["two tokens", get("/v1/tools", { headers: "Authorization: Bearer other\r\n" }), 400],
  [
    "two keys for one request",
    post(CALL, { headers: "Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Type: text/plain\r\n" }).replace(JSON_TYPE, ""),
    415,
  ],
  ["headers without end", get("/v1/info", { headers: `X-A: ${"a".repeat(20_000)}\r\n` }), 431],
  ["a NUL in a header", get("/v1/info", { headers: "X-A: a\u0000b\r\n" }), 400],
  ["A06 a length of eight digits behind zeros", endless("/v1/execute", "0000000000099999999"), 413],
  ["A06 a length of sixteen digits", endless("/v1/execute", "1000000000000000"), 413],
  ["A06 a length of fifteen digits", endless("/v1/execute", "999999999999999"), 413],
  ["A06 such a length from a page", endless("/v1/execute", "999999999999999", "Origin: http://localhost\r\n"), 413],
  ["A06 such a length to the MCP server", endless("/mcp", "999999999999999", "Accept: application/json, text/event-stream\r\n"), 413],
  ["A06 such a length of a body that may be missing", endless("/v1/sessions", "999999999999999").replace(JSON_TYPE, ""), 413],
  ["what its sender asks next", get("/v1/tools?limit=1"), 200],
  ["a body without a type", post(CALL).replace(JSON_TYPE, ""), 415],
  ["a body that is not UTF-8", post('{"calls":[{"name":"notes::add\u00ff","input":{"text":"never"},"x":1}]}'), 400],
  ["an unpaired surrogate as a field", post('{"calls":[{"name":"notes::list"}],"\\ud800":1}'), 400],
  ["a number that no double is", post('{"calls":[{"name":"notes::list"}],"waitMs":1e999}'), 400],
  ["a number that is no integer", post('{"calls":[{"name":"notes::list"}],"waitMs":0.5}'), 400],
  ["a key that is there twice", post('{"calls":[{"name":"notes::list"}],"calls":[]}'), 400],
  ["__proto__ as a field", post('{"calls":[{"name":"notes::list"}],"__proto__":{"strict":true}}'), 400],
  ["constructor as a field", post('{"calls":[{"name":"notes::list","constructor":{}}]}'), 400],
  ["JSON nested 100,000 times", post(`{"calls":${"[".repeat(100_000)}${"]".repeat(100_000)}}`), 413],
  ["A06 an object of 100,000 keys", post(`{"calls":[{"name":"notes::list","input":{${wide(100_000)}}}]}`), 413],
  ["a parameter __proto__", get("/v1/tools?__proto__=1"), 400],
  ["a parameter that is not UTF-8", get("/v1/tools?q=%ff%fe&limit=%00"), 400],
  ["a limit beyond every integer", get("/v1/tools?limit=99999999999999999999"), 400],
];

testInCI(
  "issue 19 E11 E16 E17 malformed requests over a socket get a consistent problem response with a hint, and start nothing",
  async () => {
    const api = await startApi();
    const { port } = api.listener;
    const seen: unknown[] = [];
    for (const [what, sent, status] of ODD) {
      const [answer, again] = [await exchange(port, sent), await exchange(port, sent)];
      const [head = "", ...rest] = answer.split("\r\n\r\n");
      const got = answer === "" ? "closed" : answer === "silence" ? answer : Number(head.split(" ")[1]);
      const isTheSame = answer.replace(/^date: .*$/imu, "") === again.replace(/^date: .*$/imu, "");
      const isOfMcp = sent.startsWith("POST /mcp ") && answer.includes('"jsonrpc":"2.0","error":');
      const isProblem = typeof got !== "number" || got < 400 || /application\/problem\+json/u.test(head) || isOfMcp;
      const isGuarded = typeof got !== "number" || /^x-content-type-options: nosniff\r?$/imu.test(head);
      seen.push({
        what,
        got,
        isTheSame,
        isProblem,
        isGuarded,
        ...(got === status && isTheSame && isProblem && isGuarded ? {} : { head, body: rest.join().slice(0, 300) }),
      });
    }
    expect(seen).toEqual(ODD.map(([what, , got]) => ({ what, got, isTheSame: true, isProblem: true, isGuarded: true })));
    expect(api.added).toEqual([]);
  },
);

test("issue 19 pipelined requests on one connection are answered in order", async () => {
  const api = await startApi();
  const one = (path: string): string => `GET ${path} HTTP/1.1\r\n${AUTH}\r\n`;
  const answer = await exchange(api.listener.port, `${one("/v1/tools?limit=1")}${one("/v1/nothing")}${one("/healthz")}${get("/v1/info")}`);
  expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/gu)].map(([, status]) => status)).toEqual(["200", "404", "200", "200"]);
});

test.each([50, 100_000])(
  "issue 19 an incomplete body (%i bytes to come) runs nothing, and its disconnected client causes no warning",
  async (more) => {
    const api = await startApi();
    const warnings: string[] = [];
    const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => warnings.push(String(text)) > 0);
    onTestFinished(() => write.mockRestore());
    const body = `${CALL.slice(0, -1)} `;
    const half = `POST /v1/execute HTTP/1.1\r\n${AUTH}${JSON_TYPE}Content-Length: ${body.length + more}\r\n\r\n${body}`;
    await new Promise<void>((resolve) => {
      const socket = connect(api.listener.port, "127.0.0.1", () => socket.write(half, () => setTimeout(() => socket.destroy(), 20)));
      socket.on("close", () => resolve()).on("error", () => {});
    });
    expect((await api.ask("GET", "/v1/info")).status).toBe(200);
    expect([api.added, warnings]).toEqual([[], []]);
  },
);

test("bytes that are no request, after one that is being answered with a stream, write nothing into its stream", async () => {
  const api = await startApi();
  const stream = get("/v1/events", { headers: "Accept: text/event-stream\r\n" }).replace("Connection: close\r\n", "");
  const seen = await new Promise<string>((resolve) => {
    let text = "";
    const socket = connect(api.listener.port, "127.0.0.1", () => socket.write(stream));
    socket
      .setEncoding("utf8")
      .on("data", (chunk: string) => {
        if (text === "") socket.write("nonsense\r\n\r\n");
        text += chunk;
      })
      .on("close", () => resolve(text))
      .on("error", () => {});
  });
  expect(seen.match(/HTTP\/1\.1 \d+/gu)).toEqual(["HTTP/1.1 200"]);
});

test.each(["nonsense\r\n\r\n", "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n"])(
  "bytes that are no request are not refused in place of the answer to a call before them: %j",
  async (bytes) => {
    const api = await startApi();
    const call = post(CALL).replace("Connection: close\r\n", "");
    expect((await exchange(api.listener.port, `${call}${bytes}`)).match(/not_started|HTTP\/1\.1 [345]\d\d/gu)).toBe(null);
  },
);

test.each([
  ["chunks in HTTP/1.0", coded("chunked", "1.0"), 400],
  ["a coding besides chunks", coded("gzip, chunked"), 501],
  ["two hosts", `GET /v1/info HTTP/1.1\r\n${AUTH}Host: other\r\n\r\n`, 400],
  ["no host", "GET /v1/info HTTP/1.1\r\n\r\n", 400],
])("bytes behind a request with %s are not taken for a request, nor answered", async (_what, refused, status) => {
  const api = await startApi();
  const answer = await exchange(api.listener.port, refused + post(CALL));
  await new Promise((resolve) => void setTimeout(resolve, 50)); // a call would be running by now
  expect([answer.match(/HTTP\/1\.1 \d+/gu), api.added]).toEqual([[`HTTP/1.1 ${status}`], []]);
});

test("a body that breaks off is refused before its call starts", async () => {
  const api = await startApi();
  const answer = await exchange(api.listener.port, coded("chunked").replace("\r\n0\r\n\r\n", "\r\nzz\r\n"));
  expect([answer.slice(0, 12), answer.includes('"outcome":"not_started"'), api.added]).toEqual(["HTTP/1.1 400", true, []]);
});

test.each([["TRACE"], ["OPTIONS"], ["PROPFIND"]])(
  "the answer to %s says which method was refused, and which would work",
  async (method) => {
    const { listener } = await startApi();
    const answer = await exchange(listener.port, get("/v1/info", { method }));
    expect(answer).toContain(`${method} is not supported`);
    expect(answer).toMatch(method === "TRACE" ? /"hint":"Use GET, HEAD, POST or DELETE/u : /^allow: GET, HEAD\r?$/imu);
  },
);
