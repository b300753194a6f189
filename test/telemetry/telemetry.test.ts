import { ROOT_CONTEXT, trace, type Span, type TracerProvider } from "@opentelemetry/api";
import { expect, onTestFinished, test, vi } from "vitest";
import { delegateTool } from "../../src/compose/delegate/delegate.ts";
import { createAgent } from "../../src/compose/agent.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { programToolset } from "../../src/compose/program/program-toolset.ts";
import { ToolError } from "../../src/core/error.ts";
import type { ModelEvent } from "../../src/core/model.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import type { Store } from "../../src/core/store/store.ts";
import { channelsToolset } from "../../src/toolsets/channels.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import { createTriggers } from "../../src/triggers/triggers.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { tree, withTelemetry } from "./with-telemetry.ts";

const OBJECT = { type: "object" } as const;

const weather = defineTool({
  name: "weather",
  description: "The weather of a city.",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
  effects: { reads: [] },
  execute: ({ city }: { readonly city?: string }) => ({ city: city ?? "", sky: "clear" }),
});

test("issue 19.8 a call is a span execute_tool with the conventions' attributes, and no arguments or results", async () => {
  const receiver = await withTelemetry(async () => {
    const runtime = createRuntime({ tools: [weather] });
    telemetry(runtime);
    await runtime.session("trip").execute({ id: "call_1", name: "weather", input: { city: "Berlin" } });
    await runtime.close();
  });
  expect(receiver.resource).toMatchObject({ "service.name": "haft-test" });
  const [span, ...others] = receiver.spans;
  expect(others).toEqual([]);
  expect(span).toMatchObject({ name: "execute_tool weather", kind: 1, status: {}, parentSpanId: undefined });
  expect(span?.attributes).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "weather",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": "call_1",
    "gen_ai.tool.description": "The weather of a city.",
    "gen_ai.conversation.id": "trip",
    "haft.call.id": expect.any(String),
    "haft.turn.id": expect.any(String),
    "haft.call.status": "ok",
    "haft.call.origin": "live",
    "haft.call.attempts": 1,
  });
  expect(receiver.text).not.toContain("Berlin");
  expect(receiver.text).not.toContain("clear");
});

test("issue 19.8 arguments and results are recorded on request, without secrets", async () => {
  const receiver = await withTelemetry(async () => {
    const login = defineTool({
      name: "login",
      description: "Logs Ada in, with sk-abcdefghijklmnop1234.",
      inputSchema: OBJECT,
      execute: () => ({ access_token: "abcdef", note: "Authorization: Bearer s3cr3t-t0ken-value", user: "Ada" }),
    });
    const runtime = createRuntime({ tools: [login] });
    telemetry(runtime, { recordInputs: true, recordOutputs: true, redact: (text) => text.replaceAll("Ada", "[user]") });
    await runtime.execute({ name: "login", input: { user: "Ada", password: "hunter22", key: "sk-abcdefghijklmnop1234" } });
    await runtime.close();
  });
  expect(receiver.spans[0]?.attributes).toMatchObject({
    "gen_ai.tool.description": "Logs [user] in, with [secret].",
    "gen_ai.tool.call.arguments": '{"user":"[user]","password":"[secret]","key":"[secret]"}',
    "gen_ai.tool.call.result": '{"access_token":"[secret]","note":"Authorization: Bearer [secret]","user":"[user]"}',
  });
  for (const secret of ["hunter22", "abcdef", "s3cr3t", "Ada"]) expect(receiver.text).not.toContain(secret);
});

test("issue 19.8 an error sets error.type and the status; its message, which quotes arguments, is recorded only with results", async () => {
  const failing = (recordOutputs: boolean): ReturnType<typeof withTelemetry> =>
    withTelemetry(async () => {
      const tool = defineTool({
        name: "order",
        description: "Orders.",
        inputSchema: OBJECT,
        execute: () => {
          throw new ToolError("execution_failed", "No stock of the teapot.", { retryable: false });
        },
      });
      const runtime = createRuntime({ tools: [tool] });
      telemetry(runtime, { recordOutputs });
      await runtime.execute({ name: "order", input: {} });
      await runtime.close();
    });
  const quiet = await failing(false);
  expect(quiet.spans[0]).toMatchObject({
    status: { code: 2, message: "execution_failed" },
    attributes: { "error.type": "execution_failed", "haft.call.status": "error" },
  });
  expect(quiet.text).not.toContain("teapot");
  const open = await failing(true);
  expect(open.spans[0]).toMatchObject({ status: { code: 2, message: "No stock of the teapot." } });
});

