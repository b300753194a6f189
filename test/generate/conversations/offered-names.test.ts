import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/core/tool.ts";
import { exampleEngine } from "../../../src/engine/example.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { checkConversation } from "../../../src/generate/conversations/check-conversation.ts";
import type { ModelMessage } from "../../../src/core/message.ts";
import { modelWriter } from "../../../src/generate/conversations/model-writer.ts";
import { generated } from "./generated.ts";

function made(tools: readonly Tool[], overloads = false): Runtime {
  return createRuntime({
    toolsets: [{ name: "many", overloads, tools }],
    answers: { engines: { example: exampleEngine({ seed: 7 }) }, rules: [{ tools: "*", from: "example" }] },
    ports: { log: { debug() {}, warn() {} } },
  });
}

const takes = (name: string, schema: object): Tool["inputSchema"] => ({ type: "object", properties: { [name]: schema }, required: [name] });
const text = { type: "string" };

interface Named {
  readonly type?: string;
  readonly name?: string;
  readonly function?: { readonly name: string };
}

interface Line {
  readonly tools: string | readonly Named[];
  readonly messages?: readonly { readonly calls?: readonly Named[]; readonly tool_calls?: readonly Named[]; readonly content?: unknown }[];
  readonly conversations?: readonly { readonly from: string; readonly value: string }[];
}

function nameOf({ name, function: described }: Named): string {
  return name ?? described?.name ?? "";
}

/** Calls and offered tools of a line, by name. */
function namesOf(line: string): { readonly called: readonly string[]; readonly offered: readonly string[] } {
  const { tools, messages = [], conversations = [] } = JSON.parse(line) as Line;
  const offered = typeof tools === "string" ? (JSON.parse(tools) as readonly Named[]) : tools;
  const blocks = ({ content }: { readonly content?: unknown }): readonly Named[] => (Array.isArray(content) ? content : []);
  const called = messages.flatMap((message) => [
    ...(message.calls ?? []),
    ...(message.tool_calls ?? []),
    ...blocks(message).filter(({ type }) => type === "tool_use"),
  ]);
  const turns = conversations.filter(({ from }) => from === "function_call").flatMap(({ value }) => JSON.parse(value) as Named | Named[]);
  return { called: [...called, ...turns].map(nameOf), offered: offered.map(nameOf) };
}

describe.each(["neutral", "openai", "anthropic", "huggingface", "sharegpt"] as const)(
  "a line of %s offers each tool that it calls",
  (format) => {
    test("in a template that calls by a short name, even with more tools than are offered", async () => {
      const tools = Array.from({ length: 60 }, (_, index) => ({
        name: `do_${index}`,
        description: "Does.",
        inputSchema: takes("x", text),
      }));
      const messages = [
        { role: "user", content: "Do it." },
        { role: "assistant", calls: [{ name: "do_57", input: { x: "a" } }] },
      ] as const;
      const { lines } = await generated({ runtime: made(tools), plan: { kind: "scripted", templates: [{ messages }], count: 8 }, format });
      expect(lines.length).toBe(8);
      for (const { called, offered } of lines.map(namesOf)) {
        expect(called.length).toBe(1);
        expect(offered).toEqual(expect.arrayContaining([...called]));
      }
    });

    test("and, of several tools of the same name, the called one", async () => {
      const tools = [
        { name: "get", description: "Get by id.", inputSchema: takes("id", text) },
        { name: "get", description: "Get by size.", inputSchema: takes("size", { type: "integer" }) },
      ];
      const { lines } = await generated({ runtime: made(tools, true), plan: { kind: "sampled", count: 8, calls: 2 }, format });
      const all = lines.map(namesOf);
      for (const { called, offered } of all) expect(offered).toEqual(expect.arrayContaining([...called]));
      expect(new Set(all.flatMap(({ called }) => called)).size).toBe(format === "neutral" ? 1 : 2);
    });

    test.each([4, 60])("and each that its results and answers name, in a template that calls unknown tools, of %i", async (count) => {
      const tools = Array.from({ length: count }, (_, index) => ({
        name: `do_${index}`,
        description: "",
        inputSchema: takes("x", text),
      }));
      const messages = ["do_5x", "nothing_like_it", "haft::read_resul"].flatMap((name) => [
        { role: "user" as const, content: "Do it." },
        { role: "assistant" as const, calls: [{ name, input: { x: "a" } }] },
      ]);
      const { lines } = await generated({
        runtime: made(tools),
        plan: { kind: "scripted", templates: [{ messages }], count: 4 },
        format,
      });
      expect(lines.length).toBe(4);
      for (const line of lines) {
        const named = (line.match(/\b(?:many|haft)(?:::|__)\w+/gu) ?? []).filter((name) => !name.endsWith("read_resul"));
        expect(named.length).toBeGreaterThan(15);
        expect(namesOf(line).offered).toEqual(expect.arrayContaining(named));
      }
    });
  },
);

describe("tools for which no input can be generated", () => {
  const closed = { name: "closed", description: "X.", inputSchema: takes("a", { type: "string", pattern: "^(?!a)a$" }) };

  test("are replaced by other tools, so that no conversation is empty", async () => {
    const open = { name: "open", description: "Y.", inputSchema: takes("b", text) };
    const { lines, summary } = await generated({ runtime: made([closed, open]), plan: { kind: "sampled", count: 20, calls: 1 } });
    expect({ failed: summary.failed, ends: summary.checks.openEnds, lines: lines.length }).toEqual({ failed: 0, ends: 0, lines: 20 });
  });

  test("end the generation with the reason when there are no other tools", async () => {
    const { lines, summary } = await generated({ runtime: made([closed]), plan: { kind: "sampled", count: 20, calls: 1 } });
    expect(lines).toEqual([]);
    expect(summary.stopped?.message).toBe("10 conversations in a row failed, the first with: No input can be generated for many::closed.");
  });
});

test("a negative number in the model's text counts as mentioned", async () => {
  const cold = { name: "set", description: "Set the temperature.", inputSchema: takes("degrees", { type: "integer", enum: [-5] }) };
  const model = scriptedModel(({ system = "" }) => ({ text: system.startsWith("You write") ? "Set it to -5 degrees." : "Done." }));
  const { summary } = await generated({
    runtime: made([cold]),
    plan: { kind: "sampled", count: 1, calls: 1, writer: modelWriter({ model }) },
  });
  expect(summary.writing).toEqual({ written: 2, retried: 0, byCode: 0 });
});

test("a negative id is found in its result, and list numbers do not count as values", () => {
  const messages = [
    {
      role: "result",
      at: 0,
      callId: "call_1",
      result: { status: "ok", output: { chat_id: -1001234, at: "2024-05-03T10:00:00Z", names: ["tea", "milk", "rum"] } },
    },
    { role: "call", at: 0, callId: "call_2", turnId: "", call: { name: "x", input: { chat_id: -1001234 } } },
    { role: "assistant", at: 0, content: "From 10:00 there are:\n1. tea\n2. milk\n3) rum" },
  ] as unknown as readonly ModelMessage[];
  expect(checkConversation({ system: undefined, messages })).toMatchObject({ danglingIds: 0, ungroundedAnswers: 0 });
  const claimed = [{ role: "assistant", at: 0, content: "There are:\n1. tea for 9" }] as unknown as readonly ModelMessage[];
  expect(checkConversation({ system: undefined, messages: claimed })).toMatchObject({ ungroundedAnswers: 1 });
});
