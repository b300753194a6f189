/** Formats whose calls are between tokens and begin with the tool's name. */
import { readArgumentText, mistralCalls, nameLineCall, namedCall } from "./named-calls.ts";
import { MarkerSet } from "./marker-set.ts";
import { type OpeningTag, parseArgumentTag } from "./opening-tag.ts";
import { parameterCall } from "./parameter-calls.ts";
import type { CallReader, TextGrammar } from "./text-grammar.ts";

/** V3's tokens, and the variants of their bars and spaces that models not trained on them write. */
const DEEPSEEK_SPELLINGS = [
  ["<｜", "▁", "｜>"],
  ["<｜", "_", "｜>"],
  ["<｜", " ", "｜>"],
  ["<｜", "\\_", "｜>"],
  ["<|", "▁", "|>"],
  ["<|", "_", "|>"],
] as const;

function deepseekTokens(words: string): readonly string[] {
  return DEEPSEEK_SPELLINGS.map(([open, blank, close]) => open + words.replaceAll(" ", blank) + close);
}

const DEEPSEEK_ENDS = [...deepseekTokens("tool call end"), ...deepseekTokens("tool calls end")];
const DEEPSEEK_SEPARATORS = deepseekTokens("tool sep");
const KIMI_SEPARATORS = ["<|tool_call_argument_begin|>"];
const KIMI_ENDS = ["<|tool_call_end|>", "<|tool_calls_section_end|>"];
/** One reader for both families, because both have the mark `<|tool_call_begin|>`. */
const readTokenCall = namedCall({
  separators: [...DEEPSEEK_SEPARATORS, ...KIMI_SEPARATORS],
  close: [...new Set([...DEEPSEEK_ENDS, ...KIMI_ENDS])],
  kind: "function",
  numbered: KIMI_SEPARATORS,
});

/** V3, R1 and V3.1. */
export const DEEPSEEK: TextGrammar = {
  calls: [
    ...deepseekTokens("tool call begin").map((mark) => ({ mark, read: readTokenCall })),
    ...DEEPSEEK_SEPARATORS.map((separator) => ({ mark: `function${separator}`, read: nameLineCall(DEEPSEEK_ENDS) })),
  ],
  before: [...deepseekTokens("tool calls begin"), ...deepseekTokens("tool calls")],
  after: DEEPSEEK_ENDS,
  thinkingEnds: deepseekTokens("tool calls begin"),
  droppedMarks: ["<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>", "<｜end▁of▁sentence｜>"],
  hidden: [["<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"]],
};

/** Tags written as tokens that begin with a word of the model family. */
function tokenTags(word: string, sections: readonly string[]): TextGrammar {
  const token = `｜${word}｜`;
  const beginnings = sections.map((section) => `<${token}${section}>`);
  const ends = sections.map((section) => `</${token}${section}>`);
  const tags = { close: `</${token}invoke>`, open: `<${token}parameter`, end: `</${token}parameter>` };
  return {
    calls: [{ mark: `<${token}invoke`, read: parameterCall({ ...tags, enclosingEnds: ends }) }],
    before: beginnings,
    after: ends,
    thinkingEnds: beginnings,
  };
}

/** DeepSeek V3.2 and V4. */
export const DEEPSEEK_DSML: TextGrammar = {
  ...tokenTags("DSML", ["tool_calls", "function_calls"]),
  droppedMarks: ["<｜end▁of▁sentence｜>"],
};

/** @see https://github.com/vllm-project/vllm `vllm/tool_parsers/gigachat35_tool_parser.py` (2026) */
export const GIGACHAT_3_5: TextGrammar = { ...tokenTags("GCML", ["tool_calls"]), droppedMarks: ["<|message_sep|>", "</s>"] };