test("issue 19.8 waits, retries and further attempts are span events", async () => {
  const receiver = await withTelemetry(async () => {
    const gate = Promise.withResolvers<void>();
    let tries = 0;
    const flaky = defineTool({
      name: "flaky",
      description: "Fails once.",
      inputSchema: OBJECT,
      effects: { reads: ["disk"] },
      execute: () => {
        if (tries++ === 0) throw new ToolError("network_error", "Reset.", { retryable: true, outcome: "not_started" });
        return "done";
      },
    });
    const slow = defineTool({
      name: "slow",
      description: "Holds the disk.",
      inputSchema: OBJECT,
      effects: { writes: ["disk"] },
      execute: () => gate.promise.then(() => "done"),
    });
    const runtime = createRuntime({ tools: [flaky, slow], retry: { delayMs: 1 } });
    telemetry(runtime);
    const running = runtime.execute([
      { name: "slow", input: {} },
      { name: "flaky", input: {} },
    ]);
    setTimeout(gate.resolve, 30);
    await running;
    await runtime.close();
  });
  const flaky = receiver.spans.find(({ name }) => name === "execute_tool flaky");
  expect(flaky?.events.map(({ name }) => name)).toEqual(["haft.wait", "haft.retry", "haft.attempt"]);
  expect(flaky?.events[0]?.attributes).toMatchObject({ "haft.wait.reason": "lock", "haft.wait.for": [expect.any(String)] });
  expect(flaky?.events[1]?.attributes).toMatchObject({ "haft.attempt": 1, "error.type": "network_error" });
  expect(
    receiver.points
      .filter(({ metric }) => metric.startsWith("haft."))
      .map(({ metric }) => metric)
      .toSorted(),
  ).toEqual(["haft.call.retries", "haft.call.wait.duration"]);
});

