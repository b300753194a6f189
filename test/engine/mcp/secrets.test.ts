import { inspect } from "node:util";
import { expect, test } from "vitest";
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { ToolError } from "../../../src/core/error.ts";
import { guardedProvider, withConfiguredHeaders } from "../../../src/engine/mcp/authorization.ts";
import { mcpToolset } from "../../../src/engine/mcp.ts";
import { collectCredentials, collectSecrets, type McpUrlOptions } from "../../../src/engine/mcp/options.ts";
import { isJsonObject, type JsonObject } from "../../../src/core/base/json.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import type { QuestionAnswer } from "../../../src/core/approvals/ask.ts";
import { mcpPeerOf, type McpPeer } from "../../../src/engine/mcp/peer.ts";
import { event, loopbackMcp, modern, openHttp, text, toolList } from "./loopback-mcp.ts";
import { createRedactor } from "../../../src/core/secrets/redact.ts";
import { engineContext } from "../engine-contexts.ts";
import { openStrange, rejection, strangeServerEngine } from "../mcp-engine.ts";

test.each([
  [{ command: "x", env: { DOOR_KEY: "swordfish" } }, "swordfish", "[DOOR_KEY]"],
  [{ command: "x", args: ["--token=swordfish"] }, "swordfish", "[token]"],
  [{ command: "x", args: ["--api-key", "swordfish"] }, "swordfish", "[api-key]"],
  [{ command: "x", args: ["GITHUB_TOKEN=swordfish"] }, "swordfish", "[GITHUB_TOKEN]"],
  [{ command: "x", args: ["postgres://ann:swordfish@db/x"] }, "swordfish", "[password of argument 1]"],
  [{ command: "x", args: ["postgres://ann:sword%66ish@db/x"] }, "swordfish", "[password of argument 1]"],
  [{ command: "x", args: ["https://example.com/sse?api_key=swordfish"] }, "swordfish", "[credential api_key of argument 1]"],
  [{ command: "x", args: ["--header", "Authorization: Bearer swordfish"] }, "swordfish", "[Authorization value]"],
  [{ command: "x", args: ["--header=X-Api-Key:swordfish"] }, "swordfish", "[X-Api-Key]"],
  [{ command: "x", env: { DATABASE_URL: "postgres://ann:swordfish@db/x" } }, "swordfish", "[password of DATABASE_URL]"],
  [{ url: "https://ann:swordfish@example.com/" }, "swordfish", "[password]"],
  [{ url: "https://ann:swordfish@example.com/" }, "YW5uOnN3b3JkZmlzaA==", "[credentials]"],
  [{ url: "https://swordfish@example.com/" }, "swordfish", "[user token]"],
  [{ url: "https://example.com/?key=swordfish" }, "swordfish", "[key]"],
  [{ url: "https://example.com/", headers: { "X-Key": "swordfish" } }, "swordfish", "[X-Key]"],
  [{ url: "https://example.com/", headers: { Authorization: "Bearer swordfish" } }, "swordfish", "[Authorization value]"],
  [{ url: "https://example.com/", headers: { Cookie: "a=b; sid=swordfish" } }, "swordfish", "[Cookie value 2]"],
  [{ url: "https://example.com/", headers: { Authorization: "Basic YW5uOnN3b3JkZmlzaA==" } }, "swordfish", "[Authorization password]"],
  [{ url: "https://example.com/", auth: { type: "bearer", token: "swordfish" } }, "swordfish", "[token]"],
  [
    { url: "https://example.com/", auth: { type: "basic", username: "ann", password: "swordfish" } },
    "YW5uOnN3b3JkZmlzaA==",
    "[credentials]",
  ],
] as const)("E12 the secret in %j is redacted", (options, secret, instead) => {
  expect(createRedactor(collectSecrets(options))(`it said ${secret}!`)).toBe(`it said ${instead}!`);
});

test("E12 an argument that only looks like a secret option does not make the next argument a secret", () => {
  expect(collectSecrets({ command: "x", args: ["--token", "--verbose", "--port", "123456"] })).toEqual({});
});

test("E12 a number of tokens is no secret", () => {
  const env = { MAX_TOKENS: "16000000", BOT_TOKEN: "12345678" };
  expect(collectSecrets({ command: "x", env, args: ["--max-tokens=16000000", "--token-limit", "16000000"] })).toEqual({
    BOT_TOKEN: "12345678",
  });
  expect(collectSecrets({ url: "https://example.com/?max_tokens=16000000", headers: { "X-Max-Tokens": "16000000" } })).toEqual({});
});

