import { inspect } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { restEngine, type RestAuth, type RestOptions } from "../../../src/engine/rest.ts";
import { Secrets } from "../../../src/engine/rest/secrets.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";
import { engineContext, requestOf, toolContext } from "../engine-contexts.ts";
import { ONE_GET, openEngine } from "./open-engine.ts";
import { recordingServer, type Reply } from "./recording-server.ts";

/** With characters that every encoding spells differently. */
const CANARY = 'canary/7+"x y&é'.slice(0, -1);
const PLAIN = "canary-plain-7";

const WAYS: readonly (readonly [what: string, options: Partial<RestOptions>])[] = [
  ["bearer", { auth: { type: "bearer", token: PLAIN } }],
  ["basic", { auth: { type: "basic", username: "user", password: CANARY } }],
  ["header key", { auth: { type: "apiKey", in: "header", name: "X-Key", value: CANARY } }],
  ["query key", { auth: { type: "apiKey", in: "query", name: "key", value: CANARY } }],
  ["cookie key", { auth: { type: "apiKey", in: "cookie", name: "sid", value: PLAIN } }],
  ["headers", { headers: { "X-Api-Token": CANARY, Authorization: `Bearer ${PLAIN}` } }],
];

/** Everything that a server can send back of what it was sent. */
const ECHOES: readonly (readonly [what: string, reply: (echo: JsonObject, text: string) => Reply])[] = [
  ["JSON", (echo) => ({ body: JSON.stringify(echo) })],
  ["JSON with escapes of its own", (echo) => ({ body: JSON.stringify(echo).replaceAll("/", "\\/") })],
  ["JSON in ASCII", (echo) => ({ body: JSON.stringify(echo).replaceAll("&", "\\u0026") })],
  ["text", (_, text) => ({ headers: { "content-type": "text/plain" }, body: text })],
  ["an error", (echo) => ({ status: 500, body: JSON.stringify(echo) })],
  ["a refusal", (_, text) => ({ status: 401, body: text })],
  ["broken JSON", (echo) => ({ body: JSON.stringify(echo).slice(0, -1) })],
  [
    "headers and a link",
    (echo) => ({
      headers: {
        "x-request-id": encodeURI(JSON.stringify(echo)),
        link: `<${String(echo["url"])}&page=2>; rel="next"`,
        location: String(echo["url"]),
      },
    }),
  ],
  ["a cursor", (echo) => ({ body: JSON.stringify({ next: `https://x.example${String(echo["url"])}`, next_cursor: echo["key"] ?? "" }) })],
];

