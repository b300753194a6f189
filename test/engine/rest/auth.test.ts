import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { RestAuth, RestOptions } from "../../../src/engine/rest.ts";
import { FakeClock, MemoryLog, settle } from "../../../src/testing/fake-ports.ts";
import { ONE_GET, apiDocument, openEngine } from "./open-engine.ts";
import { recordingServer, type ReceivedRequest, type Reply } from "./recording-server.ts";

const OK: JsonObject = { 200: { description: "ok", content: { "application/json": {} } } };
const SCHEMES: JsonObject = {
  token: { type: "http", scheme: "bearer" },
  login: { type: "http", scheme: "basic" },
  key: { type: "apiKey", in: "header", name: "X-Key" },
};

function secured(security: JsonObject[string] | undefined): JsonObject {
  const operation = { operationId: "getItem", responses: OK, ...(security === undefined ? {} : { security }) };
  return apiDocument({ "/item": { get: operation } }, { components: { securitySchemes: SCHEMES } });
}

async function calledWith(options: Partial<RestOptions>, input: JsonObject = {}): Promise<ReceivedRequest> {
  const server = await recordingServer();
  const { call } = await openEngine({ document: ONE_GET, baseUrl: server.url, ...options });
  await call("getItem", input);
  const [request] = server.received;
  if (request === undefined) throw new Error("Nothing came.");
  return request;
}

describe("F0.49 each kind of auth is sent", () => {
  test("a bearer token", async () => {
    expect((await calledWith({ auth: { type: "bearer", token: "abc.DEF-1" } })).headers.authorization).toBe("Bearer abc.DEF-1");
  });

  test("a user name and password, in UTF-8", async () => {
    const { headers } = await calledWith({ auth: { type: "basic", username: "jö", password: "pä:ss" } });
    expect(headers.authorization).toBe("Basic asO2OnDDpDpzcw==");
  });

  test("an API key in a header, the query or a cookie", async () => {
    const key = (where: "header" | "query" | "cookie", value: string): RestAuth => ({ type: "apiKey", in: where, name: "X-Key", value });
    const header = await calledWith({ auth: key("header", "a b") });
    const query = await calledWith({ auth: key("query", "a&b=c") }, { q: 1 });
    const cookie = await calledWith({ auth: key("cookie", "abc") });
    expect([header.headers["x-key"], query.url, cookie.headers.cookie]).toEqual(["a b", "/item?q=1&X-Key=a%26b%3Dc", "X-Key=abc"]);
  });

  test("bearer takes precedence over basic, and an API key is sent beside either", async () => {
    const auth: Record<string, RestAuth> = {
      login: { type: "basic", username: "u", password: "p" },
      token: { type: "bearer", token: "t" },
      key: { type: "apiKey", in: "header", name: "X-Key", value: "k" },
    };
    const { headers } = await calledWith({ auth });
    expect([headers.authorization, headers["x-key"]]).toEqual(["Bearer t", "k"]);
  });

  test("configured headers, which a model cannot replace", async () => {
    const document = apiDocument({
      "/item": {
        get: {
          operationId: "getItem",
          responses: OK,
          parameters: [{ in: "header", name: "X-Tenant", required: true, schema: { type: "string" } }],
        },
      },
    });
    const { headers } = await calledWith({ document, headers: { "x-tenant": "ours", Accept: "text/csv" } }, { "X-Tenant": "theirs" });
    expect([headers["x-tenant"], headers.accept]).toEqual(["ours", "text/csv"]);
  });
});

