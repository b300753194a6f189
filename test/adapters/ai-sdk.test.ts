/** With the real package `ai`. */
import { asSchema, dynamicTool, generateText, isStepCount, jsonSchema, tool, type ModelMessage } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fromAiSdkTools, toAiSdkTools, type AiSdkToolLike } from "../../src/adapters/ai-sdk.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { adapterRuntime, askedRuntime, oddAnswers } from "./adapter-world.ts";

type LanguageModel = Parameters<typeof generateText>[0]["model"];

/** A language model of AI SDK that makes these calls and ends; what it was then told is kept. */
function callingModel(calls: readonly { readonly toolName: string; readonly input: unknown }[], told: unknown[] = []): LanguageModel {
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  let step = 0;
  const model = {
    specificationVersion: "v4",
    provider: "memory",
    modelId: "memory",
    supportedUrls: {},
    doGenerate: async ({ prompt }: { readonly prompt: readonly unknown[] }) => {
      if (step++ > 0) told.push(prompt.at(-1));
      const asks = step === 1;
      return {
        content: asks
          ? calls.map(({ toolName, input }, index) => ({
              type: "tool-call",
              toolCallId: `c${index}`,
              toolName,
              input: JSON.stringify(input),
            }))
          : [{ type: "text", text: "done" }],
        finishReason: asks ? { unified: "tool-calls", raw: "tool_calls" } : { unified: "stop", raw: "stop" },
        usage,
        warnings: [],
      };
    },
  };
  return model as unknown as LanguageModel; // the parts of the interface that these steps use
}

test("Haft's tools run in AI SDK through the runtime: input repaired, defaults filled, recorded in the session, failures reported", async () => {
  const runtime = adapterRuntime();
  const session = runtime.session();
  const tools = toAiSdkTools(runtime, { session, only: ["math::*", "default::fail"] });
  expect(Object.keys(tools)).toEqual(["fail", "math__add"]);
  const told: unknown[] = [];
  const model = callingModel(
    [
      { toolName: "math__add", input: { a: "2" } },
      { toolName: "fail", input: {} },
    ],
    told,
  );
  const result = await generateText({ model, prompt: "go", tools, stopWhen: isStepCount(2) });
  expect(result.text).toBe("done");
  expect(JSON.stringify(told)).toContain('{"sum":3}');
  expect(JSON.stringify(told)).toContain("the disk is full");
  expect(session.history.map(({ call, result: answer }) => [call.id, answer?.status])).toEqual([
    ["c0", "ok"],
    ["c1", "error"],
  ]);
});

test("an image in a result reaches the model as an image", async () => {
  const told: unknown[] = [];
  const tools = toAiSdkTools(adapterRuntime(), { only: ["default::picture"] });
  await generateText({
    model: callingModel([{ toolName: "picture", input: {} }], told),
    prompt: "go",
    tools,
    stopWhen: isStepCount(2),
  });
  expect(told).toMatchObject([
    { role: "tool", content: [{ output: { type: "content", value: [{ type: "text", text: "a cat" }, { mediaType: "image/png" }] } }] },
  ]);
});

test("AI SDK reads Haft's JSON Schema from the tool", async () => {
  const { math__add: add } = toAiSdkTools(adapterRuntime());
  expect(await asSchema(add?.inputSchema as never).jsonSchema).toMatchObject({ required: ["a"], properties: { b: { default: 1 } } });
});

test("AI SDK's tools run in Haft: zod, JSON Schema, progress of a generator, and errors", async () => {
  const tools = await fromAiSdkTools({
    greet: tool({ description: "Greets.", inputSchema: z.object({ name: z.string() }), execute: ({ name }) => `Hello ${name}` }),
    count: dynamicTool({
      description: "Counts.",
      inputSchema: jsonSchema({ type: "object", properties: { to: { type: "integer" } }, required: ["to"] }),
      async *execute() {
        yield { at: 1 };
        yield { at: 2 };
      },
    }),
    fail: tool({
      description: "Fails.",
      inputSchema: z.object({ how: z.string().optional() }),
      execute: (): string => {
        throw new Error("no luck");
      },
    }),
  });
  const runtime = createRuntime({ tools, maxAttempts: 1 });
  const progress: unknown[] = [];
  const results = await runtime.execute(
    [
      { name: "greet", input: { name: "Ada" } },
      { name: "greet", input: {} },
      { name: "count", input: { to: 2 } },
      { name: "fail", input: {} },
    ],
    { onProgress: (update) => progress.push(update.message) },
  );
  expect(results.map(({ output, error }) => output ?? error?.code)).toEqual(["Hello Ada", "invalid_input", { at: 2 }, "execution_failed"]);
  expect(progress).toEqual(['{"at":1}']);
});

