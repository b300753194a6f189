/** What calls make of an authorization server that fails, refuses, or repeats the secrets that it is sent. */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { request, toolContext } from "../engine-contexts.ts";
import { rejection } from "../mcp-engine.ts";
import { loopbackMcp, modern, openHttp, text, type Asked } from "./loopback-mcp.ts";

const SECRET = "a secret: swordfish";
const SPELLINGS = [SECRET, Buffer.from(`me:${SECRET}`).toString("base64")];

/** A server of tools whose token has expired by the first call, and the authorization server of its tokens. */
async function expiredToken(renewal: { readonly status: number; readonly body: string }) {
  let made = 0;
  let mcpUrl = "";
  const authority = createServer((asked, response) => {
    const self = `http://${asked.headers.host}`;
    const send = (body: string, status = 200): void => void response.writeHead(status, { "content-type": "application/json" }).end(body);
    if (asked.url === "/resource") return send(JSON.stringify({ resource: mcpUrl, authorization_servers: [self] }));
    if (asked.url === "/token" && ++made > 1) return send(renewal.body, renewal.status);
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
