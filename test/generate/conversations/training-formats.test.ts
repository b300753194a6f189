/**
 * Lines for trainers, read by readers that are written after the published descriptions alone.
 *
 * @see https://huggingface.co/docs/trl/dataset_formats#tool-calling
 * @see https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md#sharegpt-format
 */
import assert from "node:assert/strict";
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import type { ConversationPlan } from "../../../src/generate/conversations/conversation-plan.ts";
import { TRAJECTORY_FORMATS, type TrajectoryFormat } from "../../../src/generate/conversations/trajectory-formats.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { shareGptConversation } from "../../../src/generate/conversations/training-formats.ts";
import { answered, called, said } from "../../wire/conversations.ts";
import { SAMPLED, generated } from "./generated.ts";

/** What every form must hold of a conversation. */
interface Read {
  readonly said: readonly (readonly [role: string, text: string])[];
  readonly calls: readonly { readonly name: string; readonly input: object }[];
  readonly answers: readonly unknown[];
  readonly tools: readonly string[];
}

// oxlint-disable-next-line typescript/no-explicit-any -- a line may hold anything, which is what is looked at
type Line = any;

const NAME = /^[\w-]{1,64}$/u;

/** As a chat template goes through a conversation of TRL's "messages" and "tools". */
function readTemplateLine({ messages, tools }: Line): Read {
  const said: [string, string][] = [];
  const calls: { name: string; input: object }[] = [];
  const answers: unknown[] = [];
  let open: { readonly id: string; readonly name: string }[] = [];
  for (const [index, message] of messages.entries()) {
    assert(typeof message.content === "string");
    if (message.role === "tool") {
      const call = open.shift();
      assert.deepEqual([message.name, message.tool_call_id], [call?.name, call?.id]);
      answers.push(valueOf(message.content));
      continue;
    }
    assert.equal(open.length, 0);
    assert(["system", "user", "assistant"].includes(message.role) && (message.role !== "system" || index === 0));
    if (message.content !== "") said.push([message.role, message.content]);
    if (message.tool_calls === undefined) continue;
    assert.equal(message.role, "assistant");
    for (const {
      id,
      type,
      function: { name, arguments: input },
    } of message.tool_calls) {
      assert.equal(type, "function");
      assert.match(id, /^[A-Za-z0-9]{9}$/u);
      assert(typeof input === "object" && input !== null && !Array.isArray(input));
      open.push({ id, name });
      calls.push({ name, input });
    }
  }
  const offered = tools.map(({ type, function: described, ...rest }: Line) => {
    assert.deepEqual([type, rest], ["function", {}]);
    return toolName(described);
  });
  return { said, calls, answers, tools: offered };
}

/** As LLaMA-Factory aligns a conversation: odd turns are the user's or results, even ones the assistant's. */
function readShareGptLine({ conversations, tools }: Line): Read {
  const said: [string, string][] = [];
  const calls: { name: string; input: object }[] = [];
  const answers: unknown[] = [];
  const turns = [...conversations];
  for (const turn of turns) assert.deepEqual([Object.keys(turn), typeof turn.value], [["from", "value"], "string"]);
  if (turns[0].from === "system") said.push(["system", turns.shift().value]);
  assert.equal(turns.length % 2, 0);
  let asked = 0;
  for (const [index, { from, value }] of turns.entries()) {
    assert((index % 2 === 0 ? ["human", "observation"] : ["gpt", "function_call"]).includes(from));
    if (from === "function_call") {
      const made = JSON.parse(value);
      for (const { name, arguments: input } of Array.isArray(made) ? made : [made]) calls.push({ name, input });
      asked = Array.isArray(made) ? made.length : 1;
    } else if (from === "observation") {
      const results = asked === 1 ? [valueOf(value)] : JSON.parse(value);
      assert.equal(results.length, asked);
      answers.push(...results);
    } else said.push([from === "human" ? "user" : "assistant", value]);
  }
  assert(typeof tools === "string");
  return { said, calls, answers, tools: JSON.parse(tools).map(toolName) };
}

