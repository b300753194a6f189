import { describe, expect, test, vi } from "vitest";
import { inCI } from "../../ci.ts";
import { testInCI } from "../../test-in-ci.ts";
import { ToolOutput } from "../../../src/core/content.ts";
import { ToolError } from "../../../src/core/error.ts";
import { mcpEngine } from "../../../src/engine/mcp.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { engineContext, request, requestOf, toolContext } from "../engine-contexts.ts";
import { rejection } from "../mcp-engine.ts";
import { event, legacy, loopbackMcp, modern, openHttp, reply, text, toolList, type Answers } from "./loopback-mcp.ts";

/** Of the older era, without sessions. */
const stateless = (): Answers => ({
  ...legacy(),
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "loopback", version: "1" } }),
});

const okay = new ToolOutput({ content: [{ type: "text", text: "okay" }] });

describe("credentials", () => {
  const guarded = (expected: string): Answers => ({
    ...modern(),
    "server/discover": (asked) => {
      if (asked.headers.authorization === expected) return modern()["server/discover"]?.(asked);
      asked.response.writeHead(401).end();
      return undefined;
    },
  });

  test.each([
    ["a bearer token", { auth: { type: "bearer", token: "tell-nobody" } }, "Bearer tell-nobody"],
    ["basic authentication", { auth: { type: "basic", username: "ann", password: "tell-nobody" } }, "Basic YW5uOnRlbGwtbm9ib2R5"],
    ["a header", { headers: { Authorization: "Key tell-nobody" } }, "Key tell-nobody"],
  ] as const)(
    "F0.18 %s is sent, and wrong credentials fail with a clear error that does not repeat them",
    async (_what, options, expected) => {
      const right = await loopbackMcp(guarded(expected));
      const wrong = await loopbackMcp(guarded("another"));

      const { tools } = await openHttp({ url: right.url, ...options });

      expect(tools.map((tool) => tool.name)).toEqual(["echo"]);
      expect(await rejection(openHttp({ url: wrong.url, ...options }))).toEqual({
        code: "unavailable",
        message: 'MCP server "far" could not be opened: it refused the credentials (HTTP 401).',
        operatorHint: "Check the token or password in `auth` or `headers` of this server; it may have expired.",
        retryable: false,
        outcome: "not_started",
      });
    },
  );

  test("a user name and password in the URL are sent as basic authentication and never shown", async () => {
    const { url } = await loopbackMcp(guarded("Basic YW5uOnRlbGwtbm9ib2R5"));

    const { tools } = await openHttp({ url: `${url.replace("//", "//ann:tell-nobody@")}?key=also-secret` });

    expect(tools[0]?.metadata).toEqual({ server: { transport: "http", url, protocolVersion: expect.any(String) }, annotations: {} });
  });

  test("a server that requires credentials but has none configured fails with a hint on how to configure them", async () => {
    const { url } = await loopbackMcp(guarded("Bearer x"));

    expect(await rejection(openHttp({ url }))).toMatchObject({
      message: 'MCP server "far" could not be opened: it requires credentials (HTTP 401).',
      operatorHint: 'Give this server `auth`, such as { type: "bearer", token } or { type: "user-login" }, or `headers`.',
    });
  });
});

