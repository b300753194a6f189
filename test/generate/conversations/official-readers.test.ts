/**
 * Lines of each format, given to what reads them elsewhere: `@huggingface/jinja` with a chat template, as trainers render conversations, and
 * checks of requests as OpenAI and Anthropic make them.
 */
import { Template } from "@huggingface/jinja";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { ANTHROPIC_MESSAGES } from "../../model/dialects/anthropic.ts";
import type { CheckedRequest } from "../../model/dialects/dialect.ts";
import { OPENAI_CHAT, openAiChatDialect } from "../../model/dialects/openai-chat.ts";
import { SAMPLED, generated } from "./generated.ts";

const PLAN = { ...SAMPLED, count: 20, calls: 6 } as const;

/** Tools in the system's turn, calls and results in tags: the form that most open models are trained on. */
const TEMPLATE = new Template(
  [
    "{%- if tools %}<|start|>system\nTools:{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}<|end|>\n{% endif %}",
    "{%- for message in messages %}",
    "{%- if message.role not in ['system', 'user', 'assistant', 'tool'] %}{{ raise_exception('Unknown role') }}{% endif %}",
    "{%- if message.role == 'assistant' and message.tool_calls %}<|start|>assistant\n{{ message.content }}",
    "{%- for call in message.tool_calls %}{%- if call.id | length != 9 %}{{ raise_exception('Ids of calls have nine letters and digits') }}{% endif %}",
    '\n<tool_call>\n{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|end|>\n',
    "{%- elif message.role == 'tool' %}<|start|>tool\n<tool_response>\n{{ message.content }}\n</tool_response><|end|>\n",
    "{%- else %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endif %}",
    "{%- endfor %}",
  ].join(""),
);

// oxlint-disable-next-line typescript/no-explicit-any -- a line may hold anything, which is what is looked at
type Line = any;

async function linesOf(format: "openai" | "anthropic" | "huggingface"): Promise<readonly Line[]> {
  return (await generated({ plan: PLAN, format })).lines.map((line) => JSON.parse(line));
}

/** A request with the messages that a trainer learns from; the last one, the reply, is left out. */
function request(line: Line, more: JsonObject): CheckedRequest {
  const { messages, tools, system } = line;
  const body = { ...more, messages: messages.slice(0, -1), tools, ...(system !== undefined && { system }) };
  const headers = { "x-api-key": "k", authorization: "Bearer k", "anthropic-version": "2023-06-01" };
  return { body, path: "/", query: new URLSearchParams(), headers, signatures: new Map() };
}

describe("issue 16.3 lines are accepted by other readers", () => {
  test("huggingface: a chat template renders every text, call and result", async () => {
    for (const { messages, tools } of await linesOf("huggingface")) {
      const text = TEMPLATE.render({ messages, tools });
      for (const { role, content, tool_calls: calls = [] } of messages) {
        expect(text).toContain(`<|start|>${role}\n`);
        expect(text).toContain(content);
        for (const { function: made } of calls) expect(text).toContain(`{"name": "${made.name}", "arguments": {`);
      }
      const said = [...text.matchAll(/<tool_call>\n(.*)\n<\/tool_call>/gu)].map(([, call = ""]) => JSON.parse(call));
      expect(said).toEqual(
        messages.flatMap((message: Line) =>
          (message.tool_calls ?? []).map((call: Line) => ({ name: call.function.name, arguments: call.function.arguments })),
        ),
      );
    }
  });

  test("huggingface: with one call per message, a chat template that shows only the first call shows all of them", async () => {
    const template = new Template(
      "{% for message in messages %}{% if message.tool_calls %}{{ message.tool_calls[0].function.name }}({{ message.tool_calls[0].function.arguments | tojson }})\n{% endif %}{% endfor %}",
    );
    const { lines, summary } = await generated({ plan: PLAN, format: "huggingface", parallelCalls: false });
    const shown = lines.map((line) => template.render({ messages: JSON.parse(line).messages }).match(/^\w+\(\{.*\}\)$/gmu)?.length ?? 0);
    expect(shown.reduce((sum, calls) => sum + calls, 0)).toBe(summary.calls);
    const several = (await linesOf("huggingface")).map(
      ({ messages }) => template.render({ messages }).match(/^\w+\(\{.*\}\)$/gmu)?.length ?? 0,
    );
    expect(several.reduce((sum, calls) => sum + calls, 0)).toBeLessThan(summary.calls); // it is such a template
  });

  test("openai: Chat Completions accepts the messages and tools", async () => {
    const dialect = openAiChatDialect(OPENAI_CHAT);
    for (const line of await linesOf("openai")) {
      expect(() => dialect.check(request(line, { model: "m" }))).not.toThrow();
      expect(line.messages.at(-1)).toEqual({ role: "assistant", content: expect.any(String) });
    }
  });

  test("anthropic: the Messages API accepts the messages and tools", async () => {
    for (const line of await linesOf("anthropic")) {
      expect(() => ANTHROPIC_MESSAGES.check(request(line, { model: "m", max_tokens: 100 }))).not.toThrow();
      expect(line.messages.at(-1).role).toBe("assistant");
    }
  });

  test("a line cut off after a call is rejected by both", async () => {
    const [openai] = await linesOf("openai");
    const [anthropic] = await linesOf("anthropic");
    const cutAt = (line: Line, isCall: (message: Line) => boolean): Line => {
      const at = line.messages.findIndex(isCall);
      return {
        ...line,
        messages: [...line.messages.slice(0, at + 1), { role: "user", content: "Go on." }, { role: "assistant", content: "x" }],
      };
    };
    const openaiCut = cutAt(openai, ({ tool_calls: calls }) => calls !== undefined);
    const anthropicCut = cutAt(anthropic, ({ content }) => Array.isArray(content) && content.some(({ type }: Line) => type === "tool_use"));
    expect(() => openAiChatDialect(OPENAI_CHAT).check(request(openaiCut, { model: "m" }))).toThrow();
    expect(() => ANTHROPIC_MESSAGES.check(request(anthropicCut, { model: "m", max_tokens: 100 }))).toThrow();
  });
});