export const KIMI_K2: TextGrammar = {
  calls: [{ mark: "<|tool_call_begin|>", read: readTokenCall }],
  before: ["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
  after: ["<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
  droppedMarks: ["<|im_end|>"],
  thinking: [
    ["<think>", "</think>"],
    ["◁think▷", "◁/think▷"],
  ],
  thinkingEnds: ["<|tool_calls_section_begin|>"],
};

/** Matches attributes such as `tool="f"` and `key="a" type="number"`, in any order. */
function parseK3Tag(tag: string): OpeningTag | undefined {
  const found = new Map(Array.from(tag.matchAll(/\s(\w+)="([^"]*)"/gu), ([, key, value = ""]) => [key, unescapeK3(value)]));
  const name = found.get("tool") ?? found.get("key");
  const type = found.get("type");
  return name === undefined ? parseArgumentTag(tag, []) : { name, isString: type === undefined ? undefined : type === "string" };
}

function unescapeK3(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}

/**
 * The format of Kimi K3: tags that are tokens, and one channel each for thinking, the answer and the calls.
 *
 * @see https://github.com/ggml-org/llama.cpp `models/templates/Kimi-K3.jinja` (2026)
 */
export const KIMI_K3: TextGrammar = {
  calls: [
    {
      mark: "<|open|>call",
      read: parameterCall({
        close: "<|close|>call<|sep|>",
        open: "<|open|>argument",
        end: "<|close|>argument<|sep|>",
        tagEnd: "<|sep|>",
        enclosingEnds: ["<|close|>tools<|sep|>"],
        readTag: parseK3Tag,
        json: ["<|open|>json", "<|close|>json<|sep|>"],
        exact: true,
      }),
    },
  ],
  before: ["<|open|>tools<|sep|>"],
  after: ["<|close|>tools<|sep|>"],
  droppedMarks: [
    '<|open|>message role="assistant"<|sep|>',
    "<|open|>response<|sep|>",
    "<|close|>response<|sep|>",
    "<|close|>message<|sep|>",
    "<|end_of_msg|>",
  ],
  thinking: [["<|open|>think<|sep|>", "<|close|>think<|sep|>"]],
  thinkingEnds: ["<|open|>tools<|sep|>"],
};

export const MISTRAL: TextGrammar = {
  calls: [{ mark: "[TOOL_CALLS]", read: mistralCalls }],
  after: ["[/TOOL_CALLS]"],
  thinking: [
    ["[THINK]", "[/THINK]"],
    ["<think>", "</think>"],
  ],
};

/** Reads `>>>name` and a line of JSON. `all` begins text for the user; `python` takes code unchanged, up to the next recipient. */
const readRecipient: CallReader = function* (context) {
  const { input } = context;
  for (let marker: string | undefined = ">>>"; marker?.endsWith(">>>") === true;) {
    const name = yield* input.readWhile(/[\p{L}\p{M}\p{N}_.:-]/u, 256);
    if (name === "" || !(yield* input.tryRead("\n"))) return false;
    if (name === "all") return true;
    if (!context.acceptsName(name)) return false;
    if ((yield* input.peek()) === "{") {
      const value = yield* readArgumentText(context);
      return value !== undefined && context.acceptCall({ name, input: value });
    }
    if (name !== "python" || !(context.acceptsAnyTool || context.findTool(name) !== undefined)) return false;
    const code = yield* input.readTextUntil(NEXT_RECIPIENT);
    if (code.text.trim() === "" || !context.acceptCall({ name, input: { code: code.text.trim() } })) return false;
    ({ marker } = code);
  }
  return true;
};

const NEXT_RECIPIENT = new MarkerSet(["\n>>>", "<|eot_id|>"]);

export const FUNCTIONARY_3_2: TextGrammar = {
  calls: [{ mark: ">>>", read: readRecipient, shared: true }],
  start: { read: readRecipient, shared: true },
  droppedMarks: ["<|eot_id|>"],
};

/** Reads Solar's calls: id, name and arguments, each after a token. */
const readSolarCall: CallReader = function* (context) {
  const { input } = context;
  const id = (yield* input.readWhile(/[^<\n]/u, 256)).trim();
  if (!(yield* input.tryRead("<|tool_call:name|>"))) return false;
  const name = (yield* input.readWhile(/[^<\n]/u, 256)).trim();
  if (!(yield* input.tryRead("<|tool_call:args|>"))) return false;
  yield* input.skipSpace();
  if ((yield* input.peek()) !== "{" && !(yield* input.startsWith("<|tool_call:end|>"))) return false; // only begun
  const value = yield* readArgumentText(context);
  return value !== undefined && context.acceptCall({ name, id: id === "" ? undefined : id, input: value });
};

export const SOLAR: TextGrammar = {
  calls: [{ mark: "<|tool_call:begin|>", read: readSolarCall }],
  before: ["<|tool_calls|>", "<|begin|>assistant<|tool_calls|>"],
  after: ["<|tool_call:end|>", "<|calls|>"],
  droppedMarks: ["<|begin|>assistant", "<|content|>", "<|end|>", "<|flush|>"],
  thinking: [
    ["<|think|>", "<|end|>"],
    ["<think>", "</think>"],
  ],
};
