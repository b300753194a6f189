/** The text formats by name. */
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { checkString } from "../../core/check-argument.ts";
import type { ModelTool } from "../../core/model.ts";
import { decodeText } from "./decode-text.ts";
import { BRACKETS, TAGS, checkDelimiters, delimitedGrammar, type Delimiters } from "./delimited-grammar.ts";
import {
  FALLBACK_WRITER,
  HARMONY_WRITER,
  INKLING_WRITER,
  KIMI_K3_WRITER,
  REACT_WRITER,
  delimitedWriter,
  gemmaWriter,
  jsonWriter,
  namedWriter,
  nestedTagWriter,
  parameterWriter,
  pythonicWriter,
  tagFreeJson,
  tokenTagWriter,
} from "./call-writers.ts";
import { DEFAULT_THINKING } from "./grammar-roles.ts";
import { HARMONY, MUSE_GLIMMER } from "./harmony-grammar.ts";
import { INKLING } from "./inkling-grammar.ts";
import { MarkerSet } from "./marker-set.ts";
import { MINIMAX_M3, TAG_TOKEN } from "./minimax-m3-grammar.ts";
import * as json from "./json-grammars.ts";
import { PAIR_MARKS, isPairName } from "./pair-calls.ts";
import { REACT } from "./react-grammar.ts";
import * as tag from "./tag-grammars.ts";
import type { TextFormat } from "./text-format.ts";
import type { CallMark, TextGrammar, ThinkingMarks } from "./text-grammar.ts";
import * as token from "./token-grammars.ts";
import {
  describeTools,
  providerToolName,
  plainToolName,
  writeCalls,
  writeResults,
  type NameOf,
  type TextFormatWriter,
} from "./write-text.ts";

interface FormatParts {
  readonly grammar: TextGrammar;
  readonly writer: TextFormatWriter;
  /** @default providerToolName */
  readonly nameOf?: NameOf;
}

function createFormat(name: string, { grammar, writer, nameOf = providerToolName }: FormatParts): TextFormat {
  return Object.freeze({
    name,
    decodeText: (options = {}) => decodeText(grammar, options),
    nameOf,
    describeTools: (tools: readonly ModelTool[]) => describeTools(tools, writer, nameOf),
    writeCalls: (calls) => writeCalls(calls, writer),
    writeResults: (answers) => writeResults(answers, grammar, writer),
  } satisfies TextFormat);
}

/**
 * Returns a text format with custom delimiters.
 *
 * @throws ToolError `invalid_argument` for missing, empty or unknown values
 */
export function delimitedFormat(name: string, delimiters: Delimiters): TextFormat {
  checkString(name, "delimitedFormat(name, delimiters)", "the name of a format");
  checkDelimiters(name, delimiters);
  return createFormat(name, delimitedFormatParts(delimiters));
}

function delimitedFormatParts(delimiters: Delimiters): FormatParts {
  return { grammar: delimitedGrammar(delimiters), writer: delimitedWriter(delimiters), nameOf: plainToolName };
}

const TOOL_RESPONSE = ["<tool_response>\n", "\n</tool_response>"] as const;
const HERMES_WRITER = jsonWriter(["<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>"], { resultDelimiters: TOOL_RESPONSE });
const FUNCTION_TAGS = { call: ["<function=%>\n", "</function>"], argument: ["<parameter=%>\n", "\n</parameter>\n"] } as const;
const QWEN_CODER_WRITER = parameterWriter(FUNCTION_TAGS, {
  callDelimiters: ["<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>"],
  resultDelimiters: TOOL_RESPONSE,
});
const INVOKE_TAGS = { call: ['<invoke name="%">\n', "</invoke>"], argument: ['<parameter name="%">', "</parameter>\n"] } as const;
const DEEPSEEK_V3_WRITER = namedWriter(["<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n```json\n", "\n```<｜tool▁call▁end｜>"], {
  callDelimiters: ["<｜tool▁calls▁begin｜>", "\n", "<｜tool▁calls▁end｜>"],
});

