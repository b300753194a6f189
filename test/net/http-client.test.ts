import { once } from "node:events";
import http, { type OutgoingHttpHeaders, type RequestOptions } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { ask, failureOf, ownHeaders, testClient, toRequest } from "./ask.ts";
import { httpServer, rawAnswer, socketServer } from "./loopback-server.ts";

describe("requests", () => {
  test.each(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])(
    "%s arrives with its body and headers",
    async (method) => {
      const server = await httpServer((request, response) => {
        request.setEncoding("latin1");
        let text = "";
        request.on("data", (chunk: string) => (text += chunk));
        request.on("end", () => response.end(JSON.stringify([request.method, request.url, ownHeaders(request.rawHeaders), text])));
      });
      const client = testClient({ allowPrivate: [server.host] });
      const headers = [
        ["X-One", "1"],
        ["x-name", "Zoë"],
        ["x-one", "2"],
      ] as const;
      const { text } = await ask(client, server.at("/a%2Fb?q=a+b&c=%C3%BC#part"), { method, headers, body: Buffer.from("body") });
      const arrived = [
        ["X-One", "1"],
        ["X-One", "2"], // those of one name together
        ["x-name", "Zoë"],
        ["content-length", "4"],
      ];
      expect(JSON.parse(text)).toEqual([method, "/a%2Fb?q=a+b&c=%C3%BC", arrived, "body"]);
    },
  );

  test("headers reach the server even if tracing adds its own to a copy of them", async () => {
    const { request } = http;
    // as @opentelemetry/instrumentation-http does
    const patched = vi.spyOn(http, "request").mockImplementation((options: unknown) => {
      const given = options as RequestOptions;
      return request({ ...given, headers: Object.assign({}, given.headers, { traceparent: "00-1" }) as OutgoingHttpHeaders });
    });
    onTestFinished(() => patched.mockRestore());
    const server = await httpServer((incoming, response) => response.end(JSON.stringify(ownHeaders(incoming.rawHeaders))));
    const { text } = await ask(testClient({ allowPrivate: [server.host] }), server.at("/"), { headers: [["authorization", "Bearer t"]] });
    expect(JSON.parse(text)).toEqual([
      ["authorization", "Bearer t"],
      ["traceparent", "00-1"],
    ]);
  });

  test("a POST without a body declares a length of 0", async () => {
    const server = await httpServer((request, response) => response.end(JSON.stringify(ownHeaders(request.rawHeaders))));
    const client = testClient({ allowPrivate: [server.host] });
    expect(await ask(client, server.at("/"), { method: "POST" })).toEqual({ status: 200, text: '[["content-length","0"]]' });
    expect(await ask(client, server.at("/"), { method: "GET" })).toEqual({ status: 200, text: "[]" });
  });

  test("one connection serves consecutive requests", async () => {
    const ports = new Set<number | undefined>();
    const server = await httpServer((request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead(request.method === "DELETE" ? 204 : 200).end();
    });
    const client = testClient({ allowPrivate: [server.host] });
    for (const method of ["GET", "POST", "DELETE", "PUT", "GET"]) await ask(client, server.at("/"), { method });
    expect(ports.size).toBe(1);
  });

  test("every address of a name is tried", async () => {
    const server = await httpServer((_request, response) => response.end("second"));
    const client = testClient({ allowPrivate: ["two.example"], names: { "two.example": ["127.0.0.2", "127.0.0.1"] } });
    expect(await ask(client, `http://two.example:${server.port}/`)).toEqual({ status: 200, text: "second" });
  });

  test("an answer without a body frees its connection even if it is not read", async () => {
    const ports = new Set<number | undefined>();
    const server = await httpServer((request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead(204).end();
    });
    const client = testClient({ allowPrivate: [server.host] });
    for (let count = 0; count < 3; count++) await client.request(toRequest(server.at("/"))).then(() => new Promise(setImmediate));
    expect(ports.size).toBe(1);
  });
});

