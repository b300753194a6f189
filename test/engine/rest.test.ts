import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { restEngine, type RestOptions } from "../../src/engine/rest.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { MemoryLog, fakePorts, settle } from "../../src/testing/fake-ports.ts";
import { CERTIFICATE, httpsServer } from "../net/loopback-server.ts";
import { engineContext, toolContext } from "./engine-contexts.ts";
import { ONE_GET, apiDocument, openEngine, outcomeOf } from "./rest/open-engine.ts";
import { recordingServer, type Reply } from "./rest/recording-server.ts";
import { testInCI } from "../test-in-ci.ts";

const OK: JsonObject = { 200: { description: "ok", content: { "application/json": {} } } };

/** A shop as a stranger would describe it. */
const SHOP: JsonObject = {
  openapi: "3.0.3",
  info: { title: "Shop", version: "1" },
  servers: [{ url: "/v1" }],
  paths: {
    "/orders/{id}": {
      parameters: [{ in: "path", name: "id", required: true, schema: { type: "string" } }],
      get: {
        operationId: "getOrder",
        parameters: [
          { in: "query", name: "fields", explode: false, schema: { type: "array", items: { type: "string" } } },
          { in: "header", name: "X-Trace", schema: { type: "string" } },
          { $ref: "#/components/parameters/Lang" },
        ],
        responses: {
          200: {
            description: "ok",
            content: { "application/json": { schema: { type: "object", required: ["id"], properties: { id: { type: "string" } } } } },
          },
        },
      },
      put: { operationId: "putOrder", requestBody: { $ref: "#/components/requestBodies/Order" }, responses: OK },
      delete: { operationId: "dropOrder", responses: { 204: { description: "gone" } } },
    },
    "/orders": {
      post: {
        operationId: "addOrders",
        requestBody: { required: true, content: { "application/json": { schema: { type: "array", items: { type: "integer" } } } } },
        responses: OK,
      },
    },
    "/ping": { get: { operationId: "ping", responses: OK } },
  },
  components: {
    parameters: { Lang: { in: "cookie", name: "lang", schema: { type: "string" } } },
    requestBodies: {
      Order: {
        required: true,
        content: {
          "application/json": {
            schema: { type: "object", required: ["id"], properties: { id: { type: "integer" }, note: { type: "string" } } },
          },
        },
      },
    },
  },
};

async function runtimeOf(options: RestOptions): Promise<Runtime> {
  const runtime = createRuntime({ toolsets: [{ name: "api", engine: restEngine(options) }], approval: { never: ["*"] } });
  onTestFinished(async () => void (await runtime.close()));
  const { failed } = await runtime.open();
  expect(failed).toEqual([]);
  return runtime;
}

