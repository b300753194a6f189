import { expect, test, vi } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { mcpPeerOf, type McpPeer, type PeerNotification } from "../../../src/engine/mcp/peer.ts";
import { localEngine } from "../../../src/engine/local.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { engineContext } from "../engine-contexts.ts";
import { openReference, rejection } from "../mcp-engine.ts";
import { event, legacy, loopbackMcp, modern, openHttp, type OpenedMcp } from "./loopback-mcp.ts";
import { testInCI } from "../../test-in-ci.ts";

const options = { signal: new AbortController().signal };

function peerOf({ engine }: Pick<OpenedMcp, "engine">): McpPeer {
  const peer = mcpPeerOf(engine);
  if (peer === undefined) throw new Error("the engine has no peer");
  return peer;
}

test("an engine of another kind has no peer", () => {
  expect(mcpPeerOf(localEngine())).toBeUndefined();
});

testInCI("F4.34 the everything server's resources, prompts and completions are passed through", async () => {
  const peer = peerOf(await openReference("everything"));

  const { resources } = await peer.listResources({}, options);
  const { resourceTemplates } = await peer.listResourceTemplates({}, options);
  const { prompts } = await peer.listPrompts({}, options);
  const { messages } = await peer.getPrompt({ name: "simple-prompt" }, options);
  const [first] = Array.isArray(resources) ? resources : [];
  const read = await peer.readResource({ uri: String(first?.uri) }, options);
  const completed = await peer.complete(
    { ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "" } },
    options,
  );

  expect(peer.identity).toMatchObject({ protocolVersion: "2025-11-25", serverInfo: { name: expect.any(String) } });
  expect([resources, resourceTemplates, prompts, messages, read["contents"]].map((list) => Array.isArray(list) && list.length > 0)).toEqual(
    Array.from({ length: 5 }, () => true),
  );
  expect(completed).toMatchObject({ completion: { values: expect.any(Array) } });
});

test("a feature that a server does not offer and a request that it rejects are different errors", async () => {
  const { url } = await loopbackMcp({
    ...legacy({ resources: {} }),
    "resources/read": ({ response, id }) =>
      void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32002, message: "no such resource", data: { uri: "x:y" } } })),
  });
  const peer = peerOf(await openHttp({ url, protocol: "legacy" }));

  expect(await rejection(peer.listPrompts({}, options))).toMatchObject({
    code: "unavailable",
    message: 'MCP server "far" offers no prompts.',
  });
  await expect(peer.readResource({ uri: "x:y" }, options)).rejects.toMatchObject({
    rpcCode: -32002,
    rpcMessage: "no such resource",
    rpcData: { uri: "x:y" },
  });
});

test("revision 2025-11-25: subscriptions and the log level are restored after a session was lost", async () => {
  let lost = false;
  const { url, asked } = await loopbackMcp({
    ...legacy({ resources: { subscribe: true }, logging: {} }),
    "resources/subscribe": () => ({}),
    "logging/setLevel": () => ({}),
    "resources/list": ({ response }) => {
      if (lost) return { resources: [] };
      lost = true;
      return void response.writeHead(404).end();
    },
  });
  const peer = peerOf(await openHttp({ url, protocol: "legacy" }));
  await peer.subscribe({ uri: "memo://1" }, options);
  await peer.setLogLevel({ level: "info" }, options);

  expect(await peer.listResources({}, options)).toEqual({ resources: [] });
  await vi.waitFor(() =>
    expect(asked.filter(({ method }) => method === "resources/subscribe" || method === "logging/setLevel")).toHaveLength(4),
  );
});

test.each(["legacy", "modern"] as const)("subscriptions and the log level survive closing and reopening the engine (%s)", async (era) => {
  const capabilities = { resources: { subscribe: true }, logging: {} };
  const filters: unknown[] = [];
  const { url, asked } = await loopbackMcp({
    ...(era === "legacy" ? legacy(capabilities) : modern(capabilities)),
    "resources/subscribe": () => ({}),
    "resources/unsubscribe": () => ({}),
    "logging/setLevel": () => ({}),
    "resources/list": () => ({ resultType: "complete", resources: [], ttlMs: 0, cacheScope: "private" }),
    "subscriptions/listen": ({ response, id, params }) => {
      filters.push(params["notifications"]);
      const meta: JsonObject = { "io.modelcontextprotocol/subscriptionId": String(id) };
      const notifications = params["notifications"] ?? {};
      event(response, { method: "notifications/subscriptions/acknowledged", params: { _meta: meta, notifications } });
      return undefined;
    },
  });
  const opened = await openHttp({ url, protocol: era });
  const { engine } = opened;
  const peer = peerOf(opened);
  const heard: PeerNotification[] = [];
  peer.onNotification((notification) => heard.push(notification));
  await peer.subscribe({ uri: "memo://1" }, options);
  await peer.subscribe({ uri: "memo://2" }, options);
  await peer.setLogLevel({ level: "info" }, options);
  await engine.close?.();
  await rejection(peer.unsubscribe({ uri: "memo://2" }, options));
  const before = asked.length;
  filters.length = 0;

  await engine.open?.(engineContext({ toolset: "far" }));

  await vi.waitFor(() => expect(heard).toEqual([{ method: "notifications/resources/updated", params: { uri: "memo://1" } }]));
  await peer.listResources({}, options);
  const again = asked.slice(before).filter(({ method }) => method === "resources/subscribe" || method === "logging/setLevel");
  expect(again.map(({ params }) => params)).toEqual(era === "legacy" ? [{ uri: "memo://1" }, { level: "info" }] : []);
  expect(filters).toEqual(era === "legacy" ? [] : [{ resourceSubscriptions: ["memo://1"] }]);
  const meta = asked.at(-1)?.params["_meta"];
  if (era === "modern") expect(meta).toMatchObject({ "io.modelcontextprotocol/logLevel": "info" });
});

