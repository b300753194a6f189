/** Streams that the SDK writes, for a client that does not read: what lies here for it is bounded, and its result comes. */
import { defineTool, pure } from "haft";
import { expect, onTestFinished, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import { rewriteResponse } from "../../src/server/mcp/rewrite-response.ts";
import { mcpHandler } from "../../src/server/mcp.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { openRuntime } from "./mcp-clients.ts";
import { eventsOf } from "./mcp-raw.ts";

const REPORTS = 100;
const REPORT_CHARS = 20_000;

const HEADERS = { host: "127.0.0.1", "content-type": "application/json", accept: "application/json, text/event-stream" };

function message(method: string, params: JsonObject, id?: number): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params, ...(id === undefined ? {} : { id }) });
}

test.each(["modern", "legacy"] as const)(
  "issue 19.3 E09 progress for a %s client that does not read is bounded on a stream of the SDK, and its result arrives",
  async (era) => {
    const ended = Promise.withResolvers<void>();
    const report = defineTool({
      name: "report",
      description: "",
      effects: pure,
      async execute(_input: object, { progress }) {
        for (let done = 1; done <= REPORTS; done++) {
          progress({ done, message: `${done} ${"x".repeat(REPORT_CHARS)}` });
          await new Promise((go) => setImmediate(go));
        }
        setTimeout(ended.resolve, 50);
        return "done";
      },
    });
    const { runtime } = await openRuntime({ tools: [report] });
    const handler = mcpHandler(runtime, { graceMs: 0, ports: { log: new MemoryLog() } });
    onTestFinished(() => handler.close());
    const send = (body: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
      handler(new Request("http://127.0.0.1/mcp", { method: "POST", headers: { ...HEADERS, ...headers }, body }));
    const call = { name: "report", arguments: {}, _meta: { progressToken: "p" } };
    let response: Response;
    if (era === "modern") {
      const prefix = "io.modelcontextprotocol/";
      const meta = { [`${prefix}protocolVersion`]: "2026-07-28", [`${prefix}clientInfo`]: { name: "c", version: "1" } };
      const all = { ...call, _meta: { progressToken: "p", ...meta, [`${prefix}clientCapabilities`]: {} } };
      response = await send(message("tools/call", all, 1), {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "report",
      });
    } else {
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
      const begun = await send(message("initialize", params, 0), {});
      await begun.text();
      const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
      await send(message("notifications/initialized", {}), session);
      response = await send(message("tools/call", call, 1), session);
    }
    await ended.promise;
    const text = await response.text();
    const messages = eventsOf(text).filter(isJsonObject);
    const told = messages.flatMap(({ params }) => (isJsonObject(params) ? [Number(params["progress"])] : []));
    expect(text.length).toBeLessThan(8 * REPORT_CHARS); // of 2,000,000
    expect([told[0], told.at(-1), told.toSorted((one, other) => one - other)]).toEqual([1, REPORTS, told]);
    expect(messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ type: "text", text: "done" }] } });
  },
);

test("issue 19.3 other notifications, results and questions are kept for a client that does not read; cancelling reaches the SDK", async () => {
  let cancelled = false;
  const big = "x".repeat(70_000);
  const frames = [
    message("notifications/message", { data: big }),
    message("notifications/progress", { progressToken: 1, progress: 1 }),
    message("notifications/progress", { progressToken: 2, progress: 1 }),
    message("notifications/progress", { progressToken: 1, progress: 2 }),
    message("notifications/resources/updated", { uri: "a:1" }),
    message("notifications/resources/updated", { uri: "a:2" }),
    message("elicitation/create", { message: "Who?" }, 7),
    message("notifications/cancelled", { requestId: 7 }),
    message("notifications/tools/list_changed", {}),
    message("notifications/tools/list_changed", {}),
  ];
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const frame of frames) controller.enqueue(new TextEncoder().encode(`event: message\ndata: ${frame}\n\n`));
    },
    cancel: () => void (cancelled = true),
  });
  const response = await rewriteResponse(new Response(source, { headers: { "content-type": "text/event-stream" } }));
  await new Promise((go) => setTimeout(go, 20));
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("list_changed")) text += (await reader?.read())?.value ?? "";
  const [, two, ...rest] = frames.filter((_, at) => at !== 1 && at !== 8);
  expect(
    new Set(
      eventsOf(text)
        .slice(1)
        .map((each) => JSON.stringify(each)),
    ),
  ).toEqual(new Set([two, ...rest]));
  await reader?.cancel();
  expect(cancelled).toBe(true);
});
