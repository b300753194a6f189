/** The text formats by name. */
import { quoted } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { checkText } from "../../core/check-argument.ts";
import type { ModelTool } from "../../core/model.ts";
import { decodeText } from "./decode-text.ts";
import { BRACKETS, TAGS, checkDelimiters, delimitedGrammar, type Delimiters } from "./delimited-grammar.ts";
import {
  FALLBACK_WRITING,
  HARMONY_WRITING,
  INKLING_WRITING,
  KIMI_K3_WRITING,
  REACT_WRITING,
  delimitedWriting,
  gemmaWriting,
  jsonWriting,
  namedWriting,
  nestedWriting,
  parameterWriting,
  pythonicWriting,
  tagFreeJson,
  tokenTagWriting,
} from "./call-writings.ts";
import { DEFAULT_THINKING } from "./grammar-roles.ts";
import { HARMONY, MUSE_GLIMMER } from "./harmony-grammar.ts";
import { INKLING } from "./inkling-grammar.ts";
import { MarkerSet } from "./marker-set.ts";
import { MINIMAX_M3, TOKEN } from "./minimax-m3-grammar.ts";
import * as json from "./json-grammars.ts";
import { PAIRS, fitsPair } from "./pair-calls.ts";
import { REACT } from "./react-grammar.ts";
import * as tag from "./tag-grammars.ts";
import type { TextFormat } from "./text-format.ts";
import type { CallMark, TextGrammar, ThinkingMarks } from "./text-grammar.ts";
import * as token from "./token-grammars.ts";
import { describeTools, fitName, plainName, writeCalls, writeResults, type NameOf, type TextWriting } from "./write-text.ts";

interface FormatParts {
  readonly grammar: TextGrammar;
  readonly writing: TextWriting;
  /** @default fitName */
  readonly nameOf?: NameOf;
}

function makeFormat(name: string, { grammar, writing, nameOf = fitName }: FormatParts): TextFormat {
  return Object.freeze({
    name,
    decodeText: (options = {}) => decodeText(grammar, options),
    nameOf,
    describeTools: (tools: readonly ModelTool[]) => describeTools(tools, writing, nameOf),
    writeCalls: (calls) => writeCalls(calls, writing),
    writeResults: (answers) => writeResults(answers, grammar, writing),
  } satisfies TextFormat);
}

/**
 * Returns a text format with custom delimiters.
 *
 * @throws ToolError `invalid_argument` for missing, empty or unknown values
 */
export function delimitedFormat(name: string, delimiters: Delimiters): TextFormat {
  checkText(name, "delimitedFormat(name, delimiters)", "the name of a format");
  checkDelimiters(name, delimiters);
  return makeFormat(name, delimitedParts(delimiters));
}

function delimitedParts(delimiters: Delimiters): FormatParts {
  return { grammar: delimitedGrammar(delimiters), writing: delimitedWriting(delimiters), nameOf: plainName };
}

const TOOL_RESPONSE = ["<tool_response>\n", "\n</tool_response>"] as const;
const HERMES_WRITING = jsonWriting(["<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>"], { answer: TOOL_RESPONSE });
const FUNCTION_TAGS = { call: ["<function=%>\n", "</function>"], argument: ["<parameter=%>\n", "\n</parameter>\n"] } as const;
const QWEN_CODER_WRITING = parameterWriting(FUNCTION_TAGS, {
  around: ["<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>"],
  answer: TOOL_RESPONSE,
});
const INVOKE_TAGS = { call: ['<invoke name="%">\n', "</invoke>"], argument: ['<parameter name="%">', "</parameter>\n"] } as const;
const V3_WRITING = namedWriting(["<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n```json\n", "\n```<｜tool▁call▁end｜>"], {
  around: ["<｜tool▁calls▁begin｜>", "\n", "<｜tool▁calls▁end｜>"],
});