test("issue 19.8 a loop is invoke_agent over chat and execute_tool; nested calls, delegates and programs are below their parents", async () => {
  const receiver = await withTelemetry(async () => {
    const outer = defineTool({
      name: "outer",
      description: "Calls another tool.",
      inputSchema: OBJECT,
      execute: async (_input, { execute }) => {
        await execute({ name: "weather", input: {} });
        return trace.getActiveSpan()?.spanContext().spanId === undefined ? "no span" : "inside";
      },
    });
    const researcher = delegateTool({
      name: "researcher",
      description: "Finds things out.",
      model: scriptedModel([{ calls: [{ name: "weather", input: {} }] }, { text: "It is clear." }], { name: "anthropic/claude-x" }),
    });
    const runtime = createRuntime({ tools: [weather, outer, researcher], toolsets: [programToolset()], agentName: "planner" });
    await runtime.open();
    telemetry(runtime);
    const calls = [
      { name: "outer", input: {} },
      { name: "researcher", input: { task: "Weather?" } },
      { name: "program::run_program", input: { code: "await tools.weather({}); return 1;" } },
    ];
    const model = scriptedModel([...calls.map((call) => ({ calls: [call] })), { text: "Done." }], { name: "openai/gpt-x" });
    const result = await createLoop({ model, session: runtime.session("s") }).run("Go");
    expect(result).toMatchObject({ reason: "answered" });
    expect(result.results.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    expect(result.results[0]?.output).toBe("inside");
    await runtime.close();
  });
  expect(tree(receiver.spans)).toEqual([
    "invoke_agent planner",
    "  chat gpt-x",
    "  chat gpt-x",
    "  chat gpt-x",
    "  chat gpt-x",
    "  execute_tool outer",
    "    execute_tool weather",
    "  execute_tool program::run_program",
    "    execute_tool weather",
    "  execute_tool researcher",
    "    invoke_agent researcher",
    "      chat claude-x",
    "      chat claude-x",
    "      execute_tool weather",
  ]);
  expect(new Set(receiver.spans.map(({ traceId }) => traceId)).size).toBe(1);
});

test("the time between chunks excludes the wait for a model that is asked again after its message was voided", async () => {
  const receiver = await withTelemetry(async () => {
    const ports = fakePorts();
    const runtime = createRuntime({ tools: [weather], ports });
    telemetry(runtime);
    const said = async function* (): AsyncGenerator<ModelEvent> {
      const after = async (milliseconds: number, event: ModelEvent): Promise<ModelEvent> => {
        await ports.clock.advance(milliseconds);
        return event;
      };
      yield after(1_000, { type: "text-delta", text: "a" });
      yield after(2_000, { type: "text-delta", text: "b" });
      yield after(30_000, { type: "reply-void", reason: "The connection broke." });
      yield after(60_000, { type: "text-delta", text: "c" });
      yield after(3_000, { type: "text-delta", text: "d" });
      yield after(50_000, { type: "reply-end", reply: { text: "cd", calls: [], finish: "stop" } as never });
    };
    await createLoop({ model: { name: "gemini/flash", stream: said }, session: runtime.session("s") }).run("Go");
    await runtime.close();
  });
  const times = receiver.points.filter(({ metric }) => metric.includes("chunk")).map(({ metric, count, sum }) => ({ metric, count, sum }));
  expect(times).toEqual([
    { metric: "gen_ai.client.operation.time_to_first_chunk", count: 1, sum: 1 },
    { metric: "gen_ai.client.operation.time_per_output_chunk", count: 2, sum: 5 },
  ]);
});

test("issue 19.8 a request to a model has provider, model, tokens and finish reason, and the conventions' metrics", async () => {
  const receiver = await withTelemetry(async () => {
    const runtime = createRuntime({ tools: [weather], agentName: "planner" });
    telemetry(runtime);
    const usage = { inputTokens: 20, outputTokens: 7, cachedInputTokens: 5, reasoningTokens: 3 };
    const model = scriptedModel([{ calls: [{ name: "weather", input: {} }] }, { text: "Clear.", usage }], { name: "gemini/flash" });
    await createLoop({ model, session: runtime.session("s"), temperature: 0.2, maxOutputTokens: 100 }).run("Go");
    await runtime.execute({ name: "nonsense", input: {} });
    await runtime.close();
  });
  const chat = receiver.spans.filter(({ name }) => name === "chat flash").at(-1);
  expect(chat).toMatchObject({ kind: 3 });
  expect(chat?.attributes).toEqual({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "gcp.gemini",
    "gen_ai.request.model": "flash",
    "gen_ai.conversation.id": "s",
    "gen_ai.agent.name": "planner",
    "gen_ai.request.stream": true,
    "gen_ai.request.temperature": 0.2,
    "gen_ai.request.max_tokens": 100,
    "gen_ai.response.time_to_first_chunk": expect.any(Number),
    "gen_ai.usage.input_tokens": 20,
    "gen_ai.usage.output_tokens": 7,
    "gen_ai.usage.cache_read.input_tokens": 5,
    "gen_ai.usage.reasoning.output_tokens": 3,
    "gen_ai.response.finish_reasons": ["stop"],
  });
  const run = receiver.spans.find(({ name }) => name === "invoke_agent planner");
  expect(run?.attributes).toMatchObject({
    "gen_ai.provider.name": "gcp.gemini",
    "haft.stop.reason": "answered",
    "gen_ai.usage.output_tokens": 7,
  });
  const points = receiver.points.map(({ metric, unit, attributes, count }) => ({ metric, unit, attributes, count }));
  const chatOf = { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "flash" };
  expect(points).toContainEqual({ metric: "gen_ai.client.operation.duration", unit: "s", attributes: chatOf, count: 2 });
  expect(points).toContainEqual({ metric: "gen_ai.client.operation.time_to_first_chunk", unit: "s", attributes: chatOf, count: 2 });
  expect(points).toContainEqual({ metric: "gen_ai.client.operation.time_per_output_chunk", unit: "s", attributes: chatOf, count: 2 });
  expect(receiver.points).toContainEqual(
    expect.objectContaining({
      metric: "gen_ai.client.token.usage",
      attributes: { ...chatOf, "gen_ai.token.type": "input" },
      sum: 20,
      count: 1,
    }),
  );
  expect(points).toContainEqual(
    expect.objectContaining({
      metric: "gen_ai.execute_tool.duration",
      attributes: {
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": "planner",
        "haft.call.origin": "live",
      },
    }),
  );
  expect(points).toContainEqual(
    expect.objectContaining({
      metric: "gen_ai.execute_tool.duration",
      attributes: expect.objectContaining({ "gen_ai.tool.name": "_OTHER", "error.type": "not_found" }),
    }),
  );
  expect(points.map(({ metric }) => metric)).toContain("gen_ai.invoke_agent.duration");
  expect(receiver.points.find(({ metric }) => metric === "gen_ai.client.operation.duration")?.bounds).toEqual([
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
  ]);
});

test("the conversation is recorded on request in the conventions' format, without secrets, and a run has its input and its answer", async () => {
  const receiver = await withTelemetry(async () => {
    const login = defineTool({
      name: "login",
      description: "Logs in.",
      inputSchema: OBJECT,
      execute: () => ({ access_token: "abcdef", user: "Ada" }),
    });
    const runtime = createRuntime({ tools: [login], agentName: "guide" });
    telemetry(runtime, { recordInputs: true, recordOutputs: true, redact: (text) => text.replaceAll("Ada", "[user]") });
    const calls = [{ id: "call_1", name: "login", input: { user: "Ada", password: "hunter22" } }];
    const model = scriptedModel([{ text: "Logging in.", calls }, { text: "Welcome, Ada." }], { name: "openai/gpt-x" });
    const session = runtime.session("s");
    await createLoop({ model, session, system: "You greet Ada." }).run("I am Ada, with sk-abcdefghijklmnop1234.");
    await runtime.close();
  });
  const [first, second] = receiver.spans.filter(({ name }) => name === "chat gpt-x").map(({ attributes }) => contentsOf(attributes));
  const said = { role: "user", parts: [{ type: "text", content: "I am [user], with [secret]." }] };
  const call = { type: "tool_call", id: "call_1", name: "login", arguments: { user: "[user]", password: "[secret]" } };
  expect(first).toEqual({
    "gen_ai.system_instructions": [{ type: "text", content: "You greet [user]." }],
    "gen_ai.input.messages": [said],
    "gen_ai.tool.definitions": expect.arrayContaining([
      { type: "function", name: "login", description: "Logs in.", parameters: { type: "object" } },
    ]),
    "gen_ai.output.messages": [{ role: "assistant", parts: [{ type: "text", content: "Logging in." }, call], finish_reason: "tool_call" }],
  });
  const response = '{"access_token":"[secret]","user":"[user]"}';
  const answer = { role: "assistant", parts: [{ type: "text", content: "Welcome, [user]." }], finish_reason: "stop" };
  expect(second).toMatchObject({
    "gen_ai.input.messages": [
      said,
      { role: "assistant", parts: [{ type: "text", content: "Logging in." }] },
      { role: "assistant", parts: [call] },
      { role: "tool", parts: [{ type: "tool_call_response", id: "call_1", response }] },
    ],
    "gen_ai.output.messages": [answer],
  });
  const run = receiver.spans.find(({ name }) => name === "invoke_agent guide");
  expect(contentsOf(run?.attributes ?? {})).toEqual({ "gen_ai.input.messages": [said], "gen_ai.output.messages": [answer] });
  for (const secret of ["hunter22", "abcdef", "Ada"]) expect(receiver.text).not.toContain(secret);
});

test.for([
  { recordInputs: false, recordOutputs: false, kept: [] },
  { recordInputs: true, recordOutputs: false, kept: ["SYSTEM", "QUESTION", "ARGUMENT"] },
  { recordInputs: false, recordOutputs: true, kept: ["THOUGHT", "RESULT", "ANSWER"] },
])("inputs and outputs of a conversation have separate options: $recordInputs, $recordOutputs", async ({ kept, ...options }) => {
  const receiver = await withTelemetry(async () => {
    const echo = defineTool({ name: "echo", description: "Echoes.", inputSchema: OBJECT, execute: () => "RESULT" });
    const runtime = createRuntime({ tools: [echo] });
    telemetry(runtime, options);
    const calls = [{ name: "echo", input: { text: "ARGUMENT" } }];
    const model = scriptedModel([{ text: "THOUGHT", calls }, { text: "ANSWER" }], { name: "openai/gpt-x" });
    await createLoop({ model, session: runtime.session(), system: "SYSTEM" }).run("QUESTION");
    await runtime.close();
  });
  const words = ["SYSTEM", "QUESTION", "ARGUMENT", "THOUGHT", "RESULT", "ANSWER"];
  expect(words.filter((word) => receiver.text.includes(word))).toEqual(kept);
});

test("of a long conversation the newest messages are recorded, and of a long message its beginning", async () => {
  const receiver = await withTelemetry(async () => {
    const runtime = createRuntime();
    telemetry(runtime, { recordInputs: true });
    const model = scriptedModel([{ text: "One." }, { text: "Two." }, { text: "Three." }], { name: "openai/gpt-x" });
    const loop = createLoop({ model, session: runtime.session() });
    for (const text of ["a".repeat(9_000), "b".repeat(9_000), '"'.repeat(20_000)]) await loop.run(text);
    await runtime.close();
  });
  const sent = receiver.spans
    .filter(({ name }) => name === "chat gpt-x")
    .map(({ attributes }) => String(attributes["gen_ai.input.messages"]));
  for (const text of sent) expect(text.length).toBeLessThanOrEqual(16_400);
  const beginnings = sent.map((text) =>
    (JSON.parse(text) as { parts: { content: string }[] }[]).map(({ parts }) => parts[0]?.content.slice(0, 3)),
  );
  expect(beginnings).toEqual([["aaa"], ["[no", "bbb"], ["[no", '"""']]);
});

test("issue 19.8 a model failure ends chat and invoke_agent with error.type", async () => {
  const receiver = await withTelemetry(async () => {
    const runtime = createRuntime();
    telemetry(runtime);
    const model = scriptedModel([{ error: new ToolError("rate_limited", "Slow down, key sk-1.") }], { name: "openai/gpt-x" });
    await createLoop({ model, session: runtime.session() }).run("Go");
    await runtime.close();
  });
  expect(receiver.spans.map(({ name, status, attributes }) => ({ name, status, type: attributes["error.type"] }))).toEqual([
    { name: "chat gpt-x", status: { code: 2, message: "rate_limited" }, type: "rate_limited" },
    { name: "invoke_agent", status: { code: 2, message: "rate_limited" }, type: "rate_limited" },
  ]);
});

test("issue 19.8 calls are children of their caller's span, even if sessions run in parallel", async () => {
  const receiver = await withTelemetry(async () => {
    const runtime = createRuntime({ tools: [weather] });
    telemetry(runtime);
    const tracer = trace.getTracer("program");
    const session = runtime.session();
    const inSpan = (name: string): Promise<unknown> =>
      tracer.startActiveSpan(name, async (span) => {
        await session.execute({ name: "weather", input: {} });
        await session.execute({ name: "weather", input: {} });
        span.end();
      });
    await Promise.all([inSpan("one"), inSpan("two")]);
    await runtime.close();
  });
  expect(tree(receiver.spans)).toEqual([
    "one",
    "  execute_tool weather",
    "  execute_tool weather",
    "two",
    "  execute_tool weather",
    "  execute_tool weather",
  ]);
});

test("issue 19.8 a provider that is registered later is used, and without a provider nothing is recorded", async () => {
  const runtime = createRuntime({ tools: [weather] });
  const end = telemetry(runtime);
  const before = await runtime.execute({ name: "weather", input: {} });
  expect(before.status).toBe("ok");
  expect(runtime.tracing?.headersOf(before.callId)).toBeUndefined();
  const receiver = await withTelemetry(async () => {
    for (let calls = 0; calls < 2; calls++) await runtime.execute({ name: "weather", input: {} });
  });
  end();
  await runtime.close();
  expect(receiver.spans.map(({ name }) => name)).toEqual(["execute_tool weather"]);
});

test.each(["isRecording", "setAttribute", "setAttributes", "setStatus", "addEvent", "updateName", "end"] as const)(
  "a span whose %s throws fails neither the run nor a call",
  async (broken) => {
    const fails = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => fails.mockRestore());
    const startSpan = (): Span => {
      const span = trace.wrapSpanContext({ traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 });
      const throwing = (): never => {
        throw new Error(`${broken} throws`);
      };
      return Object.assign(span, { isRecording: () => true }, { [broken]: throwing });
    };
    const tracer = { startSpan, startActiveSpan: () => ROOT_CONTEXT };
    const tracerProvider: TracerProvider = { getTracer: () => tracer as never };
    const runtime = createRuntime({ tools: [weather] });
    telemetry(runtime, { tracerProvider, recordInputs: true, recordOutputs: true });
    const model = scriptedModel([{ calls: [{ name: "weather", input: {} }] }, { error: new ToolError("model_failed", "Gone.") }]);
    const result = await createLoop({ model, session: runtime.session() }).run("Go");
    expect([result.reason, result.results.map(({ status }) => status)]).toEqual(["model-error", ["ok"]]);
    await runtime.close();
  },
);

