/** The rows of text-format cases, where they are at hand, and how one is judged. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../../src/core/base/json.ts";
import type { ModelEvent, ModelReply, ModelTool } from "../../../src/core/model.ts";
import type { DecodeTextOptions } from "../../../src/wire/text/text-format.ts";
import { textFormat } from "../../../src/wire/text/formats.ts";

const FOLDER = process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../../shared/cases");

interface RowCall {
  readonly index?: number;
  readonly name?: string;
  readonly arguments?: JsonValue;
  readonly argumentsText?: string;
  readonly partialArguments?: JsonObject;
  readonly argumentPaths?: JsonObject;
  readonly argumentsContain?: readonly string[];
}

export interface Row {
  readonly id?: string;
  readonly format: string;
  readonly case?: string;
  readonly test?: string;
  readonly input: string | readonly string[];
  readonly deltas?: readonly string[];
  readonly tools?: readonly { readonly name: string; readonly parameters?: JsonObject }[];
  readonly calls?: readonly RowCall[];
  readonly expectedCallCount?: number;
  readonly hasToolCall?: boolean;
  readonly content?: string | null;
  readonly contentContains?: readonly string[];
  readonly thinking?: string | null;
}

export function readRows(file: string): readonly Row[] | undefined {
  const path = join(FOLDER, file);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as readonly Row[]) : undefined;
}

/** By what a row's format is called, ours; the first that fits. What has no name we know is `auto`. */
const FORMATS: readonly (readonly [RegExp, string])[] = [
  [/lfm_?2_?5/, "pythonic"],
  [/lfm_?2/, "lfm2"],
  [/olmo/, "olmo-3"],
  [/generic|gemma_2|phi_3/, "json"],
  [/functionary.*3_?2/, "functionary-3.2"],
  [/functionary/, "functionary-3.1"],
  [/phi|fire_?function|functools/, "functools"],
  [/v3_?2|v4|dsml/, "deepseek-dsml"],
  [/deepseek|deep_seek|cogito/, "deepseek"],
  [/hermes_?[23]|qwen_?2_5|qwq|bielik|smol/, "hermes-loose"],
  [/llama_?4|pythonic/, "pythonic"],
  [/qwen_?3_?coder|step_?3p?_?5|nemotron.*3/, "qwen3-coder"],
  [/hermes|qwen|mimo|exaone/, "hermes"],
  [/glm|hy_?v3/, "glm"],
  [/command_?r_?plus/, "command-r-plus"],
  [/rwkv|mini_cpm_?3/, "json"],
  [/llama/, "llama-3"],
  [/mistral|ministral|magistral|devstral/, "mistral"],
  [/kimi/, "kimi-k2"],
  [/function_?gemma/, "functiongemma"],
  [/gemma/, "gemma-4"],
  [/gpt_?oss|harmony|openai/, "harmony"],
  [/granite_?20b/, "granite-20b"],
  [/granite/, "granite"],
  [/minimax_?m3/, "minimax-m3"],
  [/minimax_?m2/, "minimax-m2"],
  [/minimax/, "minimax-m1"],
  [/jamba|hunyuan|apriel/, "tool-calls"],
  [/internlm/, "internlm-2"],
  [/apertus/, "apertus"],
  [/gigachat|giga_chat/, "gigachat"],
  [/longcat/, "longcat"],
  [/minicpm/, "minicpm-5"],
  [/nemotron/, "nemotron-2"],
  [/command/, "command-r7b"],
  [/seed/, "seed-oss"],
  [/step/, "step-3"],
  [/solar/, "solar"],
  [/ernie/, "ernie"],
  [/xlam|json/, "xlam"],
];

export function formatOf(row: Row): string {
  const words = row.format
    .replaceAll(/([a-z0-9])([A-Z])/gu, "$1_$2")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "_");
  return FORMATS.find(([name]) => name.test(words) || name.test(words.replaceAll("_", "")))?.[1] ?? "auto";
}

function toolsOf(row: Row): readonly ModelTool[] | undefined {
  return row.tools?.map(({ name, parameters }) => ({ name, description: "", inputSchema: parameters ?? {} }));
}