describe("lost connections", () => {
  test("F4.27 an answer that breaks off is a network error with outcome unknown, and the call is not sent again", async () => {
    const { url, asked } = await loopbackMcp({ ...modern(), "tools/call": ({ response }) => void response.destroy() });
    const { engine } = await openHttp({ url });

    const error = await rejection(engine.call(request("echo"), toolContext()));

    expect(error).toMatchObject({
      code: "network_error",
      outcome: "unknown",
      retryable: true,
      message: expect.stringContaining('MCP server "far"'),
    });
    expect(asked.filter(({ method }) => method === "tools/call")).toHaveLength(1);
  });

  test("F4.27 a stream that ends without an answer ends the call at once", async () => {
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/call": ({ response }) => {
        event(response, { method: "notifications/message", params: { level: "info", data: "soon" } });
        response.end();
        return undefined;
      },
    });
    const { engine } = await openHttp({ url });

    expect(await rejection(engine.call(request("echo"), toolContext()))).toEqual({
      code: "network_error",
      message: 'The connection to MCP server "far" was lost during the call: its answer broke off.',
      retryable: true,
      outcome: "unknown",
    });
  });

  test("when the server has lost the session, a new session is started and the rejected call is sent once more", async () => {
    let forgotten = false;
    const { url, asked } = await loopbackMcp({
      ...legacy(),
      "tools/call": ({ response }) => {
        if (forgotten) return text("okay");
        forgotten = true;
        response.writeHead(404).end();
        return undefined;
      },
    });
    const { engine, warnings, changes } = await openHttp({ url, protocol: "legacy" });

    expect(await engine.call(request("echo"), toolContext())).toEqual(okay);
    expect(asked.filter(({ method }) => method === "initialize")).toHaveLength(2);
    expect(warnings()).toEqual(['MCP server "far" is reconnected (1 of 3): its session is over.']);
    expect(changes()).toBe(1);
  });

  test("a server with short sessions is reconnected without limit, because a session that answered a call does not count as a crash", async () => {
    let sessions = 0;
    let used = false;
    const { url } = await loopbackMcp({
      ...legacy(),
      initialize: ({ response }) => {
        used = false;
        response.setHeader("mcp-session-id", `session-${++sessions}`);
        return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "brief", version: "1" } };
      },
      "tools/call": ({ response, params }) => {
        if (used) return void response.writeHead(404).end();
        used = true;
        return { ...text("okay"), ...(params["name"] === "fail" ? { isError: true } : {}) };
      },
    });
    const { engine } = await openHttp({ url, protocol: "legacy" });

    for (let call = 0; call < 12; call++) {
      const name = call % 2 === 0 ? "echo" : "fail";
      const answer = await rejection(engine.call(request(name), toolContext()));
      expect(answer).toEqual(name === "echo" ? "it did not reject" : expect.objectContaining({ code: "execution_failed" }));
    }
    expect(sessions).toBe(12);
  });

  test("a server that ends each session before it answers a call is given up after three reconnects", async () => {
    const clock = new FakeClock();
    const { url, asked } = await loopbackMcp({ ...legacy(), "tools/call": ({ response }) => void response.writeHead(404).end() });
    const { engine } = await openHttp({ url, protocol: "legacy" }, { clock });
    const answers: unknown[] = [];
    for (let call = 0; call < 4; call++) {
      const answer = rejection(engine.call(request("echo"), toolContext()));
      let over = false;
      void answer.then(() => void (over = true));
      await vi.waitFor(async () => {
        if (!over) await clock.advance(100);
        expect(over).toBe(true);
      });
      answers.push(await answer);
    }
    expect(answers.at(-1)).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("ended again after 3 restarts"),
      operatorHint: "Find out why it ends. It is reconnected without a call, after pauses of at most a minute.",
    });
    expect(asked.filter(({ method }) => method === "initialize")).toHaveLength(4);
  });

  test("a server that answers HTTP 429 is reported as rate_limited with its Retry-After", async () => {
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/call": ({ response }) => void response.writeHead(429, { "retry-after": "7" }).end(),
    });
    const { engine } = await openHttp({ url });

    expect(await rejection(engine.call(request("echo"), toolContext()))).toEqual({
      code: "rate_limited",
      message: 'MCP server "far": it asked to slow down (HTTP 429)',
      retryable: true,
      outcome: "not_started",
      retryAfterMs: 7_000,
    });
  });

  test("an unreachable server is reported as unavailable, with its address", async () => {
    expect(await rejection(openHttp({ url: "http://127.0.0.1:9/mcp" }))).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/^MCP server "far" could not be opened: .*127\.0\.0\.1:9/u),
    });
  });
});

