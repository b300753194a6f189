/** With the real package `ai`. */
import { asSchema, dynamicTool, generateText, isStepCount, jsonSchema, tool } from "ai";
import type { ToolSet } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { fromAiSdkTools, toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { adapterRuntime } from "./adapter-world.ts";

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

test("ours run in AI SDK through the runtime: mended, with defaults, recorded in the session, failures told", async () => {
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
  const result = await generateText({ model, prompt: "go", tools: tools as unknown as ToolSet, stopWhen: isStepCount(2) });
  expect(result.text).toBe("done");
  expect(JSON.stringify(told)).toContain('{"sum":3}');
  expect(JSON.stringify(told)).toContain("the disk is full");
  expect(session.history.map(({ call, result: answer }) => [call.id, answer?.status])).toEqual([
    ["c0", "ok"],
    ["c1", "error"],
  ]);
});

test("an image of a result reaches the model as one", async () => {
  const told: unknown[] = [];
  const tools = toAiSdkTools(adapterRuntime(), { only: ["default::picture"] });
  await generateText({
    model: callingModel([{ toolName: "picture", input: {} }], told),
    prompt: "go",
    tools: tools as unknown as ToolSet,
    stopWhen: isStepCount(2),
  });
  expect(told).toMatchObject([
    { role: "tool", content: [{ output: { type: "content", value: [{ type: "text", text: "a cat" }, { mediaType: "image/png" }] } }] },
  ]);
});

test("AI SDK reads our JSON Schema from the tool", async () => {
  const { math__add: add } = toAiSdkTools(adapterRuntime());
  expect(await asSchema(add?.inputSchema as never).jsonSchema).toMatchObject({ required: ["a"], properties: { b: { default: 1 } } });
});

test("theirs run here: zod, JSON Schema, progress of a generator, and their errors", async () => {
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

test("a tool that somebody else runs is refused by name", async () => {
  await expect(fromAiSdkTools({ ask: tool({ description: "Asks.", inputSchema: z.object({}) }) })).rejects.toThrow(
    'The AI SDK tool "ask" has no execute',
  );
});