describe("whole calls through a runtime", () => {
  test("F0.19 F0.20 F0.49 every operation sends its path, query, header, cookie and body, and returns its answer", async () => {
    const server = await recordingServer((request) => (request.method === "DELETE" ? { status: 204 } : { body: '{"id":"a b/c"}' }));
    const runtime = await runtimeOf({ document: SHOP, baseUrl: `${server.url}/v1`, auth: { type: "bearer", token: "t0ken" } });
    const [got, put, added, dropped, ping] = await runtime.execute([
      { name: "getOrder", input: { id: "a b/c", fields: ["x", "y"], "X-Trace": "t1", lang: "de" } },
      { name: "putOrder", input: { id: "7", id__body: 7, note: "é" } },
      { name: "addOrders", input: { body: [1, 2] } },
      { name: "dropOrder", input: { id: "7" } },
      { name: "ping", input: {} },
    ]);
    const wire = server.received.map(({ method, url, headers, body }) => [
      method,
      url,
      headers["x-trace"],
      headers.cookie,
      headers.authorization,
      body,
    ]);
    expect(byText(wire)).toEqual(
      byText([
        ["GET", "/v1/orders/a%20b%2Fc?fields=x,y", "t1", "lang=de", "Bearer t0ken", ""],
        ["PUT", "/v1/orders/7", undefined, undefined, "Bearer t0ken", '{"id":7,"note":"é"}'],
        ["POST", "/v1/orders", undefined, undefined, "Bearer t0ken", "[1,2]"],
        ["DELETE", "/v1/orders/7", undefined, undefined, "Bearer t0ken", ""],
        ["GET", "/v1/ping", undefined, undefined, "Bearer t0ken", ""],
      ]),
    );
    expect([got, put, added, dropped, ping].map((result) => [result?.status, result?.output])).toEqual([
      ["ok", { id: "a b/c" }],
      ["ok", { id: "a b/c" }],
      ["ok", { id: "a b/c" }],
      ["ok", null],
      ["ok", { id: "a b/c" }],
    ]);
  });

  test("F0.20 an answer that violates the response schema is returned as partial with invalid_output", async () => {
    const server = await recordingServer([{ body: '{"wrong":1}' }]);
    const runtime = await runtimeOf({ document: SHOP, baseUrl: server.url });
    expect(await runtime.execute({ name: "getOrder", input: { id: "1" } })).toMatchObject({
      status: "partial",
      output: { wrong: 1 },
      error: { code: "invalid_output" },
    });
  });

  test("F0.49 a missing path parameter is an error, and no request is sent", async () => {
    const server = await recordingServer();
    const runtime = await runtimeOf({ document: SHOP, baseUrl: server.url });
    expect(await runtime.execute({ name: "getOrder", input: {} })).toMatchObject({
      status: "error",
      error: { code: "invalid_input", outcome: "not_started" },
    });
    expect(server.received).toEqual([]);
  });

  test("F16 B07 reads are retried after the server's Retry-After; writes are retried only if the server did nothing", async () => {
    const busy = { status: 503, headers: { "retry-after": "0" } };
    const server = await recordingServer([busy, busy, {}, busy, { status: 429, headers: { "retry-after": "0" } }, {}]);
    const runtime = createRuntime({
      toolsets: [{ name: "api", engine: restEngine({ document: SHOP, baseUrl: server.url }) }],
      approval: { never: ["*"] },
      retry: { delayMs: 0 },
    });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    expect(await runtime.execute({ name: "ping", input: {} })).toMatchObject({ status: "ok", attempts: 3 });
    expect(await runtime.execute({ name: "addOrders", input: { body: [] } })).toMatchObject({
      attempts: 1,
      error: { message: "HTTP 503: {}", outcome: "unknown" },
    });
    expect(await runtime.execute({ name: "addOrders", input: { body: [] } })).toMatchObject({ status: "ok", attempts: 2 });
  });

  test("F08 a body that never ends is given up when the call is aborted: its connection is closed and the next call succeeds", async () => {
    let closed = 0;
    const server = await recordingServer([
      (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write("[1");
        response.on("close", () => closed++);
      },
      { body: "2" },
    ]);
    const ports = fakePorts();
    const engine = restEngine({ document: ONE_GET, baseUrl: server.url });
    const runtime = createRuntime({
      toolsets: [{ name: "api", engine, maxConcurrent: 1, defaults: { timeoutMs: 1_000, maxAttempts: 1 } }],
      ports,
    });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    const call = runtime.execute({ name: "getItem", input: {} });
    while (server.received.length === 0) await settle();
    await ports.clock.advance(999);
    expect([runtime.running.length, closed]).toEqual([1, 0]);
    await ports.clock.advance(1);
    expect(await call).toMatchObject({ status: "error", error: { code: "timeout", outcome: "unknown" } });
    while (closed === 0) await settle();
    expect(await runtime.execute({ name: "getItem", input: {} })).toMatchObject({ status: "ok", output: 2 });
  });

  test("F08 F0.49 through a runtime, the call ends at its timeout", async () => {
    let closed = 0;
    const server = await recordingServer([
      (response) => {
        response.write("[1");
        response.on("close", () => closed++);
      },
    ]);
    const engine = restEngine({ document: ONE_GET, baseUrl: server.url });
    const runtime = createRuntime({ toolsets: [{ name: "api", engine, defaults: { timeoutMs: 100, maxAttempts: 1 } }] });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    expect(await runtime.execute({ name: "getItem", input: {} })).toMatchObject({ status: "error", error: { code: "timeout" } });
    while (closed === 0) await settle();
    expect(runtime.running).toEqual([]);
  });

  test("F08 an answer larger than maxBytes is an error with outcome unknown, whether its length was announced or not", async () => {
    const server = await recordingServer([
      { body: "x".repeat(2_000) },
      (response) => {
        response.writeHead(200, { "content-type": "text/plain" });
        for (let part = 0; part < 10; part++) response.write("x".repeat(500));
        response.end();
      },
    ]);
    const { call } = await openEngine({ document: ONE_GET, baseUrl: server.url, maxBytes: 1_000 });
    const expected = { code: "too_large", outcome: "unknown", message: `The answer of ${server.host} is larger than 1000 bytes.` };
    expect(await call("getItem")).toMatchObject(expected);
    expect(await call("getItem")).toMatchObject(expected);
  });

  test("the idempotency key is sent with writes if idempotencyHeader is set", async () => {
    const server = await recordingServer();
    const { call } = await openEngine({ document: SHOP, baseUrl: server.url, idempotencyHeader: "Idempotency-Key" });
    await call("ping");
    await call("dropOrder", { id: "1" });
    expect(server.received.map(({ headers }) => headers["idempotency-key"])).toEqual([undefined, "haft_test"]);
  });

  test("F19 the model cannot choose the host or the method", async () => {
    const server = await recordingServer();
    const { call } = await openEngine({ document: SHOP, baseUrl: server.url });
    await call("getOrder", {
      id: "http://evil.example/",
      method: "DELETE",
      host: "evil.example",
      baseUrl: "http://evil.example",
      path: "/x",
    });
    expect(server.received.map(({ method, url, headers }) => [method, url.split("?")[0], headers.host])).toEqual([
      ["GET", "/orders/http%3A%2F%2Fevil.example%2F", server.host],
    ]);
  });
});

