import { expect, test, vi } from "vitest";
import { isJsonObject } from "../../../src/core/base/json.ts";
import { mcpEngine } from "../../../src/engine/mcp.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { legacy, loopbackMcp, modern, text, toolList, type Answers, type LoopbackMcp } from "./loopback-mcp.ts";

const count = ({ asked }: LoopbackMcp, method: string): number => asked.filter((it) => it.method === method).length;
const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };

/** A server whose tools say what they are, beside one that fails and one whose answer never comes. */
const server = (name: string, more: Answers = {}): Answers => ({
  ...legacy(),
  "tools/list": () => toolList(["say", "structured", "fail", "die"]),
  "tools/call": ({ params, response }) => {
    if (params["name"] === "fail") return { isError: true, content: [{ type: "text", text: `${name} cannot` }] };
    if (params["name"] === "structured") return { content: [], structuredContent: { by: name } };
    if (params["name"] !== "die") return text(`by ${name}`);
    response.destroy();
    return undefined;
  },
  ...more,
});

test("F0.48 F1.71 F4.33 a batch over two servers and a local tool uses one connection each, keeps the order and isolates failures", async () => {
  const servers = [await loopbackMcp(server("one")), await loopbackMcp(server("two"))];
  const [one, two] = servers.map(({ url }) => mcpEngine({ url, protocol: "legacy" }));
  if (one === undefined || two === undefined) throw new Error("no engine");
  await using runtime = createRuntime({
    tools: [{ name: "here", description: "", inputSchema: {}, execute: () => "by me" }],
    toolsets: [
      { name: "one", engine: one },
      { name: "two", engine: two },
    ],
  });
  await runtime.open();

  const results = await runtime.execute(
    ["two::say", "one::structured", "here", "one::fail", "two::die", "one::say"].map((name) => ({ name })),
  );

  expect(results.map(({ name, status, error, output, content }) => [name, status, error?.message ?? output ?? content])).toEqual([
    ["two::say", "ok", [{ type: "text", text: "by two" }]],
    ["one::structured", "ok", { by: "one" }],
    ["default::here", "ok", "by me"],
    ["one::fail", "error", "one cannot"],
    ["two::die", "error", expect.stringContaining('MCP server "two"')],
    ["one::say", "ok", [{ type: "text", text: "by one" }]],
  ]);
  expect(results.map(({ error }) => error?.code)).toEqual([
    undefined,
    undefined,
    undefined,
    "execution_failed",
    "network_error",
    undefined,
  ]);
  expect(servers.map((each) => count(each, "initialize"))).toEqual([1, 1]);
});

test("D09 F4.27 a write that the server executed before the connection broke is not sent again, whatever retries are allowed", async () => {
  let effects = 0;
  const far = await loopbackMcp({
    ...modern(),
    "tools/call": ({ response }) => {
      effects++;
      response.destroy();
      return undefined;
    },
  });
  const toolset = { name: "far", engine: mcpEngine({ url: far.url }), defaults: { maxAttempts: 8 } };
  await using runtime = createRuntime({ toolsets: [toolset], retry: { delayMs: 0 } });
  await runtime.open();

  expect(await runtime.execute({ name: "echo" })).toMatchObject({ error: { code: "network_error", outcome: "unknown" } });
  expect(effects).toBe(1);
});

test("D07 a server that sends a second result and an error after its answer gives one result for each call", async () => {
  const far = await loopbackMcp({
    ...modern(),
    "tools/call": ({ response, id, params }) => {
      const said = { jsonrpc: "2.0", id: Number(id), result: text(JSON.stringify(params["arguments"])) };
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const message of [
        said,
        { ...said, result: text("again") },
        { jsonrpc: "2.0", id: Number(id), error: { code: 1, message: "no" } },
      ])
        response.write(`data: ${JSON.stringify(message)}\n\n`);
      response.end();
      return undefined;
    },
  });
  await using runtime = createRuntime({ toolsets: [{ name: "far", engine: mcpEngine({ url: far.url }) }] });
  await runtime.open();

  const results = await runtime.execute([1, 2, 3].map((a) => ({ name: "echo", input: { a } })));

  expect(results.map(({ content }) => content)).toEqual([1, 2, 3].map((a) => [{ type: "text", text: `{"a":${a}}` }]));
});

test("F0.18 the tools of every page are listed with their schemas from a url, and list_changed updates them", async () => {
  let tools = ["a", "b", "c"];
  let tell: (() => void) | undefined;
  const far = await loopbackMcp({
    ...modern({ tools: { listChanged: true } }),
    "tools/list": ({ params }) => {
      const page = Number(params["cursor"] ?? 0);
      const listed = toolList(tools.slice(page, page + 1));
      const [tool] = Array.isArray(listed["tools"]) ? listed["tools"] : [];
      const next = page + 1 < tools.length ? { nextCursor: String(page + 1) } : {};
      return { ...listed, tools: isJsonObject(tool) ? [{ ...tool, inputSchema: schema, outputSchema: schema }] : [], ...next };
    },
    "subscriptions/listen": ({ response, id }) => {
      const meta = { "io.modelcontextprotocol/subscriptionId": typeof id === "string" ? id : "" };
      const send = (method: string, params: object): void =>
        void response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", method, params: { _meta: meta, ...params } })}\n\n`);
      response.writeHead(200, { "content-type": "text/event-stream" });
      send("notifications/subscriptions/acknowledged", { notifications: { toolsListChanged: true } });
      tell = () => send("notifications/tools/list_changed", {});
      return undefined;
    },
  });
  await using runtime = createRuntime({ toolsets: [{ name: "far", engine: mcpEngine({ url: far.url }) }] });
  await runtime.open();
  const listed = runtime.registry.list("far").map(({ tool: { name, inputSchema, outputSchema } }) => ({ name, inputSchema, outputSchema }));
  await vi.waitFor(() => expect(tell).toBeDefined());

  tools = ["b", "d"];
  tell?.();

  expect(listed).toEqual(["a", "b", "c"].map((name) => ({ name, inputSchema: schema, outputSchema: schema })));
  await vi.waitFor(() => expect(runtime.registry.names("far")).toEqual(["far::b", "far::d"]), { timeout: 5_000 });
});

test("F0.18 a wrong token is a clear error of its toolset that does not contain the token, and the other toolsets open", async () => {
  const refuse: Answers[string] = ({ response }) => {
    response.writeHead(401).end();
    return undefined;
  };
  const far = await loopbackMcp({ "server/discover": refuse, initialize: refuse });
  const engine = mcpEngine({ url: far.url, auth: { type: "bearer", token: "swordfish" } });
  await using runtime = createRuntime({
    tools: [{ name: "here", description: "", inputSchema: {}, execute: () => "by me" }],
    toolsets: [{ name: "far", engine }],
  });
  const { failed } = await runtime.open();
  expect(failed.map(({ toolset, error: { code, message, operatorHint } }) => ({ toolset, code, message, operatorHint }))).toEqual([
    {
      toolset: "far",
      code: "unavailable",
      message: 'MCP server "far" could not be opened: it refused the credentials (HTTP 401).',
      operatorHint: "Check the token or password in `auth` or `headers` of this server; it may have expired.",
    },
  ]);
  expect(await runtime.execute({ name: "here" })).toMatchObject({ output: "by me" });
});
