/** Every reason and block that the providers' own libraries list is read without loss, whole and streamed; items are in `client-tools.test.ts`. */
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ModelReply } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { answered, called, said } from "./conversations.ts";

const TOOL_NAMES = new Map([
  ["look", "eyes::look"],
  ["computer", "pc::use"],
]);

function streamed(format: WireFormat, events: readonly JsonObject[]): ModelReply {
  const decoder = format.decodeStream({ toolNames: TOOL_NAMES });
  const last = [...events.flatMap((event) => decoder.push(event)), ...decoder.end()].at(-1);
  if (last?.type !== "reply-end") throw new Error("no reply");
  return last.reply;
}

/** What the provider is sent of a reply in the request after it. */
function sentBack(format: WireFormat, { text, native, calls }: ModelReply): readonly JsonObject[] {
  const messages = [
    said("user", "Go"),
    { ...said("assistant", text), ...(native === undefined ? {} : { native }) },
    ...calls.map(({ id = "", name, input }) => called(id, name, { id, input: input as JsonValue })),
    ...calls.map(({ id = "", name }) => answered(id, name, { output: "done" })),
    ...(calls.length === 0 ? [said("user", "And?")] : []),
  ];
  return format.encodeMessages(messages).messages;
}

describe("Anthropic", () => {
  const FORMAT = anthropicMessages();
  const message = (content: readonly JsonObject[], stop_reason: string): JsonObject => ({
    type: "message",
    id: "m",
    role: "assistant",
    content,
    stop_reason,
  });
  const events = (content: readonly JsonObject[], stop_reason: string): readonly JsonObject[] => [
    { type: "message_start", message: { ...message([], stop_reason), stop_reason: null } },
    ...content.flatMap((content_block, index) => [
      { type: "content_block_start", index, content_block },
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason } },
    { type: "message_stop" },
  ];

  /** `BetaStopReason` of @anthropic-ai/sdk 1.14.0. */
  const REASONS = {
    end_turn: "stop",
    max_tokens: "length",
    stop_sequence: "stop",
    tool_use: "calls",
    pause_turn: "pause",
    compaction: "pause",
    refusal: "refusal",
    model_context_window_exceeded: "length",
  } as const;
  test.each(Object.entries(REASONS))("the stop reason %s is decoded as %s", (reason, finish) => {
    const content = [
      { type: "text", text: "Hm." },
      ...(reason === "tool_use" ? [{ type: "tool_use", id: "t", name: "look", input: {} }] : []),
    ];
    for (const reply of [FORMAT.decodeReply(message(content, reason)), streamed(FORMAT, events(content, reason))])
      expect([reply.finish, reply.finishDetail]).toEqual([finish, reason]);
  });

  /** `RefusalStopDetails` of the same. */
  const DETAILS = [
    [{ type: "refusal", category: "cyber", explanation: "It could harm." }, "refusal: It could harm."],
    [{ type: "refusal", category: "bio", explanation: null }, "refusal: bio"],
    [{ type: "refusal", category: null, explanation: null }, "refusal"],
    [null, "refusal"],
  ] as const;
  test.each(DETAILS)("a refusal with the details %j is reported as %s", (stop_details, detail) => {
    const delta = { type: "message_delta", delta: { stop_reason: "refusal", stop_details } };
    for (const reply of [
      FORMAT.decodeReply({ ...message([], "refusal"), stop_details }),
      streamed(FORMAT, [...events([], "refusal").slice(0, 1), delta, { type: "message_stop" }]),
    ])
      expect([reply.finish, reply.finishDetail]).toEqual(["refusal", detail]);
  });

  /** The blocks of `BetaContentBlock`, each with the block that it belongs to; text, calls and unknown blocks around them. */
  const BLOCKS: readonly (readonly JsonObject[])[] = [
    [{ type: "thinking", thinking: "", signature: "s" }],
    [{ type: "redacted_thinking", data: "x" }],
    ...[
      ["web_search", "web_search_tool_result"],
      ["web_fetch", "web_fetch_tool_result"],
      ["code_execution", "code_execution_tool_result"],
      ["bash_code_execution", "bash_code_execution_tool_result"],
      ["text_editor_code_execution", "text_editor_code_execution_tool_result"],
      ["tool_search_tool_bm25", "tool_search_tool_result"],
      ["advisor", "advisor_tool_result"],
    ].map(([name = "", type = ""]) => [
      { type: "server_tool_use", id: "srv", name, input: { q: 1 }, caller: { type: "direct" } },
      { type, tool_use_id: "srv", content: { type: `${type}_error`, error_code: "unavailable" } },
    ]),
    [
      { type: "mcp_tool_use", id: "mcp", name: "n", server_name: "s", input: {} },
      { type: "mcp_tool_result", tool_use_id: "mcp", is_error: false, content: [] },
    ],
    [{ type: "mcp_tool_listing", server_name: "s", tools: [] }],
    [{ type: "container_upload", file_id: "f" }],
    [{ type: "compaction", content: "So far.", encrypted_content: "e" }],
    [{ type: "fallback", from: { model: "a" }, to: { model: "b" }, trigger: { type: "refusal" } }],
    [{ type: "not_known_yet", anything: [1] }],
  ];
  test.each(BLOCKS)("the block %o is sent back unchanged, and the call after it is run once", (...blocks) => {
    const call = { type: "tool_use", id: "t", name: "look", input: { at: 1 }, caller: { type: "direct" } };
    const content = [{ type: "text", text: "I look." }, ...blocks, call];
    for (const reply of [
      FORMAT.decodeReply(message(content, "tool_use"), { toolNames: TOOL_NAMES }),
      streamed(FORMAT, events(content, "tool_use")),
    ]) {
      expect(reply.calls).toEqual([{ id: "t", name: "eyes::look", input: { at: 1 } }]);
      expect(sentBack(FORMAT, reply)[1]).toEqual({ role: "assistant", content });
    }
  });

  describe("a toolset", () => {
    const member = { type: "tool_use", id: "t", name: "left_click", toolset_name: "computer", caller: { type: "direct" } };
    const input = { coordinate: [1, 2] };
    const replies = (): readonly ModelReply[] => {
      const whole = { ...member, input };
      const pieces = [
        { type: "content_block_start", index: 0, content_block: { ...member, input: {} } },
        ...['{"coordi', 'nate":[1,2]}'].map((partial_json) => ({
          type: "content_block_delta",
          index: 0,
          delta: { type: "input_json_delta", partial_json },
        })),
      ];
      return [
        FORMAT.decodeReply(message([whole], "tool_use"), { toolNames: TOOL_NAMES }),
        streamed(FORMAT, events([whole], "tool_use")),
        streamed(FORMAT, [...events([], "tool_use").slice(0, 1), ...pieces, ...events([], "tool_use").slice(1)]),
      ];
    };

    test("is one tool: calls of its members are calls of the tool, with the member as action", () => {
      for (const { calls } of replies())
        expect(calls).toEqual([
          { id: "t", name: "pc::use", input: { coordinate: [1, 2], action: "left_click" }, native: { toolset_name: "computer" } },
        ]);
    });

    test("gets the member in the input also if the JSON text is damaged, so that it can be repaired", () => {
      const piece = { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: ' {"coordinate":[1,2],}' } };
      const start = { type: "content_block_start", index: 0, content_block: { ...member, input: {} } };
      const [begin = {}, ...rest] = events([], "tool_use");
      const { calls } = streamed(FORMAT, [begin, start, piece, ...rest]);
      expect(calls).toEqual([
        { id: "t", name: "pc::use", input: '{"action":"left_click","coordinate":[1,2],}', native: { toolset_name: "computer" } },
      ]);
    });

    test("gets its calls back unchanged, and results with its name", () => {
      for (const reply of replies())
        expect(sentBack(FORMAT, reply).slice(1)).toEqual([
          { role: "assistant", content: [{ ...member, input }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "done", toolset_name: "computer" }] },
        ]);
    });

    test.each(["computer", "browser"])("is sent as a native toolset, without a name: %s", (family) => {
      const words = { type: `${family}_toolset_20260801` };
      const tool = { name: "pc::use", description: "", inputSchema: { type: "object" }, providers: { "anthropic-messages": words } };
      const { tools, toolNames } = FORMAT.encodeTools([tool]);
      expect([tools, [...toolNames]]).toEqual([[words], [[family, "pc::use"]]]);
    });
  });
});