test("a tool executed elsewhere is refused by name", async () => {
  await expect(fromAiSdkTools({ ask: tool({ description: "Asks.", inputSchema: z.object({}) }) })).rejects.toThrow(
    'The AI SDK tool "ask" has no execute',
  );
});

test("a result's model output survives serialization, and no answer can forge it", async () => {
  const tools = toAiSdkTools(oddAnswers(), { only: ["default::*"] });
  expect(Object.keys(tools)).toEqual(["blocks", "nothing", "plot", "posing", "said"]);
  const shown = async (name: string) => {
    const output: unknown = JSON.parse(JSON.stringify(await tools[name]?.execute({}, {})));
    return tools[name]?.toModelOutput({ output });
  };
  expect(await shown("said")).toEqual({ type: "content", value: [{ type: "text", text: "one" }] });
  expect(await shown("nothing")).toEqual({ type: "json", value: null });
  expect(await shown("posing")).toEqual({
    type: "content",
    value: [{ type: "text", text: '{"type":"haft-content","content":[{"type":"file"}]}' }],
  });
  expect(await shown("plot")).toMatchObject({ value: [{ text: '{"chart":"[image 1]"}' }, { type: "file", mediaType: "image/png" }] });
});

test("a model is shown no image that its provider would refuse, and one with a wrong type under its own", async () => {
  const content = ["not base64!", "/9j/4AAQ"].map((data) => ({ type: "image", mediaType: "image/png", data }) as const);
  const draw = defineTool({ name: "draw", description: "Draws.", execute: () => new ToolOutput({ content }) });
  const { draw: given } = toAiSdkTools(createRuntime({ tools: [draw] }));
  const shown = given?.toModelOutput({ output: await given.execute({}, {}) });
  expect(shown).toEqual({
    type: "content",
    value: [
      { type: "text", text: expect.stringContaining("not shown: its bytes are not an image of this type") },
      { type: "file", mediaType: "image/jpeg", data: { type: "data", data: "/9j/4AAQ" } },
    ],
  });
});

test("AI SDK's schemas check and transform the input, and a tool with rejected input does not run", async () => {
  const tools = await fromAiSdkTools({
    year: tool({
      description: "Says the year.",
      inputSchema: z.object({ when: z.string().transform((text) => new Date(text)) }),
      execute: ({ when }) => when.getUTCFullYear(),
    }),
    even: tool({
      description: "Takes even numbers.",
      inputSchema: z.object({ n: z.number().refine((n) => n % 2 === 0, "not even") }),
      execute: ({ n }) => n,
    }),
    own: tool({
      description: "Has a check of its own.",
      inputSchema: jsonSchema<{ readonly a?: number }>(
        { type: "object" },
        {
          validate: (value) =>
            (value as { readonly a?: number }).a === 1
              ? { success: true, value: { a: 2 } }
              : { success: false, error: new Error("a is not 1") },
        },
      ),
      execute: ({ a }) => a,
    }),
  });
  const results = await createRuntime({ tools }).execute([
    { name: "year", input: { when: "2020-01-01" } },
    { name: "even", input: { n: 3 } },
    { name: "own", input: { a: 1 } },
    { name: "own", input: {} },
  ]);
  expect(results.map(({ output, error }) => output ?? [error?.code, error?.details])).toEqual([
    2020,
    ["invalid_input", ["$.n: not even"]],
    2,
    ["invalid_input", ["a is not 1"]],
  ]);
});

test("AI SDK's tools that need approval ask for it, and run only if approved", async () => {
  const mail = { description: "Sends.", inputSchema: z.object({ to: z.string() }), execute: () => "sent" };
  const tools = await fromAiSdkTools({
    always: { ...mail, needsApproval: true },
    strangers: { ...mail, needsApproval: ({ to }: { readonly to: string }) => to !== "Ada" },
  });
  const calls = [
    { name: "always", input: { to: "Ada" } },
    { name: "strangers", input: { to: "Ada" } },
    { name: "strangers", input: { to: "Eve" } },
  ];
  const told = async (answer?: "accept" | "decline") => {
    const { runtime, asked } = askedRuntime(tools, answer);
    const results = await runtime.execute(calls);
    return { asked, said: results.map(({ output, error }) => output ?? error?.code) };
  };
  const asked = [
    'default::always asks for approval to run with {"to":"Ada"}.',
    'default::strangers asks for approval to run with {"to":"Eve"}.',
  ];
  expect(await told("accept")).toEqual({ asked, said: ["sent", "sent", "sent"] });
  expect(await told("decline")).toEqual({ asked, said: ["approval_denied", "sent", "approval_denied"] });
  expect(await told()).toEqual({ asked: [], said: ["approval_required", "sent", "approval_required"] });
});

