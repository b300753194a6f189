import { expect, test } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { listening, openRuntime } from "./mcp-clients.ts";
import { rawSession } from "./mcp-raw-session.ts";

async function serving(version: string) {
  const doors = new Map<string, PromiseWithResolvers<string>>();
  const started: string[] = [];
  const wait = defineTool({
    name: "wait",
    description: "Waits for its door.",
    inputSchema: { type: "object", properties: { door: { type: "string" } }, required: ["door"] },
    effects: pure,
    execute: ({ door }) => {
      const gate = Promise.withResolvers<string>();
      doors.set(door, gate);
      started.push(door);
      return gate.promise;
    },
  });
  const { runtime } = await openRuntime({ tools: [wait] });
  const { url } = await listening(runtime);
  const session = await rawSession(url, version);
  const call = (id: number | string): JsonObject => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "wait", arguments: { door: String(id) } },
  });
  const cancel = (requestId: number | string): JsonObject => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  const until = async (count: number): Promise<void> => {
    while (started.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  return { ...session, call, cancel, until, open: (door: string) => doors.get(door)?.resolve("done") };
}

test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
  "cancelling a call over HTTP ends its stream without a response, and frees its request id (%s)",
  async (version) => {
    const { post, messages, call, cancel, until, open } = await serving(version);
    for (const round of [1, 2, 3]) {
      const cancelled = messages(post(call(7)));
      await until(2 * round - 1);
      const other = messages(post(call("other")));
      await until(2 * round);
      expect((await post(cancel(7))).status).toBe(202);
      expect(await cancelled).toEqual([]);
      open("other");
      expect(await other).toMatchObject([{ id: "other", result: { content: [{ text: "done" }] } }]);
    }
  },
);

test("a batch with cancelled calls answers the others, and then ends its stream (2025-03-26)", async () => {
  const { post, messages, call, cancel, until, open } = await serving("2025-03-26");
  const batch = messages(post([call(1), { jsonrpc: "2.0", id: 2, method: "ping" }, call(3), call(4)]));
  await until(3);
  await post(cancel(1));
  open("3");
  await post(cancel(4));
  const answers = await batch;
  expect(answers.map((answer) => Reflect.get(Object(answer), "id"))).toEqual([2, 3]);
  const again = messages(post([call(1), call(4)]));
  await until(5);
  await post([cancel(4), cancel(1)]);
  expect(await again).toEqual([]);
});
