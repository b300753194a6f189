import { expect, onTestFinished, test } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import { listening, openRuntime, overStdio } from "./mcp-clients.ts";
import { eventsOf, raw, rawResponse, TASKS } from "./mcp-raw.ts";

const ABLE = { capabilities: TASKS };

async function serving() {
  const gate = Promise.withResolvers<string>();
  const { runtime } = await openRuntime({
    tools: [
      {
        name: "work",
        description: "Works.",
        effects: pure,
        inputSchema: { type: "object" },
        mode: "background",
        execute: () => gate.promise,
      },
    ],
  });
  return { runtime, gate };
}

/** Reads an event stream until a message is what is looked for. */
async function readUntil(response: Response, isIt: (message: JsonObject) => boolean): Promise<readonly JsonObject[]> {
  let text = "";
  for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const whole = eventsOf(text.slice(0, text.lastIndexOf("\n\n"))).filter((message) => isJsonObject(message));
    if (whole.some(isIt)) return whole;
  }
  throw new Error(`the stream ended: ${text}`);
}

test("issue 19.7 a client that listens to its tasks gets each state and the result; unknown ids are left out", async () => {
  const { runtime, gate } = await serving();
  const listener = await listening(runtime);
  const { url } = listener;
  const { result } = await raw(url, "tools/call", { name: "work", arguments: {} }, ABLE);
  const taskId = String(result["taskId"]);
  const disconnect = new AbortController();
  onTestFinished(() => disconnect.abort());
  const stream = await rawResponse(
    url,
    "subscriptions/listen",
    { notifications: { taskIds: [taskId, "guessed"] } },
    { ...ABLE, signal: disconnect.signal },
  );
  gate.resolve("done");
  const messages = await readUntil(stream, ({ params }) => isJsonObject(params) && params["status"] === "completed");
  expect(messages[0]).toMatchObject({
    method: "notifications/subscriptions/acknowledged",
    params: { notifications: { taskIds: [taskId] } },
  });
  expect(messages.slice(1).map(({ method, params }) => [method, isJsonObject(params) && params["status"]])).toEqual(
    expect.arrayContaining([["notifications/tasks", "completed"]]),
  );
  expect(messages.at(-1)).toMatchObject({
    params: { taskId, result: { content: [{ text: "done" }] }, _meta: { "io.modelcontextprotocol/subscriptionId": expect.anything() } },
  });
});

test("issue 19.7 without the extension a client cannot listen to tasks, and its stream ends as without tasks", async () => {
  const { runtime, gate } = await serving();
  const { url } = await listening(runtime);
  const stream = await rawResponse(url, "subscriptions/listen", { notifications: { taskIds: ["x"] } });
  expect(eventsOf(await stream.text())[0]).toMatchObject({ params: { notifications: {} } });
  gate.resolve("done");
});

test("issue 19.7 a stream of tasks ends when the server closes", async () => {
  const { runtime, gate } = await serving();
  const listener = await listening(runtime);
  const { result } = await raw(listener.url, "tools/call", { name: "work", arguments: {} }, ABLE);
  const stream = await rawResponse(listener.url, "subscriptions/listen", { notifications: { taskIds: [String(result["taskId"])] } }, ABLE);
  const text = stream.text();
  await listener.close();
  expect(eventsOf(await text).at(-1)).toMatchObject({ result: { resultType: "complete" } });
  gate.resolve("done");
});

test("issue 19.7 a client can listen to its tasks over stdio too", async () => {
  const { runtime, gate } = await serving();
  const { client, lines } = await overStdio(runtime, { era: "modern", capabilities: TASKS });
  const { transport } = client;
  const send = async (id: number, method: string, params: JsonObject): Promise<JsonObject> => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": TASKS,
    };
    await transport?.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } });
    return found((message) => message["id"] === id || subscriptionOf(message) === id);
  };
  const found = async (isIt: (message: JsonObject) => boolean): Promise<JsonObject> => {
    for (;;) {
      const message = lines.find((line) => isJsonObject(line) && isIt(line));
      if (isJsonObject(message)) return message;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const called = await send(901, "tools/call", { name: "work", arguments: {} });
  const taskId = isJsonObject(called["result"]) ? String(called["result"]["taskId"]) : "";
  expect(await send(902, "subscriptions/listen", { notifications: { taskIds: [taskId] } })).toMatchObject({
    params: { notifications: { taskIds: [taskId] } },
  });
  gate.resolve("done");
  expect(await found(({ params }) => isJsonObject(params) && params["status"] === "completed")).toMatchObject({
    method: "notifications/tasks",
  });
});

function subscriptionOf({ params }: JsonObject): unknown {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  return isJsonObject(meta) ? meta["io.modelcontextprotocol/subscriptionId"] : undefined;
}