function toolName({ name, description, parameters }: Line): string {
  assert.match(name, NAME);
  assert(typeof description === "string" && parameters.type === "object" && typeof parameters.properties === "object");
  return name;
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What the neutral line of the same conversation holds; a failure is the text that a model reads of it. */
function readNeutralLine({ messages, tools }: Line): Read {
  const wire = (name: string): string => name.replace("::", "__");
  const results = messages.filter(({ role }: Line) => role === "tool");
  return {
    said: messages.flatMap(({ role, content }: Line) => (role === "tool" || content === undefined ? [] : [[role, content]])),
    calls: messages.flatMap(({ calls = [] }: Line) => calls.map(({ name, input }: Line) => ({ name: wire(name), input }))),
    answers: results.map(({ output, error }: Line) => (error === undefined ? output : expect.stringContaining(error.message))),
    tools: tools.map(({ name }: Line) => wire(name)),
  };
}

const SCRIPTED = {
  kind: "scripted",
  count: 2,
  templates: [
    {
      id: "order",
      system: "You sell tea.",
      messages: [
        { role: "user", content: "Tea, please." },
        {
          role: "assistant",
          calls: [
            { name: "shop::create_order", input: { article: "tea", count: 1 } },
            { name: "shop::fail", input: {} },
          ],
        },
        { role: "assistant", content: "Ordered." },
      ],
    },
  ],
} as const satisfies ConversationPlan;

async function linesAs(plan: ConversationPlan, format: TrajectoryFormat): Promise<readonly Line[]> {
  return (await generated({ plan, format })).lines.map((line) => JSON.parse(line));
}

function texts(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.entries(value).flatMap(([key, one]) => [key, ...texts(one)]) : [];
}

describe("issue 16.3 training formats", () => {
  test.for([
    ["huggingface", readTemplateLine],
    ["sharegpt", readShareGptLine],
  ] as const)("%s: a reader of the published format finds every text, call, result and tool", async ([format, read]) => {
    for (const plan of [{ ...SAMPLED, calls: 6 }, SCRIPTED]) {
      const [written, neutral] = [await linesAs(plan, format), await linesAs(plan, "neutral")];
      expect(written.length).toBe(plan.count);
      expect(written.map(read)).toEqual(neutral.map(readNeutralLine));
      expect(written.map(({ metadata }) => JSON.parse(metadata).report)).toEqual(neutral.map(({ report }) => report));
    }
  });

  test("the first lines match the published formats", async () => {
    const [huggingface] = await linesAs(SCRIPTED, "huggingface");
    expect(huggingface.messages[2]).toEqual({
      role: "assistant",
      content: "",
      tool_calls: [
        { id: expect.any(String), type: "function", function: { name: "shop__create_order", arguments: { article: "tea", count: 1 } } },
        { id: expect.any(String), type: "function", function: { name: "shop__fail", arguments: {} } },
      ],
    });
    expect(huggingface.messages[3]).toMatchObject({
      role: "tool",
      name: "shop__create_order",
      content: expect.stringMatching(/^\{"id":"O-/u),
    });
    const [sharegpt] = await linesAs(SCRIPTED, "sharegpt");
    expect(sharegpt.conversations.map(({ from }: Line) => from)).toEqual(["system", "human", "function_call", "observation", "gpt"]);
    expect(sharegpt.conversations[2].value).toBe(
      '[{"name":"shop__create_order","arguments":{"article":"tea","count":1}},{"name":"shop__fail","arguments":{}}]',
    );
  });

  test.for(["openai", "anthropic", "huggingface", "sharegpt"] as const)(
    "%s: every line has columns of the same types, however its conversation ended",
    async (format) => {
      const call = (name: string, input: JsonObject) => [
        { role: "user", content: `Call ${name}.` } as const,
        { role: "assistant", content: "I do.", calls: [{ name, input }] } as const,
      ];
      const done = { role: "assistant", content: "Done." } as const;
      const ends = {
        well: [...call("shop::create_order", { article: "tea", count: 1 }), done],
        failing: [...call("shop::fail", {}), done],
        unknownTool: [...call("shop::gone", { a: [1] }), done],
        fromNowhere: [...call("shop::get_order", { order_id: "O-1" }), { ...done, content: "It costs 99." }],
        brokenOff: [...call("shop::fail", {}), { role: "assistant", calls: [{ name: "shop::get_order", input: { order_id: "$1.id" } }] }],
        withoutCalls: [{ role: "user", content: "Hello." }, done],
      } as const;
      const templates = Object.entries(ends).map(([id, messages]) => ({ id, messages }));
      const lines = await linesAs({ kind: "scripted", templates }, format);
      const columns = lines.map((line) =>
        Object.entries(line).map(([name, value]) => [name, Array.isArray(value) ? "array" : typeof value]),
      );
      expect(columns.length).toBe(templates.length);
      for (const each of columns) expect(each).toEqual(columns[0]);
      expect(columns[0]).toContainEqual(["metadata", "string"]);
      const told = lines.map(({ metadata }) => Object.keys(JSON.parse(metadata)).join());
      expect(new Set(told).size).toBeGreaterThan(1); // what stands in it is not the same
    },
  );

  test.for(TRAJECTORY_FORMATS)("%s: no line has a lone surrogate, which readers would reject", async (format) => {
    const half = "half \ud83c";
    const tool: Tool = {
      name: "echo",
      description: half,
      inputSchema: { type: "object", title: half },
      execute: ({ v }) => ({ v, [half]: v }),
    };
    const runtime = createRuntime({ toolsets: [{ name: "it", tools: [tool] }], ports: { log: { debug() {}, warn() {} } } });
    const messages = [
      { role: "user", content: half },
      {
        role: "assistant",
        content: half,
        calls: [
          { name: "it::echo", input: { v: half, [half]: 1 } },
          { name: half, input: {} },
        ],
      },
      { role: "assistant", content: half },
    ] as const;
    const { lines } = await generated({ runtime, plan: { kind: "scripted", templates: [{ id: half, system: half, messages }] }, format });
    expect(lines.length).toBe(1);
    const { metadata = "{}", ...line } = JSON.parse(lines[0] ?? "");
    for (const text of [line, JSON.parse(metadata)].flatMap(texts)) expect(text.isWellFormed(), JSON.stringify(text)).toBe(true);
  });

  test("sharegpt: for any order of speakers the turns alternate, and each text is in a turn or left out", () => {
    const speaker = fc.constantFrom("system" as const, "user" as const, "assistant" as const);
    const round = fc.constant("round" as const);
    const order = fc.tuple(fc.array(fc.constantFrom("system" as const, "assistant" as const)), fc.array(fc.oneof(speaker, round)));
    fc.assert(
      fc.property(order, ([before, after]) => {
        const spoken = [...before, "user" as const, ...after, "assistant" as const];
        const messages = spoken.flatMap((one, index) =>
          one === "round"
            ? [called(`c${index}`, "f"), answered(`c${index}`, "f", { output: 1 }), said("assistant", `text ${index}.`)]
            : [said(one, `text ${index}.`)],
        );
        const { conversations, leftOut } = shareGptConversation(messages);
        const { said: read, calls } = readShareGptLine({ conversations, tools: "[]" });
        const texts = [...read.map(([, text]) => text), ...leftOut].join("\n\n").split("\n\n");
        expect([texts.toSorted(), calls.length]).toEqual([
          spoken.map((_, index) => `text ${index}.`).toSorted(),
          spoken.filter((one) => one === "round").length,
        ]);
        expect(conversations.slice(1).map(({ from }) => from)).not.toContain("system");
      }),
    );
  });

  test("sharegpt: consecutive turns of one side are merged, and text beside calls is in the metadata", async () => {
    const messages = [
      { role: "user", content: "Hello." },
      { role: "user", content: "Is there tea?" },
      { role: "assistant", content: "Let me look.", calls: [{ name: "shop::list_articles", input: {} }] },
      { role: "assistant", content: "There is." },
      { role: "assistant", content: "Milk, too." },
    ] as const;
    const [line] = await linesAs({ kind: "scripted", templates: [{ messages }] }, "sharegpt");
    expect(line.conversations).toEqual([
      { from: "human", value: "Hello.\n\nIs there tea?" },
      { from: "function_call", value: '{"name":"shop__list_articles","arguments":{}}' },
      { from: "observation", value: '["tea","milk"]' },
      { from: "gpt", value: "There is.\n\nMilk, too." },
    ]);
    expect(JSON.parse(line.metadata).leftOut).toEqual(["Let me look."]);
    expect(() => readShareGptLine(line)).not.toThrow();
    const [whole] = await linesAs({ kind: "scripted", templates: [{ messages }] }, "huggingface");
    expect(whole.messages[2]).toMatchObject({ content: "Let me look.", tool_calls: [{}] });
  });
});
