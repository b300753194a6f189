import { getEventListeners } from "node:events";
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import type { HttpHeader } from "../../src/net/http-request.ts";
import { ask, failureOf, ownHeaders, testClient, toRequest } from "./ask.ts";
import { type LoopbackServer, httpServer } from "./loopback-server.ts";

interface Seen {
  readonly line: string;
  readonly headers: readonly HttpHeader[];
  readonly body: string;
}

async function look(request: IncomingMessage): Promise<Seen> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return { line: `${request.method} ${request.url}`, headers: ownHeaders(request.rawHeaders), body };
}

/** Answers with what it saw. */
function mirror(): Promise<LoopbackServer> {
  return httpServer((request, response) => void look(request).then((seen) => response.end(JSON.stringify(seen))));
}

/** Sends every request on to `location`. */
function sendsTo(location: string, status = 302): Promise<LoopbackServer> {
  return httpServer((_request, response) => response.writeHead(status, { location }).end("moved"));
}

describe("F03 redirects to private addresses", () => {
  test.each([
    [
      "http://169.254.169.254/latest/meta-data/?token=secret",
      "After a redirect: Calls to 169.254.169.254:80 are not allowed: 169.254.169.254 is not a public address.",
    ],
    [
      "http://[::ffff:a9fe:a9fe]/",
      "After a redirect: Calls to 169.254.169.254:80 are not allowed: 169.254.169.254 is not a public address.",
    ],
    ["//2130706433/", "After a redirect: Calls to 127.0.0.1:80 are not allowed: 127.0.0.1 is not a public address."],
    [
      "http://inside.example/",
      "After a redirect: Calls to inside.example:80 are not allowed: inside.example resolves to 10.0.0.7, which is not public.",
    ],
    ["file:///etc/passwd", 'After a redirect: URLs with the scheme "file:" are not supported; only http: and https: are.'],
    ["data:text/plain,x", 'After a redirect: URLs with the scheme "data:" are not supported; only http: and https: are.'],
    ["http://user:hunter2@example.com/", "After a redirect: The URL of example.com contains a user name or password."],
  ])("F03 %s is not followed", async (location, message) => {
    const server = await sendsTo(location);
    const client = testClient({ allowPrivate: [server.host], names: { "inside.example": ["10.0.0.7"] } });
    const failure = await failureOf(client.request(toRequest(server.at("/"))));
    expect([failure.code, failure.message, failure.outcome, failure.retryable]).toEqual(["permission_denied", message, "unknown", false]);
  });

  test("F03 an intermediate hop is checked like the last", async () => {
    const last = await sendsTo("http://10.0.0.1/");
    const middle = await sendsTo(last.at("/").href);
    const first = await sendsTo(middle.at("/").href);
    const client = testClient({ allowPrivate: [first.host, last.host] });
    const failure = await failureOf(client.request(toRequest(first.at("/"))));
    expect([failure.code, failure.operatorHint]).toEqual([
      "permission_denied",
      `To allow this server, list "${middle.host}" in allowPrivate.`,
    ]);
  });

  test.each([0, 1, 5])("F03 no more than %i redirects are followed", async (maxRedirects) => {
    let requests = 0;
    const server = await httpServer((_request, response) => {
      requests++;
      response.writeHead(302, { location: "/again?token=secret" }).end();
    });
    const client = testClient({ allowPrivate: [server.host], maxRedirects });
    const failure = await failureOf(client.request(toRequest(server.at("/"))));
    expect([failure, requests]).toEqual([
      {
        code: "network_error",
        message: `${server.host} redirects more than ${maxRedirects} ${maxRedirects === 1 ? "time" : "times"}.`,
        retryable: false,
        outcome: "unknown",
      },
      maxRedirects + 1,
    ]);
  });

  test("F03 a location that is not a URL is an error", async () => {
    const server = await sendsTo("http://[");
    const client = testClient({ allowPrivate: [server.host] });
    const failure = await failureOf(client.request(toRequest(server.at("/"))));
    expect([failure.code, failure.message, failure.retryable]).toEqual([
      "network_error",
      `${server.host} redirects to something that is not a URL.`,
      false,
    ]);
  });

  test("F03 F08 the answer of a refused redirect is discarded, and its connection closed", async () => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const server = await httpServer((_request, response) => {
      response.writeHead(302, { location: "http://[" }).on("close", closed).write("endless");
    });
    const controller = new AbortController();
    const client = testClient({ allowPrivate: [server.host] });
    const failure = await failureOf(client.request(toRequest(server.at("/"), { signal: controller.signal })));
    await isClosed;
    expect([failure.code, getEventListeners(controller.signal, "abort")]).toEqual(["network_error", []]);
  });
});