describe("where requests go", () => {
  test("F10 baseUrl takes precedence over the document's servers at every level", async () => {
    const server = await recordingServer();
    const evil = [{ url: "http://evil.example/{x}", variables: { x: { default: "y" } } }];
    const document = apiDocument({ "/a": { servers: evil, get: { operationId: "a", servers: evil, responses: OK } } }, { servers: evil });
    const { call } = await openEngine({ document, baseUrl: `${server.url}/base/` });
    await call("a");
    expect(server.received.map(({ url }) => url)).toEqual(["/base/a"]);
  });

  test("F10 without baseUrl, operations that the document sends to another server are left out", async () => {
    const log = new MemoryLog();
    const document = apiDocument(
      {
        "/a": { get: { operationId: "a", responses: OK }, post: { operationId: "b", responses: OK } },
        "/c": { get: { operationId: "c", servers: [{ url: "https://uploads.example" }], responses: OK } },
      },
      { servers: [{ url: "https://{region}.example/v1", variables: { region: { default: "eu" } } }] },
    );
    const { tools } = await openEngine({ document }, { log });
    expect([tools.map((tool) => tool.name), log.lines.map((line) => line.message)]).toEqual([
      ["a", "b"],
      [
        "c left out: the document sends them to another server than https://eu.example. Give them a toolset of their own, with include and baseUrl.",
      ],
    ]);
  });

  test("a document without a usable server requires baseUrl", async () => {
    for (const servers of [[], [{ url: "/v1" }], [{ url: "ftp://x.example" }], [{ url: "https://u:p@x.example" }]]) {
      expect(await outcomeOf(() => openEngine({ document: apiDocument({ "/a": { get: { responses: OK } } }, { servers }) }))).toMatchObject(
        {
          code: "invalid_config",
          message: "the OpenAPI document does not say where the service is: it names no server with a whole http(s) address.",
          operatorHint: 'Set baseUrl, such as "https://api.example.com/v1".',
        },
      );
    }
  });

  test("a private address is called if the program configured it, and not if only the document names it", async () => {
    const server = await recordingServer();
    const document = apiDocument({ "/item": { get: { operationId: "getItem", responses: OK } } }, { servers: [{ url: server.url }] });
    const refused = await openEngine({ document });
    expect(await refused.call("getItem")).toMatchObject({ code: "permission_denied", outcome: "not_started" });
    const listed = await openEngine({ document, allowPrivate: [server.host] });
    expect(await listed.call("getItem")).toMatchObject({ output: {} });
    const named = await openEngine({ document, baseUrl: server.url.replace("127.0.0.1", "localhost") });
    expect(await named.call("getItem")).toMatchObject({ output: {} });
  });

  test("credentials sent without TLS cause a warning, except on localhost", async () => {
    const log = new MemoryLog();
    const auth = { type: "bearer", token: "t0ken-of-the-program" } as const;
    await openEngine({ document: ONE_GET, baseUrl: "http://api.example", auth }, { log });
    await openEngine({ document: ONE_GET, baseUrl: "http://localhost:1", auth }, { log });
    await openEngine({ document: ONE_GET, baseUrl: "http://api.example" }, { log });
    expect(log.lines.map((line) => line.message)).toEqual([
      "Calls go to http://api.example unencrypted, and their credentials with them. Use https.",
    ]);
  });

  test("F17 other URL schemes and URLs with credentials are rejected at once", () => {
    const wrong: readonly Partial<RestOptions>[] = [
      { baseUrl: "file:///etc/passwd" },
      { baseUrl: "gopher://x" },
      { baseUrl: "unix:///var/run/docker.sock" },
      { baseUrl: "http+unix://x/y" },
      { baseUrl: "data:text/plain,x" },
      { baseUrl: "nothing" },
      { baseUrl: "https://user:canary@x.example" },
      { baseUrl: "https://x.example?key=canary" },
      { document: "ftp://x.example/openapi.json" },
      { document: "https://u:canary@x.example/openapi.json" },
      { document: "" },
      { headers: { "bad name": "canary" } },
      { headers: { "X-A": "canary\r\nX-B: 1" } },
      { headers: { Host: "canary" } },
      { auth: { type: "bearer", token: "canary\n" } },
      { auth: { type: "bearer", token: "" } },
      { auth: { type: "basic", username: "a:b", password: "canary" } },
      { auth: { type: "apiKey", in: "cookie", name: "a", value: "canary; b=1" } },
      { auth: { one: { type: "oauth2", tokenUrl: "file:///x", clientId: "a", clientSecret: "canary" } } },
      { auth: { one: { type: "digest" } as never } },
      { auth: { one: undefined as never } },
      { maxBytes: -1 },
      { auth: null as never },
      { allowPrivate: "canary" as never },
      { idempotencyHeader: "a b" },
    ];
    for (const options of wrong) {
      const thrown = thrownBy(() => restEngine({ document: ONE_GET, ...options }));
      expect([thrown.code, /canary/u.test(thrown.message)]).toEqual(["invalid_argument", false]);
    }
  });
});

