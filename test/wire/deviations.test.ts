/** What providers are known to send beside their documentation, each in a message of our own: read whole, in pieces, and byte by byte. */
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { FinishReason, ModelCall, ProviderCall } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { allEvents, allPieces, frame, replyOf } from "./recorded-cases.ts";

interface Deviation {
  readonly title: string;
  readonly format: WireFormat;
  /** The stream; left out where only whole replies do so. */
  readonly pieces?: readonly JsonValue[];
  /** The same message at once. */
  readonly body?: JsonValue;
  readonly calls?: readonly ModelCall[];
  readonly providerCalls?: readonly ProviderCall[];
  readonly finish?: FinishReason;
  readonly text?: string;
}

const X = { x: 1 } as const;

// Chat Completions

function chunk(delta: JsonObject, finish: string | null = null): JsonObject {
  return { id: "chat_1", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] };
}

function piece(fields: JsonObject, said: JsonObject = {}): JsonObject {
  return chunk({ tool_calls: [{ ...fields, function: said }] });
}

function chatBody(message: JsonObject, finish = "tool_calls"): JsonObject {
  return { id: "chat_1", model: "m", choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }] };
}

const END = chunk({}, "tool_calls");
const WHOLE = { id: "call_1", type: "function", function: { name: "get", arguments: '{"x":1}' } } as const;
const GET = { id: "call_1", name: "get", input: X } as const;