describe("F0.49 the document selects the auth of an operation", () => {
  const auth: Record<string, RestAuth> = {
    login: { type: "basic", username: "u", password: "p" },
    token: { type: "bearer", token: "t" },
    key: { type: "apiKey", in: "header", name: "X-Key", value: "k" },
  };
  const rows: readonly (readonly [
    what: string,
    security: JsonObject[string] | undefined,
    authorization: string | undefined,
    key: string | undefined,
  ])[] = [
    ["nothing said: all", undefined, "Bearer t", "k"],
    ["the first that can be met", [{ unknown: [] }, { login: [] }, { token: [] }], "Basic dTpw", undefined],
    ["several together", [{ token: [], key: [] }], "Bearer t", "k"],
    ["credentials rather than none", [{}, { key: [] }], undefined, "k"],
    ["none needed", [], undefined, undefined],
    ["none that there is", [{ unknown: [] }], undefined, undefined],
  ];
  test.each(rows)("%s", async (_, security, authorization, key) => {
    const { headers } = await calledWith({ document: secured(security), auth });
    expect([headers.authorization, headers["x-key"]]).toEqual([authorization, key]);
  });

  test("a single auth is sent to every operation that needs one, whatever the document calls it", async () => {
    const one: RestAuth = { type: "bearer", token: "t" };
    const needed = await calledWith({ document: secured([{ key: [] }]), auth: one });
    const open = await calledWith({ document: secured([]), auth: one });
    expect([needed.headers.authorization, open.headers.authorization]).toEqual(["Bearer t", undefined]);
  });

  const places: readonly (readonly [written: JsonObject, given: Partial<RestAuth>, url: string, header: string | undefined])[] = [
    [{ in: "header", name: "X-Key" }, {}, "/item", "k"],
    [{ in: "query", name: "appid" }, {}, "/item?appid=k", undefined],
    [{ in: "query", name: "appid" }, { name: "appid" }, "/item?appid=k", undefined],
    [{ in: "query", name: "appid" }, { in: "query" }, "/item?appid=k", undefined],
    [{ in: "query", name: "appid" }, { name: "X-Key" }, "/item", "k"],
    [{ in: "header", name: "x-key" }, { name: "X-Key" }, "/item", "k"],
    [{ in: "query", name: "appid" }, { name: "X-Key", in: "header" }, "/item", "k"],
  ];
  test.each(places)("a key that the document puts in %j is sent there if the configuration has %j", async (written, given, url, header) => {
    const document = apiDocument(
      { "/item": { get: { operationId: "getItem", responses: OK, security: [{ key: [] }] } } },
      { components: { securitySchemes: { key: { type: "apiKey", ...written } } } },
    );
    const key = { type: "apiKey", value: "k", ...given } as RestAuth; // the rows are of one type
    for (const auth of [key, { key }]) {
      const request = await calledWith({ document, auth });
      expect([request.url, request.headers["x-key"]]).toEqual([url, header]);
    }
  });

  test("a key without a name in the configuration or the document is not sent, and the call fails", async () => {
    const server = await recordingServer();
    const { call } = await openEngine({ document: ONE_GET, baseUrl: server.url, auth: { type: "apiKey", value: "k" } });
    expect(await call("getItem")).toMatchObject({
      code: "unavailable",
      message: "The document does not say where this operation takes its API key; nothing was sent.",
    });
    expect(server.received).toEqual([]);
  });

  test("a name in auth that is not a scheme of the document causes a warning", async () => {
    const log = new MemoryLog();
    const auth: RestOptions["auth"] = { tokne: { type: "bearer", token: "t0ken-of-the-program" } };
    await openEngine({ document: secured([{ token: [] }, { key: [] }]), baseUrl: "https://api.example", auth }, { log });
    expect(log.lines.map(({ message }) => message)).toEqual([
      'auth has "tokne", which is not a security scheme of any operation; known schemes: "token", "key".',
    ]);
  });

  test("the input schema omits parameters that the configuration supplies", async () => {
    const parameters = [
      { in: "header", name: "token", required: true, schema: { type: "string" } },
      { in: "query", name: "api_key", required: true, schema: { type: "string" } },
      { in: "query", name: "q", required: true, schema: { type: "string" } },
    ];
    const document = apiDocument({ "/item": { get: { operationId: "getItem", responses: OK, parameters } } });
    const server = await recordingServer();
    const { tools, call } = await openEngine({
      document,
      baseUrl: server.url,
      headers: { Token: "xoxb-1" },
      auth: { type: "apiKey", in: "query", name: "api_key", value: "k" },
    });
    expect(tools[0]?.inputSchema).toMatchObject({ properties: { q: { type: "string" } }, required: ["q"] });
    expect(JSON.stringify(tools[0]?.inputSchema)).not.toMatch(/token|api_key/u);
    await call("getItem", { q: "x", api_key: "guessed", token: "guessed" });
    expect([server.received[0]?.url, server.received[0]?.headers["token"]]).toEqual(["/item?q=x&api_key=k", "xoxb-1"]);
  });

  test("an argument with the name of a configured key does not add a second key", async () => {
    const query = await calledWith({ auth: { type: "apiKey", in: "query", name: "key", value: "ours" } }, { key: "guessed", q: "a b" });
    const parameters = [{ in: "cookie", name: "sid", schema: { type: "string" } }];
    const document = apiDocument({ "/item": { get: { operationId: "getItem", responses: OK, parameters } } });
    const auth: Record<string, RestAuth> = { one: { type: "apiKey", in: "cookie", name: "sid", value: "ours" } };
    const cookie = await calledWith({ document, auth }, { sid: "guessed" });
    expect([query.url, cookie.headers.cookie]).toEqual(["/item?q=a+b&key=ours", "sid=ours"]);
  });

  test.each([401, 403])("an HTTP %i error names the kind of credentials that were sent, not their value", async (status) => {
    const said = async (options: Partial<RestOptions>): Promise<unknown> => {
      const server = await recordingServer([{ status, body: "no" }]);
      const { call } = await openEngine({ document: secured([{ token: [] }, { login: [], key: [] }]), baseUrl: server.url, ...options });
      return ((await call("getItem")) as { message: string }).message;
    };
    expect([
      await said({ auth: { type: "bearer", token: "canary-1" } }),
      await said({
        auth: {
          login: { type: "basic", username: "u", password: "canary-2" },
          key: { type: "apiKey", in: "header", name: "X-Key", value: "canary-3" },
        },
      }),
      await said({}),
    ]).toEqual([
      `HTTP ${status}: no (It was sent with a bearer token.)`,
      `HTTP ${status}: no (It was sent with a user name and password and an API key (header X-Key).)`,
      `HTTP ${status}: no (It was sent without credentials; the document asks for token or login and key.)`,
    ]);
  });
});

