import { describe, expect, test } from "vitest";
import { RemoteJob } from "../../../src/core/jobs/remote-job.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { mcpEngine } from "../../../src/engine/mcp.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { request, requestOf, toolContext } from "../engine-contexts.ts";
import { rejection } from "../mcp-engine.ts";
import { event, legacy, loopbackMcp, modern, openHttp, reply, text, toolList, type Answers, type Asked } from "./loopback-mcp.ts";
import { settled } from "./settled.ts";
import { testInCI } from "../../test-in-ci.ts";

const task = { taskId: "t1", status: "working", createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:00Z", ttlMs: null };

function status(code: number): (asked: Asked) => undefined {
  return ({ response }) => {
    response.writeHead(code, { "retry-after": "0" }).end();
  };
}

/** A JSON-RPC error, by default to the request itself. */
function refusal(error: JsonObject, { id, code = 200 }: { readonly id?: null; readonly code?: number } = {}): (asked: Asked) => undefined {
  return (asked) => {
    reply(asked.response, { id: id === null || typeof asked.id !== "number" ? null : asked.id, error }, code);
  };
}

/** What goes wrong with a question about work that has begun. */
const TROUBLE: readonly (readonly [string, (asked: Asked) => undefined])[] = [
  ["HTTP 429", status(429)],
  ["a method it does not know", refusal({ code: -32601, message: "Method not found" })],
  ["params it does not take", refusal({ code: -32602, message: "No such task" })],
  ["headers that do not fit", refusal({ code: -32020, message: "Mismatch" })],
  ["HTTP 401", status(401)],
  ["HTTP 404", status(404)],
];

function withTask(more: Answers): Answers {
  return { ...modern(), "tools/call": () => ({ ...task, resultType: "task", pollIntervalMs: 1 }), ...more };
}

async function jobOf(answer: unknown): Promise<RemoteJob> {
  const job = await answer;
  if (!(job instanceof RemoteJob)) throw new Error("no job was returned");
  return job;
}

describe("D09 an error while a task is followed never has the outcome not_started", () => {
  test.each(TROUBLE)("%s, in the newer era", async (_what, trouble) => {
    const { url } = await loopbackMcp(withTask({ "tasks/get": trouble }));
    const { engine } = await openHttp({ url });
    const job = await jobOf(engine.call(request("echo"), toolContext()));
    expect(await rejection(job.result)).toMatchObject({ outcome: "unknown" });
  });

  test.each(TROUBLE)("%s, in the older era with a session", async (_what, trouble) => {
    const { url } = await loopbackMcp({
      ...legacy({ tools: {}, tasks: { requests: { tools: { call: {} } } } }),
      "tools/list": () => ({
        ...toolList([]),
        tools: [{ name: "slow", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }],
      }),
      "tools/call": () => ({ task: { ...task, ttl: null, pollInterval: 1 } }),
      "tasks/get": trouble,
    });
    const clock = new FakeClock();
    const { engine, tools } = await openHttp({ url, protocol: "legacy" }, { clock });
    const [slow] = tools;
    if (slow === undefined) throw new Error("no tool was listed");
    const job = await jobOf(engine.call(requestOf(slow), toolContext()));
    expect(await rejection(settled(clock, job.result))).toMatchObject({ outcome: "unknown" });
  });

  testInCI("an unavailable server is polled a few times, and the call is not repeated", async () => {
    let effects = 0;
    const { url, asked } = await loopbackMcp(
      withTask({
        "tools/call": () => {
          effects++;
          return { ...task, resultType: "task", pollIntervalMs: 1 };
        },
        "tasks/get": status(429),
      }),
    );
    const far = { name: "far", engine: mcpEngine({ url }), defaults: { maxAttempts: 4 } };
    await using runtime = createRuntime({ toolsets: [far], retry: { delayMs: 0 } });
    await runtime.open();
    const result = await runtime.execute({ name: "echo" });
    expect([result.status, result.error?.code, result.error?.outcome, effects]).toEqual(["error", "rate_limited", "unknown", 1]);
    expect(asked.filter(({ method }) => method === "tasks/get")).toHaveLength(9);
  });

  test("a temporary HTTP 429 is waited out", async () => {
    const answers: ((asked: Asked) => JsonObject | undefined)[] = [
      status(429),
      () => ({ resultType: "complete", ...task, status: "completed", result: text("okay") }),
    ];
    const { url } = await loopbackMcp(withTask({ "tasks/get": (asked) => answers.shift()?.(asked) }));
    const { engine } = await openHttp({ url });
    const job = await jobOf(engine.call(request("echo"), toolContext()));
    expect(await job.result).toMatchObject({ content: [{ text: "okay" }] });
  });
});

describe("D09 an error after the server has sent a request for the call never has the outcome not_started", () => {
  test.each(TROUBLE)("%s at the second round", async (_what, trouble) => {
    let rounds = 0;
    const { url, asked } = await loopbackMcp({
      ...modern(),
      "tools/call": (it) => (rounds++ === 0 ? { resultType: "input_required", requestState: "s" } : trouble(it)),
    });
    const { engine } = await openHttp({ url });
    expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({ outcome: "unknown" });
    expect(asked.filter(({ method }) => method === "tools/call")).toHaveLength(2);
  });

  // Servers on the official Python library answer the call with the error that a question of its handler ended with.
  test.each([
    ["a method it does not know", -32601],
    ["params it does not take", -32602],
  ])("%s, in the older era after a request of the server", async (_what, code) => {
    const { url } = await loopbackMcp({
      ...legacy(),
      "tools/call": ({ id, response }) => {
        event(response, { id: 9, method: "roots/list" });
        event(response, { id: Number(id), error: { code, message: "roots/list was not offered to this server." } });
        response.end();
        return undefined;
      },
    });
    const { engine } = await openHttp({ url, protocol: "legacy" });
    expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({ outcome: "unknown" });
  });
});

describe("D09 a call is sent again only if the server has lost the session", () => {
  test.each([
    ["an error of the call itself that speaks of a session", refusal({ code: -32000, message: "The session crashed" }, { code: 400 }), 1],
    ["a word of the transport", refusal({ code: -32000, message: "Bad Request: No valid session ID" }, { id: null, code: 400 }), 2],
  ] as const)("HTTP 400 with %s", async (_what, refuse, calls) => {
    const { url, asked } = await loopbackMcp({ ...legacy(), "tools/call": refuse });
    const { engine } = await openHttp({ url, protocol: "legacy" });
    await rejection(engine.call(request("echo"), toolContext()));
    expect(asked.filter(({ method }) => method === "tools/call")).toHaveLength(calls);
  });
});
