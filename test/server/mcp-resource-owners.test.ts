/** Which of several connected servers reads a resource, as the clients of a gateway see it. */
import { expect, test, vi } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { mcpToolset } from "../../src/engine/mcp.ts";
import { FakeClock, MemoryLog } from "../../src/testing/fake-ports.ts";
import { event, legacy, loopbackMcp, reply, type Answers, type Asked } from "../engine/mcp/loopback-mcp.ts";
import { openRuntime, overStdio } from "./mcp-clients.ts";

const CAPABILITIES = { tools: {}, resources: { subscribe: true, listChanged: true } };
const URI = "notes:a";

/** A server that lists `URI` and reads every resource, with the requests whose answers it keeps back. */
async function reader(name: string, answers: Answers = {}, slow: readonly string[] = []) {
  const kept: { readonly asked: Asked; readonly answer: () => void }[] = [];
  const own: Answers = {
    ...legacy(CAPABILITIES),
    "tools/list": () => ({ tools: [] }),
    "resources/list": () => ({ resources: [{ uri: URI, name }] }),
    "resources/templates/list": () => ({ resourceTemplates: [] }),
    "resources/read": ({ params }) => ({ contents: [{ uri: String(params["uri"]), text: `from ${name}` }] }),
    "resources/subscribe": () => ({}),
    ...answers,
  };
  const keep =
    (method: string) =>
    (asked: Asked): undefined => {
      const answer = (): void => reply(asked.response, { id: Number(asked.id), result: own[method]?.(asked) ?? {} });
      kept.push({ asked, answer });
    };
  const served = await loopbackMcp({ ...own, ...Object.fromEntries(slow.map((method) => [method, keep(method)])) });
  const asks = (method: string): readonly JsonObject[] => served.asked.filter((one) => one.method === method).map(({ params }) => params);
  return { toolset: mcpToolset(name, { url: served.url, protocol: "legacy" }), asks, kept };
}

async function gateway(toolsets: readonly ReturnType<typeof mcpToolset>[]) {
  const { runtime } = await openRuntime({ toolsets });
  const clock = new FakeClock();
  const { client } = await overStdio(runtime, { era: "legacy", ports: { log: new MemoryLog(), clock } });
  return { client, clock };
}

test("a resource is read from the first server that lists it, even if that one is slower than others", async () => {
  const owner = await reader("owner", {}, ["resources/list"]);
  const claims = await reader("claims");
  const { client, clock } = await gateway([owner.toolset, claims.toolset]);
  const read = client.readResource({ uri: URI });
  await vi.waitFor(() => expect(claims.asks("resources/templates/list")).toHaveLength(1));
  await vi.waitFor(() => expect(owner.kept).toHaveLength(1));
  await clock.advance(5_000);
  for (const { answer } of owner.kept) answer();
  expect((await read).contents).toMatchObject([{ text: "from owner" }]);
  expect(claims.asks("resources/read")).toEqual([]);
});

test("a resource that a slow server lists is not read from a server that answers any URI", async () => {
  const claims = await reader("claims", { "resources/list": () => ({ resources: [] }) });
  const owner = await reader("owner", {}, ["resources/list"]);
  const { client, clock } = await gateway([claims.toolset, owner.toolset]);
  const read = client.readResource({ uri: URI });
  await vi.waitFor(() => expect(owner.kept).toHaveLength(1));
  await vi.waitFor(() => expect(claims.asks("resources/templates/list")).toHaveLength(1));
  await clock.advance(5_000);
  for (const { answer } of owner.kept) answer();
  expect((await read).contents).toMatchObject([{ text: "from owner" }]);
  expect(claims.asks("resources/read")).toEqual([]);
});

test("a subscription goes to the first server that lists the resource, even if that one is slower than others", async () => {
  const owner = await reader("owner", {}, ["resources/list"]);
  const claims = await reader("claims");
  const { client, clock } = await gateway([owner.toolset, claims.toolset]);
  await client.subscribeResource({ uri: URI });
  await vi.waitFor(() => expect(owner.kept).toHaveLength(1));
  await vi.waitFor(() => expect(claims.asks("resources/templates/list")).toHaveLength(1));
  await clock.advance(5_000);
  for (const { answer } of owner.kept) answer();
  await vi.waitFor(() => expect(owner.asks("resources/subscribe")).toEqual([{ uri: URI }]));
  expect(claims.asks("resources/subscribe")).toEqual([]);
});