test.each(["modern", "legacy"] as const)("at most 32 streams that a server leaves open after its answers are kept (%s)", async (era) => {
  let open = 0;
  const { url } = await loopbackMcp({
    ...(era === "modern" ? modern() : legacy()),
    "tools/call": ({ response, id }) => {
      open++;
      response.once("close", () => open--);
      event(response, { id: id as number, result: text("okay") });
      return undefined;
    },
  });
  const { engine } = await openHttp({ url, protocol: era });
  for (let count = 0; count < 40; count++) expect(await engine.call(request("echo"), toolContext())).toEqual(okay);
  await vi.waitFor(() => expect(open).toBe(32));
});

const EVENTS = inCI ? 100_000 : 5_000;

describe("malformed or unexpected answers", () => {
  const calling = async (answer: NonNullable<Answers[string]>, signal = new AbortController().signal): Promise<unknown> => {
    const { url } = await loopbackMcp({ ...modern(), "tools/call": answer });
    const { engine } = await openHttp({ url });
    return await rejection(engine.call(request("echo"), toolContext({ signal })));
  };

  test("D18 an answer with a wrong content type is rejected", async () => {
    const error = await calling(({ response }) => void response.writeHead(200, { "content-type": "text/html" }).end("<p>hello"));

    expect(error).toMatchObject({ code: "invalid_output", message: expect.stringContaining("text/html") });
  });

  testInCI("D18 an endless event is cut off", async () => {
    const error = await calling(({ response }) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: ");
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(1024 * 1024)));
        response.once("drain", more);
      };
      more();
      return undefined;
    });

    expect(error).toMatchObject({
      code: "network_error",
      outcome: "unknown",
      message: expect.stringContaining("larger than 33554432 bytes"),
    });
  });

  test(`D18 ${EVENTS} events before the answer are read and discarded`, async () => {
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/call": ({ response, id }) => {
        const noise = `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/noise", params: {} })}\n\n`.repeat(1000);
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (let count = 0; count < EVENTS / 1_000; count++) response.write(noise);
        event(response, { id: id as string, result: text("okay") });
        return void response.end();
      },
    });
    const { engine } = await openHttp({ url });

    expect(await engine.call(request("echo"), toolContext())).toEqual(okay);
  });

  test("D08 an endless trickle of bytes does not outlive the call's deadline, and progress does not extend it", async () => {
    const controller = new AbortController();

    const error = await calling(({ response, id }) => {
      event(response, { method: "notifications/progress", params: { progressToken: id as number, progress: 1 } });
      response.write("d");
      setImmediate(() => controller.abort(new Error("time is up")));
      return undefined;
    }, controller.signal);

    expect(error).toMatchObject({ code: "cancelled", outcome: "unknown" });
  });

  test("D07 answers with an unknown id, a duplicate answer or a string id are dropped; the correct answer arrives", async () => {
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/call": ({ response, id }) => {
        event(response, { id: 9_999, result: text("to nobody") });
        event(response, { id: String(id), result: text("to a string") });
        event(response, { id: id as number, result: text("okay") });
        event(response, { id: id as number, result: text("again") });
        return void response.end();
      },
    });
    const { engine } = await openHttp({ url });

    expect(await engine.call(request("echo"), toolContext())).toEqual(okay);
  });

  const result = text("okay");
  test.each([
    ["another id", { id: 999, result }, "a message with the id 999 in place of"],
    ["its id as a string", { id: "ID", result }, 'a message with the id "'],
    ["no id", { result }, "a message without an id"],
    ["null for an id", { id: null, result }, "a message without an id"],
    ["a notification", { method: "notifications/x" }, "a message without an id"],
    ["a request with its id", { id: 0, method: "ping" }, "a message with the id"],
    ["neither result nor error", { id: 0 }, "a message that has neither a result nor an error"],
    [
      "result and error",
      { padding: "x".repeat(2_000), id: 0, result, error: { code: 1, message: "no" } },
      "a message that has both a result and an error",
    ],
    ["nothing", [], "no message"],
    ["a string", "okay", "no message"],
  ])("a JSON answer with %s ends the call at once, in either era", async (_what, said, problem) => {
    const answer: NonNullable<Answers[string]> = ({ response, id }) => {
      const body = JSON.stringify(
        said === null || typeof said !== "object" ? said : Array.isArray(said) ? said : { jsonrpc: "2.0", ...said },
      );
      response.writeHead(200, { "content-type": "application/json" });
      response.end(body.replace('"id":0', `"id":${String(id)}`).replace('"ID"', `"${String(id)}"`));
      return undefined;
    };
    const servers = await Promise.all([modern(), legacy()].map((own) => loopbackMcp({ ...own, "tools/call": answer })));
    const opened = await Promise.all([
      openHttp({ url: servers[0]?.url ?? "" }),
      openHttp({ url: servers[1]?.url ?? "", protocol: "legacy" }),
    ]);
    for (const { engine } of opened) {
      expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({
        code: "invalid_output",
        outcome: "unknown",
        message: expect.stringContaining(`MCP server "far": it answered tools/call with ${problem}`),
      });
    }
  });

  test.each([
    [200, {}, "execution_failed", "unknown"],
    [400, {}, "execution_failed", "failed"],
    [400, { id: null }, "execution_failed", "failed"],
    [400, { id: null, error: { code: -32_602, message: "it is closed" } }, "invalid_input", "failed"],
    [404, {}, "execution_failed", "failed"],
    [422, { id: 0 }, "execution_failed", "failed"],
    [403, {}, "permission_denied", "not_started"],
    [500, {}, "network_error", "unknown"],
  ])(
    "an error without a request id, sent with HTTP %d (%j), is reported with the server's message",
    async (status, more, code, outcome) => {
      const answer: NonNullable<Answers[string]> = ({ response, id }) => {
        reply(
          response,
          { error: { code: -32_042_0, message: "it is closed" }, ...more, ...("id" in more && more.id === 0 ? { id: id as number } : {}) },
          status,
        );
        return undefined;
      };
      const servers = await Promise.all([modern(), stateless()].map((own) => loopbackMcp({ ...own, "tools/call": answer })));
      const opened = await Promise.all([
        openHttp({ url: servers[0]?.url ?? "" }),
        openHttp({ url: servers[1]?.url ?? "", protocol: "legacy" }),
      ]);
      for (const { engine } of opened)
        expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({
          code,
          outcome,
          message: expect.stringContaining("it is closed"),
        });
    },
  );

  test("the error of a server that refuses to open is reported, not the later error of the older transport", async () => {
    const refuse: NonNullable<Answers[string]> = ({ response }) => {
      reply(response, { id: null, error: { code: -32_000, message: "closed on Sundays" } }, 400);
      return undefined;
    };
    const { url } = await loopbackMcp({ "server/discover": refuse, initialize: refuse });
    expect(await rejection(openHttp({ url }))).toMatchObject({ message: 'MCP server "far" could not be opened: closed on Sundays.' });
  });

  test("a server that answers server/discover with an error without an id is opened with the older protocol", async () => {
    const { url } = await loopbackMcp({
      ...legacy(),
      "server/discover": ({ response }) => {
        reply(response, { id: null, error: { code: -32_601, message: "unknown" } });
        return undefined;
      },
    });
    expect((await openHttp({ url })).tools).toHaveLength(1);
  });

  test("A12 an answer nested a hundred thousand levels deep ends only its own call", async () => {
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/call": ({ response, id, params }) => {
        if (params["name"] === "fine") return text("okay");
        const deep = `{"type":"abyss","to":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
        response.writeHead(200, { "content-type": "application/json" });
        response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":{"resultType":"complete","content":[${deep}]}}`);
        return undefined;
      },
    });
    const { engine } = await openHttp({ url });

    // Until Node 24 such JSON could not be read; a part of an unknown type is passed on as text.
    const ended = await Promise.resolve(engine.call(request("deep"), toolContext())).catch((thrown: unknown) => thrown);
    if (ended instanceof ToolError) expect(ended.code).toBe("invalid_output");
    else expect(ended).toMatchObject({ content: [{ type: "text", text: expect.stringContaining('"type":"abyss"') }] });
    expect(await engine.call(request("fine"), toolContext())).toEqual(okay);
  });

  test("D08 opening a server that never answers its first request fails when opening is aborted", async () => {
    const controller = new AbortController();
    const { url } = await loopbackMcp({
      "server/discover": () => {
        controller.abort();
        return undefined;
      },
    });

    expect(await rejection(openHttp({ url }, { signal: controller.signal }))).toMatchObject({
      code: "unavailable",
      message: 'MCP server "far" could not be opened: it did not answer in time.',
    });
  });

  test("a result of an unknown resultType is rejected", async () => {
    expect(await calling(() => ({ ...text("okay"), resultType: "novel" }))).toMatchObject({
      code: "invalid_output",
      message: 'MCP server "far": it answered tools/call with a result of the unknown type "novel"',
    });
  });

  test("D18 F04 a redirect to another origin is not followed", async () => {
    const inside = await loopbackMcp(modern());
    const { url } = await loopbackMcp({
      "server/discover": ({ response }) => void response.writeHead(307, { location: inside.url }).end(),
    });

    expect(await rejection(openHttp({ url, transport: "http" }))).toMatchObject({ code: "unavailable" });
    expect(inside.asked).toEqual([]);
  });

  test("F01 an internal host name is rejected", async () => {
    expect(await rejection(openHttp({ url: "http://metadata.google.internal/mcp" }))).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("not a public name"),
    });
  });
});