test("issue 19.8 telemetry of a runtime can be started once at a time, and an unknown option is refused by name", async () => {
  const runtime = createRuntime();
  const end = telemetry(runtime);
  expect(() => telemetry(runtime)).toThrow("This runtime is already traced");
  end();
  expect(() => telemetry(runtime, { recordInput: true } as object)).toThrow('telemetry() has no option "recordInput"');
  expect(() => telemetry(runtime, { recordInputs: "yes" } as object)).toThrow("recordInputs");
  telemetry(runtime)();
  await runtime.close();
});

test("issue 19.8 a job that runs again after a restart has a span, which is the parent of what the job does", async () => {
  const receiver = await withTelemetry(async () => {
    const store = memoryStore();
    let isFirst = true;
    const inner = defineTool({ name: "inner", description: "Inside.", inputSchema: OBJECT, effects: { reads: [] }, execute: () => 1 });
    const work = defineTool({
      name: "work",
      description: "Works.",
      inputSchema: OBJECT,
      effects: { reads: [] },
      mode: "background",
      execute: async (_input, context) => {
        if (isFirst) return new Promise(() => {});
        trace.getTracer("own").startSpan("own").end();
        return (await context.execute({ name: "inner", input: {} })).status;
      },
    });
    const before = createRuntime({ tools: [inner, work], store });
    const { id } = await before.session("trip").submit({ name: "work" });
    while (before.jobs.get(id)?.state !== "running") await new Promise((resolve) => setImmediate(resolve));
    isFirst = false;
    const after = createRuntime({ tools: [inner, work], store });
    telemetry(after);
    await after.resume("trip", { takeOver: true });
    await after.jobs.wait(id);
    await after.close();
  });
  expect(tree(receiver.spans)).toEqual(["execute_tool work", "  execute_tool inner", "  own"]);
});