test("E12 D04 a secret variable is redacted from the server's stderr tail", async () => {
  const error = await rejection(openStrange("exit-on-start", { env: { DOOR_KEY: "swordfish" } }));

  expect(JSON.stringify(error)).not.toContain("swordfish");
});

test("E12 the error for a program that cannot be started contains no secret, including in its causes and hidden properties", async () => {
  const engine = strangeServerEngine("good", {
    command: "/no/such/program",
    args: ["--token", "swordfish"],
    env: { DOOR_KEY: "swordfish" },
  });
  const error: unknown = await Promise.resolve(engine.open?.(engineContext())).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(ToolError);
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("swordfish");
});

test("E12 the error for a server that refuses to open contains no secret, including in its causes and hidden properties", async () => {
  const error: unknown = await openStrange("tells", { env: { DOOR_KEY: "swordfish" } }).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(ToolError);
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("swordfish");
});

test("D12 headers and credentials are sent only to the server's own origin", async () => {
  const seen: (string | null)[] = [];
  const fetch = withConfiguredHeaders(
    (_url, init) => {
      seen.push(new Headers(init?.headers).get("authorization"));
      return Promise.resolve(new Response());
    },
    { url: "https://example.com/mcp", auth: { type: "bearer", token: "swordfish" } },
  );

  await fetch("https://example.com/other", {});
  await fetch("https://login.example.com/token", {});
  await fetch("http://example.com/mcp", {});

  expect(seen).toEqual(["Bearer swordfish", null, null]);
});

test.each([
  "javascript:alert(1)",
  "file:///etc/passwd",
  "http://x/$(calc)\u0007",
  "--upload-pack=x",
  "vscode://run",
  "https://bank.example@evil.example/",
])("D11 the unsafe login URL %j is never passed to the provider", (address) => {
  const visited: string[] = [];
  const provider = guardedProvider({
    redirectToAuthorization: (url: URL) => void visited.push(String(url)),
  } as unknown as OAuthClientProvider);

  expect(() => provider.redirectToAuthorization(address as unknown as URL)).toThrow(
    new ToolError("permission_denied", "The login address of the authorization server is not an http or https address."),
  );
  expect(visited).toEqual([]);
});

test("D11 the URL of a web page is passed unchanged to the provider's own method", async () => {
  class Provider {
    readonly #visited: string[] = [];
    redirectToAuthorization(url: URL): void {
      this.#visited.push(url.href);
    }
    tokens(): readonly string[] {
      return this.#visited;
    }
  }
  const provider = guardedProvider(new Provider() as unknown as OAuthClientProvider);

  await provider.redirectToAuthorization(new URL("https://login.example.com/?a=$(b)"));

  expect(provider.tokens()).toEqual(["https://login.example.com/?a=$(b)"]);
});

const CREDENTIAL = "canary-credential-7";
const NEVER = { signal: new AbortController().signal };

async function openPeer(url: string): Promise<McpPeer> {
  const peer = mcpPeerOf((await openHttp({ url, auth: { type: "bearer", token: CREDENTIAL } })).engine);
  if (peer === undefined) throw new Error("the engine has no peer");
  return peer;
}

const echoes: readonly (readonly [string, (said: string) => JsonObject])[] = [
  ["a text", (said) => ({ content: [{ type: "text", text: said }] })],
  ["the text of an error", (said) => ({ content: [{ type: "text", text: said }], isError: true })],
  ["structured content", (said) => ({ content: [], structuredContent: { deep: [{ value: said }] } })],
  ["a key", (said) => ({ content: [], structuredContent: { [said]: 1 } })],
  ["a file", (said) => ({ content: [{ type: "resource", resource: { uri: `file:///${said}`, text: said } }] })],
  ["a link", (said) => ({ content: [{ type: "resource_link", uri: `https://example.com/?key=${said}`, name: said }] })],
  ["a part that is not known", (said) => ({ content: [{ type: "other", said }] })],
  ["metadata", (said) => ({ content: [], _meta: { said } })],
];
const ways: readonly (readonly [string, Partial<McpUrlOptions>])[] = [
  ["a bearer token", { auth: { type: "bearer", token: CREDENTIAL } }],
  ["a password", { auth: { type: "basic", username: "ann", password: CREDENTIAL } }],
  ["a header", { headers: { "X-Api-Key": CREDENTIAL } }],
];