test("progress that is not JSON does not fail the call, and a generator is closed when its call is cancelled", async () => {
  const ended = Promise.withResolvers<string>();
  const controller = new AbortController();
  const tools = await fromAiSdkTools({
    odd: dynamicTool({
      description: "Counts.",
      inputSchema: z.object({}),
      async *execute() {
        yield 1n;
        yield undefined;
        yield "last";
      },
    }),
    endless: dynamicTool({
      description: "Never ends.",
      inputSchema: z.object({}),
      async *execute() {
        try {
          for (;;) {
            yield "more";
            controller.abort();
          }
        } finally {
          ended.resolve("ended");
        }
      },
    }),
  });
  const runtime = createRuntime({ tools });
  expect(await runtime.execute({ name: "odd", input: {} })).toMatchObject({ status: "ok", output: "last" });
  expect(await runtime.execute({ name: "endless", input: {} }, { signal: controller.signal })).toMatchObject({ status: "cancelled" });
  expect(await ended.promise).toBe("ended");
});

test("the output for the model of an AI SDK tool is what Haft shows the model, and the program gets the output itself", async () => {
  const shows = (toModelOutput: unknown): AiSdkToolLike => ({
    inputSchema: z.object({}),
    execute: () => ({ size: 1 }),
    toModelOutput,
  });
  const image = { type: "image", mediaType: "image/png", data: "iVBORw==" };
  const parts = [
    { type: "text", text: "Here:" },
    { type: "file", mediaType: "image/png", data: { type: "data", data: "iVBORw==" } },
    { type: "file", mediaType: "image/png", data: { type: "data", data: Buffer.from("iVBORw==", "base64") } },
    { type: "media", mediaType: "image/png", data: "iVBORw==" },
    { type: "file", mediaType: "text/plain", data: { type: "text", text: "inline" } },
    { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.com/a.png") } },
    { type: "file", mediaType: "application/pdf", data: { type: "data", data: "JVBERg==" } },
    { type: "image-url", url: "https://example.com/b.png" },
    { type: "file-url", url: "https://example.com/c.pdf", mediaType: "application/pdf" },
    { type: "custom" },
    null,
  ];
  const tools = await fromAiSdkTools({
    content: shows(async () => ({ type: "content", value: parts })),
    text: shows(({ output }: { readonly output: { readonly size: number } }) => ({ type: "text", value: `size ${output.size}` })),
    json: shows(() => ({ type: "json", value: [1] })),
    error: shows(() => ({ type: "error-text", value: "too small" })),
    denied: shows(() => ({ type: "execution-denied", reason: "not today" })),
    nothing: shows(() => undefined),
  });
  const results = await createRuntime({ tools, maxAttempts: 1 }).execute(
    ["content", "text", "json", "error", "denied", "nothing"].map((name) => ({ name, input: {} })),
  );
  expect(results.map(({ output, content, error }) => [output, content ?? error?.message])).toEqual([
    [
      { size: 1 },
      [
        { type: "text", text: "Here:" },
        image,
        image,
        image,
        { type: "text", text: "inline" },
        { type: "file", uri: "https://example.com/a.png", mediaType: "image/png" },
        { type: "file", mediaType: "application/pdf", uri: "data:application/pdf;base64,JVBERg==" },
        { type: "file", uri: "https://example.com/b.png" },
        { type: "file", uri: "https://example.com/c.pdf", mediaType: "application/pdf" },
        { type: "text", text: "[custom]" },
        { type: "text", text: "[]" },
      ],
    ],
    [{ size: 1 }, [{ type: "text", text: "size 1" }]],
    [{ size: 1 }, [{ type: "text", text: "[1]" }]],
    [undefined, "too small"],
    [undefined, "It was denied: not today"],
    [{ size: 1 }, undefined],
  ]);
});

describe("Haft's destructive tools", () => {
  const wipe = (approval?: RuntimeOptions["approval"]): { readonly runtime: Runtime; readonly wiped: unknown[] } => {
    const wiped: unknown[] = [];
    const tool: Tool = {
      name: "wipe",
      description: "Wipes.",
      inputSchema: { type: "object", properties: { disk: { type: "string" } }, required: ["disk"] },
      effects: { writes: ["disk"], destructive: true },
      execute: ({ disk }: { readonly disk: string }) => wiped.push(disk),
    };
    return { runtime: createRuntime({ tools: [tool], ...(approval === undefined ? {} : { approval }) }), wiped };
  };
  const calls = [{ toolName: "wipe", input: { disk: "sda" } }];

  test.each([true, false])("use AI SDK's own approval if the runtime has no approver, and run only if approved (%s)", async (approved) => {
    const { runtime, wiped } = wipe();
    const tools = toAiSdkTools(runtime, { session: runtime.session() });
    const asking = await generateText({ model: callingModel(calls), prompt: "go", tools, stopWhen: isStepCount(3) });
    const request = asking.content.find(({ type }) => type === "tool-approval-request");
    expect([request?.type, wiped]).toEqual(["tool-approval-request", []]);
    const approvalId = request?.type === "tool-approval-request" ? request.approvalId : "";
    const messages: ModelMessage[] = [
      { role: "user", content: "go" },
      ...asking.response.messages,
      { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved }] },
    ];
    await generateText({ model: callingModel([]), messages, tools });
    expect(wiped).toEqual(approved ? ["sda"] : []);
  });

  test("run once per approval in a session, however often its messages are sent, even if two calls share an id", async () => {
    const { runtime, wiped } = wipe();
    const session = runtime.session();
    const yes = (...ids: readonly string[]) => ({
      toolCallId: "c0",
      messages: [
        { role: "assistant", content: ids.map((approvalId) => ({ type: "tool-approval-request", approvalId, toolCallId: "c0" })) },
        { role: "tool", content: ids.map((approvalId) => ({ type: "tool-approval-response", approvalId, approved: true })) },
      ],
    });
    const run = async (disk: string, options: ReturnType<typeof yes>) =>
      toAiSdkTools(runtime, { session }).wipe?.execute({ disk }, options);
    await run("sda", yes("a"));
    await expect(run("sda", yes("a"))).rejects.toThrow("approval_required: ");
    await Promise.all([run("sdb", yes("a", "b", "c")), run("sdc", yes("a", "b", "c"))]);
    await expect(run("sdd", yes("a", "b", "c"))).rejects.toThrow("approval_required: ");
    expect(wiped).toEqual(["sda", "sdb", "sdc"]);
  });

  test("are refused by the runtime if the AI SDK version does not support approval", async () => {
    const { runtime, wiped } = wipe();
    const { wipe: tool } = toAiSdkTools(runtime);
    for (const messages of [
      undefined,
      [],
      [{ role: "tool", content: [{ type: "tool-approval-response", approvalId: "a", approved: true }] }],
    ])
      await expect(tool?.execute({ disk: "sda" }, { toolCallId: "c0", ...(messages === undefined ? {} : { messages }) })).rejects.toThrow(
        "approval_required: ",
      );
    expect(wiped).toEqual([]);
  });

  test("ask the runtime's approver if there is one, and ask no one if the rules never require approval", async () => {
    const approver = wipe({ approve: () => "allow-once" });
    const never = wipe({ never: ["*"] });
    for (const { runtime, wiped } of [approver, never]) {
      const tools = toAiSdkTools(runtime);
      await generateText({ model: callingModel(calls), prompt: "go", tools, stopWhen: isStepCount(2) });
      expect([tools["wipe"]?.needsApproval, wiped]).toEqual([undefined, ["sda"]]);
    }
  });
});