describe("F0.19 the OpenAPI document", () => {
  const YAML = `openapi: 3.1.0
info: { title: T, version: 1 }
servers: [{ url: /v1 }]
paths:
  /item:
    get:
      operationId: getItem
      responses:
        200:
          description: ok
`;

  test("is read from a YAML or JSON file, with or without a byte order mark", async () => {
    const path = await folder();
    await writeFile(join(path, "a.yaml"), YAML);
    await writeFile(join(path, "b.json"), `\uFEFF${JSON.stringify({ ...ONE_GET, x: 1 })}`);
    await writeFile(join(path, "c"), `{"big": 9223372036854775807, ${JSON.stringify(ONE_GET).slice(1)}`);
    for (const file of ["a.yaml", "b.json", "c"]) {
      const { tools } = await openEngine({ document: join(path, file), baseUrl: "https://x.example" });
      expect(tools.map((tool) => tool.name)).toEqual(["getItem"]);
    }
  });

  test("is read from a URL with documentHeaders of its own, and its relative servers resolve against that URL", async () => {
    const server = await recordingServer((request) =>
      request.url.startsWith("/spec") ? { headers: { "content-type": "text/yaml" }, body: YAML } : {},
    );
    const { call } = await openEngine({
      document: `${server.url}/spec/openapi.yaml?token=canary`,
      documentHeaders: { Authorization: "Bearer spec" },
      auth: { type: "bearer", token: "t0ken" },
    });
    await call("getItem");
    expect(server.received.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ["/spec/openapi.yaml?token=canary", "Bearer spec"],
      ["/v1/item", "Bearer t0ken"],
    ]);
  });

  test("that is invalid or missing is reported with its path and position", async () => {
    const path = await folder();
    const texts = {
      "a.json": '{"openapi": "3.0.0",\n "paths": {,}}',
      "b.yaml": "openapi: 3.1.0\npaths: [",
      "c.json": "[]",
      "d.html": "<html>",
      "e.json": "{}",
    };
    for (const [name, text] of Object.entries(texts)) await writeFile(join(path, name), text);
    const failed = async (name: string): Promise<unknown> => {
      const error = await outcomeOf(() => openEngine({ document: join(path, name), baseUrl: "https://x.example" }));
      const { code, message } = error as { code: string; message: string };
      return [code, message.replaceAll(path, "DIR").slice(0, 60)];
    };
    expect([
      await failed("a.json"),
      await failed("b.yaml"),
      await failed("c.json"),
      await failed("d.html"),
      await failed("e.json"),
      await failed("none.json"),
      await failed(""),
    ]).toEqual([
      ["invalid_config", 'DIR/a.json:2:12: Not valid JSON: expected a key, found ",".'],
      ["invalid_config", expect.stringMatching(/^DIR\/b\.yaml:\d+:\d+: not valid YAML/u)],
      ["invalid_config", "DIR/c.json is not an OpenAPI document: it contains no object"],
      ["invalid_config", "DIR/d.html is a web page, not an OpenAPI document: <html>"],
      ["invalid_config", '"DIR/e.json" is not an OpenAPI document: it is empty.'],
      ["invalid_config", "Cannot read the OpenAPI document DIR/none.json: there is no "],
      ["invalid_config", "Cannot read the OpenAPI document DIR: it is a folder."],
    ]);
  });

  testInCI(
    "F13 an endless YAML document is refused before it uses up the memory",
    async () => {
      const file = join(await folder(), "a.yaml");
      await writeFile(file, `openapi: [${"a,".repeat(2_000_000)}]`);
      expect(await outcomeOf(() => openEngine({ document: file }))).toMatchObject({
        code: "invalid_config",
        message: expect.stringMatching(/more than 4000000 YAML tokens\.$/u),
        operatorHint: expect.stringMatching(/^Give the document as JSON, which needs far less work to read: npx yaml /u),
      });
    },
    60_000,
  );

  test("that cannot be fetched is reported with the reason, without the URL's query", async () => {
    const server = await recordingServer([{ status: 404 }]);
    expect(await outcomeOf(() => openEngine({ document: `${server.url}/x.json?key=canary` }))).toEqual({
      code: "unavailable",
      message: `The OpenAPI document ${server.url}/x.json could not be fetched: HTTP 404.`,
      retryable: false,
      outcome: "not_started",
    });
  });

  test("F0.11 a refresh reads the document again, and a broken document leaves the tools as they were", async () => {
    const texts = [JSON.stringify(ONE_GET), JSON.stringify(ONE_GET).replace("getItem", "readItem"), "{"];
    const server = await recordingServer((request) => (request.url === "/spec" ? { body: texts.shift() ?? "{" } : { body: "1" }));
    const { engine, tools, call } = await openEngine({ document: `${server.url}/spec`, baseUrl: server.url });
    const signal = new AbortController().signal;
    const again = (await engine.list?.(signal)) ?? [];
    expect([tools, again].map((list) => list.map((tool) => tool.name))).toEqual([["getItem"], ["readItem"]]);
    expect(await outcomeOf(() => engine.list?.(signal))).toMatchObject({ code: "invalid_config" });
    expect(await call("getItem")).toMatchObject({ output: 1 });
    const unknown = { name: "dropItem", description: "", inputSchema: true };
    expect(await outcomeOf(() => engine.call({ tool: unknown, input: {}, parsed: {} }, toolContext()))).toMatchObject({
      code: "not_found",
      outcome: "not_started",
    });
    const [renamed] = again;
    if (renamed === undefined) throw new Error("No tool.");
    expect(await outcomeOf(() => engine.call({ tool: renamed, input: {}, parsed: {} }, toolContext()))).toMatchObject({ output: 1 });
  });

  test("F0.11 F11 a call keeps its method and path if a later document reuses its name; only the serialization follows the document", async () => {
    const item = (method: string, explode: boolean): string =>
      JSON.stringify(
        apiDocument({
          [method === "get" ? "/item" : "/all"]: {
            [method]: {
              operationId: "getItem",
              parameters: [{ in: "query", name: "ids", explode, schema: { type: "array", items: { type: "integer" } } }],
              responses: OK,
            },
          },
        }),
      );
    const texts = [item("get", true), item("get", false), item("delete", false)];
    const server = await recordingServer((request) => (request.url === "/spec" ? { body: texts.shift() ?? "" } : { body: "1" }));
    const { engine, call } = await openEngine({ document: `${server.url}/spec`, baseUrl: server.url });
    const signal = new AbortController().signal;
    await call("getItem", { ids: [1, 2] });
    await engine.list?.(signal);
    await call("getItem", { ids: [1, 2] });
    await engine.list?.(signal);
    await call("getItem", { ids: [1, 2] });
    const calls = server.received.filter(({ url }) => url !== "/spec").map(({ method, url }) => `${method} ${url}`);
    expect(calls).toEqual(["GET /item?ids=1&ids=2", "GET /item?ids=1,2", "GET /item?ids=1,2"]);
  });

  test("F10 a document that moves to another server does not receive the credentials", async () => {
    const texts = ["http://one.example", "http://two.example", "http://one.example", "http://two.example"].map((url) =>
      JSON.stringify({ ...ONE_GET, servers: [{ url }] }),
    );
    const server = await recordingServer(() => ({ body: texts.shift() ?? "" }));
    const document = `${server.url}/spec`;
    const signal = new AbortController().signal;
    const secret = await openEngine({ document, auth: { type: "bearer", token: "t0ken-of-the-program" } });
    expect(await outcomeOf(() => secret.engine.list?.(signal))).toMatchObject({
      code: "invalid_config",
      message:
        "The OpenAPI document now sends calls to http://two.example, no longer to http://one.example. Credentials are not sent to the new address.",
    });
    const open = await openEngine({ document });
    expect(await outcomeOf(() => open.engine.list?.(signal))).toMatchObject([{ name: "getItem" }]);
  });

  test("F09 references in a document are never fetched", async () => {
    const server = await recordingServer([{ body: '{"type":"object"}' }]);
    const schema = { $ref: `${server.url}/schema.json` };
    const document = apiDocument({
      "/a": { get: { operationId: "a", parameters: [{ in: "query", name: "q", schema }, { $ref: "file:///etc/passwd" }], responses: OK } },
    });
    const log = new MemoryLog();
    const { tools } = await openEngine({ document, baseUrl: server.url }, { log });
    expect([tools.map((tool) => tool.name), server.received, log.lines.length > 0]).toEqual([["a"], [], true]);
  });

  test("F0.19 include, exclude and effects select and change tools; a pattern that matches nothing causes a warning", async () => {
    const log = new MemoryLog();
    const { tools } = await openEngine(
      {
        document: SHOP,
        baseUrl: "https://x.example",
        include: { paths: ["/orders*"] },
        exclude: { operations: ["drop*"] },
        effects: { "put*": { destructive: true }, "no*ne": {} },
      },
      { log },
    );
    expect(byText(tools.map((tool) => [tool.name, tool.effects?.destructive === true]))).toEqual([
      ["addOrders", false],
      ["getOrder", false],
      ["putOrder", true],
    ]);
    expect(log.lines.map((line) => line.message)).toEqual(['effects has "no*ne", which matches no tool.']);
  });

  test("F0.19 rename takes tool names or operationIds, and each renamed tool keeps its operation", async () => {
    const rename = { addOrders: "add", getOrder: "order" };
    const { tools } = await openEngine({
      document: SHOP,
      baseUrl: "https://x.example",
      include: { paths: ["/orders*"] },
      effects: { addOrders: { idempotent: true } },
      rename,
    });
    const before = (await openEngine({ document: SHOP, baseUrl: "https://x.example", include: { paths: ["/orders*"] } })).tools;
    const renamed = before.map(({ name }) =>
      Object.hasOwn(rename, name) ? Object.entries(rename).find(([from]) => from === name)?.[1] : name,
    );
    expect(tools.map(({ name }) => name)).toEqual(renamed);
    expect(tools.map(({ metadata }) => metadata)).toEqual(before.map(({ metadata }) => metadata));
    expect(tools.find(({ name }) => name === "add")?.effects).toEqual({ idempotent: true });
  });

  test.each([
    [{ getOrdr: "order" }, 'rename has "getOrdr", which is not one of the included tools. Did you mean "getOrder"'],
    [{ getOrder: "putOrder" }, 'would both be "putOrder".'],
  ])("F0.19 opening fails with rename %j", async (rename, message) => {
    await expect(openEngine({ document: SHOP, baseUrl: "https://x.example", rename })).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(message),
    });
  });

  test("at most six warnings are logged, one line each, and the last one counts the rest", async () => {
    const parameters = Array.from({ length: 9 }, (_, index) => ({ in: "nowhere", name: `a\n${index}\u001b[31m` }));
    const log = new MemoryLog();
    await openEngine({ document: apiDocument({ "/a": { get: { parameters, responses: OK } } }), baseUrl: "https://x.example" }, { log });
    expect([log.lines.length, log.lines.at(-1)?.message, log.lines.some((line) => /[\n\u001b]/u.test(line.message))]).toEqual([
      6,
      "The OpenAPI document has 4 more such problems.",
      false,
    ]);
  });
});