const PARTS: Readonly<Record<string, FormatParts>> = {
  json: { grammar: json.JSON_CONTENT, writer: FALLBACK_WRITER, nameOf: plainToolName },
  react: { grammar: REACT, writer: REACT_WRITER, nameOf: plainToolName },
  hermes: { grammar: tag.TOOL_CALL_TAG, writer: HERMES_WRITER },
  "hermes-loose": { grammar: tag.HERMES_LOOSE, writer: HERMES_WRITER },
  "qwen3-coder": { grammar: tag.TOOL_CALL_TAG, writer: QWEN_CODER_WRITER },
  ernie: { grammar: tag.RESPONSE_TAG, writer: HERMES_WRITER },
  glm: {
    grammar: tag.TOOL_CALL_TAG,
    writer: parameterWriter(
      {
        call: ["<tool_call>%\n", "</tool_call>"],
        argument: ["<arg_key>%</arg_key>\n<arg_value>", "</arg_value>\n"],
        exact: true,
        forbiddenMarks: PAIR_MARKS,
        acceptsName: isPairName,
        json: ({ name, input }) => `<tool_call>{"name": ${JSON.stringify(name)}, "arguments": ${tagFreeJson(input)}}</tool_call>`,
      },
      { resultDelimiters: TOOL_RESPONSE },
    ),
  },
  "llama-3": { grammar: json.LLAMA_3, writer: jsonWriter(["", "; ", ""], { keys: ["name", "parameters"] }) },
  pythonic: { grammar: json.LLAMA_PYTHONIC, writer: pythonicWriter(["[", ", ", "]"]) },
  lfm2: { grammar: json.LFM2, writer: pythonicWriter(["<|tool_call_start|>[", ", ", "]<|tool_call_end|>"]) },
  "olmo-3": { grammar: json.OLMO_3, writer: pythonicWriter(["<function_calls>", "\n", "</function_calls>"]) },
  mistral: { grammar: token.MISTRAL, writer: jsonWriter(["[TOOL_CALLS][", ", ", "]"]) },
  "mistral-args": { grammar: token.MISTRAL, writer: namedWriter(["[TOOL_CALLS]", "[ARGS]", ""], { callDelimiters: ["", "", ""] }) },
  deepseek: { grammar: token.DEEPSEEK, writer: DEEPSEEK_V3_WRITER },
  "deepseek-v3.1": {
    grammar: token.DEEPSEEK,
    writer: namedWriter(["<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"], {
      callDelimiters: ["<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"],
    }),
  },
  "deepseek-dsml": { grammar: token.DEEPSEEK_DSML, writer: tokenTagWriter("DSML") },
  "kimi-k2": {
    grammar: token.KIMI_K2,
    writer: namedWriter(["<|tool_call_begin|>functions.", "<|tool_call_argument_begin|>", "<|tool_call_end|>"], {
      callDelimiters: ["<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"],
    }),
  },
  "kimi-k3": { grammar: token.KIMI_K3, writer: KIMI_K3_WRITER },
  harmony: { grammar: HARMONY, writer: HARMONY_WRITER },
  "muse-glimmer": {
    grammar: MUSE_GLIMMER,
    writer: parameterWriter(
      {
        call: ['<atem:invoke name="%">\n', "</atem:invoke>"],
        argument: ['<atem:parameter name="%">', "</atem:parameter>\n"],
        exact: true,
        forbiddenMarks: new MarkerSet(["<atem:", "</atem:"]),
      },
      { callDelimiters: ["<atem:function_calls>\n", "\n", "\n</atem:function_calls>"] },
    ),
  },
  "gemma-4": { grammar: json.GEMMA_4, writer: gemmaWriter(["<|tool_call>", "<tool_call|>"], '<|"|>') },
  functiongemma: { grammar: json.FUNCTION_GEMMA, writer: gemmaWriter(["<start_function_call>", "<end_function_call>"], "<escape>") },
  functools: { grammar: json.FUNCTOOLS, writer: jsonWriter(["functools[", ", ", "]"]) },
  granite: { grammar: json.GRANITE, writer: jsonWriter(["<|tool_call|>[", ", ", "]"]) },
  "granite-20b": { grammar: json.GRANITE_20B, writer: jsonWriter(["<function_call> ", "\n<function_call> ", ""]) },
  xlam: { grammar: json.XLAM, writer: jsonWriter(["[", ", ", "]"]) },
  // before minimax-m1, which has the same mark but accepts less after it
  "tool-calls": { grammar: json.TOOL_CALLS_LIST, writer: jsonWriter(["<tool_calls>[", ", ", "]</tool_calls>"]) },
  "minimax-m1": { grammar: json.MINIMAX_M1, writer: jsonWriter(["<tool_calls>\n", "\n", "\n</tool_calls>"]) },
  "minimax-m2": {
    grammar: tag.MINIMAX_M2,
    writer: parameterWriter(INVOKE_TAGS, { callDelimiters: ["<minimax:tool_call>\n", "\n", "\n</minimax:tool_call>"] }),
  },
  "minimax-m3": { grammar: MINIMAX_M3, writer: nestedTagWriter(TAG_TOKEN) },
  "internlm-2": {
    grammar: json.INTERNLM_2,
    writer: jsonWriter(["<|action_start|><|plugin|>", "<|action_end|>\n<|action_start|><|plugin|>", "<|action_end|>"], {
      keys: ["name", "parameters"],
    }),
  },
  apertus: {
    grammar: json.APERTUS,
    writer: {
      writeCall: ({ name, input }) => JSON.stringify({ [name]: input }),
      callDelimiters: ["<|tools_prefix|>[", ", ", "]<|tools_suffix|>"],
    },
  },
  gigachat: { grammar: json.GIGACHAT, writer: jsonWriter(["<|function_call|>", "\n<|function_call|>", ""]) },
  "gigachat-3.5": { grammar: token.GIGACHAT_3_5, writer: tokenTagWriter("GCML") },
  longcat: {
    grammar: json.LONGCAT,
    writer: jsonWriter(["<longcat_tool_call>", "</longcat_tool_call>\n<longcat_tool_call>", "</longcat_tool_call>"]),
  },
  "nemotron-2": { grammar: json.NEMOTRON_2, writer: jsonWriter(["<TOOLCALL>[", ", ", "]</TOOLCALL>"]) },
  "command-r7b": {
    grammar: json.COMMAND_R7B,
    writer: jsonWriter(["<|START_ACTION|>[", ", ", "]<|END_ACTION|>"], { keys: ["tool_name", "parameters"] }),
  },
  "command-r-plus": {
    grammar: json.COMMAND_R_PLUS,
    writer: jsonWriter(["Action: ```json\n[\n    ", ",\n    ", "\n]\n```"], { keys: ["tool_name", "parameters"] }),
  },
  "seed-oss": {
    grammar: tag.SEED_OSS,
    writer: parameterWriter(FUNCTION_TAGS, {
      callDelimiters: ["<seed:tool_call>\n", "\n</seed:tool_call>\n<seed:tool_call>\n", "\n</seed:tool_call>"],
    }),
  },
  "step-3": {
    grammar: tag.STEP_3,
    writer: parameterWriter(
      {
        call: ['<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="%">', "</steptml:invoke><｜tool_call_end｜>"],
        argument: ['<steptml:parameter name="%">', "</steptml:parameter>"],
      },
      { callDelimiters: ["<｜tool_calls_begin｜>", "", "<｜tool_calls_end｜>"] },
    ),
  },
  "minicpm-5": {
    grammar: tag.MINICPM_5,
    writer: parameterWriter({ call: ['<function name="%">', "</function>"], argument: ['<param name="%">', "</param>"] }, {}),
  },
  "functionary-3.1": { grammar: tag.FUNCTIONARY_3_1, writer: namedWriter(["<function=", ">", "</function>"]) },
  "functionary-3.2": { grammar: token.FUNCTIONARY_3_2, writer: namedWriter([">>>", "\n", ""]) },
  dots: {
    grammar: tag.DOTS,
    writer: parameterWriter(INVOKE_TAGS, { callDelimiters: ["<dots_function_call>\n", "\n", "\n</dots_function_call>"] }),
  },
  inkling: { grammar: INKLING, writer: INKLING_WRITER },
  invoke: {
    grammar: tag.INVOKE_TAG,
    writer: parameterWriter(INVOKE_TAGS, { callDelimiters: ["<function_calls>\n", "\n", "\n</function_calls>"] }),
  },
  solar: {
    grammar: token.SOLAR,
    writer: {
      writeCall: ({ id = "0", name, input }) =>
        `<|tool_call:begin|>${id}<|tool_call:name|>${name}<|tool_call:args|>${JSON.stringify(input)}<|tool_call:end|>`,
      callDelimiters: ["<|tool_calls|>", "", ""],
    },
  },
};

