import { expect, test, vi } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { FakeClock, MemoryLog } from "../../src/testing/fake-ports.ts";
import { mcpClientOf } from "../../src/server/mcp.ts";
import { listening, openRuntime } from "./mcp-clients.ts";
import { raw, TASKS, type RawAnswer } from "./mcp-raw.ts";
import { repeated } from "../ci.ts";

const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const ABLE = { ...TASKS, elicitation: { form: {} } };

function tool(execute: Tool["execute"], rest: Partial<Tool> = {}): Tool {
  return {
    name: "work",
    description: "Works.",
    effects: pure,
    inputSchema: { type: "object" },
    mode: "background",
    execute,
    ...rest,
  } as Tool; // with a handler
}

/** A server of one tool; `call` begins a task of it. */
async function serving(execute: (input: JsonObject, context: ToolContext) => unknown, rest: Partial<Tool> = {}, more: RuntimeOptions = {}) {
  const { runtime } = await openRuntime({ tools: [tool(execute, rest)], ...more });
  const clock = new FakeClock();
  const { url } = await listening(runtime, { tasks: { ttlMs: 60_000, pollIntervalMs: 5 }, ports: { clock, log: new MemoryLog() } });
  const request = (method: string, params: JsonObject = {}, capabilities: JsonObject = ABLE): Promise<RawAnswer> =>
    raw(url, method, params, { capabilities });
  return {
    url,
    runtime,
    clock,
    request,
    call: async (): Promise<string> => {
      const { result } = await request("tools/call", { name: "work", arguments: {} });
      expect(result).toMatchObject({
        resultType: "task",
        status: expect.stringMatching(/working|input_required/u),
        ttlMs: 60_000,
        pollIntervalMs: 5,
      });
      return String(result["taskId"]);
    },
    task: async (taskId: string): Promise<JsonObject> => (await request("tasks/get", { taskId })).result,
    ended: async (taskId: string): Promise<JsonObject> =>
      vi.waitFor(async () => {
        const { result } = await request("tasks/get", { taskId });
        expect(result["status"]).not.toBe("working");
        return result;
      }, WAIT),
  };
}

test("the poll interval lets a client ask at least twice before a task expires", async () => {
  const { runtime } = await openRuntime({ tools: [tool(() => "done")] });
  const { url } = await listening(runtime, { tasks: { ttlMs: 3_000, pollIntervalMs: 60_000 } });
  const { result } = await raw(url, "tools/call", { name: "work", arguments: {} }, { capabilities: ABLE });
  expect(result).toMatchObject({ resultType: "task", ttlMs: 3_000, pollIntervalMs: 1_500 });
});

const WAIT = { timeout: 20_000, interval: 5 };

test("issue 19.7 a call that takes too long becomes a task, and one that ends in time does not", async () => {
  const gate = Promise.withResolvers<string>();
  let started = Promise.withResolvers<void>();
  const { clock, request, ended } = await serving(
    async () => {
      started.resolve();
      return gate.promise;
    },
    { mode: "direct" },
  );
  const asked = request("tools/call", { name: "work", arguments: {} });
  await started.promise;
  await clock.advance(5_000);
  const { result } = await asked;
  expect(result).toMatchObject({ resultType: "task", status: "working", ttlMs: 60_000, pollIntervalMs: 5 });
  expect(Object.keys(result).sort()).toEqual(
    ["_meta", "createdAt", "lastUpdatedAt", "pollIntervalMs", "resultType", "status", "taskId", "ttlMs"].sort(),
  );
  gate.resolve("done");
  expect(await ended(String(result["taskId"]))).toMatchObject({
    resultType: "complete",
    status: "completed",
    result: { content: [{ type: "text", text: "done" }] },
  });
  started = Promise.withResolvers();
  expect((await request("tools/call", { name: "work", arguments: {} })).result).toMatchObject({ resultType: "complete" });
});

test("issue 19.7 a client without tasks is answered when the call ends; a stateful tool is rejected for it", async () => {
  const { request } = await serving(() => "done");
  expect((await request("tools/call", { name: "work", arguments: {} }, {})).result).toMatchObject({
    resultType: "complete",
    content: [{ type: "text", text: "done" }],
  });
  const talking = await serving(() => "done", { mode: "stateful" });
  expect((await talking.request("tools/call", { name: "work", arguments: {} }, {})).error).toMatchObject({
    code: -32_021,
    data: { requiredCapabilities: TASKS },
  });
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
    expect((await request(method, { taskId: "t", inputResponses: {} }, {})).error).toMatchObject({ code: -32_021 });
});

test("issue 19.7 a guessed or altered task id gets the same error as an unknown one", async () => {
  const gate = Promise.withResolvers<string>();
  const { call, request } = await serving(() => gate.promise);
  const taskId = await call();
  expect(taskId).toMatch(/^[\w-]{43}$/u);
  const guesses = [taskId.slice(0, -1), `${taskId}A`, taskId.toLowerCase(), "__proto__", "x".repeat(43), "../work", ""];
  for (const guess of guesses.filter((one) => one !== taskId)) {
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const { error } = await request(method, { taskId: guess, inputResponses: {} });
      expect(error).toEqual({ code: -32_602, message: "There is no such task, or not any more." });
    }
  }
  gate.resolve("done");
});

