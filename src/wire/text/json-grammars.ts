/** Formats whose calls are JSON, after their own marks or unmarked. */
import { fencedCalls, jsonCalls, unmarkedJsonCalls } from "./json-calls.ts";
import { gemmaCall, unmarkedPythonicCalls, pythonTag, pythonicCalls } from "./pythonic-calls.ts";
import type { CallMark, CallReader, TextGrammar } from "./text-grammar.ts";

const readJson = jsonCalls();

const QUOTE = /["']/u;

/** Returns a grammar with marks before JSON and marks after it. */
function markedJsonGrammar(marks: readonly string[], after: readonly string[] = [], rest: Partial<TextGrammar> = {}): TextGrammar {
  return { calls: marks.map((mark) => ({ mark, read: readJson })), after, ...rest };
}

const UNMARKED_JSON: readonly CallMark[] = [
  { mark: "{", read: unmarkedJsonCalls, where: "line", nextPatterns: [QUOTE] },
  { mark: "[", read: unmarkedJsonCalls, where: "line", nextPatterns: [/\{/u, QUOTE] },
  { mark: "```", read: fencedCalls, where: "start" },
];

/** JSON in the message itself, at the beginning of a line: `{"tool", "parameters", "reasoning"}` or `{"name", "arguments"}`. */
export const JSON_CONTENT: TextGrammar = { calls: UNMARKED_JSON, unknownTools: "text" };

/** Llama 3: one object, or several separated by `;`, anywhere in the text. */
export const LLAMA_3: TextGrammar = {
  calls: [
    { mark: "{", read: unmarkedJsonCalls, where: "prose", nextPatterns: [QUOTE] },
    { mark: "[", read: unmarkedJsonCalls, where: "prose", nextPatterns: [/\{/u, QUOTE] },
    { mark: "<|python_tag|>", read: pythonTag },
  ],
  droppedMarks: ["<|eom_id|>", "<|eot_id|>"],
  unknownTools: "text",
};

const unmarkedList: CallReader = function* (context, mark) {
  const { input } = context;
  const inner = yield* input.countSpaces(0, 64);
  return yield* (input.peekArrived(inner) ?? (yield* input.peek(inner))) === "{"
    ? unmarkedJsonCalls(context, mark)
    : unmarkedPythonicCalls(context, mark);
};

/** Llama 4 and other models that write calls as Python, unmarked or between tokens. */
export const LLAMA_PYTHONIC: TextGrammar = {
  calls: [
    { mark: "[", read: unmarkedList, where: "prose", nextPatterns: [/[\p{L}_{]/u] },
    { mark: "<|tool_call_start|>", read: lfmCalls() },
    { mark: "<|python_start|>", read: pythonicCalls },
    { mark: "<|python_tag|>", read: pythonTag },
  ],
  after: ["<|python_end|>", "<|tool_call_end|>"],
  droppedMarks: ["<|eom|>", "<|eot|>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>"],
  unknownTools: "text",
};

export const LFM2: TextGrammar = {
  calls: [{ mark: "<|tool_call_start|>", read: lfmCalls() }],
  after: ["<|tool_call_end|>"],
  droppedMarks: ["<|im_end|>"],
};

/** Reads a list of JSON objects, or Python. */
function lfmCalls(): CallReader {
  return function* (context, mark) {
    const { input } = context;
    yield* input.skipSpace();
    const inner = 1 + (yield* input.countSpaces(1, 64));
    const json = (yield* input.peek()) === "{" || (yield* input.peek(inner)) === "{";
    return yield* json ? readJson(context, mark) : pythonicCalls(context, mark);
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
  droppedMarks: ["<turn|>", "<end_of_turn>"],
};

export const FUNCTION_GEMMA: TextGrammar = {
  calls: [{ mark: "<start_function_call>", read: gemmaCall(["<escape>"]) }],
  after: ["<end_function_call>", "<start_function_response>"],
  droppedMarks: ["<end_of_turn>"],
};

/** Phi-4-mini and FireFunction. */
export const FUNCTOOLS: TextGrammar = { calls: [{ mark: "functools", read: readJson, nextPatterns: [/\[/u, /\{/u] }] };

export const GRANITE = markedJsonGrammar(["<|tool_call|>", "<tool_call>"], ["</tool_call>"], {
  droppedMarks: ["<response>", "</response>", "<|end_of_text|>"],
});

/** Granite 20B: each call after its own mark. */
export const GRANITE_20B = markedJsonGrammar(["<function_call>"], ["</function_call>"]);

/** Unmarked JSON anywhere in the text, in a fence, or after marks of other formats. */
export const XLAM: TextGrammar = {
  calls: [
    { mark: "{", read: unmarkedJsonCalls, where: "prose", nextPatterns: [QUOTE] },
    { mark: "[", read: unmarkedJsonCalls, where: "prose", nextPatterns: [/\{/u, QUOTE] },
    { mark: "```", read: fencedCalls, shared: true },
    { mark: "[TOOL_CALLS]", read: readJson },
    { mark: "<tool_call>", read: readJson },
  ],
  after: ["</tool_call>", "[/TOOL_CALLS]"],
  unknownTools: "text",
};

export const MINIMAX_M1: TextGrammar = {
  calls: [{ mark: "<tool_calls>", read: jsonCalls({ oneLine: true }) }],
  after: ["</tool_calls>"],
};

/** Jamba, Hunyuan A13B and Apriel. */
export const TOOL_CALLS_LIST = markedJsonGrammar(["<tool_calls>"], ["</tool_calls>"], {
  droppedMarks: ["[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"],
  thinking: [
    ["<think>", "</think>", "[BEGIN FINAL RESPONSE]"],
    ["<thinking>", "</thinking>", "[BEGIN FINAL RESPONSE]"],
  ],
});

export const INTERNLM_2 = markedJsonGrammar(["<|plugin|>"], ["<|action_end|>"], {
  before: ["<|action_start|>"],
  droppedMarks: ["<|im_end|>"],
});

export const APERTUS: TextGrammar = {
  calls: [{ mark: "<|tools_prefix|>", read: jsonCalls({ keyed: true }) }],
  after: ["<|tools_suffix|>"],
  droppedMarks: ["<|assistant_end|>"],
  thinking: [["<|inner_prefix|>", "<|inner_suffix|>"]],
};

export const GIGACHAT = markedJsonGrammar(["function call<|role_sep|>", "function call", "<|function_call|>"], [], {
  calls: [
    { mark: "function call<|role_sep|>", read: readJson },
    { mark: "function call", read: readJson, where: "line" },
    { mark: "<|function_call|>", read: readJson },
  ],
  before: ["<|message_sep|>"],
  droppedMarks: ["</s>", "<|message_sep|>\n\n</s>"],
});

export const LONGCAT = markedJsonGrammar(["<longcat_tool_call>"], ["</longcat_tool_call>"], {
  thinking: [
    ["<longcat_think>", "</longcat_think>"],
    ["<think>", "</think>"],
  ],
});

export const NEMOTRON_2 = markedJsonGrammar(["<TOOLCALL>"], ["</TOOLCALL>"]);

export const COMMAND_R7B = markedJsonGrammar(["<|START_ACTION|>"], ["<|END_ACTION|>"], {
  droppedMarks: ["<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|END_OF_TURN_TOKEN|>"],
  thinking: [["<|START_THINKING|>", "<|END_THINKING|>"]],
});

/**
 * Command R and R+: `Action:` and a fenced list; a call of `directly_answer` means no call.
 *
 * @see https://docs.cohere.com/docs/prompting-command-r
 */
export const COMMAND_R_PLUS: TextGrammar = {
  calls: [{ mark: "Action:", read: jsonCalls({ ignored: new Set(["directly_answer", "directly-answer"]) }), where: "line" }],
  droppedMarks: ["<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
  thinking: [],
  unknownTools: "text",
};