/** Ends a message in some formats, but is also the end tag of struck-out text in HTML. */
const HTML_STRIKE_END = "</s>";

/** The grammar of `auto`: all formats whose marks are unambiguous, at once. */
const AUTO = mergeGrammars(Object.values(PARTS).map(({ grammar }) => grammar));

/** Merges grammars. The first that has a mark keeps it; a mark that begins calls in one format and precedes them in another does both. */
function mergeGrammars(grammars: readonly TextGrammar[]): TextGrammar {
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
    droppedMarks: list((grammar) => grammar.droppedMarks).filter((mark) => mark !== HTML_STRIKE_END),
    thinking: mergeThinkingMarks(grammars),
    thinkingEnds: list((grammar) => grammar.thinkingEnds),
    endsCall: (text, mark) => grammars.some(({ endsCall }) => endsCall?.(text, mark) === true),
    hidden: grammars.flatMap((grammar) => grammar.hidden ?? []),
    ...(start === undefined ? {} : { start }),
  };
}

/** Merges thinking marks: an opening mark is closed by every mark that closes it in any format. */
function mergeThinkingMarks(grammars: readonly TextGrammar[]): readonly ThinkingMarks[] {
  const closes = new Map<string, readonly string[]>();
  for (const [open, ...ends] of [...DEFAULT_THINKING, ...grammars.flatMap((grammar) => grammar.thinking ?? [])])
    closes.set(open, [...new Set([...(closes.get(open) ?? []), ...ends])]);
  return Array.from(closes, ([open, ends]): ThinkingMarks => [open, ...ends]);
}

