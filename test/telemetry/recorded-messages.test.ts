import type { Attributes } from "@opentelemetry/api";
import { expect, test } from "vitest";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelTool } from "../../src/core/model.ts";
import { toRequestAttributes } from "../../src/telemetry/recorded-messages.ts";

const MOST = 16_384;
const isTool = (): boolean => true;
const MANY = Object.fromEntries(
  Array.from({ length: 600 }, (_, index) => [`p${index}`, { type: "string", description: `Number ${index}.` }]),
);

function contentsOf(messages: readonly ModelMessage[], tools: readonly ModelTool[] = []): Attributes {
  const redact = (text: string): string => text.replaceAll("Ada", "[user]");
  return toRequestAttributes({ messages, tools }, { recordInputs: true, recordOutputs: true, redact, isTool });
}

function toolsIn(attributes: Attributes): unknown {
  return JSON.parse(String(attributes["gen_ai.tool.definitions"]));
}

test("tool definitions are recorded without secrets and without what redact removes; properties named like secrets remain", () => {
  const inputSchema = {
    type: "object",
    properties: { password: { type: "string", description: "That of Ada.", examples: ["sk-abcdefghijklmnop1234"] } },
  };
  expect(toolsIn(contentsOf([], [{ name: "login", description: "Logs Ada in with sk-abcdefghijklmnop1234.", inputSchema }]))).toEqual([
    {
      type: "function",
      name: "login",
      description: "Logs [user] in with [secret].",
      parameters: { type: "object", properties: { password: { type: "string", description: "That of [user].", examples: ["[secret]"] } } },
    },
  ]);
});

test.each([0, 1])("a tool with too long a schema is recorded without the schema, with the other tools: at index %i", (place) => {
  const tools = [{ name: "small", description: "S.", inputSchema: {} }];
  tools.splice(place, 0, { name: "large", description: "L.", inputSchema: { type: "object", properties: MANY } });
  const shown = [{ type: "function", name: "small", description: "S.", parameters: {} }];
  shown.splice(place, 0, { type: "function", name: "large", description: "L." } as never);
  expect(toolsIn(contentsOf([], tools))).toEqual(shown);
});

test("a schema that redact turns into invalid JSON is left out", () => {
  const tools = [{ name: "small", description: "S.", inputSchema: { type: "object" } }];
  const attributes = toRequestAttributes({ messages: [], tools }, { recordInputs: true, recordOutputs: true, redact: () => "{", isTool });
  expect(toolsIn(attributes)).toEqual([{ type: "function", name: "small", description: "{" }]);
});

test("every attribute is valid JSON of at most 16,384 characters that includes the newest message", () => {
  for (let length = 16_300; length <= MOST; length += 1) {
    const text = String(contentsOf([{ role: "user", at: 0, content: "x".repeat(length) }])["gen_ai.input.messages"]);
    expect([length, text.length <= MOST, (JSON.parse(text) as unknown[]).length]).toEqual([length, true, 1]);
  }
  for (let length = 100; length < 200; length += 1) {
    const messages = Array.from({ length: 300 }, () => ({ role: "user" as const, at: 0, content: "x".repeat(length) }));
    expect(String(contentsOf(messages)["gen_ai.input.messages"]).length).toBeLessThanOrEqual(MOST);
  }
});

test("of a message with too many parts, the first parts are recorded", () => {
  const content = Array.from({ length: 1_000 }, (_, index) => ({ type: "text" as const, text: `Part ${index}. ${"x".repeat(100)}` }));
  const text = String(contentsOf([{ role: "user", at: 0, content }])["gen_ai.input.messages"]);
  const [message] = JSON.parse(text) as [{ readonly role: string; readonly parts: readonly { readonly content: string }[] }];
  expect(message.role).toBe("user");
  expect(message.parts.length).toBeGreaterThan(100);
  expect(message.parts[0]?.content).toContain("Part 0.");
  expect(text.length).toBeLessThanOrEqual(MOST);
});

test("each text of a message that is too long is redacted once, however often the message is shortened", () => {
  const seen: string[] = [];
  const redact = (text: string): string => (seen.push(text), text);
  const content = ["a", "b", "c"].map((letter) => ({ type: "text" as const, text: letter.repeat(100_000) }));
  const inputSchema = { type: "object", properties: MANY };
  toRequestAttributes(
    { messages: [{ role: "user", at: 0, content }], tools: [{ name: "large", description: "L.", inputSchema }] },
    { recordInputs: true, recordOutputs: true, redact, isTool },
  );
  expect(seen.map(([letter]) => letter)).toEqual(["a", "b", "c", "L", "{"]);
});