test.each(echoes.flatMap(([place, echo]) => ways.map(([way, options]) => [way, place, options, echo] as const)))(
  "E12 %s that a server repeats in %s is redacted from everything that is recorded",
  async (_way, _place, options, echo) => {
    const { url } = await loopbackMcp({ ...modern(), "tools/call": () => ({ resultType: "complete", ...echo(`It is ${CREDENTIAL}.`) }) });
    const runtime = createRuntime({ toolsets: [mcpToolset("far", { url, ...options })], approval: { never: ["*"] } });
    await runtime.open();
    const session = runtime.session("s");
    const result = await session.execute({ name: "far::echo", input: {} });
    await runtime.close();
    const recorded = JSON.stringify([result, session.snapshot()]);
    expect(recorded).toMatch(/It is \[(?:token|password|X-Api-Key)\]\./u);
    expect(recorded).not.toContain(CREDENTIAL);
  },
);

test("E12 a tool can be called although names in its schemas contain a credential", async () => {
  const PASSWORD = "postgres";
  const properties = (title: JsonObject): JsonObject => ({ postgres_url: { type: "string", pattern: "^postgres:" }, title });
  const inputSchema = {
    type: "object",
    properties: properties({ type: "string", description: "Not postgres", enum: ["postgres"] }),
    required: ["postgres_url"],
    dependentRequired: { title: ["postgres_url"] },
    additionalProperties: false,
  };
  const outputSchema = { type: "object", properties: properties({ enum: ["postgres"] }), required: ["postgres_url", "title"] };
  const output = { postgres_url: "postgres:x", title: "postgres" };
  const sent: unknown[] = [];
  const { url } = await loopbackMcp({
    ...modern(),
    "tools/list": () => toolList([], { tools: [{ name: "postgres", inputSchema, outputSchema }] }),
    "tools/call": ({ params }) => {
      sent.push(isJsonObject(params) ? params["arguments"] : undefined);
      return { resultType: "complete", content: [], structuredContent: output };
    },
  });
  const toolset = mcpToolset("far", { url, auth: { type: "basic", username: "ann", password: PASSWORD } });
  const runtime = createRuntime({ toolsets: [toolset], approval: { never: ["*"] } });
  await runtime.open();
  const [tool] = runtime.registry.list();
  const result = await runtime.execute({ name: "far::postgres", input: { postgres_url: "postgres:x" } });
  await runtime.close();
  expect(result).toMatchObject({ status: "ok" });
  expect(sent).toEqual([{ postgres_url: "postgres:x" }]);
  const title = { type: "string", description: "Not [password]", enum: ["[password]"] };
  expect(tool?.tool).toMatchObject({ inputSchema: { ...inputSchema, properties: properties(title) }, outputSchema });
});

test.each(ways)(
  "E12 %s that a server repeats in the definitions of its tools is redacted before a model or a person sees them",
  async (_way, options) => {
    const said = `It is ${CREDENTIAL}.`;
    const inputSchema = { type: "object", properties: { a: { type: "string", description: said, default: said, enum: [said, "b"] } } };
    const annotations = { title: said };
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/list": () =>
        toolList([], {
          tools: [
            { name: "echo", title: said, description: said, inputSchema, outputSchema: { type: "object", description: said }, annotations },
          ],
        }),
      "tools/call": () => ({ resultType: "complete", content: [], structuredContent: {} }),
    });
    const runtime = createRuntime({ toolsets: [mcpToolset("far", { url, ...options })], approval: { never: ["*"] } });
    await runtime.open();
    const listed = inspect(runtime.registry.list(), { depth: 20 });
    const result = await runtime.execute({ name: "far::echo", input: {} });
    await runtime.close();
    expect(listed).toMatch(/It is \[(?:token|password|X-Api-Key)\]\./u);
    expect(listed + JSON.stringify(result)).not.toContain(CREDENTIAL);
    expect(result.status).toBe("ok");
  },
);

const HEX = "0123456789abcdef";