const FORMAT_PARTS: ReadonlyMap<string, FormatParts> = new Map([
  ["bracket", delimitedFormatParts(BRACKETS)],
  ["xml", delimitedFormatParts(TAGS)],
  ["auto", { grammar: AUTO, writer: HERMES_WRITER }],
  ...Object.entries(PARTS),
]);

/** The text formats by name. `auto` reads all formats with unambiguous marks, and writes `hermes`. */
export const TEXT_FORMATS: ReadonlyMap<string, TextFormat> = new Map(
  Array.from(FORMAT_PARTS, ([name, parts]) => [name, createFormat(name, parts)]),
);

/** Returns the grammar of a format. @throws ToolError `invalid_argument` for an unknown name */
export function getGrammar(name: string): TextGrammar {
  return FORMAT_PARTS.get(name)?.grammar ?? throwUnknownFormat(name);
}

/** Returns a text format by name. @throws ToolError `invalid_argument` for an unknown name */
export function textFormat(name: string): TextFormat {
  return TEXT_FORMATS.get(name) ?? throwUnknownFormat(name);
}

function throwUnknownFormat(name: string): never {
  const hint = `Formats: ${[...TEXT_FORMATS.keys()].join(", ")}.`;
  throw new ToolError("invalid_argument", `There is no text format ${quoteValue(name)}.`, { hint });
}
