import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { ToolCall } from "../../../src/core/call.ts";
import type { Engine } from "../../../src/core/engine.ts";
import { ToolError } from "../../../src/core/error.ts";
import { generateConversations, type GenerateOptions } from "../../../src/generate/conversations/generate-conversations.ts";
import type { ConversationTemplate } from "../../../src/generate/conversations/conversation-template.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { FailingStore } from "../../runtime/session/failing-store.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { SAMPLED, generated } from "./generated.ts";
import { linesOf, shop, unevenAnswer } from "./shop.ts";
import { testInCI } from "../../test-in-ci.ts";

const ID_OUT = { type: "object", properties: { id: { type: "string" }, order_id: { type: "string" } }, required: ["id"] } as const;
const SCRIPTED = {
  kind: "scripted",
  count: 5,
  templates: [
    {
      id: "order",
      system: "You sell tea.",
      messages: [
        { role: "user", content: "Tea, please." },
        {
          role: "assistant",
          content: "At once.",
          calls: [
            { name: "shop::create_order", input: { article: "tea", count: 1 } },
            { name: "shop::fail", input: {} },
          ],
        },
        { role: "assistant", content: "Ordered." },
      ],
    },
    {
      messages: [
        { role: "user", content: "What is there?" },
        { role: "assistant", calls: [{ name: "shop::list_articles" }] },
      ],
    },
  ] satisfies readonly ConversationTemplate[],
} as const;

/** What of a summary does not depend on the machine. */
function counted({ durationMs, ...counts }: Awaited<ReturnType<typeof generateConversations>>) {
  expect(durationMs).toBeGreaterThanOrEqual(0);
  return counts;
}