test.each<readonly [string, JsonObject, boolean]>([
  ["a form that only the credential has", { echo: { type: "string", pattern: "^[0-9a-f]{16}$" } }, true],
  ["a length that only the credential has", { echo: { type: "string", minLength: 16, maxLength: 16 } }, true],
  ["one value", { echo: { const: HEX } }, true],
  ["keys of a form that only the credential has", { echo: true, keys: { propertyNames: { pattern: "^[0-9a-f]+$" } } }, true],
  ["a form that it does not have", { echo: { type: "string", pattern: "^[g-z]+$" } }, false],
  ["a form that only the label has", { echo: { type: "string", maxLength: 7 } }, false],
  ["another value beside it", { echo: true, other: { type: "integer" } }, false],
])(
  "E12 whether an answer fits its schema is told by the answer as it came, and the credential is struck out: %s",
  async (_what, properties, fits) => {
    const tool = { name: "echo", inputSchema: { type: "object" }, outputSchema: { type: "object", properties } };
    const structuredContent = { echo: HEX, keys: { [HEX]: 1 }, other: "one" };
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/list": () => toolList([], { tools: [tool] }),
      "tools/call": () => ({ resultType: "complete", content: [], structuredContent }),
    });
    const runtime = createRuntime({
      toolsets: [mcpToolset("far", { url, auth: { type: "bearer", token: HEX } })],
      approval: { never: ["*"] },
    });
    await runtime.open();
    const session = runtime.session("s");
    const result = await session.execute({ name: "far::echo", input: {} });
    await runtime.close();
    expect(result).toMatchObject({
      status: fits ? "ok" : "partial",
      output: { echo: "[token]", keys: { "[token]": 1 }, other: "one" },
      ...(fits ? {} : { error: { code: "invalid_output", details: [expect.stringMatching(/^\$/u)] } }),
    });
    expect(inspect([result, session.snapshot()], { depth: 20, showHidden: true })).not.toContain(HEX.slice(0, 8));
  },
);

test("E12 a credential that a server repeats in progress or a question during a call is redacted", async () => {
  const told = `with ${CREDENTIAL}`;
  const asked: unknown[] = [];
  const { url } = await loopbackMcp({
    ...modern(),
    "tools/call": ({ params, id, response }) => {
      if (params["inputResponses"] !== undefined) return text(`done ${told}`);
      const { progressToken } = isJsonObject(params["_meta"]) ? params["_meta"] : {};
      event(response, { method: "notifications/progress", params: { progressToken: progressToken ?? "none", progress: 1, message: told } });
      const question = {
        method: "elicitation/create",
        params: { message: `Go on ${told}?`, requestedSchema: { type: "object", properties: {} } },
      };
      event(response, { id: id as number, result: { resultType: "input_required", inputRequests: { go: question } } });
      response.end();
      return undefined;
    },
  });
  const runtime = createRuntime({
    toolsets: [mcpToolset("far", { url, auth: { type: "bearer", token: CREDENTIAL } })],
    approval: { never: ["*"] },
  });
  await runtime.open();
  const events: unknown[] = [];
  runtime.subscribe((event) => void events.push(event));
  const ask = (question: unknown) => {
    asked.push(question);
    return { action: "accept", content: {} } as const;
  };
  const result = await runtime.execute({ name: "far::echo", input: {} }, { ask, onProgress: (update) => void asked.push(update) });
  await runtime.close();
  expect(result).toMatchObject({ status: "ok", content: [{ text: "done with [token]" }] });
  expect(asked.length).toBe(2);
  expect(JSON.stringify([asked, events])).not.toContain(CREDENTIAL);
});

test("E12 ordinary words in configured headers are not redacted from answers", async () => {
  const { url } = await loopbackMcp({ ...modern(), "tools/call": () => text("europe-west and hunter2") });
  const headers = { "X-Region": "europe-west", "X-Api-Key": "hunter2" };
  const runtime = createRuntime({ toolsets: [mcpToolset("far", { url, headers })], approval: { never: ["*"] } });
  await runtime.open();
  const { content } = await runtime.execute({ name: "far::echo", input: {} });
  await runtime.close();
  expect(content).toEqual([{ type: "text", text: "europe-west and hunter2" }]);
});

