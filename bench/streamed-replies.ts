/** Streamed replies as three providers send them, in deltas of any length. */
const WORDS = 'The quick brown fox said "go" twice; the lazy dog – all of 12 years old – took it\nas a matter of taste. ';

export type Kind = "text" | "call";

const CHARS = 20_000;

/** Arguments as a model writes a file: one long text among short ones. */
export const CONTENT: Readonly<Record<Kind, string>> = {
  text: WORDS.repeat(Math.ceil(CHARS / WORDS.length)).slice(0, CHARS),
  call: JSON.stringify({
    path: "notes/today.md",
    lines: Array.from({ length: 40 }, (_, line) => ({ line, done: line % 2 === 0 })),
    text: WORDS.repeat(Math.ceil(CHARS / WORDS.length)).slice(0, CHARS - 1_500),
  }),
};

export function cut(text: string, chars: number): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / chars) }, (_, index) => text.slice(index * chars, (index + 1) * chars));
}

export function openAiChatReply(kind: Kind, chars: number): Uint8Array {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    data({
      id: "chatcmpl-Bk3nBx0mZ1",
      object: "chat.completion.chunk",
      created: 1_760_000_000,
      model: "gpt-5-mini-2025-08-07",
      service_tier: "default",
      system_fingerprint: "fp_4c2851f862",
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      usage: null,
    });
  const call = { index: 0, id: "call_Xw3SWkpV", type: "function", function: { name: "write_file", arguments: "" } };
  const pieces = cut(CONTENT[kind], chars);
  const deltas =
    kind === "text"
      ? [{ role: "assistant", content: "", refusal: null }, ...pieces.map((content) => ({ content }))]
      : [
          { role: "assistant", content: null, tool_calls: [call], refusal: null },
          ...pieces.map((text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
        ];
  return bytes([...deltas.map((delta) => chunk(delta)), chunk({}, kind === "text" ? "stop" : "tool_calls"), "data: [DONE]\n\n"]);
}

export function responsesReply(kind: Kind, chars: number): Uint8Array {
  let count = 0;
  const event = (type: string, fields: object): string => named(type, { type, sequence_number: count++, ...fields });
  const item_id = kind === "text" ? "msg_68ee0ea5" : "fc_68ee0ea5";
  const place = { item_id, output_index: 0 };
  const content = CONTENT[kind];
  const message = (text: readonly object[], status: string): object => ({
    id: item_id,
    type: "message",
    status,
    content: text,
    role: "assistant",
  });
  const call = (text: string, status: string): object => ({
    id: item_id,
    type: "function_call",
    status,
    arguments: text,
    call_id: "call_Xw3SWkpV",
    name: "write_file",
  });
  const part = (text: string): object => ({ type: "output_text", annotations: [], logprobs: [], text });
  const item = kind === "text" ? message([part(content)], "completed") : call(content, "completed");
  const response = (status: string, output: readonly object[], usage: object | null): object => ({
    id: "resp_68ee0ea5",
    object: "response",
    created_at: 1_760_000_000,
    status,
    model: "gpt-5-mini-2025-08-07",
    output,
    parallel_tool_calls: true,
    tools: [],
    usage,
  });
  const pieces = cut(content, chars);
  const begin = [event("response.created", { response: response("in_progress", [], null) })];
  const said =
    kind === "text"
      ? [
          event("response.output_item.added", { output_index: 0, item: message([], "in_progress") }),
          event("response.content_part.added", { ...place, content_index: 0, part: part("") }),
          ...pieces.map((delta) =>
            event("response.output_text.delta", { ...place, content_index: 0, delta, logprobs: [], obfuscation: "k3Jd9s" }),
          ),
          event("response.output_text.done", { ...place, content_index: 0, text: content, logprobs: [] }),
          event("response.content_part.done", { ...place, content_index: 0, part: part(content) }),
        ]
      : [
          event("response.output_item.added", { output_index: 0, item: call("", "in_progress") }),
          ...pieces.map((delta) => event("response.function_call_arguments.delta", { ...place, delta, obfuscation: "k3Jd9s" })),
          event("response.function_call_arguments.done", { ...place, arguments: content }),
        ];
  const usage = { input_tokens: 10, output_tokens: 5_000, total_tokens: 5_010 };
  return bytes([
    ...begin,
    ...said,
    event("response.output_item.done", { output_index: 0, item }),
    event("response.completed", { response: response("completed", [item], usage) }),
  ]);
}

export function anthropicReply(kind: Kind, chars: number): Uint8Array {
  const event = (type: string, fields: object): string => named(type, { type, ...fields });
  const block = kind === "text" ? { type: "text", text: "" } : { type: "tool_use", id: "toolu_01T1x1fJ", name: "write_file", input: {} };
  const delta = (text: string): object =>
    kind === "text" ? { type: "text_delta", text } : { type: "input_json_delta", partial_json: text };
  const message = { id: "msg_014p7gG3", type: "message", role: "assistant", model: "claude-sonnet-5", content: [] };
  return bytes([
    event("message_start", {
      message: { ...message, stop_reason: null, stop_sequence: null, usage: { input_tokens: 10, output_tokens: 1 } },
    }),
    event("content_block_start", { index: 0, content_block: block }),
    ...cut(CONTENT[kind], chars).map((text) => event("content_block_delta", { index: 0, delta: delta(text) })),
    event("content_block_stop", { index: 0 }),
    event("message_delta", {
      delta: { stop_reason: kind === "text" ? "end_turn" : "tool_use", stop_sequence: null },
      usage: { output_tokens: 5_000 },
    }),
    event("message_stop", {}),
  ]);
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function named(event: string, value: object): string {
  return `event: ${event}\n${data(value)}`;
}

function bytes(events: readonly string[]): Uint8Array {
  return new TextEncoder().encode(events.join(""));
}