describe("issue 6.7 the seed determines the file", () => {
  test.for([1, 2, 7, 64])("with %i conversations at a time the file is the same", async (concurrency) => {
    const alone = await generated({ plan: SAMPLED, concurrency: 1, runtime: shop() });
    const together = await generated({ plan: SAMPLED, concurrency });
    expect(together.text).toBe(alone.text);
    expect(together.lines.map((line) => JSON.parse(line).index)).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  test("another seed gives other conversations with other ids", async () => {
    const [one, other] = [await generated({ plan: SAMPLED, seed: 1 }), await generated({ plan: SAMPLED, seed: 2 })];
    expect(one.text).not.toBe(other.text);
    expect(JSON.parse(one.lines[0] ?? "").id).toBe("conversation-1-000001");
    expect(JSON.parse(other.lines[0] ?? "").id).toBe("conversation-2-000001");
  });

  test("the file contains no time and no ids of the runtime, also for truncated results", async () => {
    const answer = (): string => "x".repeat(50_000);
    const plan = { kind: "sampled", count: 2, calls: 2 } as const;
    const [one, other] = [
      await generated({ plan, runtime: shop(answer, { maxResultBytes: 1_000 }) }),
      await generated({ plan, runtime: shop(answer, { maxResultBytes: 1_000 }) }),
    ];
    expect(one.text).toContain("call_1");
    expect(one.text).toBe(other.text);
  });
});

describe("issue 6.7 three kinds of conversation", () => {
  test("sampled: a tool without parameters gets no input, even when ids are known", async () => {
    const take = (name: string, inputSchema: Tool["inputSchema"]): Tool => ({
      name,
      description: "Do it.",
      inputSchema,
      outputSchema: ID_OUT,
    });
    const tools = [
      take("list_all", { type: "object", properties: {}, required: [] }),
      take("any", { type: "object" }),
      take("get", { type: "object", properties: { id: { type: "string" } }, required: ["id"] }),
    ];
    const engine: Engine = { kind: "shop", origin: "simulated", effectFree: true, call: () => ({ id: "O-1", order_id: "O-2" }) };
    const runtime = createRuntime({
      toolsets: [{ name: "shop", tools }],
      answers: { engines: { example: engine }, rules: [{ tools: "*", from: "example" }] },
    });
    const { lines } = await generated({ plan: { kind: "sampled", count: 5, calls: 6 }, runtime });
    const calls = lines.flatMap((line) =>
      JSON.parse(line).messages.flatMap(({ calls: made = [] }: { readonly calls?: readonly ToolCall[] }) => made),
    );
    expect(calls.length).toBe(30);
    for (const { name, input } of calls) expect(Object.keys(input as object)).toEqual(name === "shop::get" ? ["id"] : []);
  });

  test("the report counts no origin for calls that no engine answered", async () => {
    const templates = [{ messages: [{ role: "assistant", calls: [{ name: "shop::list_articles" }, { name: "shop::gone" }] }] }] as const;
    for (const format of ["neutral", "openai"] as const) {
      const { lines } = await generated({ plan: { kind: "scripted", templates }, format });
      const { report, metadata } = JSON.parse(lines[0] ?? "");
      expect(report ?? JSON.parse(metadata).report).toEqual({
        calls: 2,
        parallelMessages: 1,
        statuses: { ok: 1, error: 1 },
        origins: { simulated: 1 },
        fidelities: expect.anything(),
      });
    }
  });

  test("sampled: tools are drawn, the user states the wish, and ids from results are used in later requests", async () => {
    const { lines, summary } = await generated({ plan: { kind: "sampled", count: 20, calls: 6 }, allow: { deny: ["*::fail"] } });
    const conversations = lines.map((line) => JSON.parse(line));
    for (const { messages, tools, report } of conversations) {
      const roles = messages.map(({ role }: { readonly role: string }) => role);
      expect(roles.join(" ")).toMatch(/^(?:user (?:assistant (?:tool )+)+assistant ?)+$/u);
      expect(tools.map(({ name }: { readonly name: string }) => name)).toEqual([
        "shop::create_order",
        "shop::get_order",
        "shop::list_articles",
      ]);
      expect(report).toMatchObject({ calls: 6, statuses: { ok: 6 }, origins: { simulated: 6 }, fidelities: expect.anything() });
    }
    const asked = conversations.flatMap(({ messages }) => {
      const made = messages.findIndex((message: { readonly name?: string }) => message.name === "shop::create_order");
      const later = messages.slice(made).find((message: { readonly name?: string }) => message.name === "shop::get_order");
      return made < 0 || later === undefined ? [] : [[messages[made].output.id, later.output.id]];
    });
    expect(asked.length).toBeGreaterThan(5);
    for (const [id, again] of asked) expect(again).toBe(id);
    expect(counted(summary)).toMatchObject({
      conversations: 20,
      existing: 0,
      written: 20,
      failed: 0,
      calls: 120,
      statuses: { ok: 120 },
      errors: {},
    });
  });

  test("scripted: the calls of a message run together, and templates alternate", async () => {
    const { lines, summary } = await generated({ plan: SCRIPTED });
    const [first, second, third] = lines.map((line) => JSON.parse(line));
    expect(first.template).toBe("order");
    expect(second.template).toBeUndefined();
    expect(third.messages.length).toBe(first.messages.length);
    expect(first.messages).toEqual([
      { role: "system", content: "You sell tea." },
      { role: "user", content: "Tea, please." },
      {
        role: "assistant",
        content: "At once.",
        calls: [
          { id: "call_1", name: "shop::create_order", input: { article: "tea", count: 1 } },
          { id: "call_2", name: "shop::fail", input: {} },
        ],
      },
      expect.objectContaining({ role: "tool", id: "call_1", name: "shop::create_order", status: "ok", origin: "simulated", attempts: 1 }),
      expect.objectContaining({ role: "tool", id: "call_2", status: "error", error: expect.objectContaining({ code: "unavailable" }) }),
      { role: "assistant", content: "Ordered." },
    ]);
    expect(counted(summary)).toMatchObject({
      conversations: 5,
      written: 5,
      failed: 0,
      calls: 8,
      statuses: { ok: 5, error: 3 },
      errors: { unavailable: 3 },
    });
  });

  test("scripted: references in later messages resolve to earlier outputs, in the file too, and one to a failed call does not", async () => {
    const templates: readonly ConversationTemplate[] = [
      {
        messages: [
          { role: "user", content: "Tea for $5, please." },
          {
            role: "assistant",
            calls: [
              { name: "shop::create_order", input: { article: "tea", count: 1 } },
              { id: "closed", name: "shop::fail", input: {} },
            ],
          },
          { role: "user", content: "Where is $1.id?" },
          {
            role: "assistant",
            calls: [
              { name: "shop::get_order", input: { order_id: "$1.id" } },
              { name: "shop::get_order", input: { order_id: "$closed.id" } },
            ],
          },
        ],
      },
    ];
    const { lines, summary } = await generated({ plan: { kind: "scripted", templates } });
    const { messages, error } = JSON.parse(lines[0] ?? "");
    const { id } = messages[2].output;
    expect(id).toMatch(/^O-\d{4}$/u);
    expect(messages.map(({ role }: { readonly role: string }) => role)).toEqual(["user", "assistant", "tool", "tool", "assistant", "user"]);
    expect([messages[0].content, messages[5].content]).toEqual(["Tea for $5, please.", `Where is ${id}?`]);
    expect(messages[4].content).toContain(id);
    expect(messages[4].content).toContain("The shop is closed.");
    expect(error).toMatchObject({
      code: "invalid_input",
      message: 'The reference "$closed.id" has no value: shop::fail ended with unavailable.',
    });
    expect(counted(summary)).toMatchObject({ failed: 1, calls: 2, checks: { unresolvedReferences: 0 } });
  });

  test("played: a model answers the user messages, one after another", async () => {
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === "user" ? { calls: [{ name: "shop::list_articles", input: {} }] } : { text: "Tea and milk." },
    );
    const templates: readonly ConversationTemplate[] = [
      {
        system: "You sell tea.",
        messages: [
          { role: "user", content: "What is there?" },
          { role: "user", content: "And now?" },
        ],
      },
    ];
    const { lines, summary } = await generated({ plan: { kind: "played", templates, model, count: 3 } });
    expect(JSON.parse(lines[2] ?? "").messages).toEqual([
      { role: "system", content: "You sell tea." },
      { role: "user", content: "What is there?" },
      { role: "assistant", calls: [{ id: "call_1", name: "shop::list_articles", input: {} }] },
      expect.objectContaining({ role: "tool", id: "call_1", output: ["tea", "milk"] }),
      { role: "assistant", content: "Tea and milk." },
      { role: "user", content: "And now?" },
      { role: "assistant", calls: [{ id: "call_2", name: "shop::list_articles", input: {} }] },
      expect.objectContaining({ role: "tool", id: "call_2" }),
      { role: "assistant", content: "Tea and milk." },
    ]);
    expect(model.requests[0]?.system).toBe("You sell tea.");
    expect(counted(summary)).toMatchObject({ written: 3, failed: 0, calls: 6, stops: { answered: 3 } });
  });

  test("with more tools than maxTools, the called tools are offered and the others are drawn", async () => {
    const { lines } = await generated({ plan: { kind: "sampled", count: 12, calls: 1 }, maxTools: 2 });
    const offers = lines
      .map((line) => JSON.parse(line))
      .map(({ tools, messages }) => {
        expect(tools.length).toBe(2);
        const names = tools.map(({ name }: { readonly name: string }) => name);
        expect(names).toContain(messages[1].calls[0].name);
        return names.join();
      });
    expect(new Set(offers).size).toBeGreaterThan(2);
  });
});

describe("issue 6.7 formats", () => {
  test("openai: names and ids are valid for Chat Completions, and the rest is in metadata", async () => {
    const { lines } = await generated({ plan: SCRIPTED, format: "openai" });
    const { messages, tools, metadata } = JSON.parse(lines[0] ?? "");
    expect(messages.map(({ role }: { readonly role: string }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "tool",
      "assistant",
    ]);
    expect(messages[2].tool_calls).toEqual([
      {
        id: "call_1",
        type: "function",
        function: { name: expect.stringMatching(/^[\w-]{1,64}$/u), arguments: '{"article":"tea","count":1}' },
      },
      { id: "call_2", type: "function", function: { name: expect.stringMatching(/^[\w-]{1,64}$/u), arguments: "{}" } },
    ]);
    expect(messages[3].tool_call_id).toBe("call_1");
    const offered = tools.map((tool: { readonly function: { readonly name: string } }) => tool.function.name);
    expect(offered).toContain(messages[2].tool_calls[0].function.name);
    expect(JSON.parse(metadata)).toMatchObject({
      id: "conversation-0-000001",
      index: 0,
      seed: "0",
      kind: "scripted",
      template: "order",
      results: [
        { id: "call_1", status: "ok", origin: "simulated" },
        { id: "call_2", status: "error", code: "unavailable" },
      ],
      report: { calls: 2, statuses: { ok: 1, error: 1 } },
    });
  });

  test("anthropic: results are blocks of user messages, and the system prompt is separate", async () => {
    const { lines } = await generated({ plan: SCRIPTED, format: "anthropic" });
    const { system, messages, tools } = JSON.parse(lines[0] ?? "");
    expect(system).toEqual([{ type: "text", text: "You sell tea." }]);
    expect(messages.map(({ role }: { readonly role: string }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(messages[1].content.map(({ type }: { readonly type: string }) => type)).toEqual(["text", "tool_use", "tool_use"]);
    expect(messages[2].content.map((block: { readonly is_error?: boolean }) => block.is_error === true)).toEqual([false, true]);
    expect(tools[0]).toMatchObject({ name: expect.stringMatching(/^[\w-]{1,64}$/u), input_schema: { type: "object" } });
  });
});

describe("issue 6.7 failures", () => {
  const asking: readonly ConversationTemplate[] = [{ messages: [{ role: "user", content: "Go." }] }];

  test("a conversation whose model fails is written with its error, and no index is missing", async () => {
    let asked = 0;
    const model = scriptedModel(() => {
      if (++asked % 3 === 0) throw new ToolError("unavailable", "The model is away.");
      return { text: "Done." };
    });
    const { lines, summary } = await generated({ plan: { kind: "played", templates: asking, model, count: 9 }, concurrency: 1 });
    expect(lines.map((line) => JSON.parse(line)).map(({ index, error }) => [index, error?.code])).toEqual(
      Array.from({ length: 9 }, (_, index) => [index, index % 3 === 2 ? "unavailable" : undefined]),
    );
    expect(counted(summary)).toMatchObject({ written: 9, failed: 3, stops: { answered: 6, "model-error": 3 } });
    expect(summary.stopped).toBeUndefined();
  });

  test("an unavailable model ends the generation; failed conversations are not written, so that a later run makes them", async () => {
    const path = join(temporaryFolder(), "train.jsonl");
    let isThere = true;
    let asked = 0;
    const model = scriptedModel(() => {
      if (!isThere || ++asked === 5) {
        isThere = false;
        throw new ToolError("unavailable", "The model is away.", { hint: "Start it." });
      }
      return { text: "Done." };
    });
    const plan = { kind: "played", templates: asking, model, count: 50 } as const;
    const first = await generated({ plan, out: path, concurrency: 2, maxFailures: 3 });
    expect(counted(first.summary)).toMatchObject({ written: 4, failed: 0 });
    expect(first.summary.stopped).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("3 conversations in a row failed"),
      hint: "Start it.",
    });
    isThere = true;
    asked = 5;
    expect(counted((await generated({ plan, out: path })).summary)).toMatchObject({ existing: 4, written: 46, failed: 0 });
    expect(linesOf(path).map(({ index }) => index)).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  test("an abort keeps complete conversations, cancels running ones, and the file can be continued", async () => {
    const path = join(temporaryFolder(), "train.jsonl");
    const stop = new AbortController();
    const runtime = shop(unevenAnswer);
    const options = { runtime, plan: SAMPLED, out: path };
    const onProgress = ({ done }: { readonly done: number }): void => {
      if (done === 7) stop.abort(new ToolError("cancelled", "Enough."));
    };
    const summary = await generateConversations({ ...options, signal: stop.signal, onProgress });
    expect(counted(summary)).toMatchObject({ written: 7, stopped: { code: "cancelled" } });
    expect(runtime.running).toEqual([]);
    expect(linesOf(path).length).toBe(7);
    await expect(generateConversations({ ...options, signal: stop.signal })).rejects.toMatchObject({ code: "cancelled" });
    expect(await generateConversations(options)).toMatchObject({ existing: 7, written: 23 });
    expect(readFileSync(path, "utf8")).toBe((await generated({ plan: SAMPLED })).text);
    await runtime.close();
  });

  test("a timer or a signal of the process stops a generation whose calls never wait", async () => {
    const stop = new AbortController();
    const onProgress = ({ done }: { readonly done: number }): void => void (done === 1 && setTimeout(() => stop.abort(), 1));
    const { summary } = await generated({ runtime: shop(), plan: { ...SAMPLED, count: 2_000 }, signal: stop.signal, onProgress });
    expect(summary.stopped).toMatchObject({ code: "cancelled" });
    expect(summary.written).toBeLessThan(2_000);
  });

  test("a generation that is stopped while its tools are compared ends then, and creates no file", async () => {
    const tools = Array.from({ length: 400 }, (_, at): Tool => ({ name: `tool_${at}`, description: "Does it.", inputSchema: ID_OUT }));
    const runtime = createRuntime({ ports: { log: { debug() {}, warn() {} } }, toolsets: [{ name: "many", tools }] });
    const stop = new AbortController();
    const path = join(temporaryFolder(), "train.jsonl");
    const generating = generateConversations({ runtime, plan: SAMPLED, out: path, signal: stop.signal });
    setImmediate(() => stop.abort());
    await expect(generating).rejects.toMatchObject({ code: "cancelled" });
    expect(existsSync(path)).toBe(false);
    await runtime.close();
  });

  test("a generation that waits for a server to list its changed tools can be stopped", async () => {
    let report = (): void => {};
    const asked = Promise.withResolvers<void>();
    const engine: Engine = {
      kind: "shop",
      open: async ({ changed }) => ((report = changed), [{ name: "order", description: "Orders.", inputSchema: ID_OUT }]),
      list: () => (asked.resolve(), new Promise(() => {})),
      call: async () => ({}),
    };
    const runtime = createRuntime({ ports: { log: { debug() {}, warn() {} } }, toolsets: [{ name: "shop", engine, openTimeoutMs: 0 }] });
    await runtime.open();
    report();
    await asked.promise;
    const stop = new AbortController();
    const generating = generateConversations({ runtime, plan: SAMPLED, out: { write: async () => {} }, signal: stop.signal });
    stop.abort();
    await expect(generating).rejects.toMatchObject({ code: "cancelled" });
    await runtime.close();
  });

  test("a tool that ignores its signal does not keep the generation from ending", async () => {
    const stop = new AbortController();
    const runtime = shop(() => {
      stop.abort();
      return new Promise(() => {});
    });
    const summary = await generateConversations({ runtime, plan: SAMPLED, out: { write: async () => {} }, signal: stop.signal });
    expect(summary).toMatchObject({ written: 0, stopped: { code: "cancelled" } });
  });

  test("a sink that stops waiting for its reader because the signal aborts stops the generation, with its summary", async () => {
    const stop = new AbortController();
    let lines = 0;
    const write = async (): Promise<void> => {
      if (++lines === 3) stop.abort(new ToolError("cancelled", "Enough."));
      stop.signal.throwIfAborted();
    };
    const { summary } = await generated({ runtime: shop(), plan: SAMPLED, out: { write }, signal: stop.signal });
    expect(summary).toMatchObject({ written: 2, stopped: { code: "cancelled" } });
  });

  test("an error of the sink ends the generation and is thrown", async () => {
    const full = new ToolError("store_failed", "The disk is full.");
    const runtime = shop();
    await expect(generateConversations({ runtime, plan: SAMPLED, out: { write: () => Promise.reject(full) } })).rejects.toBe(full);
    expect(runtime.running).toEqual([]);
    await runtime.close();
  });

  test.for([
    [{ plan: { kind: "sampled", count: 0 } }, /count/u],
    [{ plan: { kind: "sampled", count: 1, calls: 1.5 } }, /calls/u],
    [{ plan: { kind: "scripted", templates: [] } }, /templates/u],
    [{ plan: { kind: "drawn", count: 3 } }, /"sampled", "scripted", "played" or "recorded"/u],
    [{ concurrency: 0 }, /concurrency/u],
    [{ maxTools: -1 }, /maxTools/u],
    [{ maxFailures: 0 }, /maxFailures/u],
    [{ format: "csv" }, /csv/u],
    [{ plan: undefined }, /needs a plan/u],
    [{ out: "" }, /out/u],
    [{ allow: { allow: [] } }, /no tools to draw from/u],
    [{ allow: { nothing: [] } }, /nothing/u],
  ] as const)("the options %j are rejected before anything is generated", async ([options, message]) => {
    // The types forbid these.
    const given = { plan: SAMPLED, ...options } as unknown as Omit<GenerateOptions, "runtime" | "out">;
    await expect(generated(given)).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringMatching(message) });
  });

  test("a played template without a user message is rejected", async () => {
    const templates = [...asking, { messages: [{ role: "system", content: "Be brief." }] }] as const;
    await expect(generated({ plan: { kind: "played", templates, model: scriptedModel([]) } })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "Template 2 has no message of a user, so the model has nothing to answer.",
    });
  });

  test("a played template with assistant messages is rejected", async () => {
    const plan = { kind: "played", templates: SCRIPTED.templates, model: scriptedModel([]) } as const;
    await expect(generated({ plan })).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("Template 1") });
  });
});

