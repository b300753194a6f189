/** Connected servers that hang, are closed and opened, or go away and come back, as the clients of a gateway see them. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { mcpToolset } from "../../src/engine/mcp.ts";
import { listenMcp } from "../../src/server/mcp.ts";
import { FakeClock, MemoryLog } from "../../src/testing/fake-ports.ts";
import { event, legacy, loopbackMcp, reply, type Answers } from "../engine/mcp/loopback-mcp.ts";
import { listening, openRuntime, overHttp, overStdio } from "./mcp-clients.ts";

const CAPABILITIES = { tools: {}, resources: { subscribe: true }, logging: {} };

/** A server with one resource and one template, whose answers may be replaced; `undefined` never comes. */
async function resourceServer(name: string, answers: Answers = {}) {
  const read = ({ uri }: JsonObject): JsonObject => ({ contents: [{ uri: String(uri), text: `from ${name}` }] });
  const served = await loopbackMcp({
    ...legacy(CAPABILITIES),
    "tools/list": () => ({ tools: [] }),
    "resources/list": () => ({ resources: [{ uri: `${name}:a`, name }] }),
    "resources/templates/list": () => ({ resourceTemplates: [{ uriTemplate: `${name}:///{id}`, name }] }),
    "resources/read": ({ params }) => read(params),
    "resources/subscribe": () => ({}),
    "logging/setLevel": () => ({}),
    ...answers,
  });
  const asks = (method: string): readonly unknown[] =>
    served.asked.filter((one) => one.method === method).map(({ params }) => params["uri"] ?? params["level"]);
  return { toolset: mcpToolset(name, { url: served.url, protocol: "legacy" }), asks };
}

const hangs = (): undefined => undefined;
const HANGING: Answers = {
  "resources/list": hangs,
  "resources/templates/list": hangs,
  "resources/read": hangs,
  "resources/subscribe": hangs,
  "logging/setLevel": hangs,
};

test("a server that hangs delays reads, subscriptions and log levels of other servers only for the listing timeout", async () => {
  const hung = await resourceServer("hung", HANGING);
  const well = await resourceServer("well");
  const { runtime } = await openRuntime({ toolsets: [hung.toolset, well.toolset] });
  const clock = new FakeClock();
  const { client } = await overStdio(runtime, { era: "legacy", ports: { log: new MemoryLog(), clock } });
  const soon = { timeout: 5_000 };

  await client.subscribeResource({ uri: "well:a" });
  await client.subscribeResource({ uri: "well:///7" });
  await vi.waitFor(() => expect(hung.asks("resources/templates/list")).toHaveLength(1));
  await clock.advance(10_000);
  for (const uri of ["well:a", "well:///7", "unlisted:x"])
    expect((await client.readResource({ uri }, soon)).contents).toMatchObject([{ text: "from well" }]);
  const levelSet = client.setLoggingLevel("info", soon);
  await vi.waitFor(() => expect(hung.asks("logging/setLevel")).toHaveLength(1));
  await clock.advance(1_000);
  await levelSet;

  await vi.waitFor(() => expect(new Set(well.asks("resources/subscribe"))).toEqual(new Set(["well:///7", "well:a"])), soon);
  expect(well.asks("logging/setLevel")).toEqual(["info"]);
});

test("a server whose listing failed is asked again, and owns its resources once it lists them", async () => {
  let isWell = false;
  const owner = await resourceServer("owner", {
    "resources/list": ({ id, response }) => {
      if (isWell) return LISTED;
      reply(response, { id: Number(id), error: BROKEN });
      return undefined;
    },
  });
  const claims = await resourceServer("claims", { "resources/list": () => LISTED });
  const { runtime } = await openRuntime({ toolsets: [owner.toolset, claims.toolset] });
  const { client } = await overStdio(runtime, { era: "legacy", ports: { log: new MemoryLog() } });
  expect((await client.readResource({ uri: "owner:a" })).contents).toMatchObject([{ text: "from claims" }]);
  isWell = true;
  expect((await client.readResource({ uri: "owner:a" })).contents).toMatchObject([{ text: "from owner" }]);
});

const LISTED = { resources: [{ uri: "owner:a", name: "a" }] };
const BROKEN = { code: -32_603, message: "the disk is full" };