describe("arguments sent as headers (x-mcp-header)", () => {
  const schema = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };

  test("D19 a tool with an illegal header name is left out with a warning; the other tools are offered", async () => {
    const bad = { type: "object", properties: { region: { type: "string", "x-mcp-header": "X\r\nEvil: 1" } } };
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/list": () => ({
        ...toolList([]),
        tools: [
          { name: "bad", inputSchema: bad },
          { name: "good", inputSchema: schema },
        ],
      }),
    });

    const { tools, warnings } = await openHttp({ url });

    expect(tools.map((tool) => tool.name)).toEqual(["good"]);
    expect(warnings()).toEqual([
      'MCP server "far" lists "bad" with an illegal header: "region": x-mcp-header "X\\r\\nEvil: 1" is not a name for a header. It is left out.',
    ]);
  });

  test("D19 arguments are repeated in headers as the input schema says", async () => {
    const { url, asked } = await loopbackMcp({ ...modern(), "tools/call": () => text("okay") });
    const { engine } = await openHttp({ url });

    await engine.call(requestOf({ name: "good", description: "", inputSchema: schema }, { region: "Zürich" }), toolContext());

    expect(asked.at(-1)?.headers).toMatchObject({
      "mcp-name": "good",
      "mcp-method": "tools/call",
      "mcp-param-region": "=?base64?WsO8cmljaA==?=",
    });
  });

  test("D19 a call rejected for mismatched headers has outcome not_started, and the tools are listed again", async () => {
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/call": ({ response, id }) => {
        reply(response, { id: id as number, error: { code: -32020, message: "header mismatch" } }, 400);
        return undefined;
      },
    });
    const { engine, changes } = await openHttp({ url });

    expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({
      code: "unavailable",
      retryable: true,
      outcome: "not_started",
    });
    expect(changes()).toBe(1);
  });
});

