/** Formats whose calls are in tags: JSON in `<tool_call>`, or one tag per argument. */
import { fencedCalls, jsonCalls, unmarkedJsonCalls } from "./json-calls.ts";
import { keyValueCall } from "./pair-calls.ts";
import { parameterCall } from "./parameter-calls.ts";
import { pythonTag } from "./pythonic-calls.ts";
import type { CallReader, TextGrammar } from "./text-grammar.ts";

const FUNCTION = {
  close: "</function>",
  open: "<parameter",
  end: "</parameter>",
  enclosingEnds: ["</tool_call>", "</seed:tool_call>"],
} as const;
const readFunctionTag = parameterCall(FUNCTION);
const readJson = jsonCalls();

/** Reads `<tool_call>` with JSON, with `<function=…>`, or with GLM's keys and values. */
const readToolCallTag: CallReader = jsonCalls({
  *fallback(context, mark) {
    if (yield* context.input.tryRead("<function")) return yield* readFunctionTag(context, mark);
    return (yield* context.input.peek()) !== "<" && (yield* keyValueCall(context, mark));
  },
});

/** Hermes, Qwen 2.5 and 3, Qwen3-Coder, Nemotron 3, GLM 4.5 to 4.7, Xiaomi MiMo, ERNIE, Step 3.5 and Hunyuan: all use `<tool_call>`. */
export const TOOL_CALL_TAG: TextGrammar = {
  calls: [
    { mark: "<tool_call>", read: readToolCallTag },
    { mark: "<function=", read: readFunctionTag },
  ],
  before: ["<tool_calls>"],
  after: ["</tool_call>", "</tool_calls>", "</function>", "<|observation|>", "<|user|>"],
  droppedMarks: ["<|im_end|>"],
  thinkingEnds: ["<tool_call>"],
};

/** ERNIE and others, which also put their answer into tags. */
export const RESPONSE_TAG: TextGrammar = { ...TOOL_CALL_TAG, droppedMarks: ["<response>", "</response>", "<|im_end|>", "</s>"] };

/** All variants of `<tool_call>` that models trained on Hermes data write. */
export const HERMES_LOOSE: TextGrammar = {
  ...TOOL_CALL_TAG,
  calls: [
    ...TOOL_CALL_TAG.calls,
    { mark: "<function name=", read: parameterCall({ ...FUNCTION, attribute: "name=" }), shared: true },
    ...["<tool>", "<tools>", "<json>", "<xml>", "<JSON>", "<function_call>", "<response>"].map((mark) => ({
      mark,
      read: readJson,
      shared: true,
    })),
    { mark: "{", read: unmarkedJsonCalls, where: "line", nextPatterns: [/["']/u] },
    { mark: "```", read: looseFence(), where: "line" },
  ],
  after: [...(TOOL_CALL_TAG.after ?? []), "</tool>", "</tools>", "</json>", "</xml>", "</JSON>", "</function_call>", "</response>"],
};

/** Reads a fence around JSON, with or without a tag in it. */
function looseFence(): CallReader {
  return function* (context, mark) {
    const { input } = context;
    yield* input.readWhile(/[a-z]/u, 16);
    yield* input.skipSpace();
    for (const tag of ["tool_call", "response", "tools", "tool", "function_call", "json"]) {
      if (!(yield* input.tryRead(`<${tag}>`))) continue;
      if (!(yield* readJson(context, mark))) return false;
      yield* input.skipSpace();
      yield* input.tryRead(`</${tag}>`);
      yield* input.skipSpace();
      yield* input.tryRead("```");
      return true;
    }
    return yield* fencedCalls(context, mark);
  };
}

const INVOKE_ENDS = ["</minimax:tool_call>", "</function_calls>", "</tool_calls>", "</dots_function_call>"] as const;
const INVOKE = { close: "</invoke>", open: "<parameter", end: "</parameter>", enclosingEnds: INVOKE_ENDS } as const;

export const MINIMAX_M2: TextGrammar = {
  calls: [{ mark: "<invoke", read: parameterCall(INVOKE) }],
  before: ["<minimax:tool_call>"],
  after: ["</minimax:tool_call>"],
  thinkingEnds: ["<minimax:tool_call>"],
};

/** `<function_calls><invoke name="…">`, which many models know from their training data. */
export const INVOKE_TAG: TextGrammar = {
  calls: [{ mark: "<invoke", read: parameterCall(INVOKE) }],
  before: ["<function_calls>", "<minimax:tool_call>", "<tool_calls>"],
  after: INVOKE_ENDS,
};

/**
 * dots: the same tags between others, or one JSON object.
 *
 * @see https://github.com/sgl-project/sglang `python/sglang/srt/function_call/dots_detector.py` (2026)
 */
export const DOTS: TextGrammar = {
  calls: [
    { mark: "<invoke", read: parameterCall(INVOKE) },
    { mark: "<dots_function_call>", read: readJson, wraps: true },
  ],
  after: ["</dots_function_call>"],
};

export const SEED_OSS: TextGrammar = {
  calls: [{ mark: "<function=", read: readFunctionTag }],
  before: ["<seed:tool_call>"],
  after: ["</seed:tool_call>"],
  thinking: [["<seed:think>", "</seed:think>"]],
  thinkingEnds: ["<seed:tool_call>"],
  hidden: [["<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"]],
};

export const STEP_3: TextGrammar = {
  calls: [
    {
      mark: "<steptml:invoke",
      read: parameterCall({ close: "</steptml:invoke>", open: "<steptml:parameter", end: "</steptml:parameter>" }),
    },
  ],
  before: ["<｜tool_calls_begin｜>", "<｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_begin｜>", "<｜tool_sep｜>"],
  after: ["<｜tool_call_end｜>", "<｜tool_calls_end｜>"],
};

export const MINICPM_5: TextGrammar = {
  calls: [
    {
      mark: "<function name=",
      read: parameterCall({ close: "</function>", open: "<param", end: "</param>", attribute: "name=", requiresSchemaMatch: true }),
    },
  ],
  after: ["</function>"],
  unknownTools: "text",
};

/** Functionary 3.1: JSON in `<function=name>`, or code after a token. */
export const FUNCTIONARY_3_1: TextGrammar = {
  calls: [
    { mark: "<function=", read: readFunctionTag },
    { mark: "<|python_tag|>", read: pythonTag },
  ],
  after: ["</function>"],
  droppedMarks: ["<|eom_id|>", "<|eot_id|>"],
};