describe("E12 no secret appears in results, errors or logs", () => {
  const both = WAYS.flatMap(([way, options]) => ECHOES.map(([echo, reply]) => ({ way, options, echo, reply })));
  test.each(both)("$way, echoed as $echo", async ({ options, reply }) => {
    const server = await recordingServer(({ url, headers }) => {
      const echo = {
        url,
        ...Object.fromEntries(
          ["authorization", "cookie", "x-key", "x-api-token"].flatMap((name) =>
            headers[name] === undefined ? [] : [[name, headers[name]]],
          ),
        ),
        key: new URL(url, "http://x").searchParams.get("key"),
        password: decoded(headers.authorization),
      };
      return reply(echo, Object.values(echo).join(" | "));
    });
    const log = new MemoryLog();
    const said = await everythingSaid({ document: ONE_GET, baseUrl: server.url, ...options }, log);
    expect(JSON.stringify([server.received[0]?.url, server.received[0]?.headers])).toMatch(/canary|dXNlcjpjYW5hcnk/u);
    expect(leaks(`${said}\n${inspect(log.lines)}`)).toEqual([]);
  });

  test.each([500, 401])("if the text of an error of status %i is cut inside the secret", async (status) => {
    const token = "canary-secret-0123456789";
    for (let part = 9; part < token.length; part++) {
      const server = await recordingServer([
        { status, body: `${"x".repeat(199 - part)}${token}${"x".repeat(1_000 - 200 - token.length)}${token}` },
      ]);
      const said = await everythingSaid({ document: ONE_GET, baseUrl: server.url, auth: { type: "bearer", token } }, new MemoryLog());
      expect(said).toContain("[bearer token]");
      expect(said).not.toContain(token.slice(0, 8));
    }
  });

  test("OAuth: neither client secret nor access token", async () => {
    const tokens = await recordingServer([
      { body: JSON.stringify({ access_token: "canary-token-9" }) },
      { status: 400, body: JSON.stringify({ error: `bad ${CANARY} ${encodeURIComponent(CANARY)}` }) },
    ]);
    const api = await recordingServer(({ headers }) => ({ status: 401, body: `no ${String(headers.authorization)}` }));
    const log = new MemoryLog();
    const auth: RestAuth = { type: "oauth2", tokenUrl: tokens.url, clientId: "id", clientSecret: CANARY };
    const said = await everythingSaid({ document: ONE_GET, baseUrl: api.url, auth }, log);
    expect(api.received[0]?.headers.authorization).toBe("Bearer canary-token-9");
    expect(said).toContain("answered HTTP 400 (bad [client secret] [client secret])");
    expect(leaks(`${said}\n${inspect(log.lines)}`)).toEqual([]);
  });

  test("if the document repeats the headers that it was fetched with", async () => {
    const server = await recordingServer(({ headers }) => {
      const said = `Your key is ${String(headers["x-key"])}.`;
      const schema = { type: "string", description: said, default: said };
      const parameters = [{ name: "q", in: "query", description: said, schema }];
      const get = { operationId: "find", summary: said, description: said, parameters, responses: { 200: { description: "OK" } } };
      return { body: JSON.stringify({ openapi: "3.1.0", info: { title: said, version: "1" }, paths: { "/find": { get } } }) };
    });
    const options = { document: `${server.url}/openapi.json`, baseUrl: server.url, documentHeaders: { "X-Key": CANARY } };
    const tools = inspect((await openEngine(options)).tools, { depth: 20 });
    expect(tools).toContain("Your key is [X-Key].");
    expect(leaks(tools)).toEqual([]);
  });

  test("if the server is unreachable or the document cannot be fetched", async () => {
    const log = new MemoryLog();
    const nowhere = "http://127.0.0.1:1";
    const auth: RestAuth = { type: "apiKey", in: "query", name: "key", value: CANARY };
    const said = [
      await everythingSaid({ document: ONE_GET, baseUrl: nowhere, auth }, log),
      await everythingSaid({ document: `${nowhere}/x?key=${encodeURIComponent(CANARY)}`, documentHeaders: { "X-Key": CANARY } }, log),
      inspect(restEngine({ document: ONE_GET, baseUrl: nowhere, auth })),
      JSON.stringify(restEngine({ document: ONE_GET, baseUrl: nowhere, auth })),
    ];
    expect(leaks(`${said.join("\n")}\n${inspect(log.lines)}`)).toEqual([]);
  });

  test("ordinary words of a header value are not redacted from answers", () => {
    const secrets = new Secrets({ document: {}, headers: { "X-Region": "europe-west", "X-Auth": "europe-east", Accept: "text/plain" } });
    expect([
      secrets.redactAnswer("europe-west europe-east text/plain"),
      secrets.redact("europe-west text/plain"),
      secrets.wouldRedactAnswer("europe-west"),
    ]).toEqual(["europe-west [X-Auth] text/plain", "[X-Region] text/plain", false]);
  });

  test("the password that a header of a toolset encodes is redacted, also where a service shows it decoded", () => {
    const Authorization = `Basic ${Buffer.from(`user:${CANARY}`).toString("base64")}`;
    const secrets = new Secrets({ document: {}, headers: { Authorization } });
    expect(secrets.redactAnswer(`Hello user:${CANARY}, sent ${Authorization}`)).toBe(
      "Hello user:[password of Authorization], sent [Authorization]",
    );
  });

  test("the values in a header are redacted, also where a service shows them without their names", () => {
    const secrets = new Secrets({
      document: {},
      headers: { Cookie: "sid=abcdefgh12; a=b", Authorization: 'Token token="0123456789", n=1' },
    });
    expect(secrets.redactAnswer('{"sid":"abcdefgh12","token":"0123456789","a":"b"}')).toBe(
      '{"sid":"[Cookie]","token":"[Authorization]","a":"b"}',
    );
  });

  test("a key in the address of a token server is redacted", () => {
    const service = { type: "oauth2", tokenUrl: `https://login.example/token?key=${PLAIN}`, clientId: "haft", clientSecret: "x" } as const;
    const secrets = new Secrets({ document: {}, auth: service });
    expect(secrets.redact(`/token?key=${PLAIN} is unknown`)).toBe("/token?key=[credential key of tokenUrl] is unknown");
  });

  test("a number of tokens stays in answers and in messages", () => {
    const secrets = new Secrets({ document: {}, headers: { "X-Max-Tokens": "16000000", "X-Bot-Token": "12345678" } });
    const text = "16000000 12345678";
    expect([secrets.redactAnswer(text), secrets.redact(text)]).toEqual(["16000000 [X-Bot-Token]", "16000000 [X-Bot-Token]"]);
  });

  test("whether an answer fits its schema is told by the answer as it came", async () => {
    const token = "0123456789abcdef";
    const server = await recordingServer(() => ({ body: JSON.stringify({ echo: token, keys: { [token]: 1 } }) }));
    const called = async (echo: JsonObject, keys: JsonObject): Promise<unknown> => {
      const schema = { type: "object", properties: { echo, keys } };
      const responses = { 200: { description: "", content: { "application/json": { schema } } } };
      const document = { openapi: "3.1.0", info: { title: "t", version: "1" }, paths: { "/": { get: { operationId: "get", responses } } } };
      const engine = restEngine({ document, baseUrl: server.url, auth: { type: "bearer", token } });
      const runtime = createRuntime({ toolsets: [{ name: "far", engine }] });
      onTestFinished(async () => void (await runtime.close()));
      await runtime.open();
      return await runtime.execute({ name: "far::get", input: {} });
    };
    const output = { echo: "[bearer token]", keys: { "[bearer token]": 1 } };
    const keys = { type: "object", properties: { [token]: { type: "integer" } }, required: [token], additionalProperties: false };
    expect(await called({ type: "string" }, keys)).toMatchObject({ status: "ok", output });
    const wrong = await called({ type: "integer" }, {});
    expect(wrong).toMatchObject({ status: "partial", error: { code: "invalid_output" }, output });
    expect(inspect(wrong, { depth: 20, showHidden: true })).not.toContain(token.slice(0, 8));
  });

  test("a secret too short to be redacted from answers causes a warning that does not contain it", async () => {
    const log = new MemoryLog();
    const engine = restEngine({
      document: ONE_GET,
      baseUrl: "https://api.example",
      auth: { type: "apiKey", in: "query", name: "k", value: "s3cret7" },
    });
    await engine.open?.(engineContext({ log }));
    await engine.close?.();
    expect(log.lines.map(({ message }) => message)).toEqual([
      "The API key has fewer than 8 characters: an answer that repeats it shows it to the model. Use a longer one.",
    ]);
  });

  test("a secret returned as JSON escapes is also redacted", async () => {
    const server = await recordingServer([{ body: '{"sent":"\\u0073\\u0065cret-of-the-program"}' }]);
    const auth = { type: "bearer", token: "secret-of-the-program" } as const;
    const { call } = await openEngine({ document: ONE_GET, baseUrl: server.url, auth });
    expect(await call("getItem")).toMatchObject({ output: { sent: "[bearer token]" } });
  });

  test("only the last few fetched tokens are remembered", () => {
    const secrets = new Secrets({ document: {} });
    for (let index = 0; index < 9; index++) secrets.add("access token", `token-number-${index}`);
    expect(secrets.redact("token-number-0 token-number-1 token-number-8")).toBe("token-number-0 [access token] [access token]");
  });
});

function decoded(authorization: string | undefined): string | null {
  return authorization?.startsWith("Basic ") === true ? Buffer.from(authorization.slice(6), "base64").toString() : null;
}

/** Opens, calls once, and gives all that is said: results as they are, errors with their stacks and causes. */
async function everythingSaid(options: RestOptions, log: MemoryLog): Promise<string> {
  const engine = restEngine(options);
  try {
    const tools = (await engine.open?.(engineContext({ log }))) ?? [];
    const [tool] = tools;
    if (tool === undefined) throw new Error("No tool.");
    const answer = await engine.call(requestOf(tool, {}), toolContext());
    return inspect([tools, answer], { depth: 20, maxStringLength: null });
  } catch (error: unknown) {
    return inspect(error, { depth: 20, maxStringLength: null, showHidden: true });
  } finally {
    await engine.close?.();
  }
}

/** Whatever is left of a canary, in any spelling. */
function leaks(text: string): readonly string[] {
  const base64 = [`user:${CANARY}`, `id:${encodeURIComponent(CANARY)}`].map((each) => Buffer.from(each).toString("base64"));
  return [/canary.{0,20}/giu.exec(text)?.[0], ...base64.filter((each) => text.includes(each))].filter((found) => found !== undefined);
}