test("log lines of a run or a handler are written within its span, for log bridges", async () => {
  const lines: (readonly [string, string | undefined])[] = [];
  const note = (message: string): void => void lines.push([message.replace(/ after .*/u, ""), trace.getActiveSpan()?.spanContext().spanId]);
  const receiver = await withTelemetry(async () => {
    const chatty = defineTool({
      name: "chatty",
      description: "Logs.",
      inputSchema: OBJECT,
      effects: { reads: [] },
      execute: async (_input, { log }) => {
        await new Promise((resolve) => setImmediate(resolve));
        log("handler");
      },
    });
    const runtime = createRuntime({ tools: [chatty], agentName: "clerk", ports: { log: { debug: note, warn: note } } });
    telemetry(runtime);
    const model = scriptedModel([{ calls: [{ name: "chatty", input: {} }] }, { text: "Done." }]);
    const onEvent = ({ type }: { readonly type: string }): void => {
      if (type === "round-end") throw new Error("It throws.");
    };
    await createLoop({ model, session: runtime.session("s"), onEvent }).run("Go");
    await runtime.close();
  });
  const idOf = (start: string): string | undefined => receiver.spans.find(({ name }) => name.startsWith(start))?.spanId;
  expect(lines).toContainEqual(["handler", idOf("execute_tool")]);
  expect(lines.filter(([line]) => line.includes("listener")).map(([, spanId]) => spanId)).toContain(idOf("invoke_agent"));
});

