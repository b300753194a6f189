/** Providers that refuse the reasoning of earlier replies are asked once more without it. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { modelFrom } from "../../src/model/model-from.ts";
import type { ModelRetrySettings } from "../../src/model/http-model.ts";
import { UsageMeter } from "../../src/model/usage-meter.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireNote } from "../../src/wire/wire-format.ts";
import { answered, called, said } from "../wire/conversations.ts";
import { hasty, listen, serve } from "./listen.ts";
import type { ServedAnswer } from "./provider-server.ts";

/** As Anthropic says it since Claude Fable 5.1, of a conversation whose system prompt, tools or messages have changed. */
const BOUND =
  "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or " +
  'set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
const REFUSAL = { status: 400, kind: "invalid_request_error", message: BOUND } as const;
const HELLO = { text: "Hello." } as const;

const PROVIDERS = [
  {
    provider: "anthropic",
    served: "anthropic-messages",
    format: "anthropic-messages",
    thought: { type: "thinking", thinking: "", signature: "s" },
    text: (text: string) => ({ type: "text", text }),
  },
  {
    provider: "bedrock",
    served: "bedrock-converse",
    format: "bedrock-converse",
    thought: { reasoningContent: { reasoningText: { text: "", signature: "s" } } },
    text: (text: string) => ({ text }),
  },
] as const;
type Row = (typeof PROVIDERS)[number];

function conversation({ format, thought, text }: Row): readonly ModelMessage[] {
  const thoughtful = (words: string, blocks: readonly JsonObject[]) => ({ ...said("assistant", words), native: { format, blocks } });
  return [
    said("user", "One?"),
    thoughtful("One.", [thought, text("One.")]),
    said("user", "Two?"),
    thoughtful("Two.", [thought, text("Two"), thought, text(".")]),
    said("user", "Three?"),
  ];
}

async function asked(row: Row, script: readonly ServedAnswer[], messages = conversation(row), retry: ModelRetrySettings = {}) {
  const server = await serve({ format: row.served, script });
  const { waits, ports } = hasty();
  const meter = new UsageMeter();
  const notes: WireNote[] = [];
  const model = modelFrom({
    provider: row.provider,
    model: "claude-opus-5-5",
    apiKey: "key",
    baseUrl: server.url,
    ports,
    meter,
    retry,
    onNotes: (all) => notes.push(...all),
  });
  const { reply, error } = await listen(model, { messages });
  const sent = server.requests.map(({ body }) => JSON.stringify(body["messages"]).split('"signature"').length - 1);
  return { reply, error, sent, notes: notes.map(({ note }) => note), waits, server, model };
}

test.each(PROVIDERS)("$provider gets one immediate retry without the reasoning that it refused", async (row) => {
  const { reply, sent, notes, waits, server, model } = await asked(row, [REFUSAL, HELLO]);
  expect(reply?.text).toBe("Hello.");
  expect(sent).toEqual([3, 0]);
  expect(server.requests[1]?.body["messages"]).toEqual([
    { role: "user", content: [row.text("One?")] },
    { role: "assistant", content: [row.text("One.")] },
    { role: "user", content: [row.text("Two?")] },
    { role: "assistant", content: [row.text("Two"), row.text(".")] },
    { role: "user", content: [row.text("Three?")] },
  ]);
  expect(notes).toEqual([`${model.name} refused the reasoning of earlier replies, so it is left out.`]);
  expect(waits.every((wait) => wait === 0)).toBe(true);
});

test.each(PROVIDERS)("$provider gets no further retry when the one without reasoning is refused too, or for another error", async (row) => {
  const twice = await asked(row, [REFUSAL, REFUSAL, HELLO]);
  expect([twice.error?.code, twice.sent]).toEqual(["model_failed", [3, 0]]);
  const other = await asked(row, [{ ...REFUSAL, message: "max_tokens: too many" }, HELLO]);
  expect([other.error?.code, other.sent]).toEqual(["model_failed", [3]]);
  const plain = await asked(row, [REFUSAL, HELLO], [said("user", "One?")]);
  expect([plain.error?.code, plain.sent]).toEqual(["model_failed", [0]]);
});

test.each(PROVIDERS)("an overload after the retry without reasoning is retried as usual", async (row) => {
  const { reply, sent } = await asked(row, [REFUSAL, { status: 529, kind: "overloaded_error", message: "Overloaded" }, HELLO]);
  expect([reply?.text, sent]).toEqual(["Hello.", [3, 0, 0]]);
});

const BUDGET = { type: "enabled", budget_tokens: 2_000 } as const;
const ADAPTIVE = { type: "adaptive" } as const;

