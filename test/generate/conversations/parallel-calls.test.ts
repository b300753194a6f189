import { describe, expect, test } from "vitest";
import type { ToolCall } from "../../../src/core/call.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { ConversationPlan } from "../../../src/generate/conversations/conversation-plan.ts";
import { TRAJECTORY_FORMATS } from "../../../src/generate/conversations/trajectory-formats.ts";
import { modelFrom } from "../../../src/model/model-from.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { KEY, hasty, serve } from "../../model/listen.ts";
import { FORMATS, NAMES } from "../../model/served-providers.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { generated } from "./generated.ts";
import { plainAnswer, shop } from "./shop.ts";

const TEA = { name: "shop::create_order", input: { article: "tea", count: 1 } };
const MILK = { name: "shop::create_order", input: { article: "milk", count: 2 } };
const BOTH = [
  { role: "user", content: "Tea and milk, please." },
  { role: "assistant", content: "At once.", calls: [{ ...TEA, id: "tea" }, MILK] },
  { role: "assistant", content: "Let me see.", calls: [{ name: "shop::get_order", input: { order_id: "$tea.id" } }] },
] as const;
const ASKED = [{ messages: [{ role: "user", content: "Tea and milk, please." }] }] as const;

/** Orders tea and milk in one message, then milk where it was not ordered yet. */
const orderer = () =>
  scriptedModel(({ messages }) => {
    const ordered = messages.filter(({ role }) => role === "result").length;
    if (ordered === 2) return { text: "Ordered." };
    return ordered === 0 ? { text: "I order both.", calls: [TEA, MILK] } : { calls: [MILK] };
  });

async function recorded(): Promise<ConversationPlan> {
  const runtime = shop();
  const session = runtime.session("both");
  await session.addMessage({ role: "user", content: "Tea and milk, please." });
  await session.addMessage({ role: "assistant", content: "At once." });
  await session.execute([TEA, MILK] satisfies readonly ToolCall[]);
  await session.addMessage({ role: "assistant", content: "Ordered." });
  const events = [...session.log];
  await runtime.close();
  return { kind: "recorded", recordings: [{ name: "both", events: () => events }] };
}

const PLANS: readonly (readonly [kind: ConversationPlan["kind"], plan: () => ConversationPlan | Promise<ConversationPlan>])[] = [
  ["sampled", () => ({ kind: "sampled", count: 40, calls: 6, sample: "random" })],
  ["scripted", () => ({ kind: "scripted", templates: [{ messages: BOTH }] })],
  ["played", () => ({ kind: "played", templates: ASKED, model: orderer() })],
  ["recorded", recorded],
];

// oxlint-disable-next-line typescript/no-explicit-any -- a line may hold anything, which is what is looked at
type Line = any;

/** How many calls each message has, as the reader of each format counts them. */
function callsOf({ messages, conversations }: Line): readonly number[] {
  if (conversations !== undefined)
    return conversations.map(({ from, value }: Line) => (from === "function_call" ? [JSON.parse(value)].flat().length : 0));
  return messages.map(({ role, calls, tool_calls: toolCalls, content }: Line) => {
    if (role !== "assistant") return 0;
    const blocks = Array.isArray(content) ? content.filter(({ type }: Line) => type === "tool_use") : [];
    return (calls ?? toolCalls ?? blocks).length;
  });
}

const most = (line: string): number => Math.max(...callsOf(JSON.parse(line)));
const several = (lines: readonly string[]): number =>
  lines.flatMap((line) => callsOf(JSON.parse(line))).filter((calls) => calls > 1).length;

