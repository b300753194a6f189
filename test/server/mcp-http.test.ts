import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { listenMcp, mcpHandler } from "../../src/server/mcp.ts";
import { ERAS, listening, openRuntime, overHttp } from "./mcp-clients.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  effects: pure,
  execute: ({ text }) => text,
});

const TOKEN = "correct-horse-battery";
const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
const HELLO = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
});

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Received {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** With any headers at all, as a browser that was deceived or a careless program sends them. */
function send(port: number, { method = "POST", path = "/mcp", headers = {}, body = HELLO }: Sent = {}): Promise<Received> {
  const all = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: "127.0.0.1", port, method, path, headers: all }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, body: text, headers: incoming.headers }));
    });
    outgoing.on("error", reject);
    outgoing.end(method === "POST" ? body : undefined);
  });
}

describe("access checks", () => {
  test("E01 only loopback hosts and pages of the server's own origin are served, on every path and method", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port } = await listening(runtime);
    const strangers = [
      { host: `evil.example:${port}` },
      { host: "localhost.evil.example" },
      { host: "evil@localhost" },
      { host: "localhost." },
      { origin: "http://evil.example" },
      { origin: "null" },
      { origin: "http://localhost.evil.example:3000" },
      { origin: "http://localhost@evil.example" },
      { origin: "file://localhost" },
      { origin: "http://localhost:9999" },
      { origin: "http://127.0.0.1" },
      { host: `localhost:${port}`, origin: `http://127.0.0.1:${port}` },
      { host: `localhost:${port}`, origin: "http://localhost" },
    ];
    for (const headers of strangers)
      for (const method of ["POST", "GET", "DELETE", "OPTIONS"])
        for (const path of ["/mcp", "/", "/other"])
          expect([headers, method, path, (await send(port, { method, path, headers })).status]).toEqual([headers, method, path, 403]);
    for (const headers of [
      { host: "LOCALHOST" },
      { host: `127.0.0.1:${port}` },
      { host: "[::1]:80" },
      { host: `localhost:${port}`, origin: `http://localhost:${port}` },
    ])
      expect([headers, (await send(port, { headers })).status]).toEqual([headers, 200]);
  });

  test("E01 an empty allowedHosts rejects every host, and custom lists allow what they name, and the server's own pages", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const closed = await listening(runtime, { allowedHosts: [] });
    expect((await send(closed.port)).status).toBe(403);
    const own = await listening(runtime, { allowedHosts: ["tools.example"], allowedOrigins: ["https://app.example"] });
    expect((await send(own.port)).status).toBe(403);
    expect((await send(own.port, { headers: { host: "tools.example:443", origin: "https://app.example" } })).status).toBe(200);
    expect((await send(own.port, { headers: { host: "tools.example", origin: "http://app.example" } })).status).toBe(403);
    expect((await send(own.port, { headers: { host: "tools.example", origin: "https://tools.example" } })).status).toBe(200);
    const local = await listening(runtime, { allowedOrigins: ["localhost"] });
    expect((await send(local.port, { headers: { origin: "http://localhost:5173" } })).status).toBe(200);
  });

  test.each([
    "text/plain",
    "application/json\t;x",
    "application/json; charset=utf-7",
    "text/json",
    "application/jsonx",
    "",
    "multipart/form-data",
  ])("E02 E07 a body of the type %j is rejected with 415", async (type) => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port } = await listening(runtime);
    expect((await send(port, { headers: { "content-type": type } })).status).toBe(415);
  });

  test("E07 E06 JSON types in any case and in UTF-8 are accepted; compressed bodies are rejected", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port } = await listening(runtime);
    for (const type of ["APPLICATION/JSON ", 'application/json; charset="UTF-8"', "application/json;charset=utf8"])
      expect((await send(port, { headers: { "content-type": type } })).status).toBe(200);
    for (const encoding of ["gzip", "br", "deflate"])
      expect((await send(port, { headers: { "content-encoding": encoding } })).status).toBe(415);
  });

  test("E03 a non-loopback address needs a token and allowedHosts", async () => {
    const runtime = createRuntime();
    for (const host of ["0.0.0.0", "::", "192.168.0.1", "example.org"]) {
      for (const options of [{}, { token: TOKEN }, { allowedHosts: ["example.org"] }])
        await expect(listenMcp(runtime, { port: 0, host, ...options })).rejects.toMatchObject({ code: "invalid_argument" });
    }
    expect(() => mcpHandler(runtime, { token: "short" })).toThrow(ToolError);
    expect(() => mcpHandler(runtime, { token: "a token with spaces" })).toThrow("a character that clients cannot send");
    const open = await listening(runtime, { host: "0.0.0.0", token: TOKEN, allowedHosts: ["localhost"] });
    expect((await send(open.port, { headers: { host: "localhost", authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
  });

  test("E04 without the right token every request gets 401 and lists nothing", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port, url } = await listening(runtime, { token: TOKEN });
    const wrong = [
      undefined,
      "Bearer x",
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
      TOKEN,
      `Basic ${TOKEN}`,
      "Bearer ",
      `Bearer ${TOKEN} ${TOKEN}`,
    ];
    for (const authorization of wrong)
      for (const body of [HELLO, LIST]) {
        const answer = await send(port, { body, headers: authorization === undefined ? {} : { authorization } });
        expect([authorization, answer.status, answer.headers["www-authenticate"]]).toEqual([authorization, 401, "Bearer"]);
        expect(answer.body).not.toContain("echo");
      }
    for (const era of ERAS) {
      const client = await overHttp(url, { era, headers: { authorization: `bearer ${TOKEN}` } });
      expect(await client.callTool({ name: "echo", arguments: { text: era } })).toMatchObject({ content: [{ text: era }] });
    }
  });

  test("E18 no response has CORS headers for pages of other origins", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port } = await listening(runtime);
    for (const method of ["POST", "OPTIONS"]) {
      const { headers } = await send(port, { method, headers: { origin: "http://localhost:1" } });
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
  });
});