test("reads at the servers that were not the first to answer are cancelled", async () => {
  const none = { "resources/list": () => ({ resources: [] }) };
  const slow = await reader("slow", none, ["resources/read"]);
  const well = await reader("well", none);
  const { client, clock } = await gateway([slow.toolset, well.toolset]);
  const read = client.readResource({ uri: "other:b" });
  await vi.waitFor(() => expect(slow.kept).toHaveLength(1));
  await clock.advance(1_000);
  expect((await read).contents).toMatchObject([{ text: "from well" }]);
  await vi.waitFor(() => expect(slow.asks("notifications/cancelled")).toMatchObject([{ requestId: slow.kept[0]?.asked.id }]));
});

test("a change of the resources of one server does not have the others list theirs again", async () => {
  let changed: (() => void) | undefined;
  const one = await reader("one", {
    GET: ({ response }) => {
      changed = () => event(response, { method: "notifications/resources/list_changed" });
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      return undefined;
    },
  });
  const other = await reader("other", { "resources/list": () => ({ resources: [{ uri: "other:b", name: "b" }] }) });
  const { client } = await gateway([one.toolset, other.toolset]);
  const told = vi.fn<() => void>();
  client.setNotificationHandler("notifications/resources/list_changed", told);
  await client.readResource({ uri: "other:b" });
  await vi.waitFor(() => expect(changed).toBeDefined());
  changed?.();
  await vi.waitFor(() => expect(told).toHaveBeenCalled());
  await client.readResource({ uri: "other:b" });
  expect([one, other].map(({ asks }) => asks("resources/list").length)).toEqual([2, 1]);
});

test("a subscription whose server is removed while others still list goes to the server that replaces it", async () => {
  const slow = await reader("slow", { "resources/list": () => ({ resources: [] }) }, ["resources/list"]);
  const gone = await reader("gone");
  const next = await reader("next");
  let others = [gone.toolset];
  const { runtime } = await openRuntime({ toolsets: [slow.toolset], sources: [{ name: "file", load: () => Promise.resolve(others) }] });
  const { client } = await overStdio(runtime, { era: "legacy", ports: { log: new MemoryLog(), clock: new FakeClock() } });
  await client.subscribeResource({ uri: URI });
  await vi.waitFor(() => expect([slow.kept.length, gone.asks("resources/templates/list").length]).toEqual([1, 1]));
  others = [next.toolset];
  await runtime.refresh();
  for (const { answer } of slow.kept.splice(0)) answer();
  await vi.waitFor(() => {
    for (const { answer } of slow.kept.splice(0)) answer();
    expect(next.asks("resources/subscribe")).toEqual([{ uri: URI }]);
  });
});

test("a subscription moves to a server that lists the resource later, and ends at the previous one", async () => {
  let lists = false;
  let changed: (() => void) | undefined;
  const owner = await reader("owner", {
    "resources/list": () => ({ resources: lists ? [{ uri: URI, name: "owner" }] : [] }),
    GET: ({ response }) => {
      changed = () => event(response, { method: "notifications/resources/list_changed" });
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      return undefined;
    },
  });
  const later = await reader("later", { "resources/unsubscribe": () => ({}) });
  const { client } = await gateway([owner.toolset, later.toolset]);
  const told = vi.fn<(uri: string) => void>();
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => told(params.uri));
  await client.subscribeResource({ uri: URI });
  await vi.waitFor(() => expect(later.asks("resources/subscribe")).toEqual([{ uri: URI }]));
  await vi.waitFor(() => expect(changed).toBeDefined());
  lists = true;
  changed?.();
  await vi.waitFor(() => expect(owner.asks("resources/subscribe")).toEqual([{ uri: URI }]));
  await vi.waitFor(() => expect(later.asks("resources/unsubscribe")).toEqual([{ uri: URI }]));
  await vi.waitFor(() => expect(told).toHaveBeenCalledWith(URI));
  expect((await client.readResource({ uri: URI })).contents).toMatchObject([{ text: "from owner" }]);
});