const PARTS: Readonly<Record<string, FormatParts>> = {
  json: { grammar: json.JSON_CONTENT, writing: FALLBACK_WRITING, nameOf: plainName },
  react: { grammar: REACT, writing: REACT_WRITING, nameOf: plainName },
  hermes: { grammar: tag.TOOL_CALL_TAG, writing: HERMES_WRITING },
  "hermes-loose": { grammar: tag.HERMES_LOOSE, writing: HERMES_WRITING },
  "qwen3-coder": { grammar: tag.TOOL_CALL_TAG, writing: QWEN_CODER_WRITING },
  ernie: { grammar: tag.RESPONSE_TAG, writing: HERMES_WRITING },
  glm: {
    grammar: tag.TOOL_CALL_TAG,
    writing: parameterWriting(
      {
        call: ["<tool_call>%\n", "</tool_call>"],
        argument: ["<arg_key>%</arg_key>\n<arg_value>", "</arg_value>\n"],
        exact: true,
        unfit: PAIRS,
        fits: fitsPair,
        json: ({ name, input }) => `<tool_call>{"name": ${JSON.stringify(name)}, "arguments": ${tagFreeJson(input)}}</tool_call>`,
      },
      { answer: TOOL_RESPONSE },
    ),
  },
  "llama-3": { grammar: json.LLAMA_3, writing: jsonWriting(["", "; ", ""], { keys: ["name", "parameters"] }) },
  pythonic: { grammar: json.LLAMA_PYTHONIC, writing: pythonicWriting(["[", ", ", "]"]) },
  lfm2: { grammar: json.LFM2, writing: pythonicWriting(["<|tool_call_start|>[", ", ", "]<|tool_call_end|>"]) },
  "olmo-3": { grammar: json.OLMO_3, writing: pythonicWriting(["<function_calls>", "\n", "</function_calls>"]) },
  mistral: { grammar: token.MISTRAL, writing: jsonWriting(["[TOOL_CALLS][", ", ", "]"]) },
  "mistral-args": { grammar: token.MISTRAL, writing: namedWriting(["[TOOL_CALLS]", "[ARGS]", ""], { around: ["", "", ""] }) },
  deepseek: { grammar: token.DEEPSEEK, writing: V3_WRITING },
  "deepseek-v3.1": {
    grammar: token.DEEPSEEK,
    writing: namedWriting(["<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"], {
      around: ["<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"],
    }),
  },
  "deepseek-dsml": { grammar: token.DEEPSEEK_DSML, writing: tokenTagWriting("DSML") },
  "kimi-k2": {
    grammar: token.KIMI_K2,
    writing: namedWriting(["<|tool_call_begin|>functions.", "<|tool_call_argument_begin|>", "<|tool_call_end|>"], {
      around: ["<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"],
    }),
  },
  "kimi-k3": { grammar: token.KIMI_K3, writing: KIMI_K3_WRITING },
  harmony: { grammar: HARMONY, writing: HARMONY_WRITING },
  "muse-glimmer": {
    grammar: MUSE_GLIMMER,
    writing: parameterWriting(
      {
        call: ['<atem:invoke name="%">\n', "</atem:invoke>"],
        argument: ['<atem:parameter name="%">', "</atem:parameter>\n"],
        exact: true,
        unfit: new MarkerSet(["<atem:", "</atem:"]),
      },
      { around: ["<atem:function_calls>\n", "\n", "\n</atem:function_calls>"] },
    ),
  },
  "gemma-4": { grammar: json.GEMMA_4, writing: gemmaWriting(["<|tool_call>", "<tool_call|>"], '<|"|>') },
  functiongemma: { grammar: json.FUNCTION_GEMMA, writing: gemmaWriting(["<start_function_call>", "<end_function_call>"], "<escape>") },
  functools: { grammar: json.FUNCTOOLS, writing: jsonWriting(["functools[", ", ", "]"]) },
  granite: { grammar: json.GRANITE, writing: jsonWriting(["<|tool_call|>[", ", ", "]"]) },
  "granite-20b": { grammar: json.GRANITE_20B, writing: jsonWriting(["<function_call> ", "\n<function_call> ", ""]) },
  xlam: { grammar: json.XLAM, writing: jsonWriting(["[", ", ", "]"]) },
  // before minimax-m1, which has the same mark but accepts less after it
  "tool-calls": { grammar: json.TOOL_CALLS_LIST, writing: jsonWriting(["<tool_calls>[", ", ", "]</tool_calls>"]) },
  "minimax-m1": { grammar: json.MINIMAX_M1, writing: jsonWriting(["<tool_calls>\n", "\n", "\n</tool_calls>"]) },
  "minimax-m2": {
    grammar: tag.MINIMAX_M2,
    writing: parameterWriting(INVOKE_TAGS, { around: ["<minimax:tool_call>\n", "\n", "\n</minimax:tool_call>"] }),
  },
  "minimax-m3": { grammar: MINIMAX_M3, writing: nestedWriting(TOKEN) },
  "internlm-2": {
    grammar: json.INTERNLM_2,
    writing: jsonWriting(["<|action_start|><|plugin|>", "<|action_end|>\n<|action_start|><|plugin|>", "<|action_end|>"], {
      keys: ["name", "parameters"],
    }),
  },
  apertus: {
    grammar: json.APERTUS,
    writing: { call: ({ name, input }) => JSON.stringify({ [name]: input }), around: ["<|tools_prefix|>[", ", ", "]<|tools_suffix|>"] },
  },
  gigachat: { grammar: json.GIGACHAT, writing: jsonWriting(["<|function_call|>", "\n<|function_call|>", ""]) },
  "gigachat-3.5": { grammar: token.GIGACHAT_3_5, writing: tokenTagWriting("GCML") },
  longcat: {
    grammar: json.LONGCAT,
    writing: jsonWriting(["<longcat_tool_call>", "</longcat_tool_call>\n<longcat_tool_call>", "</longcat_tool_call>"]),
  },
  "nemotron-2": { grammar: json.NEMOTRON_2, writing: jsonWriting(["<TOOLCALL>[", ", ", "]</TOOLCALL>"]) },
  "command-r7b": {
    grammar: json.COMMAND_R7B,
    writing: jsonWriting(["<|START_ACTION|>[", ", ", "]<|END_ACTION|>"], { keys: ["tool_name", "parameters"] }),
  },
  "command-r-plus": {
    grammar: json.COMMAND_R_PLUS,
    writing: jsonWriting(["Action: ```json\n[\n    ", ",\n    ", "\n]\n```"], { keys: ["tool_name", "parameters"] }),
  },
  "seed-oss": {
    grammar: tag.SEED_OSS,
    writing: parameterWriting(FUNCTION_TAGS, {
      around: ["<seed:tool_call>\n", "\n</seed:tool_call>\n<seed:tool_call>\n", "\n</seed:tool_call>"],
    }),
  },
  "step-3": {
    grammar: tag.STEP_3,
    writing: parameterWriting(
      {
        call: ['<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="%">', "</steptml:invoke><｜tool_call_end｜>"],
        argument: ['<steptml:parameter name="%">', "</steptml:parameter>"],
      },
      { around: ["<｜tool_calls_begin｜>", "", "<｜tool_calls_end｜>"] },
    ),
  },
  "minicpm-5": {
    grammar: tag.MINICPM_5,
    writing: parameterWriting({ call: ['<function name="%">', "</function>"], argument: ['<param name="%">', "</param>"] }, {}),
  },
  "functionary-3.1": { grammar: tag.FUNCTIONARY_3_1, writing: namedWriting(["<function=", ">", "</function>"]) },
  "functionary-3.2": { grammar: token.FUNCTIONARY_3_2, writing: namedWriting([">>>", "\n", ""]) },
  dots: {
    grammar: tag.DOTS,
    writing: parameterWriting(INVOKE_TAGS, { around: ["<dots_function_call>\n", "\n", "\n</dots_function_call>"] }),
  },
  inkling: { grammar: INKLING, writing: INKLING_WRITING },
  invoke: {
    grammar: tag.INVOKE_TAG,
    writing: parameterWriting(INVOKE_TAGS, { around: ["<function_calls>\n", "\n", "\n</function_calls>"] }),
  },
  solar: {
    grammar: token.SOLAR,
    writing: {
      call: ({ id = "0", name, input }) =>
        `<|tool_call:begin|>${id}<|tool_call:name|>${name}<|tool_call:args|>${JSON.stringify(input)}<|tool_call:end|>`,
      around: ["<|tool_calls|>", "", ""],
    },
  },
};

