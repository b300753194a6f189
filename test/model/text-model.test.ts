import { expect, test } from "vitest";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelEvent, ModelRequest, ModelTool } from "../../src/core/model.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { textToolsModel } from "../../src/model/text-model.ts";
import { textFormat } from "../../src/wire/text/formats.ts";

const LOOK: ModelTool = {
  name: "world::inspect_location",
  description: "Looks around.",
  inputSchema: { type: "object", properties: { detail_level: { type: "string" } }, required: ["detail_level"] },
};
const RESULT: ToolResult = {
  callId: "c1",
  name: "world::inspect_location",
  status: "ok",
  output: { success: true, location: "Town Square" },
  origin: "live",
  attempts: 1,
  durationMs: 1,
  repairs: [],
  warnings: [],
};
const CALL = { name: "world::inspect_location", input: { detail_level: "full" }, reasoning: "To see." };
const CONVERSATION: readonly ModelMessage[] = [
  { role: "user", at: 0, content: "Where am I?" },
  { role: "assistant", at: 1, content: "I look.", native: { format: "other", blocks: [{ secret: 1 }] } },
  { role: "call", at: 2, callId: "c1", turnId: "t1", call: CALL },
  { role: "result", at: 3, callId: "c1", result: RESULT },
];

async function ask(model: ReturnType<typeof textToolsModel>, request: ModelRequest): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request)) events.push(event);
  return events;
}

test("an unknown format is rejected at once", () => {
  expect(() => textToolsModel(scriptedModel([]), { format: "nope" })).toThrow('There is no text format "nope".');
});

test("F3.22 the model receives tools, calls and results as text, and no tool definitions", async () => {
  const inner = scriptedModel([{ text: "You are in town." }]);
  const format = textFormat("json");
  await ask(textToolsModel(inner, { format }), {
    system: "Be brief.",
    messages: CONVERSATION,
    tools: [LOOK],
    temperature: 0,
    parallelCalls: false,
  });
  expect(inner.requests).toEqual([
    {
      system: `Be brief.\n\n${format.describeTools([LOOK])}\n\nMake one call per message.`,
      temperature: 0,
      messages: [
        { role: "user", at: 0, content: "Where am I?" },
        {
          role: "assistant",
          at: 1,
          content: 'I look.\n{"tool": "world::inspect_location", "parameters": {"detail_level": "full"}, "reasoning": "To see."}',
        },
        { role: "user", at: 2, content: '[TOOL RESULT: world::inspect_location]\n{"success": true, "location": "Town Square"}' },
      ],
    },
  ]);
});

test("F1.41 calls are parsed from the streamed text, with the names of the tools", async () => {
  const text = 'I look.\n{"tool": "world::inspect_location", "parameters": {"detail_level": "full"}, "reasoning": "To see."}';
  const model = textToolsModel(scriptedModel([{ text, reasoning: "hm", usage: { inputTokens: 3 }, pieceChars: 3 }]), { format: "json" });
  const events = await ask(model, { messages: [], tools: [LOOK] });
  expect(events.filter(({ type }) => type === "call-seal")).toEqual([{ type: "call-seal", index: 0, call: CALL }]);
  const last = events.at(-1);
  expect(last?.type === "reply-end" && last.reply).toEqual({
    text: "I look.",
    reasoning: "hm",
    media: [],
    providerCalls: [],
    calls: [CALL],
    finish: "calls",
    usage: { inputTokens: 3, outputTokens: 0 },
  });
});

test("H07 a truncated message has no calls, and a voided one leaves no partial state", async () => {
  const call = '<tool_call>{"name": "world__inspect_location", "arguments": {}}</tool_call>';
  const cut = textToolsModel(scriptedModel([{ text: call, finish: "length" }]), { format: "hermes" });
  expect((await ask(cut, { messages: [], tools: [LOOK] })).at(-1)).toMatchObject({ reply: { calls: [], finish: "length" } });
  const voided = textToolsModel(
    {
      name: "voids",
      async *stream() {
        yield { type: "text-delta", text: "<tool_call>{" };
        yield { type: "reply-void", reason: "again" };
        yield { type: "text-delta", text: call };
        yield {
          type: "reply-end",
          reply: {
            text: call,
            reasoning: "",
            media: [],
            calls: [],
            providerCalls: [],
            finish: "stop",
            usage: { inputTokens: 0, outputTokens: 0 },
          },
        };
      },
    },
    { format: "hermes" },
  );
  const events = await ask(voided, { messages: [], tools: [LOOK] });
  expect(events.map(({ type }) => type)).toEqual(["reply-void", "call-open", "call-seal", "reply-end"]);
});

test("without tools, or with toolChoice none, text that looks like a call stays text", async () => {
  const text = '<tool_call>{"name": "world__inspect_location", "arguments": {}}</tool_call>';
  for (const request of [{ messages: [] }, { messages: [], tools: [LOOK], toolChoice: "none" }] as const) {
    const inner = scriptedModel([{ text }]);
    expect((await ask(textToolsModel(inner, { format: "hermes" }), request)).at(-1)).toMatchObject({
      reply: { text, calls: [], finish: "stop" },
    });
    expect(inner.requests).toEqual([{ messages: [] }]);
  }
});

test("toolChoice becomes a sentence in the prompt, and ambiguous calls are reported as warnings", async () => {
  const warnings: (readonly string[])[] = [];
  const inner = scriptedModel([{ text: "[/world::inspect_location]\n@@detail_level=full\nbody\n[world::inspect_location/]" }]);
  const model = textToolsModel(inner, { format: "bracket", name: "mine", onWarnings: (found) => warnings.push(found) });
  const events = await ask(model, { messages: [], tools: [LOOK], toolChoice: { tool: "world::inspect_location" } });
  expect(events.at(-1)).toMatchObject({ type: "reply-end", reply: { warnings: warnings[0] } });
  expect(inner.requests[0]?.system?.endsWith("Your next message must call the tool world::inspect_location.")).toBe(true);
  expect([model.name, warnings]).toEqual([
    "mine",
    [['The call of "world::inspect_location" has both a body and the argument "detail_level"; the body is kept as "body".']],
  ]);
});