test("once a server is known to hang, reads from other servers do not wait for it", async () => {
  const hung = await resourceServer("hung", HANGING);
  const well = await resourceServer("well");
  const { runtime } = await openRuntime({ toolsets: [hung.toolset, well.toolset] });
  const clock = new FakeClock();
  const { client } = await overStdio(runtime, { era: "legacy", ports: { log: new MemoryLog(), clock } });
  const listed = client.listResources();
  await vi.waitFor(() => expect(hung.asks("resources/list")).toHaveLength(1));
  await clock.advance(10_000);
  expect((await listed).resources.map(({ uri }) => uri)).toEqual(["well:a"]);
  const soon = { timeout: 5_000 }; // on a clock that does not move
  expect((await client.readResource({ uri: "well:a" }, soon)).contents).toMatchObject([{ text: "from well" }]);
  expect((await client.readResource({ uri: "well:///7" }, soon)).contents).toMatchObject([{ text: "from well" }]);
});

test("a subscription to an unlisted resource is sent to the server that lists it later", async () => {
  let has = false;
  let stream: ((method: string) => void) | undefined;
  const late = await resourceServer("late", {
    "resources/list": () => ({ resources: has ? [{ uri: "new:b", name: "b" }] : [] }),
    GET: ({ response }) => {
      stream = (method) => event(response, { method });
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      return undefined;
    },
  });
  const { runtime } = await openRuntime({ toolsets: [late.toolset] });
  const { client } = await overStdio(runtime, { era: "legacy" });
  await client.subscribeResource({ uri: "new:b" });
  await vi.waitFor(() => expect(late.asks("resources/templates/list")).toHaveLength(1));
  has = true;
  await vi.waitFor(() => expect(stream).toBeDefined());
  stream?.("notifications/resources/list_changed");
  await vi.waitFor(() => expect(late.asks("resources/subscribe")).toEqual(["new:b"]));
});

test("closing and reopening a toolset keeps subscriptions, and notifies clients that its resources have changed", async () => {
  const well = await resourceServer("well");
  const { runtime } = await openRuntime({ toolsets: [well.toolset] });
  const { client } = await overStdio(runtime, { era: "legacy" });
  const heard: string[] = [];
  client.setNotificationHandler("notifications/resources/list_changed", () => void heard.push("list"));
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
  await client.subscribeResource({ uri: "well:a" });
  await client.setLoggingLevel("warning");
  await vi.waitFor(() => expect(well.asks("resources/subscribe")).toEqual(["well:a"]));
  await runtime.closeToolset("well");
  await vi.waitFor(() => expect(heard).toEqual(["list"]));
  await runtime.openToolset("well");
  await vi.waitFor(() => {
    expect(well.asks("resources/subscribe")).toEqual(["well:a", "well:a"]);
    expect(well.asks("logging/setLevel")).toEqual(["warning", "warning"]);
    expect([...heard].sort()).toEqual(["list", "list", "well:a"]);
  });
});

test("a restarted server of the official SDK is reconnected without a call, and its changes reach the clients", async () => {
  const upstream = (prompt: string) => ({
    providers: [{ listPrompts: async () => ({ prompts: [{ name: prompt }] }), getPrompt: async () => ({ messages: [] }) }],
    graceMs: 0,
    ports: { log: new MemoryLog() },
  });
  const { runtime: far } = await openRuntime({});
  const first = await listenMcp(far, { port: 0, ...upstream("old") });
  const clock = new FakeClock();
  const { runtime } = await openRuntime({ toolsets: [mcpToolset("far", { url: first.url, protocol: "legacy" })], ports: { clock } });
  const client = await overHttp((await listening(runtime)).url, { era: "legacy" });
  const heard: string[] = [];
  client.setNotificationHandler("notifications/prompts/list_changed", () => void heard.push("prompts"));
  expect((await client.listPrompts()).prompts).toMatchObject([{ name: "far__old" }]);

  await first.close();
  await clock.advance(30_000);
  const second = await listenMcp(far, { port: Number(new URL(first.url).port), ...upstream("new") });
  onTestFinished(() => second.close());
  const step = async (check: () => void): Promise<void> =>
    await vi.waitFor(async () => (await clock.advance(1_000), check()), { timeout: 10_000, interval: 20 });

  await step(() => expect(heard.length).toBeGreaterThan(0));
  expect((await client.listPrompts()).prompts).toMatchObject([{ name: "far__new" }]);
});

test("closing a gateway ends its clients' subscriptions at the servers of a runtime that stays open", async () => {
  const well = await resourceServer("well", { "resources/unsubscribe": () => ({}) });
  const { runtime } = await openRuntime({ toolsets: [well.toolset] });
  const gateway = await listenMcp(runtime, { port: 0, graceMs: 0, ports: { log: new MemoryLog() } });
  const client = await overHttp(gateway.url, { era: "legacy" });
  await client.subscribeResource({ uri: "well:a" });
  await vi.waitFor(() => expect(well.asks("resources/subscribe")).toEqual(["well:a"]));
  await gateway.close();
  await vi.waitFor(() => expect(well.asks("resources/unsubscribe")).toEqual(["well:a"]));
});