test("a failure states its code once, and read_result is offered if there is more to read", async () => {
  const runtime = adapterRuntime();
  const told: unknown[] = [];
  const tools = toAiSdkTools(runtime);
  await generateText({ model: callingModel([{ toolName: "math__add", input: {} }], told), prompt: "go", tools, stopWhen: isStepCount(2) });
  expect(JSON.stringify(told)).toContain("invalid_input: ");
  expect(JSON.stringify(told)).not.toMatch(/Error: Error/u);
  expect([Object.keys(tools), Object.keys(toAiSdkTools(runtime, { session: runtime.session() }))]).toEqual([
    ["fail", "picture", "math__add"],
    ["fail", "picture", "haft__read_result", "math__add"],
  ]);
});

describe("tools passed by name with their types", () => {
  const answers = { forecast: { sky: "clear" } as unknown, picture: undefined };
  const forecast = defineTool({
    name: "forecast",
    description: "Forecasts.",
    inputSchema: z.object({ city: z.string(), days: z.number().default(2) }),
    outputSchema: z.object({
      sky: z
        .string()
        .transform((sky) => sky.toUpperCase())
        .pipe(z.string()),
    }),
    effects: { reads: [], writes: [] },
    execute: ({ days }): never =>
      (days > 5 ? new ToolOutput({ content: [{ type: "text", text: "Too far." }] }) : answers.forecast) as never,
  });
  const wipe = defineTool({ name: "wipe", description: "Wipes.", effects: { destructive: true }, execute: () => 1 });
  const runtime = createRuntime({ tools: [wipe], toolsets: [{ name: "weather", tools: [forecast] }] });

  test("run through the runtime: AI SDK gets the repaired input, and the output that the schema produces", async () => {
    const session = runtime.session();
    const tools = toAiSdkTools(runtime, { tools: { weather__forecast: forecast }, session });
    const model = callingModel([
      { toolName: "weather__forecast", input: { city: "Oslo", days: "3" } },
      { toolName: "weather__forecast", input: { city: "Oslo", days: 9 } },
      { toolName: "weather__forecast", input: { days: 1 } },
    ]);
    const { toolCalls, toolResults, content } = await generateText({ model, prompt: "go", tools });
    expect(toolCalls.map(({ input, dynamic }) => [input, dynamic])).toEqual([
      [{ city: "Oslo", days: 3 }, undefined],
      [{ city: "Oslo", days: 9 }, undefined],
      [{ days: 1 }, undefined],
    ]);
    expect(toolResults.map(({ output }) => output)).toEqual([
      { sky: "CLEAR" },
      { type: "haft-content", content: [{ type: "text", text: "Too far." }] },
    ]);
    expect(content.filter(({ type }) => type === "tool-error")).toHaveLength(1);
    expect(session.history.map(({ result }) => result?.status)).toEqual(["ok", "partial", "error"]);
  });

  test("return an output that violates its schema as content, so that every typed output has its declared type", async () => {
    answers.forecast = { sky: 5 };
    const { weather__forecast: tool } = toAiSdkTools(runtime, { tools: { weather__forecast: forecast } });
    expect(await tool.execute({ city: "Oslo" }, {})).toMatchObject({ type: "haft-content", output: { sky: 5 } });
  });

  test("need approval like the others", () => {
    const tools = toAiSdkTools(runtime, { tools: { wipe, weather__forecast: forecast } });
    expect([tools.wipe.needsApproval, tools.weather__forecast.needsApproval]).toEqual([true, undefined]);
  });

  test("are refused under another name than the model's, and if the runtime does not have them", () => {
    expect(() => toAiSdkTools(runtime, { tools: { forecast } })).toThrow(
      expect.objectContaining({ code: "invalid_argument", hint: 'Write "weather__forecast".' }),
    );
    expect(() => toAiSdkTools(createRuntime(), { tools: { wipe } })).toThrow(
      'The tool "wipe" of toAiSdkTools() is not one of the tools of this runtime.',
    );
  });
});

