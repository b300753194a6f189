/** What calls make of an authorization server that fails, refuses, or repeats the secrets that it is sent. */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { request, toolContext } from "../engine-contexts.ts";
import { rejection } from "../mcp-engine.ts";
import { legacy, loopbackMcp, modern, openHttp, text, type Answers, type Asked } from "./loopback-mcp.ts";

const SECRET = "a secret: swordfish";
const SPELLINGS = [SECRET, Buffer.from(`me:${SECRET}`).toString("base64")];

/** A server of tools whose token has expired by the first call, and the authorization server of its tokens. */
async function expiredToken(renewal: { readonly status: number; readonly body: string; readonly to?: "/token" | "metadata" }) {
  let made = 0;
  let mcpUrl = "";
  const authority = createServer((asked, response) => {
    const self = `http://${asked.headers.host}`;
    const send = (body: string, status = 200): void => void response.writeHead(status, { "content-type": "application/json" }).end(body);
    if (asked.url === "/resource") return send(JSON.stringify({ resource: mcpUrl, authorization_servers: [self] }));
    const isRenewal = made > 0;
    if (asked.url === "/token") made++;
    if (isRenewal && (asked.url === "/token") === (renewal.to !== "metadata")) return send(renewal.body, renewal.status);
    if (asked.url === "/token") return send(JSON.stringify({ access_token: "the-first-token", token_type: "Bearer" }));
    const endpoints = { authorization_endpoint: `${self}/authorize`, token_endpoint: `${self}/token` };
    return send(JSON.stringify({ issuer: self, ...endpoints, response_types_supported: ["code"] }));
  }).listen(0, "127.0.0.1");
  await once(authority, "listening");
  onTestFinished(() => (authority.closeAllConnections(), void authority.close()));
  const { port } = authority.address() as AddressInfo; // it listens on one
  const issuer = `http://127.0.0.1:${port}`;
  const refuse = ({ response }: Asked): undefined =>
    void response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${issuer}/resource"` }).end();
  const served = await loopbackMcp({
    ...modern(),
    "server/discover": (asked) => (asked.headers.authorization === undefined ? refuse(asked) : modern()["server/discover"]?.(asked)),
    "tools/call": (asked) => (asked.headers.authorization === "Bearer the-first-token" ? refuse(asked) : text("done")),
  });
  mcpUrl = served.url;
  const auth = { type: "client-credentials", clientId: "me", clientSecret: SECRET, issuer } as const;
  const { engine } = await openHttp({ url: mcpUrl, auth, allowPrivate: [`127.0.0.1:${port}`] });
  return { error: await rejection(engine.call(request("echo"), toolContext())), host: `127.0.0.1:${port}` };
}

test.each<[string, { readonly status: number; readonly body: string }, string]>([
  ["fails", { status: 503, body: "<html>".padEnd(100_000, "x") }, "it answered 503"],
  ["is overloaded", { status: 400, body: '{"error":"temporarily_unavailable"}' }, "it answered 400"],
  ["sends a page", { status: 200, body: "<html>" }, "it answered without a usable token"],
  [
    "sends a token with a line break",
    { status: 200, body: '{"access_token":"a\\r\\nb","token_type":"Bearer"}' },
    "it answered without a usable token",
  ],
])(
  "a call whose token is not renewed because the authorization server %s has not started, and may be repeated",
  async (_, renewal, reason) => {
    const { error, host } = await expiredToken(renewal);
    expect(error).toMatchObject({ code: "unavailable", retryable: true, outcome: "not_started" });
    expect(error).toHaveProperty("message", `No token could be obtained from ${host} now: ${reason}.`);
  },
);

test.each<[string, Parameters<typeof expiredToken>[0], string]>([
  ["fails", { to: "metadata", status: 500, body: "{}" }, "HTTP 500 trying to load OAuth metadata"],
  ["is a page", { to: "metadata", status: 200, body: "<html>" }, "is not valid JSON"],
  [
    "is too large",
    { to: "metadata", status: 200, body: JSON.stringify({ issuer: "x".repeat(33 * 1024 * 1024) }) },
    "is larger than 33554432 bytes",
  ],
  [
    "lacks fields",
    { to: "metadata", status: 200, body: "{}" },
    "an answer of the authorization server is invalid (issuer: Invalid input: expected string, received undefined; ",
  ],
  [
    "has a wrong expiry",
    { status: 200, body: '{"access_token":"a","token_type":"Bearer","expires_in":"abc"}' },
    "an answer of the authorization server is invalid (expires_in: Invalid input: expected number, received NaN).",
  ],
])("a call whose token is not renewed because an answer of the authorization server %s has not started", async (_, renewal, reason) => {
  const { error } = await expiredToken(renewal);
  expect(error).toMatchObject({ code: "unavailable", outcome: "not_started" });
  expect(error).toHaveProperty("message", expect.stringMatching(/^MCP server "far": no token could be obtained: /u));
  expect(error).toHaveProperty("message", expect.stringContaining(reason));
});