test("issue 19.8 a handed-over job ends in its new process: the first process emits no end to listeners and traces", async () => {
  const ends: unknown[] = [];
  const receiver = await withTelemetry(async () => {
    const store = memoryStore();
    let isFirst = true;
    const work = defineTool({
      name: "work",
      description: "Works.",
      inputSchema: OBJECT,
      effects: { reads: [] },
      mode: "background",
      execute: (_input, { signal }) =>
        isFirst ? new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))) : "done",
    });
    const runtimeOf = (name: string) => {
      const runtime = createRuntime({ tools: [work], store });
      telemetry(runtime);
      runtime.subscribe((event) => void (event.type === "call-end" && ends.push([name, event.result.status])));
      return runtime;
    };
    const first = runtimeOf("first");
    const { id } = await first.session("trip").submit({ name: "work" });
    while (first.jobs.get(id)?.state !== "running") await new Promise((resolve) => setImmediate(resolve));
    await first.sessions.handOver("trip");
    isFirst = false;
    const second = runtimeOf("second");
    await second.resume("trip");
    await second.jobs.wait(id);
    await first.close();
    await second.close();
  });
  expect(ends).toEqual([["second", "ok"]]);
  expect(receiver.spans.map(({ name, status, events }) => [name, status?.code ?? 0, (events ?? []).map((event) => event.name)])).toEqual([
    ["execute_tool work", 0, expect.arrayContaining(["haft.hand-over"])],
    ["execute_tool work", 0, expect.not.arrayContaining(["haft.hand-over"])],
  ]);
  const [began, continued] = receiver.spans;
  expect(began?.links).toEqual([]);
  expect(continued?.traceId).not.toBe(began?.traceId);
  expect(continued?.links).toEqual([{ traceId: began?.traceId, spanId: began?.spanId }]);
});