describe("F0.49 OAuth client credentials", () => {
  const TOKEN: Reply = { body: '{"access_token":"at-1","token_type":"Bearer","expires_in":3600}' };

  async function oauth(
    tokens: readonly Reply[] | ((request: ReceivedRequest) => Reply),
    extra: Partial<RestAuth> = {},
    replies: readonly Reply[] = [{}],
  ) {
    const tokenServer = await recordingServer(tokens);
    const api = await recordingServer(replies);
    const clock = new FakeClock();
    const auth = {
      type: "oauth2",
      tokenUrl: `${tokenServer.url}/token`,
      clientId: "my id",
      clientSecret: "s3cret/+",
      ...extra,
    } as RestAuth;
    const { call, engine } = await openEngine({ document: ONE_GET, baseUrl: api.url, auth }, { clock });
    return { tokenServer, api, clock, call, engine };
  }

  test("the token is fetched once for all waiting calls, and cached until 30 s before it expires", async () => {
    let count = 0;
    const { tokenServer, api, call, clock } = await oauth(() => ({ body: `{"access_token":"at-${++count}","expires_in":"100"}` }), {
      scopes: ["a", "b"],
      audience: "me",
    });
    await Promise.all([call("getItem"), call("getItem"), call("getItem")]);
    await clock.advance(69_000);
    await call("getItem");
    await clock.advance(2_000);
    await call("getItem");
    expect(api.received.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer at-1",
      "Bearer at-1",
      "Bearer at-1",
      "Bearer at-1",
      "Bearer at-2",
    ]);
    expect(
      tokenServer.received.map(({ method, url, body, headers }) => [method, url, body, headers.authorization, headers["content-type"]]),
    ).toEqual(
      [1, 2].map(() => [
        "POST",
        "/token",
        "grant_type=client_credentials&scope=a+b&audience=me",
        "Basic bXklMjBpZDpzM2NyZXQlMkYlMkI=",
        "application/x-www-form-urlencoded",
      ]),
    );
  });

  test("client id and secret are sent in the form if send is body", async () => {
    const { tokenServer, call } = await oauth([TOKEN], { send: "body" });
    await call("getItem");
    expect([tokenServer.received[0]?.body, tokenServer.received[0]?.headers.authorization]).toEqual([
      "grant_type=client_credentials&client_id=my+id&client_secret=s3cret%2F%2B",
      undefined,
    ]);
  });

  test("a 401 fetches a new token and repeats the call once, no more often", async () => {
    let count = 0;
    const { api, tokenServer, call } = await oauth(() => ({ body: `{"access_token":"at-${++count}"}` }), {}, [
      { status: 401 },
      { body: "1" },
      { status: 401 },
    ]);
    expect(await call("getItem")).toMatchObject({ output: 1 });
    expect(await call("getItem")).toMatchObject({
      message: "HTTP 401: {} (It was sent with an access token of OAuth client credentials.)",
    });
    expect([api.received.map(({ headers }) => headers.authorization), tokenServer.received.length]).toEqual([
      ["Bearer at-1", "Bearer at-2", "Bearer at-2", "Bearer at-3"],
      3,
    ]);
  });

  test.each<readonly [string, Reply, JsonObject]>([
    [
      "a refusal",
      { status: 400, body: '{"error":"invalid_client","error_description":"bad s3cret/+"}' },
      {
        code: "unavailable",
        retryable: false,
        outcome: "not_started",
        message: "The token server HOST answered HTTP 400 (invalid_client: bad [client secret]) to the client credentials.",
        operatorHint: "Check clientId, clientSecret, scopes and tokenUrl.",
      },
    ],
    [
      "a server in trouble",
      { status: 503, body: "x" },
      {
        code: "network_error",
        retryable: true,
        outcome: "not_started",
        message: "The token server HOST answered HTTP 503 to the client credentials.",
      },
    ],
    [
      "a page",
      { body: "<html>" },
      {
        code: "unavailable",
        retryable: false,
        outcome: "not_started",
        message: "The token server HOST answered without an access_token that can be sent.",
      },
    ],
    [
      "a token that would break out",
      { body: '{"access_token":"a\\r\\nX: 1"}' },
      {
        code: "unavailable",
        retryable: false,
        outcome: "not_started",
        message: "The token server HOST answered without an access_token that can be sent.",
      },
    ],
    [
      "another kind of token",
      { body: '{"access_token":"a","token_type":"mac"}' },
      {
        code: "unavailable",
        retryable: false,
        outcome: "not_started",
        message: 'The token server HOST answered with a token of type "mac", but only Bearer is supported.',
      },
    ],
    [
      "a redirect, which would take the secret along",
      { status: 307, headers: { location: "http://127.0.0.1:1/" } },
      {
        code: "unavailable",
        retryable: false,
        outcome: "not_started",
        message: "The token server HOST answered HTTP 307 to the client credentials.",
        operatorHint: "Check clientId, clientSecret, scopes and tokenUrl.",
      },
    ],
  ])("%s is an error, and the API is not called", async (_, reply, expected) => {
    const { api, tokenServer, call } = await oauth([reply]);
    const error = await call("getItem");
    expect(JSON.parse(JSON.stringify(error).replaceAll(tokenServer.host, "HOST"))).toEqual(expected);
    expect(api.received).toEqual([]);
  });

  test("a token request without an answer times out, and cancelling one call does not affect the others that wait", async () => {
    const { tokenServer, call, clock } = await oauth([() => undefined]);
    const leaving = new AbortController();
    const first = call("getItem", {}, { signal: leaving.signal });
    const second = call("getItem");
    while (tokenServer.received.length === 0) await clock.advance(0);
    leaving.abort();
    expect(await first).toMatchObject({ code: "cancelled", outcome: "not_started" });
    await clock.advance(30_000);
    expect(await second).toMatchObject({ code: "network_error", outcome: "not_started", retryable: true });
    expect(tokenServer.received.length).toBe(1);
  });

  test("F08 close during a token request ends the call as unavailable with outcome not_started, not as cancelled", async () => {
    const { tokenServer, call, engine } = await oauth([() => undefined]);
    const calling = call("getItem");
    while (tokenServer.received.length === 0) await settle();
    await engine.close?.();
    expect(await calling).toEqual({
      code: "unavailable",
      message: "The REST engine was closed while an access token was fetched.",
      retryable: false,
      outcome: "not_started",
    });
  });
});

