/** Formats whose calls are JSON, after their own marks or unmarked. */
import { fencedCalls, jsonCalls, openJsonCalls } from "./json-calls.ts";
import { gemmaCall, openPythonicCalls, pythonTag, pythonicCalls } from "./pythonic-calls.ts";
import type { CallMark, CallReader, TextGrammar } from "./text-grammar.ts";

const read = jsonCalls();

const QUOTE = /["']/u;

/** Returns a grammar with marks before JSON and marks after it. */
function marked(marks: readonly string[], after: readonly string[] = [], rest: Partial<TextGrammar> = {}): TextGrammar {
  return { calls: marks.map((mark) => ({ mark, read })), after, ...rest };
}

const OPEN_JSON: readonly CallMark[] = [
  { mark: "{", read: openJsonCalls, where: "line", behind: [QUOTE] },
  { mark: "[", read: openJsonCalls, where: "line", behind: [/\{/u, QUOTE] },
  { mark: "```", read: fencedCalls, where: "start" },
];

/** JSON in the message itself, at the beginning of a line: `{"tool", "parameters", "reasoning"}` or `{"name", "arguments"}`. */
export const JSON_CONTENT: TextGrammar = { calls: OPEN_JSON, unknownTools: "text" };

/** Llama 3: one object, or several separated by `;`, anywhere in the text. */
export const LLAMA_3: TextGrammar = {
  calls: [
    { mark: "{", read: openJsonCalls, where: "prose", behind: [QUOTE] },
    { mark: "[", read: openJsonCalls, where: "prose", behind: [/\{/u, QUOTE] },
    { mark: "<|python_tag|>", read: pythonTag },
  ],
  unsaid: ["<|eom_id|>", "<|eot_id|>"],
  unknownTools: "text",
};

const openList: CallReader = function* (place, mark) {
  const { input } = place;
  const inner = yield* input.spacesAt(0, 64);
  return yield* (input.seen(inner) ?? (yield* input.peek(inner))) === "{" ? openJsonCalls(place, mark) : openPythonicCalls(place, mark);
};

/** Llama 4 and other models that write calls as Python, unmarked or between tokens. */
export const LLAMA_PYTHONIC: TextGrammar = {
  calls: [
    { mark: "[", read: openList, where: "prose", behind: [/[\p{L}_{]/u] },
    { mark: "<|tool_call_start|>", read: lfmCalls() },
    { mark: "<|python_start|>", read: pythonicCalls },
    { mark: "<|python_tag|>", read: pythonTag },
  ],
  after: ["<|python_end|>", "<|tool_call_end|>"],
  unsaid: ["<|eom|>", "<|eot|>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>"],
  unknownTools: "text",
};

export const LFM2: TextGrammar = {
  calls: [{ mark: "<|tool_call_start|>", read: lfmCalls() }],
  after: ["<|tool_call_end|>"],
  unsaid: ["<|im_end|>"],
};

/** Reads a list of JSON objects, or Python. */
function lfmCalls(): CallReader {
  return function* (place, mark) {
    const { input } = place;
    yield* input.space();
    const inner = 1 + (yield* input.spacesAt(1, 64));
    const json = (yield* input.peek()) === "{" || (yield* input.peek(inner)) === "{";
    return yield* json ? read(place, mark) : pythonicCalls(place, mark);
  };
}

export const OLMO_3: TextGrammar = {
  calls: [{ mark: "<function_calls>", read: pythonicCalls }],
  after: ["</function_calls>"],
};

/** A channel is thinking, with or without the name `thought`. */
export const GEMMA_4: TextGrammar = {
  calls: [{ mark: "<|tool_call>", read: gemmaCall(['<|"|>']) }],
  after: ["<tool_call|>", "<|tool_response>"],
  thinking: [
    ["<|channel>thought", "<channel|>"],
    ["<|channel>", "<channel|>"],
  ],
  thinkingEnds: ["<|tool_call>"],
  unsaid: ["<turn|>", "<end_of_turn>"],
};

export const FUNCTION_GEMMA: TextGrammar = {
  calls: [{ mark: "<start_function_call>", read: gemmaCall(["<escape>"]) }],
  after: ["<end_function_call>", "<start_function_response>"],
  unsaid: ["<end_of_turn>"],
};

/** Phi-4-mini and FireFunction. */
export const FUNCTOOLS: TextGrammar = { calls: [{ mark: "functools", read, behind: [/\[/u, /\{/u] }] };

export const GRANITE = marked(["<|tool_call|>", "<tool_call>"], ["</tool_call>"], {
  unsaid: ["<response>", "</response>", "<|end_of_text|>"],
});

/** Granite 20B: each call after its own mark. */
export const GRANITE_20B = marked(["<function_call>"], ["</function_call>"]);

/** Unmarked JSON anywhere in the text, in a fence, or after marks of other formats. */
export const XLAM: TextGrammar = {
  calls: [
    { mark: "{", read: openJsonCalls, where: "prose", behind: [QUOTE] },
    { mark: "[", read: openJsonCalls, where: "prose", behind: [/\{/u, QUOTE] },
    { mark: "```", read: fencedCalls, shared: true },
    { mark: "[TOOL_CALLS]", read },
    { mark: "<tool_call>", read },
  ],
  after: ["</tool_call>", "[/TOOL_CALLS]"],
  unknownTools: "text",
};

export const MINIMAX_M1: TextGrammar = {
  calls: [{ mark: "<tool_calls>", read: jsonCalls({ oneLine: true }) }],
  after: ["</tool_calls>"],
};

/** Jamba, Hunyuan A13B and Apriel. */
export const TOOL_CALLS_LIST = marked(["<tool_calls>"], ["</tool_calls>"], {
  unsaid: ["[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"],
  thinking: [
    ["<think>", "</think>", "[BEGIN FINAL RESPONSE]"],
    ["<thinking>", "</thinking>", "[BEGIN FINAL RESPONSE]"],
  ],
});

export const INTERNLM_2 = marked(["<|plugin|>"], ["<|action_end|>"], { before: ["<|action_start|>"], unsaid: ["<|im_end|>"] });

export const APERTUS: TextGrammar = {
  calls: [{ mark: "<|tools_prefix|>", read: jsonCalls({ keyed: true }) }],
  after: ["<|tools_suffix|>"],
  unsaid: ["<|assistant_end|>"],
  thinking: [["<|inner_prefix|>", "<|inner_suffix|>"]],
};

export const GIGACHAT = marked(["function call<|role_sep|>", "function call", "<|function_call|>"], [], {
  calls: [
    { mark: "function call<|role_sep|>", read },
    { mark: "function call", read, where: "line" },
    { mark: "<|function_call|>", read },
  ],
  before: ["<|message_sep|>"],
  unsaid: ["</s>", "<|message_sep|>\n\n</s>"],
});

export const LONGCAT = marked(["<longcat_tool_call>"], ["</longcat_tool_call>"], {
  thinking: [
    ["<longcat_think>", "</longcat_think>"],
    ["<think>", "</think>"],
  ],
});

export const NEMOTRON_2 = marked(["<TOOLCALL>"], ["</TOOLCALL>"]);

export const COMMAND_R7B = marked(["<|START_ACTION|>"], ["<|END_ACTION|>"], {
  unsaid: ["<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|END_OF_TURN_TOKEN|>"],
  thinking: [["<|START_THINKING|>", "<|END_THINKING|>"]],
});

/**
 * Command R and R+: `Action:` and a fenced list; a call of `directly_answer` means no call.
 *
 * @see https://docs.cohere.com/docs/prompting-command-r
 */
export const COMMAND_R_PLUS: TextGrammar = {
  calls: [{ mark: "Action:", read: jsonCalls({ ignored: new Set(["directly_answer", "directly-answer"]) }), where: "line" }],
  unsaid: ["<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
  thinking: [],
  unknownTools: "text",
};