test("issue 19.7 questions of a task are in tasks/get, can be answered in parts, and never reuse a key", async () => {
  const { call, task, ended, request } = await serving(async (_input, { ask }) => {
    const first = await Promise.all(["One?", "Two?"].map((message) => ask({ message, schema: NAME })));
    const second = await ask({ message: "Three?", schema: NAME });
    return [...first, second].map((answer) => (answer.action === "accept" ? String(answer.content?.["name"]) : answer.action)).join(" ");
  });
  const taskId = await call();
  const requests = async (count: number): Promise<readonly string[]> =>
    vi.waitFor(async () => {
      const { status, inputRequests = {} } = await task(taskId);
      expect([status, Object.keys(inputRequests as JsonObject).length]).toEqual(["input_required", count]);
      return Object.keys(inputRequests as JsonObject);
    }, WAIT);
  const answer = (key: string | undefined, name: unknown): Promise<RawAnswer> =>
    request("tasks/update", { taskId, inputResponses: { [key ?? ""]: { action: "accept", content: { name } } } as JsonObject });

  const [one, two] = await requests(2);
  expect((await answer(one, "a")).result).toMatchObject({ resultType: "complete" });
  expect(await requests(1)).toEqual([two]);
  await answer(one, "again"); // it has its answer
  await answer(two, 5); // that is none: it is asked for again
  expect(await requests(1)).toEqual([two]);
  await answer(two, "b");
  const [three] = await requests(1);
  expect([one, two]).not.toContain(three);
  await answer(three, "c");
  expect(await ended(taskId)).toMatchObject({ status: "completed", result: { content: [{ text: "a b c" }] } });

  expect((await answer(three, "late")).result).toMatchObject({ resultType: "complete" }); // a finished task takes none
  expect(await task(taskId)).toMatchObject({ result: { content: [{ text: "a b c" }] } });
});

test("issue 19.7 a task that is cancelled while it asks ends as cancelled, and cancelling it again succeeds", async () => {
  const aborted = vi.fn();
  const { call, task, request } = await serving(async (_input, { ask, signal }) => {
    signal.addEventListener("abort", aborted);
    return await ask({ message: "Go on?", schema: NAME });
  });
  const taskId = await call();
  await vi.waitFor(async () => expect(await task(taskId)).toMatchObject({ status: "input_required" }), WAIT);
  expect((await request("tasks/cancel", { taskId })).result).toMatchObject({ resultType: "complete" });
  await vi.waitFor(async () => expect(await task(taskId)).toMatchObject({ status: "cancelled" }), WAIT);
  expect(await task(taskId)).not.toHaveProperty("inputRequests");
  expect(aborted).toHaveBeenCalledOnce();
  expect((await request("tasks/cancel", { taskId })).result).toMatchObject({ resultType: "complete" });
});

test("issue 19.7 a failure of the tool is a completed task with an error result", async () => {
  const wrong = await serving(() => {
    throw new Error("No disk.");
  });
  expect(await wrong.ended(await wrong.call())).toMatchObject({
    status: "completed",
    result: { isError: true, content: [{ type: "text", text: expect.stringContaining("No disk.") }] },
  });
  const writes = await serving(async (_input, context) => mcpClientOf(context)?.sample({ messages: [], maxTokens: 5 }));
  const failed = await writes.ended(await writes.call());
  expect(failed).toMatchObject({ status: "failed", error: { code: -32_021, data: { requiredCapabilities: { sampling: {} } } } });
  expect(failed).not.toHaveProperty("result");
});

test("issue 19.7 a stateful job asks its questions through its task", async () => {
  const { call, task, ended, request } = await serving(
    async function* () {
      const colour: unknown = yield "Which colour?";
      return `You said ${JSON.stringify(colour)}`;
    },
    { mode: "stateful" },
  );
  const taskId = await call();
  const asked = await vi.waitFor(async () => {
    const { inputRequests } = await task(taskId);
    expect(inputRequests).toBeDefined();
    return inputRequests as JsonObject;
  }, WAIT);
  const [key = ""] = Object.keys(asked);
  expect(asked[key]).toMatchObject({ method: "elicitation/create", params: { message: "Which colour?" } });
  await request("tasks/update", { taskId, inputResponses: { [key]: { action: "accept", content: { answer: "red" } } } });
  expect(await ended(taskId)).toMatchObject({ status: "completed", result: { content: [{ text: 'You said "red"' }] } });
});

test("issue 19.7 a thousand requests (200 outside CI) about one task are answered, and an ended task expires", async () => {
  const gate = Promise.withResolvers<string>();
  const { call, task, ended, request, clock, runtime } = await serving(() => gate.promise);
  const taskId = await call();
  const polled = await Promise.all(Array.from({ length: repeated(1_000) }, () => task(taskId)));
  expect(new Set(polled.map(({ status }) => status))).toEqual(new Set(["working"]));
  gate.resolve("done");
  await ended(taskId);
  expect(runtime.sessions.list()).toEqual([]);
  await clock.advance(60_000);
  expect((await request("tasks/get", { taskId })).error).toMatchObject({ code: -32_602 });
});

test("issue 18.7 F1.19 the result of a task has the image itself, although the runtime stores it as an artifact", async () => {
  const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const plot = (): ToolOutput => new ToolOutput({ content: [{ type: "image", mediaType: "image/png", data }] });
  const { call, ended } = await serving(plot, {}, { artifacts: memoryStore().artifacts });
  const { result } = await ended(await call());
  expect(result).toMatchObject({
    content: [
      { type: "resource_link", uri: expect.stringMatching(/^artifact:/u) },
      { type: "image", data, mimeType: "image/png" },
    ],
  });
});