describe("F04 credentials are sent only to their own origin", () => {
  const auths: readonly (readonly [what: string, auth: RestAuth])[] = [
    ["bearer", { type: "bearer", token: "canary-secret" }],
    ["basic", { type: "basic", username: "u", password: "canary-secret" }],
    ["header", { type: "apiKey", in: "header", name: "X-Custom-Auth", value: "canary-secret" }],
    ["query", { type: "apiKey", in: "query", name: "key", value: "canary-secret" }],
    ["cookie", { type: "apiKey", in: "cookie", name: "sid", value: "canary-secret" }],
  ];
  test.each(auths)("%s credentials are not sent to the target of a redirect", async (_, auth) => {
    const other = await recordingServer();
    // A server that copies the query into the address it redirects to.
    const api = await recordingServer((request) => ({
      status: 302,
      headers: { location: `${other.url}/landed${request.url.slice("/item".length)}` },
    }));
    const { call } = await openEngine({
      document: ONE_GET,
      baseUrl: api.url,
      allowPrivate: [other.host],
      auth,
      headers: { "X-Extra": "canary-extra" },
    });
    expect(await call("getItem", { q: 1 })).toMatchObject({ output: {}, metadata: { url: `${other.url}/landed` } });
    const { url, headers } = other.received[0] ?? { url: "", headers: {} };
    expect(JSON.stringify([url, headers])).not.toMatch(/canary|dTpjYW5hcnktc2VjcmV0/u);
    expect(JSON.stringify([api.received[0]?.url, api.received[0]?.headers])).toMatch(/canary-secret|dTpjYW5hcnktc2VjcmV0/u);
  });

  test("F03 a private host configured for tokens or for the document is not allowed as the target of a redirect", async () => {
    const inside = await recordingServer((request) =>
      request.url === "/spec" ? { body: JSON.stringify(ONE_GET) } : { body: '{"access_token":"at"}' },
    );
    const api = await recordingServer((request) => ({ status: 302, headers: { location: `${inside.url}/admin${request.url}` } }));
    const auth: RestAuth = { type: "oauth2", tokenUrl: `${inside.url}/token`, clientId: "id", clientSecret: "canary-secret" };
    const { call } = await openEngine({ document: `${inside.url}/spec`, baseUrl: api.url, auth });
    expect(await call("getItem")).toMatchObject({ code: "permission_denied", message: expect.stringMatching(/^After a redirect: /u) });
    expect(inside.received.map(({ url }) => url)).toEqual(["/spec", "/token"]);
  });

  test("a redirect within the same origin keeps the credentials", async () => {
    const api = await recordingServer([{ status: 307, headers: { location: "/moved" } }, {}]);
    const { call } = await openEngine({ document: ONE_GET, baseUrl: api.url, auth: { type: "bearer", token: "t0ken" } });
    await call("getItem");
    expect(api.received.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ["/item", "Bearer t0ken"],
      ["/moved", "Bearer t0ken"],
    ]);
  });
});
