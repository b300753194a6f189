import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { serveMcpStdio } from "../../src/server/mcp.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { openRuntime } from "./mcp-clients.ts";

interface Answer {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

async function wired(protocolVersion = "2025-11-25") {
  const started: unknown[] = [];
  const door = Promise.withResolvers<string>();
  const wait = defineTool({
    name: "wait",
    description: "",
    inputSchema: { type: "object", properties: { n: { type: "integer" } } },
    effects: pure,
    execute: ({ n }) => {
      started.push(n);
      return door.promise;
    },
  });
  const { runtime } = await openRuntime({ tools: [wait] });
  const providers = [
    { listResources: async () => ({ resources: [] }), listPrompts: async () => ({ prompts: [] }), complete: async () => ({}) },
  ];
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = await serveMcpStdio(runtime, { graceMs: 0, ports: { log: new MemoryLog() }, providers, input, output });
  onTestFinished(() => server.close());
  onTestFinished(() => door.resolve(""));
  const answers: Answer[] = [];
  createInterface({ input: output }).on("line", (line) => answers.push(JSON.parse(line)));
  /** A string is sent as it is. */
  const send = (message: unknown): void => void input.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  send({
    jsonrpc: "2.0",
    id: "hello",
    method: "initialize",
    params: { protocolVersion, capabilities: {}, clientInfo: { name: "x", version: "1" } },
  });
  send({ jsonrpc: "2.0", method: "notifications/initialized" });
  await vi.waitFor(() => expect(answers.length).toBe(1));
  /** The answers that come until a ping that is sent behind the message is answered. */
  const until = async (message: unknown): Promise<readonly Answer[]> => {
    answers.length = 0;
    send(message);
    send({ jsonrpc: "2.0", id: "last", method: "ping" });
    await vi.waitFor(() => expect(answers.some(({ id }) => id === "last")).toBe(true));
    return answers.filter(({ id }) => id !== "last");
  };
  return { until, send, answers, started, open: door.resolve };
}

const list = { jsonrpc: "2.0", id: 7, method: "tools/list" };
const refused = (id: unknown) => [{ jsonrpc: "2.0", id, error: { code: -32_600, message: expect.stringContaining("malformed") } }];

test.each([
  ["params: null", { ...list, params: null }, 7],
  ["params: []", { ...list, params: [] }, 7],
  ["params: 5", { ...list, params: 5 }, 7],
  ["_meta: 5", { ...list, params: { _meta: 5 } }, 7],
  ["_meta: null", { ...list, params: { _meta: null } }, 7],
  ["a progressToken that is an object", { ...list, params: { _meta: { progressToken: {} } } }, 7],
  ["a progressToken that is no integer", { ...list, params: { _meta: { progressToken: 1.5 } } }, 7],
  ["a related task that is none", { ...list, params: { _meta: { "io.modelcontextprotocol/related-task": 5 } } }, 7],
  ["id: 1.5", { ...list, id: 1.5 }, 1.5],
  ["id: null", { ...list, id: null }, null],
  ["id: {}", { ...list, id: {} }, null],
  ["jsonrpc: 1.0", { ...list, jsonrpc: "1.0" }, 7],
  ["no jsonrpc", { id: 7, method: "ping" }, 7],
  ["method: 5", { ...list, method: 5 }, 7],
  ["a result as well", { ...list, result: {} }, 7],
  ["no members", {}, null],
  ["an empty batch", [], null],
])("a request with %s is rejected with its id, if it has one", async (_, message, id) => {
  const { until } = await wired();
  expect(await until(message)).toEqual(refused(id));
});

const LONG = "12345678901234567";

test.each([
  ["that is not JSON", "Listening.", -32_700, null],
  ["that is cut off behind a long id", `{"jsonrpc":"2.0","id":${LONG},"method":"ping"`, -32_700, null],
  ["with an id that a number cannot hold", `{"jsonrpc":"2.0","id":${LONG},"method":"ping"}`, -32_600, null],
  ["with an integer that a number cannot hold", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"n":${LONG}}}`, -32_600, 7],
  ["with one key twice", '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":2}}', -32_600, 7],
  ["that nests too deep", `{"jsonrpc":"2.0","id":"x","method":"ping","params":{"a":${"[".repeat(99)}${"]".repeat(99)}}}`, -32_600, "x"],
  ["that is JSON and no message", '{"level":"info","at":1}', -32_600, null],
  ["that is a string", '"hello"', -32_600, null],
])("a line %s is rejected, and the connection stays open", async (_, line, code, id) => {
  const { until } = await wired();
  expect(await until(line)).toEqual([{ jsonrpc: "2.0", id, error: { code, message: expect.stringContaining("malformed") } }]);
});

test("each request of a batch that contains unreadable JSON is rejected", async () => {
  const { until } = await wired();
  const answers = await until(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping","params":{"n":${LONG}}}]`);
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
    [1, -32_600],
    [2, -32_600],
  ]);
});

