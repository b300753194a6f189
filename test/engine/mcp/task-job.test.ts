import { expect, test, vi } from "vitest";
import { ToolOutput } from "../../../src/core/content.ts";
import { RemoteJob } from "../../../src/core/jobs/remote-job.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { request, requestOf, toolContext } from "../engine-contexts.ts";
import { openReference, rejection } from "../mcp-engine.ts";
import { legacy, loopbackMcp, modern, openHttp, text, toolList, type Answers } from "./loopback-mcp.ts";
import { testInCI } from "../../test-in-ci.ts";

const okay = new ToolOutput({ content: [{ type: "text", text: "okay" }] });
const working = { taskId: "t1", status: "working", createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:00Z", ttlMs: null };

/** A server whose one task goes through `states`, one a look. */
function withTask(...states: readonly JsonObject[]): Answers {
  const left = [...states];
  return {
    ...modern(),
    "tools/call": () => ({ ...working, resultType: "task", pollIntervalMs: 1 }),
    "tasks/get": () => ({ resultType: "complete", ...working, pollIntervalMs: 1, ...left.shift() }),
    "tasks/update": () => ({ resultType: "complete" }),
    "tasks/cancel": () => ({ resultType: "complete" }),
  };
}

async function jobOf(answer: unknown): Promise<RemoteJob> {
  const job = await answer;
  if (!(job instanceof RemoteJob)) throw new Error("no job was returned");
  return job;
}

test("revision 2026-07-28: a task is a job that is polled until it has its result, and reports its progress", async () => {
  const { url, asked } = await loopbackMcp(withTask({ statusMessage: "half" }, { status: "completed", result: text("okay") }));
  const { engine } = await openHttp({ url });
  const updates: unknown[] = [];

  const job = await jobOf(engine.call(request("echo"), toolContext({ progress: (update) => updates.push(update) })));

  expect(job.id).toBe("t1");
  expect(await job.result).toEqual(okay);
  expect(updates).toEqual([{ message: "half" }]);
  expect(asked.filter(({ method }) => method === "tasks/get").map(({ headers }) => headers["mcp-name"])).toEqual(["t1", "t1"]);
});

test("revision 2026-07-28: a task is polled before the server may forget it, even if the server's poll interval is longer", async () => {
  const task = { ...working, ttlMs: 400, pollIntervalMs: 60_000 };
  const { url } = await loopbackMcp({
    ...withTask(),
    "tools/call": () => ({ ...task, resultType: "task" }),
    "tasks/get": () => ({ ...task, resultType: "complete", status: "completed", result: text("okay") }),
  });
  const { engine } = await openHttp({ url });

  const job = await jobOf(engine.call(request("echo"), toolContext()));

  expect(await job.result).toEqual(okay);
});

test.each([{ ttlMs: 0 }, { ttlMs: -1 }, { ttlMs: null }, { ttlMs: "1" }, { ttlMs: 1e300 }, { ttl: 0 }, { ttl: null }])(
  "a server whose tasks live for %o is polled no more often than its poll interval",
  async (life) => {
    const { ttlMs: _, ...task } = working;
    const { url } = await loopbackMcp({
      ...withTask({ status: "completed", result: text("okay") }),
      "tools/call": () => ({ ...task, ...life, resultType: "task", pollIntervalMs: 50_000 }),
    });
    const clock = new FakeClock();
    const { engine } = await openHttp({ url }, { clock });
    const waits = vi.spyOn(clock, "timer");
    const job = await jobOf(engine.call(request("echo"), toolContext()));
    await clock.advance(50_000);
    expect(await job.result).toEqual(okay);
    expect(waits.mock.calls.map(([, delayMs]) => delayMs)).toContain(50_000);
  },
);

test("a task that is completed without a result ends the job as invalid_output", async () => {
  const { url } = await loopbackMcp(withTask({ status: "completed" }));
  const { engine } = await openHttp({ url });

  const job = await jobOf(engine.call(request("echo"), toolContext()));

  expect(await rejection(job.result)).toMatchObject({ code: "invalid_output", outcome: "unknown" });
});

test("an input request of a task is passed to the call's ask, once", async () => {
  const schema = { type: "object", properties: { name: { type: "string" } } };
  const wants = {
    status: "input_required",
    inputRequests: { who: { method: "elicitation/create", params: { message: "Who?", requestedSchema: schema } } },
  };
  const { url, asked } = await loopbackMcp(withTask(wants, wants, { status: "completed", result: text("okay") }));
  const { engine } = await openHttp({ url });
  const questions: unknown[] = [];
  const context = toolContext({
    ask: (question, asker) => {
      questions.push([question.message, asker]);
      return Promise.resolve({ action: "accept", content: { name: "Ann" } });
    },
  });

  const job = await jobOf(engine.call(request("echo"), context));

  expect(await job.result).toEqual(okay);
  expect(questions).toEqual([["Who?", "far"]]);
  expect(asked.find(({ method }) => method === "tasks/update")?.params).toMatchObject({
    taskId: "t1",
    inputResponses: { who: { action: "accept", content: { name: "Ann" } } },
  });
});

test.each([
  [
    { status: "failed", error: { code: -32603, message: "it broke" } },
    { code: "execution_failed", message: 'MCP server "far": it broke', outcome: "unknown" },
  ],
  [{ status: "cancelled" }, { code: "cancelled", message: 'MCP server "far": the task was cancelled on the server', outcome: "unknown" }],
])("a task that ended as %j is an error that names the server", async (state, expected) => {
  const { url } = await loopbackMcp(withTask(state));
  const { engine } = await openHttp({ url });

  const job = await jobOf(engine.call(request("echo"), toolContext()));

  expect(await rejection(job.result)).toMatchObject(expected);
});

test("a cancelled job is cancelled on the server and not polled again", async () => {
  const { url, asked } = await loopbackMcp(withTask());
  const { engine } = await openHttp({ url });
  const controller = new AbortController();
  const job = await jobOf(engine.call(request("echo"), toolContext({ signal: controller.signal })));

  controller.abort();
  await job.cancel();

  expect(await rejection(job.result)).toMatchObject({ code: "cancelled" });
  expect(asked.at(-1)).toMatchObject({ method: "tasks/cancel", params: { taskId: "t1" } });
});

test.each([
  ["and its result is fetched", { ttl: null, pollInterval: 1 }],
  ["and asked about before the server may forget it", { ttl: 400, pollInterval: 60_000 }],
])("revision 2025-11-25: a tool that requires a task is called as one, %s", async (_what, times) => {
  const { url, asked } = await loopbackMcp({
    ...legacy({ tools: {}, tasks: { requests: { tools: { call: {} } } } }),
    "tools/list": () => ({
      ...toolList([]),
      tools: [{ name: "slow", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }],
    }),
    "tools/call": () => ({ task: { ...working, ...times } }),
    "tasks/get": () => ({ ...working, status: "completed" }),
    "tasks/result": () => text("okay"),
  });
  const { engine, tools } = await openHttp({ url, protocol: "legacy" });
  const [slow] = tools;
  if (slow === undefined) throw new Error("no tool was listed");

  const job = await jobOf(engine.call(requestOf(slow), toolContext()));

  expect(await job.result).toEqual(okay);
  expect(asked.find(({ method }) => method === "tools/call")?.params["task"]).toEqual({});
});

testInCI("the everything server's research asks a question through its task, and then answers", async () => {
  const { engine, tools } = await openReference("everything");
  const research = tools.find((tool) => tool.name === "simulate-research-query");
  if (research === undefined) throw new Error("the server has changed");
  const asked = vi.fn<(asker: string | undefined) => void>();
  const context = toolContext({
    ask: ({ schema }, asker) => {
      asked(asker);
      const [choice] = /"const":"([^"]+)"/u.exec(JSON.stringify(schema))?.slice(1) ?? [];
      return Promise.resolve({ action: "accept", content: { interpretation: choice ?? "" } });
    },
  });

  const job = await jobOf(engine.call(requestOf(research, { topic: "python", ambiguous: true }), context));

  expect(JSON.stringify(await job.result)).toMatch(/python \((?!User)/u);
  expect(asked.mock.calls).toEqual([["everything"]]);
});