describe("incoming requests", () => {
  testInCI("E06 a body is read up to its limit: declared or not, the answer is 413 and other requests are served", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port, url } = await listening(runtime, { maxBodyBytes: 10_000 });
    expect((await send(port, { body: `"${"x".repeat(10_000)}"` })).status).toBe(413);
    const endless = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
        const chunk = `1000\r\n${"x".repeat(4_096)}\r\n`;
        for (let sent = 0; sent < 10; sent++) socket.write(chunk);
      });
      let text = "";
      socket.setEncoding("utf8").on("data", (data: string) => (text += data));
      socket.on("error", (error) => (text === "" ? reject(error) : resolve(text)));
      socket.on("close", () => resolve(text));
    });
    expect(endless).toMatch(/^HTTP\/1\.1 413 /u);
    const client = await overHttp(url, { era: "modern" });
    expect(await client.callTool({ name: "echo", arguments: { text: "still here" } })).toMatchObject({ content: [{ text: "still here" }] });
  });

  test("E01 E06 E16 malformed or oversized HTTP and requests without a valid host are rejected", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port } = await listening(runtime);
    const raw = (text: string): Promise<string> =>
      new Promise((resolve) => {
        let answer = "";
        const socket = connect(port, "127.0.0.1", () => socket.end(text));
        socket.setEncoding("utf8").on("data", (data: string) => (answer += data));
        socket.on("error", () => {});
        socket.on("close", () => resolve(answer.slice(0, 12)));
      });
    expect(await raw("GET /mcp HTTP/1.1\r\nhost: \r\n\r\n")).toBe("HTTP/1.1 403");
    expect(await raw("GET /mcp HTTP/1.0\r\n\r\n")).toBe("HTTP/1.1 403");
    const head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    expect(await raw(`${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`)).toBe("HTTP/1.1 400");
    expect(await raw(`${head}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n`)).toBe("HTTP/1.1 400");
    expect(await raw(`${head}content-length: 1\r\ncontent-length: 2\r\n\r\n{}`)).toBe("HTTP/1.1 400");
    expect(await raw(`${head}x: ${"y".repeat(20_000)}\r\n\r\n`)).toBe("HTTP/1.1 431");
    expect(await raw("CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n")).toBe("HTTP/1.1 501");
    expect(await raw("\u0016\u0003\u0001")).toBe("HTTP/1.1 501");
  });

  test("E08 the messages of a request and the depth of its JSON are limited", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port } = await listening(runtime, { maxBatch: 3 });
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    expect(await send(port, { body: `[${Array.from({ length: 4 }, () => ping).join(",")}]` })).toMatchObject({
      status: 400,
      body: expect.stringContaining("-32600"),
    });
    for (const body of ["", "{", "[".repeat(100_000), `${"[".repeat(100)}${"]".repeat(100)}`])
      expect(await send(port, { body })).toMatchObject({ status: 400, body: expect.stringContaining("-32700") });
    for (const body of ["[]", "7", "null", '"x"', '[{"jsonrpc":"2.0"}]', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}'])
      expect((await send(port, { body })).status).toBe(400);
  });

  test("only the configured path and the protocol's methods are served", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port, url } = await listening(runtime, { path: "/tools" });
    expect(url).toBe(`http://127.0.0.1:${port}/tools`);
    expect((await send(port, { path: "/mcp" })).status).toBe(404);
    for (const path of ["/tools", "/tools?x=1", "/./tools"]) expect((await send(port, { path })).status).toBe(200);
    for (const method of ["PUT", "PATCH", "HEAD", "OPTIONS"]) expect((await send(port, { path: "/tools", method })).status).toBe(405);
    expect((await send(port, { path: "/tools", method: "TRACE" })).status).toBe(501);
  });

  test("C07 an unknown session id is rejected, and an ended one returns 404", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port } = await listening(runtime);
    const { headers } = await send(port);
    const id = String(headers["mcp-session-id"]);
    const list = (session: string): Promise<Received> => send(port, { body: LIST, headers: { "mcp-session-id": session } });
    expect((await list(id)).status).toBe(200);
    for (const other of [`${id}x`, "", "mcp_1", "__proto__"]) expect([404, 400]).toContain((await list(other)).status);
    expect((await send(port, { body: LIST })).status).toBe(400);
    expect((await send(port, { method: "DELETE", headers: { "mcp-session-id": id } })).status).toBe(200);
    expect((await list(id)).status).toBe(404);
  });

  test("a session beyond maxSessions ends the one that has been idle longest", async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const { port } = await listening(runtime, { maxSessions: 2 });
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.push(String((await send(port)).headers["mcp-session-id"]));
    const statuses = ids.map(async (id) => (await send(port, { body: LIST, headers: { "mcp-session-id": id } })).status);
    expect(await Promise.all(statuses)).toEqual([404, 200, 200]);
  });
});