function optionsOf(row: Row): DecodeTextOptions {
  const text = inputOf(row);
  const begun = typeof row.thinking === "string" && row.thinking !== "" && text.trimStart().startsWith(row.thinking.slice(0, 8));
  const keep = row.thinking === undefined && (row.content ?? "").includes("<think>");
  const tools = toolsOf(row);
  if (/content_?only/iu.test(row.format)) return { tools: [], unknownTools: "text" };
  return {
    ...(tools === undefined ? {} : { tools, unknownTools: row.case === undefined ? "text" : "call" }),
    ...(begun ? { thinking: "begun" as const } : keep ? { thinking: "keep" as const } : {}),
  };
}

export function inputOf({ input }: Row): string {
  return typeof input === "string" ? input : input.join("");
}

/** The reply of a row in the pieces given; its `content` is also told as what came before the first call. */
export interface RowReply {
  readonly reply: ModelReply;
  readonly before: string;
}

export function decodeRow(row: Row, pieces: readonly string[], format: string = formatOf(row)): RowReply {
  const decoding = textFormat(format).decodeText(optionsOf(row));
  const events: ModelEvent[] = pieces.flatMap((piece) => [...decoding.push(piece)]);
  events.push(...decoding.end());
  let before = "";
  for (const event of events) {
    if (event.type === "call-open") break;
    if (event.type === "text-delta") before += event.text;
  }
  const last = events.at(-1);
  if (last?.type !== "reply-end") throw new Error("no reply");
  return { reply: last.reply, before };
}

/** What is wrong with the calls of a row's reply. */
export function judgeCalls(row: Row, { reply }: RowReply): string | undefined {
  const { calls = [], expectedCallCount = row.case === undefined ? undefined : calls.length } = row;
  if (expectedCallCount !== undefined && reply.calls.length !== expectedCallCount)
    return `${reply.calls.length} calls instead of ${expectedCallCount}`;
  for (const [place, expected] of calls.entries()) {
    const call = reply.calls[expected.index ?? place];
    if (call === undefined) return `no call ${place}`;
    if (expected.name !== undefined && call.name !== expected.name) return `name ${call.name}`;
    const input = call.input as JsonValue;
    if (expected.arguments !== undefined && !isDeepStrictEqual(input, parsed(expected.arguments)))
      return `arguments ${JSON.stringify(input)}`;
    if (
      expected.arguments === undefined &&
      expected.argumentsText !== undefined &&
      !isDeepStrictEqual(input, parsed(expected.argumentsText))
    )
      return `text ${JSON.stringify(input)}`;
    if (expected.partialArguments !== undefined && !holds(input, expected.partialArguments)) return `part ${JSON.stringify(input)}`;
    for (const [path, value] of Object.entries(expected.argumentPaths ?? {}))
      if (!isDeepStrictEqual(at(input, path), value)) return `path ${path} ${JSON.stringify(input)}`;
    const spaced = JSON.stringify(input, undefined, 1).replaceAll(/\n\s*/g, " ");
    for (const part of expected.argumentsContain ?? []) if (!spaced.includes(part)) return `lacks ${part}`;
  }
  return undefined;
}

/** What is wrong with the text. Sources differ in white space at the ends and in whether text behind calls is kept. */
export function judgeText(row: Row, { reply, before }: RowReply): string | undefined {
  const { content, contentContains = [], thinking } = row;
  if (typeof content === "string" && reply.text.trim() !== content.trim() && before.trim() !== content.trim())
    return `content ${JSON.stringify(reply.text)}`;
  for (const part of contentContains) if (!reply.text.includes(part)) return `lacks ${part}`;
  if (typeof thinking === "string" && reply.reasoning.trim() !== thinking.trim()) return `thinking ${JSON.stringify(reply.reasoning)}`;
  return undefined;
}

function parsed(value: JsonValue): JsonValue {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return value;
  }
}

function holds(value: JsonValue | undefined, part: JsonValue): boolean {
  if (!isJsonObject(part)) return isDeepStrictEqual(value, part);
  return Object.entries(part).every(([key, item]) =>
    holds(isJsonArray(value) ? value[Number(key)] : isJsonObject(value) ? value[key] : undefined, item),
  );
}

function at(value: JsonValue, path: string): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const step of path.replaceAll(/\[(\d+)\]/g, ".$1").split("."))
    found = isJsonArray(found) ? found[Number(step)] : isJsonObject(found) ? found[step] : undefined;
  return found;
}