const CHAT: readonly Deviation[] = [
  {
    title: "Groq: a call complete in one chunk, after reasoning with a channel",
    format: openAiChat("groq"),
    pieces: [
      chunk({ role: "assistant", content: null, reasoning: "Hm.", channel: "analysis" }),
      chunk({ tool_calls: [{ index: 0, ...WHOLE }] }),
      END,
      "[DONE]",
    ],
    body: chatBody({ reasoning: "Hm.", tool_calls: [WHOLE] }),
    calls: [GET],
  },
  {
    title: "xAI: two calls in the last chunk",
    format: openAiChat("xai"),
    pieces: [
      chunk(
        {
          tool_calls: [
            { index: 0, ...WHOLE },
            { index: 1, ...WHOLE, id: "call_2" },
          ],
        },
        "tool_calls",
      ),
      "[DONE]",
    ],
    body: chatBody({ content: "", tool_calls: [WHOLE, { ...WHOLE, id: "call_2" }] }),
    calls: [GET, { ...GET, id: "call_2" }],
  },
  {
    title: "Mistral: no index, no type",
    format: mistral(),
    pieces: [
      chunk({ role: "assistant", content: "" }),
      chunk({ tool_calls: [{ id: "a1b2c3d4e", function: { name: "get", arguments: '{"x":1}' } }] }, "tool_calls"),
      "[DONE]",
    ],
    body: chatBody({ tool_calls: [{ id: "a1b2c3d4e", function: { name: "get", arguments: '{"x":1}' } }] }),
    calls: [{ ...GET, id: "a1b2c3d4e" }],
  },
  {
    title: "Mistral: arguments as an object",
    format: mistral(),
    pieces: [chunk({ tool_calls: [{ id: "a1b2c3d4e", function: { name: "get", arguments: X } }] }, "tool_calls")],
    body: chatBody({ tool_calls: [{ id: "a1b2c3d4e", function: { name: "get", arguments: X } }] }),
    calls: [{ ...GET, id: "a1b2c3d4e" }],
  },
  {
    title: "GLM through Mistral: an empty name repeated in every chunk, without id and role",
    format: mistral(),
    pieces: [
      piece({ id: "a1b2c3d4e" }, { name: "get", arguments: "" }),
      piece({}, { name: "", arguments: '{"x"' }),
      piece({}, { name: "", arguments: ":1}" }),
      END,
    ],
    calls: [{ ...GET, id: "a1b2c3d4e" }],
  },
  {
    title: "Anthropic through Chat Completions: calls begin at index 1, after text",
    format: openAiChat(),
    pieces: [
      chunk({ content: "Hi." }),
      piece({ index: 1, id: "call_1", type: "function" }, { name: "get", arguments: "" }),
      piece({ index: 1 }, { arguments: '{"x":1}' }),
      piece({ index: 2, id: "call_2", type: "function" }, { name: "now", arguments: "" }),
      END,
      "[DONE]",
    ],
    calls: [GET, { id: "call_2", name: "now", input: {} }],
    text: "Hi.",
  },
  {
    title: "Gemini through Chat Completions: empty ids, the same index, and the reason stop",
    format: openAiChat("gemini"),
    pieces: [
      chunk({ tool_calls: [{ ...WHOLE, index: 0, id: "" }] }),
      chunk({ tool_calls: [{ ...WHOLE, index: 0, id: "" }] }, "stop"),
      "[DONE]",
    ],
    body: chatBody(
      {
        tool_calls: [
          { ...WHOLE, id: "" },
          { ...WHOLE, id: "" },
        ],
      },
      "stop",
    ),
    calls: [
      { name: "get", input: X },
      { name: "get", input: X },
    ],
  },
  {
    title: "Alibaba: the type in every chunk, and empty ids",
    format: openAiChat("alibaba"),
    pieces: [
      piece({ index: 0, id: "call_1", type: "function" }, { name: "get", arguments: "" }),
      piece({ index: 0, id: "", type: "function" }, { arguments: '{"x"' }),
      piece({ index: 0, id: "", type: "function" }, { name: null, arguments: ":1}" }),
      END,
      "[DONE]",
    ],
    calls: [GET],
  },
  {
    title: "interleaved calls",
    format: openAiChat(),
    pieces: [
      piece({ index: 0, id: "call_1" }, { name: "get", arguments: '{"x"' }),
      piece({ index: 1, id: "call_2" }, { name: "get", arguments: '{"x"' }),
      piece({ index: 0 }, { arguments: ":1}" }),
      piece({ index: 1 }, { arguments: ":1}" }),
      END,
    ],
    calls: [GET, { ...GET, id: "call_2" }],
  },
  {
    title: "DeepSeek: a call without arguments, behind reasoning",
    format: openAiChat("deepseek"),
    pieces: [chunk({ reasoning_content: "Hm." }), piece({ index: 0, id: "call_1" }, { name: "now", arguments: "" }), END],
    body: chatBody({
      reasoning_content: "Hm.",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "now", arguments: "" } }],
    }),
    calls: [{ id: "call_1", name: "now", input: {} }],
  },
  {
    title: "a custom call",
    format: openAiChat(),
    pieces: [
      chunk({ tool_calls: [{ index: 0, id: "call_1", type: "custom", custom: { name: "sql", input: "" } }] }),
      chunk({ tool_calls: [{ index: 0, custom: { input: "SELECT" } }] }),
      chunk({ tool_calls: [{ index: 0, custom: { input: " 1" } }] }),
      END,
    ],
    body: chatBody({ tool_calls: [{ id: "call_1", type: "custom", custom: { name: "sql", input: "SELECT 1" } }] }),
    calls: [{ id: "call_1", name: "sql", input: { input: "SELECT 1" }, kind: "custom" }],
  },
  {
    title: "a hallucinated wrapper around several calls",
    format: openAiChat(),
    pieces: [
      piece(
        { index: 0, id: "call_1" },
        { name: "multi_tool_use.parallel", arguments: '{"tool_uses":[{"recipient_name":"functions.web__get","parameters":{"x":1}},' },
      ),
      piece({ index: 0 }, { arguments: '{"recipient_name":"functions.now","parameters":{}}]}' }),
      END,
    ],
    calls: [
      { id: "call_1_0", name: "web::get", input: X },
      { id: "call_1_1", name: "now", input: {} },
    ],
  },
  {
    title: "two finish reasons, of which the first is used",
    format: openAiChat(),
    pieces: [chunk({ tool_calls: [{ index: 0, ...WHOLE }] }, "stop"), END, "[DONE]"],
    calls: [GET],
  },
  {
    title: "a stream with usage only",
    format: openAiChat(),
    pieces: [{ id: "c", choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }, "[DONE]"],
    finish: "stop",
  },
  {
    title: "truncated arguments",
    format: openAiChat(),
    pieces: [piece({ index: 0, id: "call_1" }, { name: "get", arguments: '{"x":' }), chunk({}, "length")],
    finish: "length",
  },
  {
    title: "a whole message beside an empty delta",
    format: openAiChat(),
    pieces: [
      { id: "c", choices: [{ index: 0, delta: {}, message: { role: "assistant", content: "Hi.", tool_calls: [WHOLE] } }] },
      END,
      "[DONE]",
    ],
    calls: [GET],
    text: "Hi.",
  },
  {
    title: "MiniMax: the whole message repeated after its deltas",
    format: openAiChat(),
    pieces: [
      chunk({ role: "assistant", content: "Hi." }),
      chunk({ tool_calls: [{ index: 0, ...WHOLE }] }),
      chatBody({ content: "Hi.", tool_calls: [WHOLE] }),
      "[DONE]",
    ],
    calls: [GET],
    text: "Hi.",
  },
  {
    title: "a stream without a finish reason or [DONE]",
    format: openAiChat(),
    pieces: [chunk({ tool_calls: [{ index: 0, ...WHOLE }] })],
    finish: "truncated",
  },
];

