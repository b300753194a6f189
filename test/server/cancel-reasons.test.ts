/** Who cancelled a call is in its result, whichever way the server was asked for it. */
import { describe, expect, test, vi } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { FakeClock, MemoryLog } from "../../src/testing/fake-ports.ts";
import { startApi, type ApiServer } from "./api/api-server.ts";
import { ERAS, listening, openRuntime, overHttp, overStdio } from "./mcp-clients.ts";
import { raw, TASKS } from "./mcp-raw.ts";

async function waiting(mode: "background" | "default" = "default") {
  const begun = Promise.withResolvers<void>();
  const messages: (string | undefined)[] = [];
  const { runtime } = await openRuntime({
    tools: [
      {
        name: "wait",
        description: "Waits.",
        inputSchema: { type: "object" },
        effects: pure,
        ...(mode === "background" ? { mode } : {}),
        execute: () => (begun.resolve(), new Promise(() => {})),
      },
    ],
    onEvent: (event) => void (event.type === "call-end" && messages.push(event.result.error?.message)),
  });
  const why = (): Promise<readonly (string | undefined)[]> => vi.waitFor(() => (expect(messages).toHaveLength(1), messages), 5_000);
  return { runtime, begun: begun.promise, why };
}

const CALL = { name: "wait", arguments: {} };

describe.each(ERAS)("the cancel reason of a call by an MCP client (%s)", (era) => {
  test.each(["stdio", "http"])("that cancels its request over %s names the client and its reason", async (way) => {
    const { runtime, begun, why } = await waiting();
    const client = way === "stdio" ? (await overStdio(runtime, { era })).client : await overHttp((await listening(runtime)).url, { era });
    const stop = new AbortController();
    const call = client.callTool(CALL, { signal: stop.signal }).catch(() => undefined);
    await begun;
    stop.abort("the user pressed stop");
    // A request of 2026-07-28 over HTTP is cancelled by closing its connection.
    const words = era === "modern" && way === "http" ? "The connection is closed" : "the user pressed stop";
    expect(await why()).toEqual([`default::wait was cancelled: the client cancelled it: ${words}`]);
    await call;
  });

  test.each(["stdio", "http"])("whose server stops over %s names the server", async (way) => {
    const { runtime, begun, why } = await waiting();
    const pair = way === "stdio" ? await overStdio(runtime, { era }) : undefined;
    const listener = pair === undefined ? await listening(runtime) : undefined;
    const client = pair?.client ?? (await overHttp(listener?.url ?? "", { era }));
    const call = client.callTool(CALL).catch(() => undefined);
    await begun;
    await (pair?.server ?? listener)?.close();
    expect(await why()).toEqual(["default::wait was cancelled: the server is stopping"]);
    await call;
  });

  test("that has closed its input names the client", async () => {
    const { runtime, begun, why } = await waiting();
    const clock = new FakeClock();
    const pair = await overStdio(runtime, { era, ports: { clock, log: new MemoryLog() } });
    void pair.client.callTool(CALL).catch(() => undefined);
    await begun;
    pair.hangUp();
    await vi.waitFor(() => expect(clock.pending).toBe(2)); // the end of the answers, and the next look whether the client reads
    await clock.advance(60_000);
    expect(await why()).toEqual(["default::wait was cancelled: the client closed its end 60 s ago"]);
  });
});

test("the cancel reason of a task that its client cancels names the client", async () => {
  const { runtime, begun, why } = await waiting("background");
  const { url } = await listening(runtime, { tasks: {} });
  const { result } = await raw(url, "tools/call", CALL, { capabilities: TASKS });
  await begun;
  await raw(url, "tasks/cancel", { taskId: String(result["taskId"]) }, { capabilities: TASKS });
  expect(await why()).toEqual(["default::wait was cancelled: the client cancelled it"]);
});

const API_ENDS: readonly (readonly [string, string, (api: ApiServer) => unknown])[] = [
  ["whose server stops", "the server is stopping", ({ server }) => server.close()],
  [
    "that another request cancels",
    "no need",
    ({ ask, runtime }) => ask("POST", `/v1/calls/${String(runtime.running[0]?.callId)}/cancel`, { body: { reason: "no need" } }),
  ],
  ["whose session is removed", "the session was removed", ({ ask }) => ask("DELETE", "/v1/sessions/s")],
  ["whose runtime is closed", "the runtime was closed", ({ runtime }) => runtime.close()],
];

test.each(API_ENDS)("the cancel reason of a call over HTTP %s names the cause", async (_, reason, end) => {
  const api = await startApi();
  await api.ask("POST", "/v1/sessions", { body: { id: "s" } });
  const answer = api.ask("POST", "/v1/sessions/s/execute", { body: { calls: [{ name: "wait", input: {} }] } });
  await api.gate.entered.promise;
  await end(api);
  expect((await answer).json.results[0].error.message).toBe(`notes::wait was cancelled: ${reason}`);
});