describe("responses and the log", () => {
  test("E12 E14 an internal error is reported with an id only; the log has the details on one line", async () => {
    const { runtime, log } = await openRuntime({ tools: [echo] });
    const provider = {
      listPrompts: () => Promise.resolve({ prompts: [{ name: "bad" }] }),
      getPrompt: () => Promise.reject(new Error("ENOENT /srv/secret/password.txt")),
    };
    const { url } = await listening(runtime, { providers: [provider], ports: { log } });
    for (const era of ERAS) {
      const client = await overHttp(url, { era });
      await expect(client.getPrompt({ name: "bad" })).rejects.toMatchObject({
        code: -32_603,
        message: expect.stringMatching(/^Internal error \(error_[\w-]+\); the server's log says more\.$/u),
      });
    }
    expect(log.lines.filter(({ message }) => /^prompts\/get failed \(error_[\w-]+\): ENOENT/u.test(message))).toHaveLength(2);
  });

  test("E13 a failure is one line of the log, whatever characters its text has", async () => {
    const { runtime, log } = await openRuntime({});
    const forged = 'x\n{"level":"info"}\r\u001b[31m\u2028\u0085';
    const provider = { listPrompts: () => Promise.reject(new Error(forged)) };
    const { url } = await listening(runtime, { providers: [provider], ports: { log } });
    await (await overHttp(url, { era: "modern" })).listPrompts();
    expect(log.lines.map(({ message }) => message)).toContain(
      String.raw`The prompts of the program could not be listed: x\n{"level":"info"}\r\u001b[31m\u2028\u0085`,
    );
  });

  test("E12 the token is in no response and no line of the log", async () => {
    const { runtime, log } = await openRuntime({ tools: [echo] });
    const { port } = await listening(runtime, { token: TOKEN, ports: { log } });
    const said = [await send(port), await send(port, { headers: { authorization: `Bearer ${TOKEN}` }, body: "{" }), log.lines];
    expect(JSON.stringify(said)).not.toContain(TOKEN);
  });

  test("E15 a stopping server lets calls end, accepts no new ones, and cancels what does not end in time", async () => {
    const release = Promise.withResolvers<string>();
    const started = Promise.withResolvers<void>();
    const tools = [
      defineTool({ name: "slow", description: "", effects: pure, execute: () => (started.resolve(), release.promise) }),
      defineTool({ name: "deaf", description: "", effects: pure, execute: () => new Promise(() => {}) }),
    ];
    const { runtime } = await openRuntime({ tools });
    const listener = await listening(runtime, { graceMs: 60_000 });
    const client = await overHttp(listener.url, { era: "modern" });
    const call = client.callTool({ name: "slow" });
    await started.promise;
    const closed = listener.close();
    await expect(fetch(listener.url)).rejects.toThrow("fetch failed");
    release.resolve("in time");
    expect(await call).toMatchObject({ content: [{ text: "in time" }] });
    await closed;

    const second = await listening(runtime, { graceMs: 0 });
    const late = ERAS.map(async (era) => (await overHttp(second.url, { era })).callTool({ name: "deaf" }));
    await vi.waitFor(() => expect(runtime.running).toHaveLength(2));
    await second.close();
    expect(runtime.running).toEqual([]);
    const text = expect.stringContaining("Error (cancelled): deaf was cancelled");
    for (const answer of late) expect(await answer).toMatchObject({ isError: true, content: [{ text }] });
  });

  test("E09 a client that disconnects cancels its call", async () => {
    const { runtime } = await openRuntime({
      tools: [defineTool({ name: "deaf", description: "", effects: pure, execute: () => new Promise(() => {}) })],
    });
    const { url } = await listening(runtime);
    const stop = new AbortController();
    const client = await overHttp(url, { era: "modern" });
    const call = client.callTool({ name: "deaf" }, { signal: stop.signal });
    call.catch(() => {});
    await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
    stop.abort();
    await vi.waitFor(() => expect(runtime.running).toEqual([]));
  });
});

const CLIENTS = inCI ? 500 : 50;

test(
  `C08 L20 ${CLIENTS} clients with equal request ids and 20 calls each get their own answers, even if some disconnect`,
  { timeout: 240_000 },
  async () => {
    const { runtime } = await openRuntime({ tools: [echo] });
    const handle = mcpHandler(runtime);
    const headers = {
      host: "localhost",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "echo",
    };
    const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
    let foreign = 0;
    let answered = 0;
    let gone = 0;
    const client = async (number: number): Promise<void> => {
      for (let id = 1; id <= 20; id++) {
        const text = `client ${number} call ${id}`;
        const body = JSON.stringify({
          jsonrpc: "2.0",
          id,
          method: "tools/call",
          params: { name: "echo", arguments: { text }, _meta: meta },
        });
        const stop = new AbortController();
        const answer = handle(new Request("http://localhost/mcp", { method: "POST", headers, body, signal: stop.signal }));
        if ((number * 20 + id) % 100 === 0) {
          stop.abort();
          await answer.catch(() => {});
          gone++;
          continue;
        }
        const { id: answeredId, result } = JSON.parse(await (await answer).text());
        if (answeredId === id && result.content[0].text === text) answered++;
        else foreign++;
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
    await handle.close();
    const leaving = CLIENTS / 5;
    expect({ answered, foreign, gone }).toEqual({ answered: CLIENTS * 20 - leaving, foreign: 0, gone: leaving });
    expect(runtime.running).toEqual([]);
  },
);