// Anthropic's Messages

function begin(content: readonly JsonObject[] = []): JsonObject {
  return {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content,
      stop_reason: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  };
}

function block(index: number, start: JsonObject, ...json: readonly string[]): readonly JsonObject[] {
  const deltas = json.map((partial_json) => ({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } }));
  return [{ type: "content_block_start", index, content_block: start }, ...deltas, { type: "content_block_stop", index }];
}

function finished(reason: string): readonly JsonObject[] {
  return [
    { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ];
}

function message(content: readonly JsonObject[], stop_reason: string): JsonObject {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content,
    stop_reason,
    usage: { input_tokens: 1, output_tokens: 9 },
  };
}

const USE = { type: "tool_use", id: "toolu_1", name: "get", input: {} } as const;
const USED = { id: "toolu_1", name: "get", input: X } as const;
const CODE = { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code: "get()" } } as const;
const FROM_CODE = { ...USE, input: X, caller: { type: "code_execution_20260120", tool_id: "srvtoolu_1" } } as const;
const SEARCHED = { type: "mcp_tool_use", id: "mcptoolu_1", name: "ask", server_name: "wiki", input: {} } as const;
const format = anthropicMessages();

const ANTHROPIC: readonly Deviation[] = [
  {
    title: "a call without arguments and without deltas",
    format,
    pieces: [begin(), ...block(0, USE), ...finished("tool_use")],
    body: message([USE], "tool_use"),
    calls: [{ ...USED, input: {} }],
  },
  {
    title: "an empty first delta",
    format,
    pieces: [begin(), ...block(0, USE, "", '{"x"', ":1}"), ...finished("tool_use")],
    body: message([{ ...USE, input: X }], "tool_use"),
    calls: [USED],
  },
  {
    title: "a message_start that contains the content",
    format,
    pieces: [begin([{ ...USE, input: X }]), ...finished("tool_use")],
    body: message([{ ...USE, input: X }], "tool_use"),
    calls: [USED],
  },
  {
    title: "a gateway that restarts the message in the middle",
    format,
    pieces: [begin(), ...block(0, { ...USE, id: "toolu_0" }, '{"x":7}'), begin(), ...block(0, USE, '{"x":1}'), ...finished("tool_use")],
    calls: [USED],
  },
  {
    title: "truncated input from eager streaming",
    format,
    pieces: [begin(), ...block(0, USE, '{"path": "/tm'), ...finished("max_tokens")],
    finish: "length",
  },
  {
    title: "input from eager streaming that is not JSON",
    format,
    pieces: [begin(), ...block(0, USE, '{"x": one}'), ...finished("tool_use")],
    calls: [{ ...USED, input: '{"x": one}' }],
  },
  {
    title: "a call made by provider-executed code, complete in its start event",
    format,
    pieces: [begin(), ...block(0, { ...CODE, input: {} }, '{"code":"get()"}'), ...block(1, FROM_CODE), ...finished("tool_use")],
    body: message([CODE, FROM_CODE], "tool_use"),
    calls: [USED],
    providerCalls: [{ id: "srvtoolu_1", name: "code_execution", kind: "server_tool_use", input: { code: "get()" } }],
  },
  {
    title: "the MCP connector",
    format,
    pieces: [
      begin(),
      ...block(0, SEARCHED, '{"q":"?"}'),
      ...block(1, { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [] }),
      ...finished("end_turn"),
    ],
    body: message(
      [
        { ...SEARCHED, input: { q: "?" } },
        { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", content: [] },
      ],
      "end_turn",
    ),
    finish: "stop",
    providerCalls: [{ id: "mcptoolu_1", name: "ask", kind: "mcp_tool_use", input: { q: "?" } }],
  },
  {
    title: "a provider-executed tool that pauses",
    format,
    pieces: [begin(), ...block(0, { ...CODE, input: {} }, '{"code":"get()"}'), ...finished("pause_turn")],
    body: message([CODE], "pause_turn"),
    finish: "pause",
    providerCalls: [{ id: "srvtoolu_1", name: "code_execution", kind: "server_tool_use", input: { code: "get()" } }],
  },
  {
    title: "a tool of a client toolset",
    format,
    pieces: [begin(), ...block(0, { ...USE, toolset_name: "browser" }, '{"x":1}'), ...finished("tool_use")],
    body: message([{ ...USE, input: X, toolset_name: "browser" }], "tool_use"),
    calls: [{ ...USED, name: "browser", input: { ...X, action: "get" }, native: { toolset_name: "browser" } }],
  },
  {
    title: "unknown blocks and deltas",
    format,
    pieces: [
      begin(),
      { type: "ping" },
      ...block(0, { type: "fallback", from: "a" }),
      { type: "content_block_delta", index: 7, delta: { type: "new_delta" } },
      ...block(1, USE, '{"x":1}'),
      ...finished("tool_use"),
    ],
    calls: [USED],
  },
];

// Responses

function added(output_index: number, item: JsonObject): JsonObject {
  return { type: "response.output_item.added", output_index, item };
}

function done(output_index: number, item: JsonObject): JsonObject {
  return { type: "response.output_item.done", output_index, item };
}

function response(output: readonly JsonObject[], status = "completed", rest: JsonObject = {}): JsonObject {
  return { id: "resp_1", object: "response", model: "m", status, output, usage: { input_tokens: 1, output_tokens: 1 }, ...rest };
}

const CREATED = { type: "response.created", response: response([], "in_progress") };
/** As some servers do, the end does not say again what was said. */
const COMPLETED = { type: "response.completed", response: response([]) };
const PATCH = {
  type: "apply_patch_call",
  id: "apc_1",
  call_id: "call_1",
  status: "completed",
  operation: { type: "create_file", path: "a", diff: "+a" },
} as const;
const SHELL = {
  type: "shell_call",
  id: "sh_1",
  call_id: "call_1",
  status: "completed",
  action: { commands: ["ls"] },
  environment: { type: "local" },
} as const;
const CUSTOM = { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "sql", input: "SELECT 1", status: "completed" } as const;
const CALL = { type: "function_call", id: "fc_1", call_id: "call_1", name: "get", arguments: '{"x":1}', status: "completed" } as const;
const MCP = { type: "mcp_call", id: "mcp_1", server_label: "wiki", name: "ask", arguments: '{"q":"?"}', output: "!", error: null } as const;
const LISTED = { type: "mcp_list_tools", id: "mcpl_1", server_label: "wiki", tools: [] } as const;
const PROGRAM = { type: "program", id: "pr_1", call_id: "call_p", code: "get()" } as const;
const responses = openAiResponses();

const RESPONSES: readonly Deviation[] = [
  {
    title: "a patch whose diff is streamed in deltas",
    format: responses,
    pieces: [
      CREATED,
      added(0, { ...PATCH, status: "in_progress", operation: { ...PATCH.operation, diff: "" } }),
      { type: "response.apply_patch_call_operation_diff.delta", output_index: 0, item_id: "apc_1", delta: "+a" },
      { type: "response.apply_patch_call_operation_diff.done", output_index: 0, item_id: "apc_1", diff: "+a" },
      done(0, PATCH),
      COMPLETED,
    ],
    body: response([PATCH]),
    calls: [{ id: "call_1", name: "apply_patch_call", input: { operation: PATCH.operation }, native: PATCH }],
  },
  {
    title: "a shell call whose commands are streamed in deltas",
    format: responses,
    pieces: [
      CREATED,
      added(0, { ...SHELL, status: "in_progress", action: { commands: [] } }),
      { type: "response.shell_call_command.added", output_index: 0, command_index: 0, command: "" },
      { type: "response.shell_call_command.delta", output_index: 0, command_index: 0, delta: "ls" },
      { type: "response.shell_call_command.done", output_index: 0, command_index: 0, command: "ls" },
      done(0, SHELL),
      COMPLETED,
    ],
    body: response([SHELL]),
    calls: [{ id: "call_1", name: "shell_call", input: { action: { commands: ["ls"] } }, native: SHELL }],
  },
  {
    title: "a custom call",
    format: responses,
    pieces: [
      CREATED,
      added(0, { ...CUSTOM, input: "", status: "in_progress" }),
      { type: "response.custom_tool_call_input.delta", output_index: 0, item_id: "ctc_1", delta: "SELECT" },
      { type: "response.custom_tool_call_input.delta", output_index: 0, item_id: "ctc_1", delta: " 1" },
      { type: "response.custom_tool_call_input.done", output_index: 0, item_id: "ctc_1", input: "SELECT 1" },
      done(0, CUSTOM),
      COMPLETED,
    ],
    body: response([CUSTOM]),
    calls: [{ id: "call_1", name: "sql", input: { input: "SELECT 1" }, kind: "custom" }],
  },
  {
    title: "a truncated custom call",
    format: responses,
    pieces: [
      CREATED,
      added(0, { ...CUSTOM, input: "", status: "in_progress" }),
      { type: "response.custom_tool_call_input.done", output_index: 0, item_id: "ctc_1", input: "SEL" },
      done(0, { ...CUSTOM, input: "SEL", status: "incomplete" }),
      { type: "response.incomplete", response: response([], "incomplete", { incomplete_details: { reason: "max_output_tokens" } }) },
    ],
    finish: "length",
  },
  {
    title: "a call made by provider-executed code",
    format: responses,
    pieces: [
      CREATED,
      added(0, PROGRAM),
      done(0, PROGRAM),
      added(1, { ...CALL, arguments: "", status: "in_progress" }),
      { type: "response.function_call_arguments.delta", output_index: 1, item_id: "fc_1", delta: '{"x":1}' },
      { type: "response.function_call_arguments.done", output_index: 1, item_id: "fc_1", arguments: '{"x":1}' },
      done(1, { ...CALL, caller: { type: "program", caller_id: "call_p" } }),
      COMPLETED,
    ],
    body: response([PROGRAM, { ...CALL, caller: { type: "program", caller_id: "call_p" } }]),
    calls: [{ ...GET, native: { type: "function_call", caller: { type: "program", caller_id: "call_p" } } }],
    providerCalls: [{ id: "call_p", name: "program", kind: "program", input: { code: "get()" } }],
  },
  {
    title: "provider-executed MCP",
    format: responses,
    pieces: [
      CREATED,
      added(0, LISTED),
      { type: "response.mcp_list_tools.completed", output_index: 0, item_id: "mcpl_1" },
      done(0, LISTED),
      added(1, { ...MCP, arguments: "", output: null }),
      { type: "response.mcp_call_arguments.delta", output_index: 1, item_id: "mcp_1", delta: '{"q":"?"}' },
      { type: "response.mcp_call_arguments.done", output_index: 1, item_id: "mcp_1", arguments: '{"q":"?"}' },
      done(1, MCP),
      COMPLETED,
    ],
    body: response([LISTED, MCP]),
    finish: "stop",
    providerCalls: [
      { id: "mcpl_1", name: "mcp_list_tools", kind: "mcp_list_tools", input: {} },
      { id: "mcp_1", name: "ask", kind: "mcp_call", input: { q: "?" } },
    ],
  },
  {
    title: "a tool found by provider-executed search, in its namespace",
    format: responses,
    body: response([
      { type: "tool_search_call", id: "ts_1", execution: "server", call_id: null, arguments: { paths: ["crm"] } },
      { type: "tool_search_output", id: "tso_1", execution: "server", call_id: null, tools: [] },
      { ...CALL, namespace: "crm" },
    ]),
    calls: [GET],
    providerCalls: [{ id: "ts_1", name: "tool_search_call", kind: "tool_search_call", input: { arguments: { paths: ["crm"] } } }],
  },
  {
    title: "a shell in a provider container",
    format: responses,
    body: response([{ ...SHELL, environment: { type: "container_reference", container_id: "c" } }]),
    finish: "stop",
    providerCalls: [{ id: "call_1", name: "shell_call", kind: "shell_call", input: { action: { commands: ["ls"] } } }],
  },
  {
    title: "unknown events",
    format: responses,
    pieces: [
      CREATED,
      { type: "response.new_thing.delta", output_index: 5, delta: "?" },
      done(0, CALL),
      { type: "response.queued", response: response([], "queued") },
      COMPLETED,
    ],
    calls: [GET],
  },
];

// The others

function contents(parts: readonly JsonObject[], finishReason?: string): JsonObject {
  return { candidates: [{ index: 0, content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) }] };
}