test.each<[string, Answers]>([
  ["of 2026-07-28", modern()],
  ["of 2025-11-25", legacy()],
])("a call of a server %s has not started if the program cannot give its token", async (_, answers) => {
  const served = await loopbackMcp({ ...answers, "tools/call": () => text("done") });
  let isSealed = false;
  const token = async (): Promise<string> => {
    if (isSealed) throw new Error("The vault is sealed.");
    return "the-token";
  };
  const { engine } = await openHttp({ url: served.url, auth: { type: "oauth", provider: { token } } });
  isSealed = true;
  const error = await rejection(engine.call(request("echo"), toolContext()));
  expect(error).toMatchObject({ code: "unavailable", outcome: "not_started" });
  expect(error).toHaveProperty("message", 'MCP server "far": no token could be obtained: The vault is sealed.');
  expect(served.asked.some(({ method }) => method === "tools/call")).toBe(false);
});

test.each<[string, Answers, "stream" | "broken stream"]>([
  ["of 2026-07-28 that answers with a stream", modern(), "stream"],
  ["of 2026-07-28 whose stream breaks", modern(), "broken stream"],
  ["of 2025-11-25 that answers with a stream", legacy(), "stream"],
  ["of 2025-11-25 whose stream breaks", legacy(), "broken stream"],
])("a call that a server %s has received is never reported as not started if a later token cannot be given", async (_, answers, how) => {
  let calls = 0;
  const served = await loopbackMcp({
    ...answers,
    "tools/call": ({ response, id }) => {
      calls++;
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (how === "broken stream")
        return void response.write("id: 1\nretry: 10\ndata: \n\n", () => setTimeout(() => response.destroy(), 20));
      response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...text("done") } })}\n\n`);
    },
  });
  const token = async (): Promise<string> => {
    if (calls > 0) throw new Error("The vault is sealed.");
    return "the-token";
  };
  const { engine } = await openHttp({ url: served.url, auth: { type: "oauth", provider: { token } } });
  const call = Promise.resolve(engine.call(request("echo"), toolContext()));
  const isAnswered = how === "stream" && answers["initialize"] !== undefined; // the transport asks for one token only
  if (isAnswered) expect(await call).toBeDefined();
  else expect(await rejection(call)).toMatchObject({ outcome: "unknown" });
  expect(calls).toBe(1);
});

test("D12 client credentials without an issuer are warned about once, by the name of the option", async () => {
  const console = vi.spyOn(globalThis.console, "warn").mockImplementation(() => {});
  onTestFinished(() => console.mockRestore());
  const served = await loopbackMcp(modern());
  const auth = { type: "client-credentials", clientId: "me", clientSecret: SECRET } as const;
  const first = await openHttp({ url: served.url, auth });
  const second = await openHttp({ url: served.url, auth });
  const named = await openHttp({ url: served.url, auth: { ...auth, issuer: "https://login.example" } });
  expect([first.warnings(), second.warnings(), named.warnings()]).toEqual([
    [expect.stringMatching(/^The client secret for .* any authorization server that this MCP server names\. Set issuer in its auth/u)],
    [],
    [],
  ]);
  expect(console).not.toHaveBeenCalled();
});

test("E12 a refusal of an authorization server that repeats the client secret reveals it neither in the error nor on the console", async () => {
  const console = vi.spyOn(globalThis.console, "warn").mockImplementation(() => {});
  onTestFinished(() => console.mockRestore());
  const description = `\u001b[31m${SPELLINGS.join(" and ")} are unknown`;
  const body = JSON.stringify({ error: "invalid_client", error_description: description });
  const { error } = await expiredToken({ status: 401, body });
  expect(error).toMatchObject({ code: "permission_denied", retryable: false, outcome: "not_started" });
  const shown = `${error instanceof Error ? error.message : ""} ${JSON.stringify(console.mock.calls)}`;
  expect(shown).toContain("are unknown");
  expect(console).toHaveBeenCalled();
  for (const hidden of [...SPELLINGS, "\u001b", "\\u001b"]) expect(shown).not.toContain(hidden);
});