describe("changed tool lists", () => {
  test("F0.18 list_changed on the subscription stream is passed on, and the tools are listed again", async () => {
    let names = ["one"];
    const { url } = await loopbackMcp({
      ...modern({ tools: { listChanged: true } }),
      "tools/list": () => toolList(names),
      "subscriptions/listen": ({ response, id }) => {
        const meta = { "io.modelcontextprotocol/subscriptionId": id as string };
        event(response, {
          method: "notifications/subscriptions/acknowledged",
          params: { _meta: meta, notifications: { toolsListChanged: true } },
        });
        names = ["one", "two"];
        event(response, { method: "notifications/tools/list_changed", params: { _meta: meta } });
        return undefined;
      },
    });

    const { engine, changes } = await openHttp({ url });
    await vi.waitFor(() => expect(changes()).toBe(1));

    expect((await engine.list?.(new AbortController().signal))?.map((tool) => tool.name)).toEqual(["one", "two"]);
  });

  test.each([
    [1, 60_000],
    [1e18, 86_400_000],
  ])("D20 a list with a ttlMs of %d is listed again after %d ms", async (ttlMs, expected) => {
    const clock = new FakeClock();
    const { url } = await loopbackMcp({ ...modern(), "tools/list": () => toolList(["one"], { ttlMs, cacheScope: "public" }) });
    const { changes } = await openHttp({ url }, { clock });

    await clock.advance(expected - 1);
    const before = changes();
    await clock.advance(1);

    expect([before, changes()]).toEqual([0, 1]);
  });

  test.each([-1, 0])("D20 a list with a ttlMs of %d is not listed again", async (ttlMs) => {
    const clock = new FakeClock();
    const { url } = await loopbackMcp({ ...modern(), "tools/list": () => toolList(["one"], { ttlMs }) });
    const { changes } = await openHttp({ url }, { clock });

    await clock.advance(100_000_000);

    expect(changes()).toBe(0);
  });
});