function value(jsonPath: string, fields: JsonObject): JsonObject {
  return contents([{ functionCall: { partialArgs: [{ jsonPath, ...fields }], willContinue: true } }]);
}

const OPENED = contents([{ functionCall: { name: "get", willContinue: true }, thoughtSignature: "c2ln" }]);
const SOME = { model: "m", message: { role: "assistant", content: "" }, done: false } as const;

function line(calls: readonly JsonObject[], rest: JsonObject = {}): JsonObject {
  return { ...SOME, message: { ...SOME.message, tool_calls: calls }, ...rest };
}

function told(type: string, fields: JsonObject): JsonObject {
  return { type, index: 0, delta: { message: { tool_calls: fields } } };
}

const OTHERS: readonly Deviation[] = [
  {
    title: "Vertex: arguments value by value",
    format: gemini(),
    pieces: [
      OPENED,
      value("$.city", { stringValue: "Os", willContinue: true }),
      value("$.city", { stringValue: "lo" }),
      value("$.days[0].n", { numberValue: 3 }),
      value("$.days[1].n", { nullValue: "NULL_VALUE" }),
      contents([{ functionCall: {} }], "STOP"),
    ],
    calls: [{ name: "get", input: { city: "Oslo", days: [{ n: 3 }, { n: null }] } }],
  },
  {
    title: "Vertex: a call without an end",
    format: gemini(),
    pieces: [OPENED, value("$.x", { numberValue: 1 }), contents([], "STOP")],
    calls: [{ name: "get", input: X }],
  },
  {
    title: "Vertex: the next call ends the previous one",
    format: gemini(),
    pieces: [
      OPENED,
      value("$.x", { numberValue: 1 }),
      contents([{ functionCall: { name: "now", willContinue: true } }]),
      contents([{ functionCall: {} }], "STOP"),
    ],
    calls: [
      { name: "get", input: X },
      { name: "now", input: {} },
    ],
  },
  {
    title: "Vertex: a string value that should continue makes the input incomplete",
    format: gemini(),
    pieces: [OPENED, value("$.path", { stringValue: "/etc/pass", willContinue: true }), contents([], "STOP")],
    calls: [{ name: "get", input: [{ jsonPath: "$.path", stringValue: "/etc/pass", willContinue: true }] }],
  },
  {
    title: "Gemini: an empty id and no arguments",
    format: gemini(),
    pieces: [contents([{ functionCall: { id: "", name: "now" } }], "STOP")],
    body: contents([{ functionCall: { id: "", name: "now" } }], "STOP"),
    calls: [{ name: "now", input: {} }],
  },
  {
    title: "Gemini: the finish reason FUNCTION_CALL of compatible servers",
    format: gemini(),
    pieces: [contents([{ functionCall: { name: "get", args: X } }], "FUNCTION_CALL")],
    body: contents([{ functionCall: { name: "get", args: X } }], "FUNCTION_CALL"),
    calls: [{ name: "get", input: X }],
  },
  {
    title: "Gemini: an unknown finish reason is not a normal end",
    format: gemini(),
    pieces: [contents([{ functionCall: { name: "get", args: X } }], "NEW_REASON")],
    body: contents([{ functionCall: { name: "get", args: X } }], "NEW_REASON"),
    finish: "other",
  },
  {
    title: "Gemini Interactions: arguments in deltas",
    format: geminiInteractions(),
    pieces: [
      { event_type: "interaction.created", interaction: { id: "i", status: "in_progress" } },
      { event_type: "step.start", index: 0, step: { type: "function_call", id: "call_1", name: "get" } },
      { event_type: "step.delta", index: 0, delta: { type: "arguments_delta", arguments: '{"x"' } },
      { event_type: "step.delta", index: 0, delta: { type: "arguments_delta", arguments: ":1}" } },
      { event_type: "step.stop", index: 0 },
      { event_type: "interaction.completed", interaction: { id: "i", status: "requires_action" } },
    ],
    body: { id: "i", status: "requires_action", steps: [{ type: "function_call", id: "call_1", name: "get", arguments: X }] },
    calls: [GET],
  },
  {
    title: "Bedrock: padding, and text without a start event",
    format: bedrockConverse(),
    pieces: [
      { messageStart: { role: "assistant", p: "abcd" } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: "Hi." }, p: "ab" } },
      { contentBlockStop: { contentBlockIndex: 0 } },
      { contentBlockStart: { contentBlockIndex: 1, start: { toolUse: { toolUseId: "call_1", name: "get" } } } },
      { contentBlockDelta: { contentBlockIndex: 1, delta: { toolUse: { input: '{"x":1}' } } } },
      { contentBlockStop: { contentBlockIndex: 1 } },
      { messageStop: { stopReason: "tool_use" } },
      { metadata: { usage: { inputTokens: 1, outputTokens: 1 } } },
    ],
    body: {
      output: { message: { role: "assistant", content: [{ text: "Hi." }, { toolUse: { toolUseId: "call_1", name: "get", input: X } }] } },
      stopReason: "tool_use",
    },
    calls: [GET],
    text: "Hi.",
  },
  {
    title: "Cohere: a plan, then a call in deltas",
    format: cohere(),
    pieces: [
      { type: "message-start", id: "c", delta: { message: { role: "assistant" } } },
      { type: "tool-plan-delta", delta: { message: { tool_plan: "I get." } } },
      told("tool-call-start", { id: "call_1", type: "function", function: { name: "get", arguments: "" } }),
      told("tool-call-delta", { function: { arguments: '{"x"' } }),
      told("tool-call-delta", { function: { arguments: ":1}" } }),
      { type: "tool-call-end", index: 0 },
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ],
    body: { id: "c", message: { role: "assistant", tool_plan: "I get.", tool_calls: [WHOLE] }, finish_reason: "TOOL_CALL" },
    calls: [GET],
  },
  {
    title: "Cohere: null for no arguments",
    format: cohere(),
    body: {
      id: "c",
      message: { role: "assistant", tool_calls: [{ ...WHOLE, function: { name: "now", arguments: "null" } }] },
      finish_reason: "TOOL_CALL",
    },
    calls: [{ id: "call_1", name: "now", input: {} }],
  },
  {
    title: "Ollama: calls in separate lines, and the finish reason stop",
    format: ollama(),
    pieces: [
      line([{ function: { name: "get", arguments: X } }]),
      line([{ id: "call_2", function: { index: 1, name: "now", arguments: {} } }]),
      { ...SOME, done: true, done_reason: "stop" },
    ],
    body: line([{ function: { name: "get", arguments: X } }, { id: "call_2", function: { index: 1, name: "now", arguments: {} } }], {
      done: true,
      done_reason: "stop",
    }),
    calls: [
      { name: "get", input: X },
      { id: "call_2", name: "now", input: {} },
    ],
  },
];

describe.each([
  { api: "Chat Completions", deviations: CHAT },
  { api: "Anthropic's Messages", deviations: ANTHROPIC },
  { api: "Responses", deviations: RESPONSES },
  { api: "the others", deviations: OTHERS },
])("$api", ({ deviations }) => {
  test.each(deviations)("H07 $title", ({ format: wire, pieces, body, calls = [], providerCalls = [], finish = "calls", text = "" }) => {
    const wanted = { calls, providerCalls, finish, text };
    const read = ({ calls: made, providerCalls: run, finish: why, text: said }: ReturnType<typeof replyOf>): object => ({
      calls: made,
      providerCalls: run,
      finish: why,
      text: said,
    });
    if (body !== undefined) expect(read(wire.decodeReply(body))).toEqual(wanted);
    if (pieces === undefined) return;
    const events = allEvents(wire, pieces);
    expect(read(replyOf(events))).toEqual(wanted);
    const sent = pieces.filter((one) => typeof one !== "string"); // end marks are no JSON
    const bytes = Buffer.concat([frame(wire.framing, sent), Buffer.from(sent.length < pieces.length ? "data: [DONE]\n\n" : "")]);
    const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(allEvents(wire, allPieces(wire.framing, single))).toEqual(events);
  });
});