describe("F04 credentials in redirects", () => {
  const headers: readonly HttpHeader[] = [
    ["Authorization", "Bearer secret"],
    ["Cookie", "session=secret"],
    ["Proxy-Authorization", "Basic secret"],
    ["X-Api-Key", "secret"],
    ["X-Custom-Auth", "secret"],
    ["X-Plain", "open"],
  ];
  const secretHeaders = ["x-api-key", "x-custom-auth"];

  test("F04 within the same origin everything is forwarded", async () => {
    const server = await httpServer((request, response) => {
      if (request.url === "/start") response.writeHead(302, { location: "/end?key=1" }).end();
      else void look(request).then((seen) => response.end(JSON.stringify(seen)));
    });
    const client = testClient({ allowPrivate: [server.host] });
    const { text } = await ask(client, server.at("/start"), { headers, secretHeaders, secretQuery: ["key"] });
    expect(JSON.parse(text)).toEqual({ line: "GET /end?key=1", headers, body: "" });
  });

  test("F04 to another origin, even only another port, no secret header or query parameter is forwarded", async () => {
    const target = await mirror();
    const server = await sendsTo(target.at("/end?a=1&api%5Fkey=secret&b=%2F&api_key=secret2").href);
    const client = testClient({ allowPrivate: [server.host, target.host] });
    const answer = await client.request(toRequest(server.at("/?api_key=secret"), { headers, secretHeaders, secretQuery: ["api_key"] }));
    expect(JSON.parse(Buffer.from(await answer.bytes()).toString())).toEqual({
      line: "GET /end?a=1&b=%2F",
      headers: [["X-Plain", "open"]],
      body: "",
    });
    expect(answer.url.href).toBe(target.at("/end?a=1&b=%2F").href);
  });

  test("F04 dropped secrets do not return when a later redirect leads back to the first origin", async () => {
    const home = await httpServer((request, response) => {
      if (request.url === "/start") response.writeHead(302, { location: away.at("/").href }).end();
      else void look(request).then((seen) => response.end(JSON.stringify(seen)));
    });
    const away = await sendsTo(home.at("/end").href);
    const client = testClient({ allowPrivate: [home.host, away.host] });
    const { text } = await ask(client, home.at("/start"), { headers, secretHeaders });
    expect(JSON.parse(text)).toEqual({ line: "GET /end", headers: [["X-Plain", "open"]], body: "" });
  });

  test("F04 a query without secrets is forwarded unchanged", async () => {
    const target = await mirror();
    const server = await sendsTo(target.at("/end?a=%20+b&c").href);
    const client = testClient({ allowPrivate: [server.host, target.host] });
    const { text } = await ask(client, server.at("/"), { secretQuery: ["api_key"] });
    expect(JSON.parse(text)).toEqual({ line: "GET /end?a=%20+b&c", headers: [], body: "" });
  });
});

describe("the request after a redirect", () => {
  const body = Buffer.from('{"a":1}');
  const headers: readonly HttpHeader[] = [
    ["content-type", "application/json"],
    ["x-plain", "open"],
  ];
  const asGet = { line: "GET /end", headers: [["x-plain", "open"]], body: "" };

  test.each([
    [301, "POST", asGet],
    [302, "POST", asGet],
    [303, "POST", asGet],
    [303, "PUT", asGet],
    [301, "PUT", "again"],
    [302, "DELETE", "again"],
    [307, "POST", "again"],
    [308, "PATCH", "again"],
  ] as const)("follows the Fetch standard for %i after %s", async (status, method, expected) => {
    const target = await mirror();
    const server = await sendsTo(target.at("/end").href, status);
    const client = testClient({ allowPrivate: [server.host, target.host] });
    const { text } = await ask(client, server.at("/"), { method, headers, body });
    const again = { line: `${method} /end`, headers: [...headers, ["content-length", "7"]], body: '{"a":1}' };
    expect(JSON.parse(text)).toEqual(expected === "again" ? again : expected);
  });

  test.each([301, 302, 303, 307, 308])("is HEAD again after a %i answer to HEAD", async (status) => {
    const methods: (string | undefined)[] = [];
    const target = await httpServer((request, response) => (methods.push(request.method), response.end()));
    const server = await sendsTo(target.at("/end").href, status);
    await ask(testClient({ allowPrivate: [server.host, target.host] }), server.at("/"), { method: "HEAD" });
    expect(methods).toEqual(["HEAD"]);
  });

  test.each([300, 304, 305, 306])("is not made for %i, which is returned as the answer", async (status) => {
    const server = await sendsTo("http://10.0.0.1/", status);
    const client = testClient({ allowPrivate: [server.host] });
    expect((await ask(client, server.at("/"))).status).toBe(status);
  });

  test("is not made for a 302 without a location, which is returned as the answer", async () => {
    const server = await httpServer((_request, response) => response.writeHead(302).end("where?"));
    const client = testClient({ allowPrivate: [server.host] });
    expect(await ask(client, server.at("/"))).toEqual({ status: 302, text: "where?" });
  });

  test("is not made with keepRedirect, which returns the redirect as the answer", async () => {
    const server = await sendsTo("http://10.0.0.1/");
    const client = testClient({ allowPrivate: [server.host] });
    const answer = await client.request(toRequest(server.at("/"), { keepRedirect: true }));
    expect([answer.status, answer.headers.get("location"), Buffer.from(await answer.bytes()).toString()]).toEqual([
      302,
      ["http://10.0.0.1/"],
      "moved",
    ]);
  });

  test("decodes a location in UTF-8", async () => {
    const server = await httpServer((request, response) => {
      if (request.url !== "/") response.end(request.url);
      else response.writeHead(302, { location: Buffer.from("/größe").toString("latin1") }).end();
    });
    const client = testClient({ allowPrivate: [server.host] });
    expect(await ask(client, server.at("/"))).toEqual({ status: 200, text: "/gr%C3%B6%C3%9Fe" });
  });
});