describe("OpenAI's Responses", () => {
  const FORMAT = openAiResponses();
  const whole = (output: readonly JsonObject[], fields: JsonObject = { status: "completed" }): JsonObject => ({
    id: "r",
    output,
    ...fields,
  });
  const events = (output: readonly JsonObject[], fields: JsonObject = { status: "completed" }): readonly JsonObject[] => [
    { type: "response.created", response: { id: "r" } },
    ...output.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: fields["status"] === "incomplete" ? "response.incomplete" : "response.completed", response: whole(output, fields) },
  ];

  /** `Response.IncompleteDetails.reason` of openai 7.59.0. */
  const REASONS = { max_output_tokens: "length", max_messages: "length", content_filter: "content-filter", steered: "pause" } as const;
  test.each(Object.entries(REASONS))("a response that is incomplete for %s ends as %s", (reason, finish) => {
    const fields = { status: "incomplete", incomplete_details: { reason } };
    for (const reply of [FORMAT.decodeReply(whole([], fields)), streamed(FORMAT, events([], fields))])
      expect([reply.finish, reply.finishDetail]).toEqual([finish, reason]);
  });
});

/** Reasons of the other formats, from the libraries of 2026-11. */
describe("finish reasons", () => {
  /** `FinishReason` of @google/genai 3.3.0. */
  const GEMINI = {
    STOP: "stop",
    MAX_TOKENS: "length",
    SAFETY: "content-filter",
    RECITATION: "content-filter",
    LANGUAGE: "content-filter",
    BLOCKLIST: "content-filter",
    PROHIBITED_CONTENT: "content-filter",
    SPII: "content-filter",
    IMAGE_SAFETY: "content-filter",
    IMAGE_PROHIBITED_CONTENT: "content-filter",
    IMAGE_RECITATION: "content-filter",
    ESCALATION: "content-filter",
    PUP_LIMITED_DISABLED: "content-filter",
    MODEL_ARMOR: "content-filter",
    MALFORMED_FUNCTION_CALL: "error",
    UNEXPECTED_TOOL_CALL: "error",
    TOO_MANY_TOOL_CALLS: "error",
    MISSING_THOUGHT_SIGNATURE: "error",
    MALFORMED_RESPONSE: "error",
    IMAGE_OTHER: "error",
    NO_IMAGE: "error",
    CONTINUATION: "pause",
    OTHER: "other",
  } as const;
  test.each(Object.entries(GEMINI))("Gemini's %s is decoded as %s", (finishReason, finish) => {
    expect(gemini().decodeReply({ candidates: [{ content: { parts: [] }, finishReason }] }).finish).toBe(finish);
  });

  /** `InteractionStatus` of the same. */
  const INTERACTIONS = {
    completed: "stop",
    requires_action: "stop",
    incomplete: "length",
    budget_exceeded: "length",
    requires_continuation: "pause",
    failed: "error",
    cancelled: "error",
  } as const;
  test.each(Object.entries(INTERACTIONS))("the status %s of an interaction is decoded as %s", (status, finish) => {
    expect(geminiInteractions().decodeReply({ steps: [], status }).finish).toBe(finish);
  });

  /** `StopReason` of @aws-sdk/client-bedrock-runtime 3.1164. */
  const BEDROCK = {
    content_filtered: "content-filter",
    end_turn: "stop",
    guardrail_intervened: "content-filter",
    malformed_model_output: "error",
    malformed_tool_use: "error",
    max_tokens: "length",
    model_context_window_exceeded: "length",
    stop_sequence: "stop",
    tool_use: "calls",
  } as const;
  test.each(Object.entries(BEDROCK))("Bedrock's %s is decoded as %s", (stopReason, finish) => {
    const content = stopReason === "tool_use" ? [{ toolUse: { toolUseId: "t", name: "look", input: {} } }] : [{ text: "Hm." }];
    expect(bedrockConverse().decodeReply({ output: { message: { role: "assistant", content } }, stopReason }).finish).toBe(finish);
  });

  /** Of openai 7.59.0, @mistralai/mistralai 2.7.0 and cohere-ai 8.1.0. */
  const CHAT = { stop: "stop", length: "length", content_filter: "content-filter", model_length: "length", error: "error" } as const;
  test.each(Object.entries(CHAT))("%s of Chat Completions is decoded as %s", (finish_reason, finish) => {
    const choices = [{ index: 0, finish_reason, message: { role: "assistant", content: "Hm." } }];
    expect(openAiChat().decodeReply({ choices }).finish).toBe(finish);
  });

  const COHERE = { COMPLETE: "stop", STOP_SEQUENCE: "stop", MAX_TOKENS: "length", ERROR: "error", TIMEOUT: "error" } as const;
  test.each(Object.entries(COHERE))("Cohere's %s is decoded as %s", (finish_reason, finish) => {
    expect(cohere().decodeReply({ id: "c", finish_reason, message: { content: [{ type: "text", text: "Hm." }] } }).finish).toBe(finish);
  });
});