test("an AI SDK tool with an unusable schema or description is refused by name", async () => {
  const execute = () => 1;
  const given = [
    { inputSchema: z.object({ size: z.bigint() }), execute },
    { inputSchema: tool({ inputSchema: z.object({ at: z.date() }), execute }).inputSchema, execute },
    {
      inputSchema: () => {
        throw new Error("no schema");
      },
      execute,
    },
    { inputSchema: z.object({}), execute, description: () => "Tells the time." },
  ];
  for (const bad of given) await expect(fromAiSdkTools({ bad })).rejects.toThrow(/"bad"/u);
});

test("an error that an MCP server reports through AI SDK's MCP client is an error", async () => {
  const answer = (isError: boolean) =>
    tool({ inputSchema: z.object({}), execute: () => ({ isError, content: [{ type: "text", text: "disk full" }] }) });
  const runtime = createRuntime({ tools: await fromAiSdkTools({ bad: answer(true), good: answer(false) }), maxAttempts: 1 });
  const results = await runtime.execute([
    { name: "bad", input: {} },
    { name: "good", input: {} },
  ]);
  expect(results.map(({ status, error, warnings }) => [status, error?.message, warnings])).toEqual([
    ["error", "disk full", []],
    ["ok", undefined, []], // no warning: the program has not written what it answers with
  ]);
});