test("E12 only the credentials of an environment are redacted from answers, not its folders, authors, and addresses without a password", () => {
  const credentials = {
    API_KEY: "canary-1",
    SSH_PRIVATE_KEY: "canary-8",
    SORT_API_KEY: "canary-9",
    COSMOS_PRIMARY_KEY: "canary-10",
    API_TOKEN: "canary-2",
    MYSQL_PWD: "canary-3",
    AUTHORIZATION: "canary-4",
    BASIC_AUTH: "canary-5",
    AUTH_URL: "https://ann:canary-6@example.com/",
    BOT_TOKEN: "12345678",
    NEXT_MAX_TOKENS: "canary-7",
  };
  const addresses = { DATABASE_URL: "postgres://ann:canary-11@db.example/x", SERVICE: "https://example.com/?sort=name&api_key=canary-12" };
  const inAddresses = {
    "password of AUTH_URL": "canary-6",
    "password of DATABASE_URL": "canary-11",
    "credential api_key of SERVICE": "canary-12",
  };
  const words = {
    PWD: "/home/ann/project",
    OLDPWD: "/home/ann",
    GIT_AUTHOR_NAME: "Ann Smith",
    GIT_AUTHOR_EMAIL: "ann@example.com",
    SSH_AUTH_SOCK: "/run/user/1000/ssh",
    XAUTHORITY: "/home/ann/.Xauthority",
    AZURE_AUTHORITY_HOST: "https://login.example.com",
    TOKEN_URL: "https://login.example.com/token",
    AUTH_MODE: "disabled",
    TOKENIZER: "cl100k_base",
    MAX_TOKENS: "16000000",
    TOKENS_PER_MINUTE: "10_000_000",
    SORT_KEY: "created_at",
    "x-partition-key": "customer_id",
    PUBLICKEY: "customer_id",
  };
  expect(collectCredentials({ command: "x", env: { ...words, ...credentials, ...addresses } })).toEqual({ ...credentials, ...inAddresses });
});

const said = { text: `It is ${CREDENTIAL}.` };
const message = { role: "user", content: { type: "text", ...said } };

test.each<readonly [string, JsonObject, (peer: McpPeer) => Promise<unknown>]>([
  ["resources/list", { resources: [{ uri: "a:b", name: "b", description: said.text }] }, (peer) => peer.listResources({}, NEVER)],
  ["resources/read", { contents: [{ uri: "a:b", ...said }] }, (peer) => peer.readResource({ uri: "a:b" }, NEVER)],
  ["prompts/list", { prompts: [{ name: "p", description: said.text }] }, (peer) => peer.listPrompts({}, NEVER)],
  ["prompts/get", { messages: [message] }, (peer) => peer.getPrompt({ name: "p" }, NEVER)],
  ["completion/complete", { completion: { values: [said.text] } }, (peer) => peer.complete({}, NEVER)],
])("E12 a credential that a server repeats in its answer to %s is redacted", async (method, answer, ask) => {
  const capabilities = { resources: {}, prompts: {}, completions: {} };
  const { url } = await loopbackMcp({ ...modern(capabilities), [method]: () => ({ resultType: "complete", ...answer }) });
  const got = JSON.stringify(await ask(await openPeer(url)));
  expect(got).toContain("It is [token].");
  expect(got).not.toContain(CREDENTIAL);
});

test("E12 a credential that a server repeats in its questions, errors and notifications is redacted", async () => {
  const question = { method: "elicitation/create", params: { message: said.text, requestedSchema: { type: "object", properties: {} } } };
  const { url } = await loopbackMcp({
    ...modern({ resources: {}, logging: {} }),
    "resources/read": ({ params, id, response }) => {
      if (params["inputResponses"] === undefined) {
        event(response, { method: "notifications/message", params: { level: "info", data: said } });
        event(response, { id: id as number, result: { resultType: "input_required", inputRequests: { go: question } } });
      } else event(response, { id: id as number, error: { code: -32_050, message: "No.", data: said } });
      response.end();
      return undefined;
    },
  });
  const peer = await openPeer(url);
  const heard: unknown[] = [];
  peer.onNotification((notification) => void heard.push(notification));
  const ask = (asked: unknown): Promise<QuestionAnswer> => {
    heard.push(asked);
    return Promise.resolve({ action: "accept", content: {} });
  };
  const refused = await peer.readResource({ uri: "a:b" }, { ...NEVER, ask }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ rpcCode: -32_050, rpcMessage: "No.", rpcData: { text: "It is [token]." } });
  expect(heard.length).toBe(2);
  expect(inspect([refused, heard], { depth: 9 })).not.toContain(CREDENTIAL);
});