test("after a session was lost, prompts and resources are reported as changed as well as tools", async () => {
  let lost = false;
  const { url } = await loopbackMcp({
    ...legacy({ tools: {}, resources: {}, prompts: {} }),
    "resources/list": ({ response }) => {
      if (lost) return { resources: [] };
      lost = true;
      return void response.writeHead(404).end();
    },
  });
  const opened = await openHttp({ url, protocol: "legacy" });
  const heard: string[] = [];
  peerOf(opened).onNotification(({ method }) => heard.push(method));
  await peerOf(opened).listResources({}, options);
  expect([opened.changes(), ...heard]).toEqual([1, "notifications/prompts/list_changed", "notifications/resources/list_changed"]);
});

test("revision 2026-07-28: the change stream is reopened after an outage of any length, and all lists are reported as changed", async () => {
  const clock = new FakeClock();
  let opened = 0;
  const { url, stop } = await loopbackMcp({
    ...modern({ tools: { listChanged: true }, prompts: { listChanged: true }, resources: {} }),
    "subscriptions/listen": ({ response, id, params }) => {
      opened++;
      const meta: JsonObject = { "io.modelcontextprotocol/subscriptionId": String(id) };
      const notifications = params["notifications"] ?? {};
      event(response, { method: "notifications/subscriptions/acknowledged", params: { _meta: meta, notifications } });
      return undefined;
    },
  });
  const far = await openHttp({ url }, { clock });
  const heard: string[] = [];
  peerOf(far).onNotification(({ method }) => heard.push(method));
  await vi.waitFor(() => expect(opened).toBe(1));
  const start = await stop();
  for (let minute = 0; minute < 30; minute++) {
    await clock.advance(60_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await start();
  await vi.waitFor(
    async () => {
      await clock.advance(1_000);
      expect(opened).toBeGreaterThan(1);
      expect(far.changes()).toBeGreaterThan(0);
      expect(heard.slice(0, 2)).toEqual(["notifications/prompts/list_changed", "notifications/resources/list_changed"]);
    },
    { timeout: 10_000, interval: 20 },
  );
});

test("revision 2026-07-28: a subscriber stops waiting at its own timeout if the server does not acknowledge the stream", async () => {
  const { url } = await loopbackMcp({ ...modern({ resources: { subscribe: true } }), "subscriptions/listen": () => undefined });
  const peer = peerOf(await openHttp({ url }));
  await expect(peer.subscribe({ uri: "memo://1" }, { signal: AbortSignal.timeout(100) })).rejects.toThrow();
});

test("revision 2026-07-28: a subscription is part of the change stream, and its notifications are passed on without stream metadata", async () => {
  const filters: unknown[] = [];
  const { url, asked } = await loopbackMcp({
    ...modern({ resources: { subscribe: true }, logging: {} }),
    "resources/list": () => ({
      resultType: "complete",
      resources: [],
      ttlMs: 0,
      cacheScope: "private",
      _meta: { "io.modelcontextprotocol/serverInfo": {} },
    }),
    "subscriptions/listen": ({ response, id, params }) => {
      filters.push(params["notifications"]);
      const meta: JsonObject = { "io.modelcontextprotocol/subscriptionId": String(id) };
      event(response, {
        method: "notifications/subscriptions/acknowledged",
        params: { _meta: meta, notifications: params["notifications"] ?? {} },
      });
      event(response, { method: "notifications/resources/updated", params: { _meta: meta, uri: "memo://1" } });
      return undefined;
    },
  });
  const peer = peerOf(await openHttp({ url }));
  const heard: PeerNotification[] = [];
  peer.onNotification((notification) => heard.push(notification));

  await peer.subscribe({ uri: "memo://1" }, options);
  await peer.setLogLevel({ level: "debug" }, options);
  const listed = await peer.listResources({}, options);

  await vi.waitFor(() => expect(heard).toEqual([{ method: "notifications/resources/updated", params: { uri: "memo://1" } }]));
  expect(filters).toEqual([{ resourceSubscriptions: ["memo://1"] }]);
  expect(listed).toEqual({ resources: [], ttlMs: 0, cacheScope: "private" });
  expect(asked.at(-1)?.params["_meta"]).toMatchObject({ "io.modelcontextprotocol/logLevel": "debug" });
});