/** Ends a message in some formats, but is also the end tag of struck-out text in HTML. */
const HTML_STRIKE_END = "</s>";

/** The grammar of `auto`: all formats whose marks are unambiguous, at once. */
const AUTO = merged(Object.values(PARTS).map(({ grammar }) => grammar));

/** Merges grammars. The first that has a mark keeps it; a mark that begins calls in one format and precedes them in another does both. */
function merged(grammars: readonly TextGrammar[]): TextGrammar {
  const calls = new Map<string, CallMark>();
  const before = new Set(grammars.flatMap((grammar) => grammar.before ?? []));
  for (const { calls: marks, unknownTools = "call" } of grammars)
    for (const call of marks)
      if ((call.where ?? "anywhere") === "anywhere" && call.shared !== true && !calls.has(call.mark))
        calls.set(call.mark, { unknownTools, ...call, wraps: call.wraps === true || before.has(call.mark) });
  const list = (read: (grammar: TextGrammar) => readonly string[] | undefined): readonly string[] => [
    ...new Set(grammars.flatMap((grammar) => read(grammar) ?? [])),
  ];
  const [start] = grammars.flatMap((grammar) => (grammar.start === undefined || grammar.start.shared === true ? [] : [grammar.start]));
  return {
    calls: [...calls.values()],
    before: [...before],
    after: list((grammar) => grammar.after),
    unsaid: list((grammar) => grammar.unsaid).filter((mark) => mark !== HTML_STRIKE_END),
    thinking: mergedThinking(grammars),
    thinkingEnds: list((grammar) => grammar.thinkingEnds),
    endsCall: (text, mark) => grammars.some(({ endsCall }) => endsCall?.(text, mark) === true),
    hidden: grammars.flatMap((grammar) => grammar.hidden ?? []),
    ...(start === undefined ? {} : { start }),
  };
}