describe("F06 header injection", () => {
  test.each([
    [
      "a line break",
      ["x-user", "a\r\nX-Admin: 1"],
      "The value of the header x-user has a line break or another control character, which a header cannot carry.",
    ],
    [
      "a lone line feed",
      ["x-user", "a\nb"],
      "The value of the header x-user has a line break or another control character, which a header cannot carry.",
    ],
    [
      "a NUL",
      ["x-user", "a\0b"],
      "The value of the header x-user has a line break or another control character, which a header cannot carry.",
    ],
    [
      "text that is not Latin-1",
      ["x-user", "日本"],
      "The value of the header x-user has characters outside of Latin-1, which a header cannot carry.",
    ],
    ["a value of 1 MB", ["x-user", "a".repeat(1_000_000)], "The value of the header x-user has 1000000 characters; 16384 is the limit."],
    [
      "a name that is no token",
      ["x user: 1\r\nx", "a"],
      'The header name "x user: 1\\r\\nx" has characters that a header name cannot have.',
    ],
    ["an empty name", ["", "a"], 'The header name "" has characters that a header name cannot have.'],
    ["Host", ["Host", "evil.example"], "The header Host is set by the client itself and cannot be overridden."],
    ["Content-Length", ["Content-Length", "1"], "The header Content-Length is set by the client itself and cannot be overridden."],
    [
      "Transfer-Encoding",
      ["transfer-encoding", "chunked"],
      "The header transfer-encoding is set by the client itself and cannot be overridden.",
    ],
    ["Connection", ["connection", "close"], "The header connection is set by the client itself and cannot be overridden."],
  ] as const)("F06 %s is refused before anything is sent", async (_what, header, message) => {
    let connections = 0;
    const server = await socketServer(() => connections++);
    const client = testClient({ allowPrivate: [server.host] });
    const failure = await failureOf(client.request(toRequest(server.at("/"), { headers: [header] })));
    expect({ code: failure.code, message: failure.message, outcome: failure.outcome, connections }).toEqual({
      code: "invalid_argument",
      message,
      outcome: "not_started",
      connections: 0,
    });
  });

  test.each(["CONNECT", "connect", "GET / HTTP/1.1\r\nx: y", "", "G ET"])("F06 the method %j is refused", async (method) => {
    const failure = await failureOf(testClient().request(toRequest("http://example.com/", { method })));
    expect(failure).toEqual(expect.objectContaining({ code: "invalid_argument", outcome: "not_started" }));
  });
});

describe("F17 URL schemes and sockets", () => {
  test.each([
    "file:///etc/passwd",
    "data:text/html,x",
    "gopher://127.0.0.1:6379/_INFO",
    "unix:/var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "ftp://127.0.0.1/",
    "ws://127.0.0.1/",
  ])("F17 %s is refused whatever is allowed", async (address) => {
    const client = testClient({ allowPrivate: ["0.0.0.0/0", "::/0", "127.0.0.1"] });
    expect(await failureOf(client.request(toRequest(address)))).toEqual({
      code: "permission_denied",
      message: `URLs with the scheme "${new URL(address).protocol}" are not supported; only http: and https: are.`,
      retryable: false,
      outcome: "not_started",
    });
  });

  test.each(["root:hunter2", "root", ":hunter2"])(
    "F17 a user name or password in the URL is refused and not repeated in the error: %s",
    async (user) => {
      const client = testClient();
      expect(await failureOf(client.request(toRequest(`http://${user}@example.com/`)))).toEqual({
        code: "permission_denied",
        message: "The URL of example.com contains a user name or password.",
        operatorHint: "Send credentials in a header.",
        retryable: false,
        outcome: "not_started",
      });
    },
  );
});

describe("F05 DNS rebinding", () => {
  test("F05 a connection uses the checked address without another DNS lookup", async () => {
    const server = await httpServer((_request, response) => response.end("checked"));
    const asked: string[] = [];
    const answers = [["127.0.0.1"], ["127.0.0.2"]];
    const resolve = (name: string): Promise<readonly string[]> => {
      asked.push(name);
      return Promise.resolve(answers.shift() ?? []);
    };
    const client = testClient({ allowPrivate: ["127.0.0.1/32"], resolve });
    const url = new URL(`http://rebind.example:${server.port}/`);
    expect([await ask(client, url), await ask(client, url), asked]).toEqual([
      { status: 200, text: "checked" },
      { status: 200, text: "checked" },
      ["rebind.example"],
    ]);
  });

  test("F05 a name that now resolves to a private address is refused at the next connection", async () => {
    const server = await httpServer((_request, response) => response.setHeader("connection", "close").end("first"));
    const answers = [["127.0.0.1"], ["127.0.0.2"]];
    const client = testClient({ allowPrivate: ["127.0.0.1/32"], resolve: () => Promise.resolve(answers.shift() ?? []) });
    const url = new URL(`http://rebind.example:${server.port}/`);
    expect(await ask(client, url)).toEqual({ status: 200, text: "first" });
    expect(await failureOf(client.request(toRequest(url)))).toEqual({
      code: "permission_denied",
      message: `Calls to rebind.example:${server.port} are not allowed: rebind.example resolves to 127.0.0.2, which is not public.`,
      operatorHint: `To allow this server, list "rebind.example:${server.port}" in allowPrivate.`,
      retryable: false,
      outcome: "not_started",
    });
  });
});

