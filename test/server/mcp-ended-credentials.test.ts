import { expect, onTestFinished, test } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { markHeadOnly, type Authenticator, type Principal } from "../../src/server/auth/principal.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { mcpHandler, type McpHttpOptions } from "../../src/server/mcp.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { listening, openRuntime } from "./mcp-clients.ts";
import { rawResponse } from "./mcp-raw.ts";
import { rawSession } from "./mcp-raw-session.ts";

const LIFE_MS = 60_000;

/** A runtime whose tool reports once and ends with the test. */
async function withTool() {
  const over = Promise.withResolvers<string>();
  const slow = defineTool({
    name: "slow",
    description: "",
    effects: pure,
    timeoutMs: 0,
    execute: (_input, { progress }) => {
      progress({ done: 1 });
      return over.promise;
    },
  });
  return { ...(await openRuntime({ tools: [slow] })), end: () => over.resolve("done") };
}

/** Lets a caller in whose credentials expire, or are revoked. */
function letIn(how: "expire" | "are revoked", clock: FakeClock): Authenticator {
  const endsAt = clock.wallTime() + LIFE_MS;
  const principal: Principal = {
    id: "key:ann",
    name: "ann",
    scopes: new Set(["execute"]),
    ...(how === "expire" ? { expiresAt: endsAt } : {}),
  };
  const authenticate = async (): Promise<Principal> => principal;
  if (how === "are revoked") return { authenticate, isValid: async () => clock.wallTime() < endsAt };
  return markHeadOnly({ authenticate, authenticateHead: authenticate });
}

/** The streams that a client may have open: each resolves once its headers are there. */
const STREAMS: Readonly<Record<string, (url: string) => Promise<Response>>> = {
  "the stream of a session (2025-11-25)": async (url) => (await rawSession(url, "2025-11-25")).get(),
  "the stream of a call in a session (2025-11-25)": async (url) =>
    (await rawSession(url, "2025-11-25")).post({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { ...CALL, _meta: { progressToken: "p" } },
    }),
  "a stream of changes (2026-07-28)": (url) => rawResponse(url, "subscriptions/listen", { notifications: { toolsListChanged: true } }),
  "the stream of a call (2026-07-28)": (url) => rawResponse(url, "tools/call", CALL, { progressToken: "p" }),
};
const CALL = { name: "slow", arguments: {} };

const CASES = Object.keys(STREAMS).flatMap((stream) => (["expire", "are revoked"] as const).map((how) => [stream, how] as const));

test.each(CASES)("%s starts at once, and ends when its caller's credentials %s", async (stream, how) => {
  const clock = new FakeClock();
  const { runtime, end } = await withTool();
  const { url } = await listening(runtime, { authenticator: letIn(how, clock), ports: { clock } });
  onTestFinished(end);
  const response = await STREAMS[stream]?.(url);
  expect([response?.status, response?.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  let isOver = false;
  const text = response?.text().finally(() => (isOver = true));
  await clock.advance(LIFE_MS - 1_000);
  expect(isOver).toBe(false);
  await clock.advance(1_000);
  await text;
});

test("the streams of mcpHandler end with the caller's credentials too", async () => {
  const clock = new FakeClock();
  const { runtime } = await withTool();
  const options: McpHttpOptions = { authenticator: letIn("expire", clock), ports: { clock }, graceMs: 0 };
  const handler = mcpHandler(runtime, options);
  onTestFinished(() => handler.close());
  const request = new Request("http://localhost/mcp", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", host: "localhost" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
    }),
  });
  const begun = await handler(request);
  await begun.text();
  const stream = await handler(
    new Request("http://localhost/mcp", {
      headers: { accept: "text/event-stream", host: "localhost", "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" },
    }),
  );
  expect(stream.status).toBe(200);
  await clock.advance(LIFE_MS);
  expect(await stream.text()).toBe("");
});
