import { describe, expect, test, vi } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { PeerError } from "../../src/engine/mcp/peer.ts";
import { isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { FakePeer } from "./fake-peer.ts";
import { ERAS, listening, openRuntime, overHttp, overStdio } from "./mcp-clients.ts";

function two(): { readonly one: FakePeer; readonly other: FakePeer; readonly toolsets: readonly Toolset[] } {
  const one = new FakePeer("one", ["one:a", "shared:x", "one:b"]);
  const other = new FakePeer("other", ["shared:x", "other:a"]);
  return { one, other, toolsets: [one.toolset(), other.toolset()] };
}

describe.each(ERAS)("the offerings of two connected servers, to a client of the %s era", (era) => {
  test("merge their resources into one list: a duplicate URI belongs to the first server, with a warning", async () => {
    const { toolsets } = two();
    const { runtime, log } = await openRuntime({ toolsets });
    const { client } = await overStdio(runtime, { era, pageSize: 2, ports: { log } });
    expect((await client.listResources()).resources.map(({ uri, name }) => [uri, name])).toEqual([
      ["one:a", "one 0"],
      ["shared:x", "one 1"],
      ["one:b", "one 2"],
      ["other:a", "other 1"],
    ]);
    const from = async (uri: string): Promise<unknown> => Reflect.get(Object((await client.readResource({ uri })).contents[0]), "text");
    expect([await from("shared:x"), await from("other:a"), await from("other:///7")]).toEqual(["from one", "from other", "from other"]);
    await expect(client.readResource({ uri: "nobody:z" })).rejects.toMatchObject({ code: -32_602, data: { uri: "nobody:z" } });
    expect(log.lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
      'MCP server "other" lists "shared:x" in its resources, which another lists already: only the first is served.',
    ]);
  });

  test("leave out resources and prompts of a server whose tools are all denied, but not of one with other or no tools", async () => {
    const [denied, partly, bare] = [
      new FakePeer("denied", ["denied:a"]),
      new FakePeer("partly", ["partly:a"]),
      new FakePeer("bare", ["bare:a"]),
    ];
    const toolsets = [denied.toolset(["read", "wipe"]), partly.toolset(["read", "wipe"]), bare.toolset()];
    const { runtime } = await openRuntime({ toolsets, permission: { deny: ["denied::*", "*::wipe"] } });
    const { client } = await overStdio(runtime, { era });
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["partly__greet", "bare__greet"]);
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(["partly:a", "bare:a"]);
    await expect(client.readResource({ uri: "denied:a" })).rejects.toMatchObject({ code: -32_602 });
    await expect(client.getPrompt({ name: "denied__greet", arguments: { whom: "x" } })).rejects.toMatchObject({ code: -32_602 });
  });

  test("separate prompts and completions by the toolset's name", async () => {
    const { one, other, toolsets } = two();
    const { runtime } = await openRuntime({ toolsets });
    const { client } = await overStdio(runtime, { era });
    client.setRequestHandler("elicitation/create", ({ params }) => ({
      action: params.message === "other: Loudly?" ? "accept" : "decline",
    }));
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["one__greet", "other__greet"]);
    const { messages } = await client.getPrompt({ name: "other__greet", arguments: { whom: "x" } });
    expect(JSON.parse(String(Reflect.get(Object(messages[0]?.content), "text")))).toEqual([
      "other",
      { name: "greet", arguments: { whom: "x" } },
      "accept",
    ]);
    await expect(client.getPrompt({ name: "greet", arguments: {} })).rejects.toMatchObject({ code: -32_602 });
    await expect(client.getPrompt({ name: "one__greet" })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining("whom?"),
      data: { field: "whom" },
    });
    const argument = { name: "whom", value: "A" };
    expect((await client.complete({ ref: { type: "ref/prompt", name: "one__greet" }, argument })).completion.values).toEqual(["one"]);
    expect((await client.complete({ ref: { type: "ref/resource", uri: "other:///{id}" }, argument })).completion.values).toEqual(["other"]);
    expect([one.asked, other.asked]).toEqual([
      [{ ref: { type: "ref/prompt", name: "greet" }, argument }],
      [{ ref: { type: "ref/resource", uri: "other:///{id}" }, argument }],
    ]);
  });

  test("D13 leave out a server that fails, with a warning, and list the others", async () => {
    const { one, toolsets } = two();
    vi.spyOn(one, "listPrompts").mockRejectedValue(new ToolError("network_error", "it is gone"));
    const { runtime, log } = await openRuntime({ toolsets });
    const { client } = await overStdio(runtime, { era, ports: { log } });
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["other__greet"]);
    expect(log.lines).toContainEqual({
      level: "warn",
      message: 'The prompts of MCP server "one" could not be listed: it is gone',
      fields: {},
    });
  });

  test("have no templates of a server without them, which is not warned of", async () => {
    const { one, toolsets } = two();
    const unknown = new PeerError("not_found", "Method not found", { rpcCode: -32_601, rpcMessage: "Method not found" });
    vi.spyOn(one, "listResourceTemplates").mockRejectedValue(unknown);
    const { runtime, log } = await openRuntime({ toolsets });
    const { client } = await overStdio(runtime, { era, ports: { log } });
    expect((await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["other:///{id}"]);
    expect(log.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("have no values for an argument of a server without completions", async () => {
    const { one, toolsets } = two();
    Object.assign(one, { identity: { ...one.identity, capabilities: { prompts: {} } } });
    vi.spyOn(one, "complete").mockRejectedValue(new ToolError("unavailable", "it offers no completions"));
    const { runtime } = await openRuntime({ toolsets });
    const { client } = await overStdio(runtime, { era });
    const valuesOf = async (name: string): Promise<unknown> =>
      (await client.complete({ ref: { type: "ref/prompt", name }, argument: { name: "whom", value: "" } })).completion.values;
    expect([await valuesOf("one__greet"), await valuesOf("other__greet")]).toEqual([[], ["other"]]);
  });

  test("include subscriptions only if a server has them", async () => {
    const { one, other, toolsets } = two();
    for (const peer of [one, other]) Object.assign(peer, { identity: { ...peer.identity, capabilities: { resources: {} } } });
    const { runtime } = await openRuntime({ toolsets });
    const { client } = await overStdio(runtime, { era });
    expect(client.getServerCapabilities()?.resources).toEqual({ listChanged: true });
    Object.assign(other, { identity: { ...other.identity, capabilities: { resources: { subscribe: true } } } });
    const { client: next } = await overStdio(runtime, { era });
    expect(next.getServerCapabilities()?.resources).toEqual({ listChanged: true, subscribe: true });
  });

  test("leave out toolsets that are not served", async () => {
    const { toolsets } = two();
    const { runtime } = await openRuntime({ toolsets });
    const { client } = await overStdio(runtime, { era, toolsets: ["one"] });
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["one__greet"]);
    await expect(client.readResource({ uri: "other:a" })).rejects.toMatchObject({ code: -32_602 });
  });

  test("notify subscribed clients of changes and updates, and have no listeners left afterwards", async () => {
    const { one, toolsets } = two();
    const { runtime } = await openRuntime({ toolsets });
    const { client, server } = await overStdio(runtime, { era });
    const heard: unknown[] = [];
    client.setNotificationHandler("notifications/prompts/list_changed", () => void heard.push("prompts"));
    client.setNotificationHandler("notifications/resources/list_changed", () => void heard.push("resources"));
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
    if (era === "legacy") await client.subscribeResource({ uri: "one:a" });
    else await client.listen({ promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ["one:a"] });
    await vi.waitFor(() => expect(one.asked).toEqual([{ subscribe: "one:a" }]));
    one.tell("notifications/prompts/list_changed");
    one.tell("notifications/resources/list_changed");
    one.tell("notifications/resources/updated", { uri: "one:b" });
    one.tell("notifications/resources/updated", { uri: "one:a" });
    await vi.waitFor(() => expect(heard).toEqual(["prompts", "resources", "one:a"]));
    await server.close();
    await vi.waitFor(() => expect(one.asked).toEqual([{ subscribe: "one:a" }, { unsubscribe: "one:a" }]));
    expect(one.listeners).toBe(0);
  });
});

test("the log level is forwarded to the servers, and their log to the client at that level (2025-11-25)", async () => {
  const { one, other, toolsets } = two();
  const { runtime } = await openRuntime({ toolsets });
  const { client } = await overStdio(runtime, { era: "legacy" });
  const heard: unknown[] = [];
  client.setNotificationHandler("notifications/message", ({ params }) => void heard.push(params));
  await client.setLoggingLevel("warning");
  one.tell("notifications/message", { level: "info", data: "too quiet" });
  one.tell("notifications/message", { level: "error", data: "loud", logger: "disk" });
  await vi.waitFor(() => expect(heard).toEqual([{ level: "error", data: "loud", logger: "disk" }]));
  expect([one.asked, other.asked]).toEqual([[{ level: "warning" }], [{ level: "warning" }]]);
});

test("over HTTP, updates come on the stream that asked for them and end with it (2026-07-28)", async () => {
  const { one, toolsets } = two();
  const { runtime } = await openRuntime({ toolsets });
  const { url } = await listening(runtime);
  const client = await overHttp(url, { era: "modern" });
  const heard: unknown[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
  await client.listen({ resourceSubscriptions: ["one:a"] });
  await vi.waitFor(() => expect(one.asked).toEqual([{ subscribe: "one:a" }]));
  one.tell("notifications/resources/updated", { uri: "one:a" });
  one.tell("notifications/resources/updated", { uri: "one:b" });
  await vi.waitFor(() => expect(heard).toEqual(["one:a"]));
  await client.close();
  await vi.waitFor(() => expect(one.asked).toEqual([{ subscribe: "one:a" }, { unsubscribe: "one:a" }]));
});

test("a custom provider offers what it has methods for, without a prefix", async () => {
  const { runtime } = await openRuntime({});
  const provider = {
    listPrompts: async () => ({ prompts: [{ name: "hello" }] }),
    getPrompt: async ({ name }: JsonObject) => ({ messages: [{ role: "user", content: { type: "text", text: String(name) } }] }),
  };
  const { client } = await overStdio(runtime, { era: "modern", providers: [provider] });
  expect(Object.keys(client.getServerCapabilities() ?? {}).sort()).toEqual(["extensions", "logging", "prompts", "tools"]);
  const { messages } = await client.getPrompt({ name: "hello" });
  expect(messages.map(({ content }) => (isJsonObject(content) ? content["text"] : ""))).toEqual(["hello"]);
});