describe("options", () => {
  test.each([
    [{ url: "ftp://example.com" }, "The url of an MCP server must begin with http:// or https://."],
    [{ url: "http://example.com", headers: { "Mcp-Session-Id": "x" } }, 'The header "Mcp-Session-Id" belongs to the protocol.'],
    [{ url: "http://example.com", headers: { "X-A": "a\r\nb" } }, "The header X-A must be printable text."],
    [{ url: "http://example.com", auth: { type: "bearer", token: "" } }, "The bearer credentials must be printable ASCII and not empty."],
    [{ url: "http://example.com", roots: [{ uri: "http://x" }] }, "Each of the roots of an MCP server needs a uri that begins with file:"],
  ] as const)("%j is rejected before anything starts", (options, message) => {
    expect(() => mcpEngine(options)).toThrow(new ToolError("invalid_argument", message));
  });

  test("F4.35 close ends the session, may be called twice, and the engine can be opened again", async () => {
    const ended: unknown[] = [];
    const { url, asked } = await loopbackMcp({
      ...legacy(),
      DELETE: ({ headers, response }) => {
        ended.push(headers["mcp-session-id"]);
        response.writeHead(204).end();
        return undefined;
      },
    });
    const { engine } = await openHttp({ url, protocol: "legacy" });
    const session = asked.find(({ method }) => method === "notifications/initialized")?.headers["mcp-session-id"];

    await Promise.all([engine.close?.(), engine.close?.()]);

    expect(session).toEqual(expect.stringMatching(/^session-/u));
    expect(ended).toEqual([session]);
    expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({ message: 'MCP server "far" is not open.' });
    expect(await engine.open?.(engineContext({ toolset: "far" }))).toHaveLength(1);
    await engine.close?.();
    expect(ended).toEqual([session, session]);
  });
});

test("a call that a server of 2026-07-28 only accepts (HTTP 202) ends at once, as no other stream could bring its answer", async () => {
  const { url } = await loopbackMcp({ ...modern(), "tools/call": ({ response }) => void response.writeHead(202).end() });
  const { engine } = await openHttp({ url });

  expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({
    code: "invalid_output",
    message: 'MCP server "far": it answered tools/call with HTTP 202, which has no answer',
    outcome: "unknown",
  });
});