describe("opening and closing", () => {
  test("F18 a certificate is verified against the configured ca, given as text or as a file", async () => {
    const server = await httpsServer((_, response) => void response.end("{}"));
    const baseUrl = `https://localhost:${server.port}`;
    const path = join(await folder(), "ca.pem");
    await writeFile(path, CERTIFICATE);
    const said = async (options: Partial<RestOptions>): Promise<unknown> =>
      (await openEngine({ document: ONE_GET, baseUrl, ...options })).call("getItem");
    expect([await said({}), await said({ ca: CERTIFICATE }), await said({ ca: path }), await said({ verifyTls: false })]).toMatchObject([
      { code: "network_error" },
      { output: {} },
      { output: {} },
      { output: {} },
    ]);
  });

  test("F08 close ends a call whose answer is being read, and the error says so", async () => {
    const server = await recordingServer([(response) => void response.writeHead(200).write("{")]);
    const { engine, call } = await openEngine({ document: ONE_GET, baseUrl: server.url });
    const calling = call("getItem");
    while (server.received.length === 0) await settle();
    await engine.close?.();
    expect(await calling).toEqual({
      code: "unavailable",
      message: `The request to ${server.host} was aborted: the client was closed.`,
      retryable: false,
      outcome: "unknown",
    });
  });

  test("F08 close aborts the reading of a document and closes its connection", async () => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const stalled: Reply = (response) => void response.on("close", closed).writeHead(200).write("{");
    const server = await recordingServer([{ body: JSON.stringify(ONE_GET) }, stalled]);
    const { engine } = await openEngine({ document: `${server.url}/spec`, baseUrl: server.url });
    const listing = outcomeOf(() => engine.list?.(new AbortController().signal));
    while (server.received.length < 2) await settle();
    await engine.close?.();
    await isClosed;
    expect(await listing).toMatchObject({ code: "cancelled" });
  });

  test("calls before open and after close are errors, close is idempotent, and the engine can be opened again", async () => {
    const server = await recordingServer();
    const engine: Engine = restEngine({ document: ONE_GET, baseUrl: server.url });
    const tool = { name: "getItem", description: "", inputSchema: true };
    const call = (): Promise<unknown> => outcomeOf(() => engine.call({ tool, input: {}, parsed: {} }, toolContext()));
    expect(await call()).toMatchObject({ code: "unavailable" });
    await engine.open?.(engineContext());
    expect(await call()).toMatchObject({ output: {} });
    await engine.close?.();
    await engine.close?.();
    expect(await call()).toMatchObject({ code: "unavailable" });
    await engine.open?.(engineContext());
    expect(await call()).toMatchObject({ output: {} });
    await engine.close?.();
  });
});

/** An empty folder, gone after the test. */
async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "haft-rest-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** In an order that does not depend on which came first. */
function byText<T>(rows: readonly T[]): readonly T[] {
  return rows.toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)));
}

function thrownBy(act: () => unknown): ToolError {
  try {
    act();
  } catch (error: unknown) {
    if (error instanceof ToolError) return error;
  }
  throw new Error("It was not refused.");
}