/** Merges thinking marks: an opening mark is closed by every mark that closes it in any format. */
function mergedThinking(grammars: readonly TextGrammar[]): readonly ThinkingMarks[] {
  const closes = new Map<string, readonly string[]>();
  for (const [open, ...ends] of [...DEFAULT_THINKING, ...grammars.flatMap((grammar) => grammar.thinking ?? [])])
    closes.set(open, [...new Set([...(closes.get(open) ?? []), ...ends])]);
  return Array.from(closes, ([open, ends]): ThinkingMarks => [open, ...ends]);
}

const ALL: ReadonlyMap<string, FormatParts> = new Map([
  ["bracket", delimitedParts(BRACKETS)],
  ["xml", delimitedParts(TAGS)],
  ["auto", { grammar: AUTO, writing: HERMES_WRITING }],
  ...Object.entries(PARTS),
]);

/** The text formats by name. `auto` reads all formats with unambiguous marks, and writes `hermes`. */
export const TEXT_FORMATS: ReadonlyMap<string, TextFormat> = new Map(Array.from(ALL, ([name, parts]) => [name, makeFormat(name, parts)]));

/** Returns the grammar of a format. @throws ToolError `invalid_argument` for an unknown name */
export function grammarOf(name: string): TextGrammar {
  return ALL.get(name)?.grammar ?? fail(name);
}

/** Returns a text format by name. @throws ToolError `invalid_argument` for an unknown name */
export function textFormat(name: string): TextFormat {
  return TEXT_FORMATS.get(name) ?? fail(name);
}

function fail(name: string): never {
  const hint = `Formats: ${[...TEXT_FORMATS.keys()].join(", ")}.`;
  throw new ToolError("invalid_argument", `There is no text format ${quoted(name)}.`, { hint });
}