test.each([
  ["an answer", `{"jsonrpc":"2.0","id":99,"result":{"n":${LONG}}}`],
  ["a notification", `{"jsonrpc":"2.0","method":"notifications/x","params":{"n":${LONG}}}`],
  ["a blank line", "  "],
])("%s that cannot be read exactly gets no response", async (_, line) => {
  const { until } = await wired();
  expect(await until(line)).toEqual([]);
});

test.each([
  ...["tools/list", "resources/list", "resources/templates/list", "prompts/list"].flatMap((method) =>
    [5, null, {}, ["x"], "unknown"].map((cursor) => [method, { cursor }] as const),
  ),
  ...["loud", 5, null, undefined].map((level) => ["logging/setLevel", { level }] as const),
  ["tools/call", { name: 5 }],
  ["tools/call", { name: "wait", arguments: [] }],
  ["prompts/get", { name: "x", arguments: 5 }],
  ["resources/read", { uri: 5 }],
  ["resources/subscribe", {}],
  ["completion/complete", { ref: { type: "ref/other" } }],
] as const)("%s with the params %j is rejected as invalid params", async (method, params) => {
  const { until } = await wired();
  const answers = await until({ jsonrpc: "2.0", id: 7, method, params });
  expect(answers).toEqual([{ jsonrpc: "2.0", id: 7, error: { code: -32_602, message: expect.any(String) } }]);
  expect(answers[0]?.error?.message).not.toContain("\n");
});

test.each([
  ["a notification with params: []", { jsonrpc: "2.0", method: "notifications/cancelled", params: [] }],
  ["an answer to nothing", { jsonrpc: "2.0", id: 99, result: {} }],
  ["an answer with id: null", { jsonrpc: "2.0", id: null, error: { code: -32_700, message: "Parse error" } }],
])("%s gets no response", async (_, message) => {
  const { until } = await wired();
  expect(await until(message)).toEqual([]);
});

test.each(["2025-03-26", "2025-11-25"])("the messages of a batch are read one by one (%s)", async (version) => {
  const { until } = await wired(version);
  const batch = [
    { ...list, id: 1 },
    { jsonrpc: "2.0", method: "notifications/roots/list_changed" },
    5,
    { ...list, id: 2, params: [] },
    { ...list, id: 3 },
  ];
  const answers = await until(batch);
  expect(answers.map(({ id, result, error }) => [id, result === undefined ? error?.code : "listed"])).toEqual(
    expect.arrayContaining([
      [1, "listed"],
      [null, -32_600],
      [2, -32_600],
      [3, "listed"],
    ]),
  );
  expect(answers.length).toBe(4);
});

test("a second request with the id of a running one is rejected, and the first gets its response", async () => {
  const { until, send, answers, started, open } = await wired();
  const call = (n: number): object => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "wait", arguments: { n } } });
  send(call(1));
  expect(await until(call(2))).toMatchObject([{ id: null, error: { code: -32_600, message: expect.stringContaining("request id 1") } }]);
  open("done");
  await vi.waitFor(() => expect(answers.find(({ id }) => id === 1)).toMatchObject({ result: { content: [{ text: "done" }] } }));
  expect(started).toEqual([1]);
  send(call(3));
  await vi.waitFor(() => expect(started).toEqual([1, 3]));
});