describe("failures", () => {
  test("a port without a listener fails with the outcome not_started", async () => {
    const { host, at } = await closedPort();
    const client = testClient({ allowPrivate: [host] });
    expect(await failureOf(client.request(toRequest(at("/?token=secret"), { method: "POST" })))).toEqual({
      code: "network_error",
      message: `No connection to ${host}: nothing accepts connections there (ECONNREFUSED).`,
      operatorHint: "Check that the server runs and listens on this port.",
      retryable: true,
      outcome: "not_started",
    });
  });

  test("a name without an address fails with the outcome not_started", async () => {
    const unknown = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
    const client = testClient({ resolve: () => Promise.reject(unknown) });
    expect(await failureOf(client.request(toRequest("http://nowhere.example/?token=secret")))).toEqual({
      code: "network_error",
      message: "No connection to nowhere.example:80: the name has no address (ENOTFOUND).",
      operatorHint: "Check the spelling of the host.",
      retryable: true,
      outcome: "not_started",
    });
    expect(await failureOf(testClient().request(toRequest("http://empty.example/")))).toEqual({
      code: "network_error",
      message: "The name empty.example has no address.",
      retryable: true,
      outcome: "not_started",
    });
  });

  test("a server that closes without an answer fails with the outcome unknown", async () => {
    const server = await socketServer((socket) => socket.once("data", () => socket.end()));
    const client = testClient({ allowPrivate: [server.host] });
    expect(await failureOf(client.request(toRequest(server.at("/?token=secret"))))).toEqual({
      code: "network_error",
      message: `The request to ${server.host} failed: the server closed the connection (ECONNRESET).`,
      retryable: true,
      outcome: "unknown",
    });
  });

  test("an attempt to connect ends after connectTimeoutMs", async () => {
    const clock = new FakeClock();
    const client = testClient({ clock, connectTimeoutMs: 5_000, resolve: () => new Promise(() => {}) });
    const failure = failureOf(client.request(toRequest("http://slow.example/")));
    await clock.advance(5_000);
    expect(await failure).toEqual({
      code: "network_error",
      message: "No connection to slow.example:80 within 5000 ms.",
      operatorHint: "Check that the server runs and can be reached from here.",
      retryable: true,
      outcome: "not_started",
    });
    expect(clock.pending).toBe(0);
  });

  test("connectTimeoutMs does not limit an established connection", async () => {
    const clock = new FakeClock();
    const server = await httpServer((_request, response) => void clock.advance(60_000).then(() => response.end("late")));
    const client = testClient({ clock, allowPrivate: [server.host] });
    expect([await ask(client, server.at("/")), clock.pending]).toEqual([{ status: 200, text: "late" }, 0]);
  });

  test("aborting before, during the DNS lookup, or while waiting ends as cancelled, with the known outcome", async () => {
    const stop = new AbortController();
    const server = await httpServer(() => stop.abort());
    const client = testClient({ allowPrivate: [server.host], resolve: () => new Promise(() => {}) });
    const during = new AbortController();
    const resolving = failureOf(client.request(toRequest("http://slow.example/", { signal: during.signal })));
    during.abort();
    const failures = [
      await failureOf(client.request(toRequest(server.at("/"), { signal: AbortSignal.abort() }))),
      await resolving,
      await failureOf(client.request(toRequest(server.at("/"), { signal: stop.signal }))),
    ];
    expect(failures.map(({ code, outcome, message }) => [code, outcome, message])).toEqual([
      ["cancelled", "not_started", `The request to ${server.host} was cancelled.`],
      ["cancelled", "not_started", "The request to slow.example:80 was cancelled."],
      ["cancelled", "unknown", `The request to ${server.host} was cancelled.`],
    ]);
  });

  test("a closed client refuses requests, and may be closed again", async () => {
    const client = testClient({ allowPrivate: ["127.0.0.1"] });
    client.close();
    client.close();
    expect(await failureOf(client.request(toRequest("http://127.0.0.1:9/")))).toEqual({
      code: "unavailable",
      message: "127.0.0.1:9 was not called: the client was closed.",
      retryable: false,
      outcome: "not_started",
    });
  });

  test("closing a client ends requests in progress", async () => {
    const server = await httpServer(() => client.close());
    const client = testClient({ allowPrivate: [server.host] });
    expect(await failureOf(client.request(toRequest(server.at("/"))))).toEqual({
      code: "unavailable",
      message: `The request to ${server.host} was aborted: the client was closed.`,
      retryable: false,
      outcome: "unknown",
    });
  });

  test("a closed client does not reconnect for a request in progress on a kept-alive connection", async () => {
    let requests = 0;
    const server = await httpServer((_request, response) => {
      if (++requests === 2) client.close();
      else response.end();
    });
    const client = testClient({ allowPrivate: [server.host] });
    await ask(client, server.at("/"));
    const { code, outcome } = await failureOf(client.request(toRequest(server.at("/"))));
    expect([code, outcome, requests]).toEqual(["unavailable", "unknown", 2]);
  });

  test.each([
    { maxBytes: 0 },
    { maxRedirects: -1 },
    { connectTimeoutMs: Number.NaN },
    { ca: "no certificate" },
    { ca: "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----" },
  ])("the invalid options %j are rejected at once", (options) => {
    expect(() => testClient(options)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });
});

describe("a kept-alive connection that the server has closed", () => {
  /** Answers every request but the second of the first connection: that one it ends, saying `lastWords`. */
  async function forgetfulServer(lastWords: string) {
    const seen: string[] = [];
    let connections = 0;
    const server = await socketServer((socket) => {
      const isFirst = connections++ === 0;
      let requests = 0;
      socket.on("data", (bytes) => {
        seen.push(String(bytes).split(" ", 1)[0] ?? "");
        if (isFirst && requests++ > 0) socket.end(lastWords);
        else socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      });
    });
    return { ...server, seen };
  }

  test.each(["GET", "HEAD"])("%s is sent once more on a new connection", async (method) => {
    const server = await forgetfulServer("");
    const client = testClient({ allowPrivate: [server.host] });
    await ask(client, server.at("/"));
    const { status } = await ask(client, server.at("/"), { method });
    expect([status, server.seen]).toEqual([200, ["GET", method, method]]);
  });

  test.each(["POST", "PUT", "DELETE"])("%s is not sent again, and its outcome is unknown", async (method) => {
    const server = await forgetfulServer("");
    const client = testClient({ allowPrivate: [server.host] });
    await ask(client, server.at("/"));
    const { code, outcome } = await failureOf(client.request(toRequest(server.at("/"), { method })));
    expect([code, outcome, server.seen]).toEqual(["network_error", "unknown", ["GET", method]]);
  });

  test("a request is not sent again once its answer has begun", async () => {
    const server = await forgetfulServer("HTTP/1.1 2");
    const client = testClient({ allowPrivate: [server.host] });
    await ask(client, server.at("/"));
    const { code, outcome } = await failureOf(client.request(toRequest(server.at("/"))));
    expect([code, outcome, server.seen]).toEqual(["network_error", "unknown", ["GET", "GET"]]);
  });
});

test("F15 data that a server sends on an idle connection is not taken as the next answer", async () => {
  let said: () => void = () => {};
  const server = await socketServer((socket) => {
    socket.on("data", (bytes) => {
      const path = String(bytes).split(" ", 2)[1];
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${path}`);
      if (path === "/1") said = () => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
    });
  });
  const client = testClient({ allowPrivate: [server.host] });
  const first = await ask(client, server.at("/1"));
  said();
  // a second connection's answer comes after what was written before it
  const other = testClient({ allowPrivate: [server.host] });
  await ask(other, server.at("/2"));
  expect([first.text, (await ask(client, server.at("/3"))).text]).toEqual(["/1", "/3"]);
});

test("F15 an unrequested protocol switch is an error", async () => {
  const server = await rawAnswer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
  const client = testClient({ allowPrivate: [server.host] });
  const { code, outcome } = await failureOf(client.request(toRequest(server.at("/"))));
  expect([code, outcome]).toEqual(["network_error", "unknown"]);
});

/** A port that was free a moment ago. */
async function closedPort(): Promise<{ readonly host: string; at(path: string): URL }> {
  const { createServer } = await import("node:net");
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  server.close();
  await once(server, "close");
  return { host: `127.0.0.1:${port}`, at: (path) => new URL(path, `http://127.0.0.1:${port}`) };
}