test("issue 19.8 a call made in a handed-over job ends in the new process, too", async () => {
  const ends: unknown[] = [];
  const store = memoryStore();
  const begun = Promise.withResolvers<void>();
  let isFirst = true;
  const inner = defineTool({
    name: "inner",
    description: "Waits.",
    inputSchema: OBJECT,
    effects: { reads: [] },
    execute: (_input, { signal }) => {
      if (!isFirst) return "done";
      begun.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    },
  });
  const work = defineTool({
    name: "work",
    description: "Works.",
    inputSchema: OBJECT,
    effects: { reads: [] },
    mode: "background",
    execute: (_input, context) => context.execute({ name: "inner", input: {} }),
  });
  const runtimeOf = (name: string) => {
    const runtime = createRuntime({ tools: [inner, work], store });
    runtime.subscribe((event) => void (event.type === "call-end" && ends.push([name, event.result.status])));
    return runtime;
  };
  const first = runtimeOf("first");
  const { id } = await first.session("trip").submit({ name: "work" });
  await begun.promise;
  await first.sessions.handOver("trip");
  isFirst = false;
  const second = runtimeOf("second");
  await second.resume("trip");
  await second.jobs.wait(id);
  expect(new Set(ends.map(String))).toEqual(new Set(["second,cancelled", "second,ok"])); // the job's handler makes the call again
  await first.close();
  await second.close();
});

test("an agent's run is linked to the spans that sent its messages, even in another process, and not to its own parent", async () => {
  const store = memoryStore();
  const receiver = await withTelemetry(async () => {
    const own = trace.getTracer("own");
    const within = (name: string, work: () => Promise<void>): Promise<void> =>
      own.startActiveSpan(name, (span) => work().finally(() => span.end()));
    const agentOf = (isStarted: boolean) => {
      const runtime = createRuntime({ store, agentName: "clerk" });
      telemetry(runtime);
      return {
        runtime,
        start: async () => {
          const session = isStarted ? await runtime.resume("desk") : runtime.session("desk");
          return createAgent({ session, model: scriptedModel([{ text: "Done." }, { text: "Done." }]) });
        },
      };
    };
    const first = agentOf(false);
    const idle = await first.start();
    for (const name of ["sender one", "sender two"]) await within(name, () => idle.send("Look."));
    await idle.send("From nowhere.");
    await first.runtime.sessions.handOver("desk");
    const second = agentOf(true);
    const agent = await second.start();
    await within("start", async () => {
      agent.start({ runPending: false });
      await agent.send("Look again.");
    });
    await agent.whenIdle();
    await agent.stop();
    for (const { runtime } of [first, second]) await runtime.close();
  });
  const idOf = (start: string): string | undefined => receiver.spans.find(({ name }) => name === start)?.spanId;
  const runs = receiver.spans.filter(({ name }) => name === "invoke_agent clerk");
  expect(runs[0]?.parentSpanId).toBe(idOf("start"));
  expect(runs.map(({ links }) => links.map(({ spanId }) => spanId))).toEqual([[idOf("sender one"), idOf("sender two")]]);
});