describe.each([
  {
    provider: "anthropic",
    native: (thinking: JsonObject): JsonObject => ({ thinking }),
    blocks: [
      { type: "thinking", thinking: "", signature: "s" },
      { type: "tool_use", id: "t1", name: "look", input: {} },
    ],
    format: "anthropic-messages",
  },
  {
    provider: "bedrock",
    native: (thinking: JsonObject): JsonObject => ({ additionalModelRequestFields: { thinking, top_k: 5 } }),
    blocks: [
      { reasoningContent: { reasoningText: { text: "", signature: "s" } } },
      { toolUse: { toolUseId: "t1", name: "look", input: {} } },
    ],
    format: "bedrock-converse",
  },
  {
    provider: "bedrock",
    native: (thinking: JsonObject): JsonObject => ({ additionalModelRequestFields: { reasoning_config: thinking, top_k: 5 } }),
    blocks: [{ reasoningContent: { redactedContent: "cg==" } }, { toolUse: { toolUseId: "t1", name: "look", input: {} } }],
    format: "bedrock-converse",
  },
] as const)("$provider, asked between a call and its result,", ({ provider, native, blocks, format }) => {
  async function sent(thinking: JsonObject, more: readonly ModelMessage[] = []) {
    const server = await serve({ format, script: [REFUSAL, HELLO] });
    const model = modelFrom({ provider, model: "claude-opus-4-5", apiKey: "key", baseUrl: server.url, ports: hasty().ports });
    const calling = { ...said("assistant", ""), native: { format, blocks } };
    const messages = [said("user", "Look."), calling, called("c1", "look", { id: "t1" }), answered("c1", "look", { output: 1 }), ...more];
    const tools = [{ name: "look", description: "", inputSchema: { type: "object" } }];
    const { reply } = await listen(model, { messages, tools, native: native(thinking) });
    expect(reply?.text).toBe("Hello.");
    return server.requests.map(({ body }) => {
      const own = body["additionalModelRequestFields"] as JsonObject | undefined;
      expect(own === undefined ? 5 : own["top_k"]).toBe(5);
      return own === undefined ? body["thinking"] : (own["thinking"] ?? own["reasoning_config"]);
    });
  }

  test("does not get a thinking budget, which would need the removed block", async () => {
    expect(await sent(BUDGET)).toEqual([BUDGET, undefined]);
  });

  test("gets its thinking settings unchanged where no removed block is needed", async () => {
    expect(await sent(ADAPTIVE)).toEqual([ADAPTIVE, ADAPTIVE]);
    expect(await sent(BUDGET, [said("assistant", "One."), said("user", "And now?")])).toEqual([BUDGET, BUDGET]);
  });
});

test.each(PROVIDERS)("the retry without reasoning does not count towards maxAttempts, and no further attempt is made", async (row) => {
  const once = { maxAttempts: 1 };
  const { reply, sent } = await asked(row, [REFUSAL, HELLO], conversation(row), once);
  expect([reply?.text, sent]).toEqual(["Hello.", [3, 0]]);
  const overloaded = { status: 529, kind: "overloaded_error", message: "Overloaded" } as const;
  const { error, sent: twice } = await asked(row, [REFUSAL, overloaded, HELLO], conversation(row), once);
  expect([error?.code, twice]).toEqual(["unavailable", [3, 0]]);
});

/** As OpenAI says it of reasoning that another deployment has encrypted. */
const NOT_OURS = {
  status: 400,
  kind: "invalid_request_error",
  message: "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
} as const;

test("openai gets one retry without reasoning encrypted by another deployment, with all of its calls", async () => {
  const server = await serve({ format: "openai-responses", script: [NOT_OURS, HELLO] });
  const notes: WireNote[] = [];
  const { ports } = hasty();
  const settings = { provider: "openai", model: "gpt-6.2-sol", apiKey: "key", baseUrl: server.url, ports } as const;
  const model = modelFrom({ ...settings, onNotes: (all) => notes.push(...all) });
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "e" };
  const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: "{}", status: "completed" };
  const messages = [
    said("user", "Look."),
    { ...said("assistant", ""), native: { format: "openai-responses", blocks: [reasoning, call] } },
    called("c1", "look", { id: "call_1" }),
    answered("c1", "look", { output: "a tree" }),
  ];
  const { reply, error } = await listen(model, { messages, tools: [{ name: "look", description: "", inputSchema: { type: "object" } }] });
  expect([reply?.text, error]).toEqual(["Hello.", undefined]);
  const { id: _id, ...known } = call;
  expect(server.requests.map(({ body }) => body["input"])).toEqual([
    [
      { type: "message", role: "user", content: "Look." },
      reasoning,
      call,
      { type: "function_call_output", call_id: "call_1", output: "a tree" },
    ],
    [{ type: "message", role: "user", content: "Look." }, known, { type: "function_call_output", call_id: "call_1", output: "a tree" }],
  ]);
  expect(notes.map(({ note }) => note)).toEqual([`${model.name} refused the reasoning of earlier replies, so it is left out.`]);
});

test("items that followed removed reasoning lose their ids, so that openai does not look for it", () => {
  const { withoutRefused } = openAiResponses();
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "e" };
  const led = ["message", "function_call", "custom_tool_call", "shell_call", "apply_patch_call", "tool_search_call"].map((type) => ({
    type,
    call_id: "call_1",
    status: "completed",
  }));
  const searched = { type: "web_search_call", id: "ws_1", status: "completed" };
  const output = { type: "function_call_output", call_id: "call_1", output: "a tree" };
  const input = [reasoning, ...led.map((item, index) => ({ ...item, id: `item_${index}` })), searched, output];
  expect(withoutRefused?.({ model: "m", input }, NOT_OURS.message)).toEqual({ model: "m", input: [...led, searched, output] });
});
