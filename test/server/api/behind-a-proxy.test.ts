/** Requests as proxies and balancers send them: their own checks are answered, and a refusal says what to set. */
import { request as httpRequest } from "node:http";
import { expect, test } from "vitest";
import { TOKEN, startApi } from "./api-server.ts";

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly host: string;
  readonly origin?: string;
}

async function answered(
  port: number,
  { method = "GET", path, host, origin }: Sent,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    host,
    ...(origin === undefined ? {} : { origin }),
    ...(method === "POST" ? { "content-type": "application/json" } : {}),
  };
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: "127.0.0.1", port, method, path, headers, setHost: false }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject).end(method === "POST" ? "{}" : undefined);
  });
}

test("only the health and readiness routes accept any host", async () => {
  const { listener } = await startApi();
  const [port, host] = [listener.port, "10.0.0.3:7420"];
  for (const path of ["/healthz", "/readyz"])
    for (const method of ["GET", "HEAD"]) expect((await answered(port, { method, path, host })).status).toBe(200);
  for (const [method, path] of [
    ["POST", "/healthz"],
    ["GET", "/healthz/"],
    ["GET", "/v1/info"],
    ["GET", "/metrics"],
    ["GET", "/openapi.json"],
    ["POST", "/mcp"],
  ] as const)
    expect([path, (await answered(port, { method, path, host })).status]).toEqual([path, 403]);
});

test.each(["/v1/execute", "/mcp"])(
  "a request to another host name, or with a Host replaced by a proxy, is rejected with the setting to change (%s)",
  async (path) => {
    const { listener } = await startApi();
    const otherHost = await answered(listener.port, { method: "POST", path, host: "tools.example" });
    expect([otherHost.status, otherHost.text]).toEqual([403, expect.stringMatching(/host name is not allowed.*--allowed-host/u)]);
    const otherOrigin = await answered(listener.port, { method: "POST", path, host: "127.0.0.1:7420", origin: "https://tools.example" });
    expect([otherOrigin.status, otherOrigin.text]).toEqual([
      403,
      expect.stringMatching(/origin is not allowed.*forward the Host header of its client/u),
    ]);
  },
);

test("an MCP session of another server returns 404, and the response says that its requests must go to that server", async () => {
  const [one, other] = [await startApi(), await startApi()];
  const post = (url: string, message: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${TOKEN}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const begun = await post(one.url, { id: 1, method: "initialize", params });
  await begun.text();
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
  const here = await post(one.url, { id: 2, method: "ping" }, session);
  const there = await post(other.url, { id: 2, method: "ping" }, session);
  await here.text();
  expect([here.status, there.status, await there.text()]).toEqual([
    200,
    404,
    expect.stringContaining("all its requests must go to that one"),
  ]);
});