test.each([
  ["in memory", () => undefined],
  ["that a store keeps", memoryStore],
])("an agent that a channel %s wakes is linked to the call that wrote to it", async (_where, kept: () => Store | undefined) => {
  const receiver = await withTelemetry(async () => {
    const store = kept();
    const channels = createChannels(store === undefined ? {} : { store });
    channels.open("news");
    const runtime = createRuntime({
      toolsets: [channelsToolset({ channels })],
      approval: { never: ["*"] },
      ...(store === undefined ? {} : { store }),
    });
    telemetry(runtime);
    const triggers = createTriggers({ channels });
    const reader = createAgent({ session: runtime.session("reader"), model: scriptedModel([{ text: "Read." }]), triggers });
    await triggers.of(reader.session).add({ type: "channel", channel: "news" });
    reader.start();
    const send = { name: "channels::send_message", input: { channel: "news", message: "It rains." } };
    expect((await runtime.session("writer").execute(send)).status).toBe("ok");
    while (reader.session.messages().every(({ role }) => role !== "assistant")) await new Promise((resolve) => setImmediate(resolve));
    await reader.stop();
    await runtime.close();
  });
  const [call] = receiver.spans.filter(({ name }) => name.startsWith("execute_tool"));
  const [run] = receiver.spans.filter(({ name }) => name.startsWith("invoke_agent"));
  expect(run?.links).toEqual([{ traceId: call?.traceId, spanId: call?.spanId }]);
  expect(run?.traceId).not.toBe(call?.traceId);
});

test("a delegate is its own conversation, below its call in the caller's trace", async () => {
  const receiver = await withTelemetry(async () => {
    const helper = delegateTool({ name: "helper", description: "Helps.", model: scriptedModel([{ text: "Done." }]) });
    const runtime = createRuntime({ tools: [helper], store: memoryStore() });
    telemetry(runtime);
    const model = scriptedModel([{ calls: [{ name: "helper", input: { task: "Help." } }] }, { text: "Done." }]);
    await createLoop({ model, session: runtime.session("trip") }).run("Go");
    await runtime.close();
  });
  const { spans } = receiver;
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  const call = spans.find(({ name }) => name === "execute_tool helper");
  const run = spans.find(({ name }) => name === "invoke_agent helper");
  expect(run?.parentSpanId).toBe(call?.spanId);
  const conversations = [call, run].map((span) => span?.attributes["gen_ai.conversation.id"]);
  expect(conversations).toEqual(["trip", `trip/${String(call?.attributes["haft.call.id"])}`]);
});

test("the conversation passed to a delegate is recorded only with outputs, because it quotes answers and results", async () => {
  const toldOf = async (recordOutputs: boolean): Promise<string> => {
    const receiver = await withTelemetry(async () => {
      const model = scriptedModel([{ text: "Rome." }]);
      const helper = delegateTool({ name: "helper", description: "Helps.", model, share: "conversation" });
      const runtime = createRuntime({ tools: [weather, helper] });
      telemetry(runtime, { recordInputs: true, recordOutputs });
      const caller = scriptedModel([
        { text: "THOUGHT", calls: [{ name: "weather", input: { city: "Oslo" } }] },
        { calls: [{ name: "helper", input: { task: "TASK" } }] },
        { text: "Done." },
      ]);
      await createLoop({ model: caller, session: runtime.session() }).run("QUESTION");
      await runtime.close();
    });
    return receiver.text;
  };
  const inputs = await toldOf(false);
  expect(["QUESTION", "TASK", "THOUGHT", "clear"].filter((word) => inputs.includes(word))).toEqual(["QUESTION", "TASK"]);
  expect(await toldOf(true)).toMatch(/result of \S*weather/u);
});

/** What a span holds of the conversation, read as a product reads it. */
function contentsOf(attributes: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const names = ["gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.tool.definitions", "gen_ai.output.messages"];
  return Object.fromEntries(names.flatMap((name) => (name in attributes ? [[name, JSON.parse(String(attributes[name])) as unknown]] : [])));
}