describe("messages with several calls", () => {
  test.for(PLANS.flatMap(([kind, plan]) => TRAJECTORY_FORMATS.map((format) => [kind, format, plan] as const)))(
    "%s, %s: they are counted, and with parallelCalls: false there are none",
    async ([kind, format, plan]) => {
      const runtime = () => (kind === "recorded" ? createRuntime() : shop());
      const before = await generated({ plan: await plan(), format, runtime: runtime() });
      expect(several(before.lines)).toBeGreaterThan(0);
      expect([before.summary.parallelMessages, before.summary.dataset.parallelMessages]).toEqual(Array(2).fill(several(before.lines)));
      const after = await generated({ plan: await plan(), format, runtime: runtime(), parallelCalls: false });
      expect(Math.max(...after.lines.map(most))).toBe(1);
      expect([after.summary.parallelMessages, after.summary.dataset.parallelMessages]).toEqual([0, 0]);
      expect(after.summary.calls).toBe(before.summary.calls);
      expect(after.summary.checks).toEqual(before.summary.checks);
    },
  );

  test("a template's message with several calls is split into one message per call, and later references still resolve", async () => {
    const { lines } = await generated({ plan: { kind: "scripted", templates: [{ messages: BOTH }], writer: false }, parallelCalls: false });
    const { messages } = JSON.parse(lines[0] ?? "");
    const [tea] = messages.filter(({ role }: Line) => role === "tool");
    expect(messages.filter(({ role }: Line) => role !== "tool")).toEqual([
      { role: "user", content: "Tea and milk, please." },
      { role: "assistant", content: "At once.", calls: [{ id: "call_1", ...TEA }] },
      { role: "assistant", calls: [{ id: "call_2", ...MILK }] },
      { role: "assistant", content: "Let me see.", calls: [{ id: "call_3", name: "shop::get_order", input: { order_id: tea.output.id } }] },
    ]);
    expect(messages.map(({ role, id }: Line) => id ?? role)).toEqual([
      "user",
      "assistant",
      "call_1",
      "assistant",
      "call_2",
      "assistant",
      "call_3",
    ]);
  });

  test("the same seed makes the same calls and results with and without it, with faults too, each result right after its call", async () => {
    const faults = { seed: 1, rules: [{ tools: "*", type: "network_error", probability: 0.3, attempts: 5 }] } as const;
    const said = (line: string): Line => {
      const { messages } = JSON.parse(line);
      const calls = messages.flatMap((message: Line) => message.calls ?? []);
      return { calls, results: messages.filter(({ role }: Line) => role === "tool") };
    };
    for (const [seed, sample] of (["random", "chain", "neighbour"] as const).entries()) {
      const plan = { kind: "sampled", count: 40, calls: 6, sample } as const;
      const made = { seed, plan } as const;
      const runtime = () => shop(plainAnswer, { faults, maxAttempts: 1, circuit: false });
      const together = await generated({ ...made, runtime: runtime() });
      const apart = await generated({ ...made, runtime: runtime(), parallelCalls: false, concurrency: 3 });
      expect(together.summary.statuses["error"]).toBeGreaterThan(0);
      expect(apart.lines.map(said)).toEqual(together.lines.map(said));
      for (const { calls, results } of apart.lines.map(said))
        expect(results.map(({ id }: Line) => id)).toEqual(calls.map(({ id }: Line) => id));
      for (const line of apart.lines)
        for (const [at, { calls: [call] = [] }] of JSON.parse(line).messages.entries())
          if (call !== undefined) expect(JSON.parse(line).messages[at + 1]).toMatchObject({ role: "tool", id: call.id, name: call.name });
    }
  });

  test("a tool that ends the turn stops only the other calls of its message", async () => {
    const tools = [
      { name: "finish", description: "Finish.", endsTurn: true, inputSchema: { type: "object" }, execute: () => "finished" },
      { name: "look", description: "Look.", inputSchema: { type: "object" }, execute: () => "seen" },
    ] as const;
    const calls = [
      { name: "desk::finish", input: {} },
      { name: "desk::look", input: {} },
    ];
    const plan = {
      kind: "scripted",
      templates: [
        {
          messages: [
            { role: "user", content: "Go." },
            { role: "assistant", calls },
          ],
        },
      ],
    } as const;
    const runtime = () => createRuntime({ toolsets: [{ name: "desk", tools }] });
    expect((await generated({ plan, runtime: runtime() })).summary.statuses).toEqual({ ok: 1, skipped: 1 });
    expect((await generated({ plan, runtime: runtime(), parallelCalls: false })).summary.statuses).toEqual({ ok: 2 });
  });

  test("a model is asked for one call; if it makes several, it is asked again with the result of the first", async () => {
    const model = orderer();
    const { lines } = await generated({ plan: { kind: "played", templates: ASKED, model }, parallelCalls: false });
    expect(model.requests.map(({ parallelCalls, messages }) => [parallelCalls, messages.map(({ role }) => role).join(" ")])).toEqual([
      [false, "user"],
      [false, "user assistant call result"],
      [false, "user assistant call result call result"],
    ]);
    expect(JSON.parse(lines[0] ?? "").messages).toEqual([
      { role: "user", content: "Tea and milk, please." },
      { role: "assistant", content: "I order both.", calls: [{ id: "call_1", ...TEA }] },
      expect.objectContaining({ role: "tool", id: "call_1" }),
      { role: "assistant", calls: [{ id: "call_2", ...MILK }] },
      expect.objectContaining({ role: "tool", id: "call_2" }),
      { role: "assistant", content: "Ordered." },
    ]);
  });

  test.for(NAMES)("%s: a message of which only the first call was kept is accepted with the provider's signatures", async (name) => {
    const served = ({ input }: ToolCall) => ({ name: "shop__create_order", input: input as JsonObject });
    const script = [
      { reasoning: "Both.", text: "I order both.", calls: [served(TEA), served(MILK)] },
      { calls: [served(MILK)] },
      { text: "Ordered." },
    ];
    const server = await serve({ format: FORMATS[name], script, key: KEY });
    const of = { provider: name, model: name === "bedrock" ? "anthropic.claude-opus-4-6" : "some-model", baseUrl: server.url, apiKey: KEY };
    const model = modelFrom({ ...of, ports: hasty().ports }, { environment: {} });
    const { lines, summary } = await generated({ plan: { kind: "played", templates: ASKED, model }, parallelCalls: false });
    expect([summary.failed, server.requests.length, server.requests.flatMap(({ refused }) => refused ?? [])]).toEqual([0, 3, []]);
    const [{ messages }] = lines.map((line) => JSON.parse(line));
    expect(messages.flatMap(({ calls = [] }: Line) => (calls.length === 0 ? [] : [calls.map(({ input }: Line) => input.article)]))).toEqual(
      [["tea"], ["milk"]],
    );
  });

  test("a file can only be continued with the same setting", async () => {
    const out = `${temporaryFolder()}/train.jsonl`;
    const plan = { kind: "sampled", count: 3, calls: 3 } as const;
    await generated({ plan, out, parallelCalls: false });
    const more = { plan: { ...plan, count: 5 }, out };
    await expect(generated({ ...more, parallelCalls: true })).rejects.toMatchObject({ code: "invalid_argument" });
    expect((await generated({ ...more, parallelCalls: false })).summary).toMatchObject({ existing: 3, written: 2, parallelMessages: 0 });
  });

  test("lines for OpenAI fine-tuning have parallel_tool_calls exactly when parallel calls are off", async () => {
    const plan = { kind: "sampled", count: 2, calls: 3 } as const;
    const fields = async (parallelCalls: boolean) =>
      (await generated({ plan, format: "openai", parallelCalls })).lines.map((line) => Object.keys(JSON.parse(line)).join());
    expect(await fields(false)).toEqual(Array(2).fill("messages,tools,parallel_tool_calls,metadata"));
    expect(await fields(true)).toEqual(Array(2).fill("messages,tools,metadata"));
  });
});