/** Bytes in use once the garbage is gone. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}

testInCI("issue 6.7 conversations leave nothing in memory after they are written", async () => {
  const runtime = shop();
  const out = { write: async () => {} };
  const count = 300;
  const plan = { kind: "sampled", count, calls: 3 } as const;
  await generateConversations({ runtime, plan, out });
  const before = heapUsed();
  for (let seed = 1; seed <= 5; seed++) await generateConversations({ runtime, plan, seed, out });
  // A session that stayed would hold some 10 kB.
  expect((heapUsed() - before) / (5 * count)).toBeLessThan(1_000);
  await runtime.close();
});

test("issue 6.7 a runtime generates for one seed only once at a time", async () => {
  const runtime = shop();
  const sink = { write: async () => {} };
  const made = { runtime, plan: SAMPLED, out: sink } as const;
  const [first, second, other] = await Promise.allSettled([
    generateConversations(made),
    generateConversations({ ...made, seed: "0" }),
    generateConversations({ ...made, seed: 1 }),
  ]);
  expect(first).toMatchObject({ status: "fulfilled", value: { failed: 0 } });
  expect(second).toMatchObject({ status: "rejected", reason: { code: "conflict" } });
  expect(other).toMatchObject({ status: "fulfilled", value: { failed: 0 } });
  expect((await generateConversations(made)).failed).toBe(0);
});

test("conversations of a runtime whose store keeps all events but the latest are written whole", async () => {
  const plan = { kind: "sampled", count: 3, calls: 4 } as const;
  const stored = shop(unevenAnswer, { store: new FailingStore(), keepEvents: 1 });
  const { lines } = await generated({ plan, runtime: stored });
  expect(lines).toEqual((await generated({ plan })).lines);
  expect(lines).toHaveLength(3);
});

test("issue 6.7 a server that changes its tools in the middle changes no conversation, and its new tools are there afterwards", async () => {
  const input = (name: string): object => ({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });
  const sold = (parameter: string): Tool => ({ name: "order", description: "Orders a thing.", inputSchema: { ...input(parameter) } });
  const texts: string[] = [];
  for (const changes of [false, true]) {
    let report = (): void => {};
    const engine: Engine = {
      kind: "shop",
      open: async ({ changed }) => ((report = changed), [sold("article"), { ...sold("order_id"), name: "cancel" }]),
      list: async () => [sold("product")],
      call: async () => ({}),
    };
    const example: Engine = { kind: "example", origin: "simulated", effectFree: true, call: async () => ({ done: true }) };
    const runtime = createRuntime({
      ports: { log: { debug() {}, warn() {} } },
      answers: { engines: { example }, rules: [{ tools: "*", from: "example" }] },
      toolsets: [{ name: "shop", engine }],
    });
    await runtime.open();
    const changed = new Promise<void>((resolve) => runtime.subscribe(({ type }) => void (type === "toolset-change" && resolve())));
    let text = "";
    const out = { write: async (line: string) => void (text += line) };
    const onProgress = ({ done }: { readonly done: number }): void => void (changes && done === 1 && report());
    const { statuses } = await generateConversations({ runtime, plan: { kind: "sampled", count: 60, calls: 3 }, out, onProgress });
    expect(statuses).toEqual({ ok: 180 });
    texts.push(text);
    if (changes) await changed;
    expect(runtime.registry.names("shop")).toEqual(changes ? ["shop::order"] : ["shop::cancel", "shop::order"]);
    await runtime.close();
  }
  expect(texts[1]).toBe(texts[0]);
});
