/** Tokens that an authorization server gave are redacted in the answers of a server that repeats them, like configured ones. */
import { expect, onTestFinished, test } from "vitest";
import { mcpToolset, type McpAuth } from "../../../../src/engine/mcp.ts";
import { ServerSecrets } from "../../../../src/engine/mcp/server-secrets.ts";
import { createRuntime } from "../../../../src/runtime/runtime.ts";
import { authorizationServer, ticketServer, type AuthorizationServer } from "./authorization-server.ts";
import { gateway } from "./gateway.ts";

const OWN = { clientId: "gateway", clientSecret: "a-secret-of-the-gateway" };
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

const AUTH: Readonly<Record<string, (issuer: string) => McpAuth>> = {
  "client-credentials": (issuer) => ({ type: "client-credentials", issuer, ...OWN, scope: "tickets" }),
  "token-exchange": (issuer) => ({
    type: "token-exchange",
    issuer,
    ...OWN,
    subjectToken: (user) => `id-of-${user}`,
    listWith: { type: "client-credentials", issuer, ...OWN, scope: "tickets" },
  }),
};

async function programAuthority(): Promise<AuthorizationServer> {
  const client = { client_id: OWN.clientId, client_secret: OWN.clientSecret, redirect_uris: [], response_types: [] };
  return await authorizationServer({ clients: [{ ...client, grant_types: [EXCHANGE, "client_credentials"] }] });
}

test.each(Object.entries(AUTH))("E12 a token from %s that a server repeats in its answer is redacted", async (_type, authOf) => {
  const authority = await programAuthority();
  const { url } = await ticketServer(authority, { repeatsToken: true });
  const toolset = mcpToolset("tickets", { url, auth: authOf(authority.issuer), allowPrivate: [new URL(authority.issuer).host] });
  const runtime = createRuntime({ toolsets: [toolset], approval: { never: ["*"] } });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  const result = await runtime.execute({ name: "tickets::whoami", input: {} }, { data: { principal: { id: "ada" } } });
  const answer = JSON.stringify(result);
  expect(answer).toContain(" with [token]");
  expect(authority.given.filter((token) => answer.includes(token))).toEqual([]);
});

test("E12 the token of a user who has logged in, which a server repeats in its answer, is redacted, and so is a renewed one", async () => {
  const { authority, logIn, call, said } = await gateway({ tickets: { repeatsToken: true }, runtime: { approval: { never: ["*"] } } });
  await logIn("one", "ada");
  expect(await call("one")).toBe("ada with [token]");
  await authority.end("ada", ["AccessToken"]);
  expect(await call("one")).toBe("ada with [token]");
  expect(authority.given.length).toBeGreaterThan(2);
  expect(authority.given.filter((token) => said().includes(token))).toEqual([]);
});

test("E12 the newest tokens of a server are redacted, and short ones only from errors", () => {
  const secrets = new ServerSecrets({ url: "https://tools.example/mcp" });
  for (let count = 10; count < 40; count++) secrets.addToken(`canary-token-${count}`);
  secrets.addToken("seven-7");
  expect(secrets.redactAnswer({ said: ["canary-token-39", "seven-7"] })).toEqual({ said: ["[token]", "seven-7"] });
  expect(secrets.redact("canary-token-39 seven-7")).toBe("[token] [token]");
});
