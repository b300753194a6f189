/** Writes tools, calls and results as text; deterministic, byte for byte. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ModelTool } from "../../core/model.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { providerName } from "../provider-name.ts";
import { spacedJson } from "../spaced-json.ts";
import { decodeText } from "./decode-text.ts";
import { DEFAULT_THINKING } from "./grammar-roles.ts";
import { MarkerSet } from "./marker-set.ts";
import type { WrittenAnswer, WrittenCall } from "./text-format.ts";
import type { TextGrammar } from "./text-grammar.ts";
import { argumentNames, propertySchema } from "./typed-value.ts";

/** How a format writes. */
export interface TextFormatWriter {
  /** Writes one call; `index` is its position in the message. */
  writeCall(call: WrittenCall, index: number): string;
  /** The texts before, between and after the calls of a message. @default "", "\n", "" */
  readonly callDelimiters?: readonly [before: string, between: string, after: string];
  /** The texts before and after a result. @default `[TOOL RESULT: name]` and a line end before it, nothing after it */
  readonly resultDelimiters?: readonly [before: string, after: string];
}

const DEFAULT_CALL_DELIMITERS = ["", "\n", ""] as const;

export function writeCalls(calls: readonly WrittenCall[], writer: TextFormatWriter): string {
  const [before, between, after] = writer.callDelimiters ?? DEFAULT_CALL_DELIMITERS;
  return calls.length === 0 ? "" : before + calls.map((call, index) => writer.writeCall(call, index).toWellFormed()).join(between) + after;
}

export function writeResults(answers: readonly WrittenAnswer[], grammar: TextGrammar, { resultDelimiters }: TextFormatWriter): string {
  const marks = forgeableMarks(grammar, resultDelimiters ?? []);
  const patterns = openingPatterns(grammar);
  return answers
    .map(({ name, text }) => {
      const [before, after] = resultDelimiters ?? [`[TOOL RESULT: ${name.replaceAll(/[\]\r\n]/gu, " ")}]\n`, ""];
      const json = spacedJsonText(text);
      const plainly = breakUpMarks(json ?? text, marks);
      const safe =
        json !== undefined && (patterns.length === 0 || !readsAsCalls(before + plainly + after, grammar))
          ? plainly
          : patterns.reduce((rest, opening) => rest.replaceAll(opening, `$&${NO_WIDTH}`), plainly);
      return (before + safe + after).toWellFormed();
    })
    .join("\n");
}

/** Whether a text would be read as calls in a model's message. */
function readsAsCalls(text: string, grammar: TextGrammar): boolean {
  const decoding = decodeText(grammar, { unknownTools: "call", thinking: "keep", maxChars: Number.POSITIVE_INFINITY });
  return [...decoding.push(text), ...decoding.end()].some(({ type }) => type === "call-open");
}

/** Writes JSON with the spaces that Python writes; undefined for text that is not a JSON object or array. */
function spacedJsonText(text: string): string | undefined {
  if (!/^[{[]/u.test(text)) return undefined;
  try {
    return spacedJson(parseJson(text));
  } catch {
    return undefined;
  }
}

/** A zero-width character after the first character of a mark breaks it up: it looks the same, but is not a mark any more. */
const NO_WIDTH = "\u200B";
/** The beginnings of models' control tokens, for every format. */
const CONTROL = [
  "<|",
  "<｜",
  "[TOOL RESULT",
  "[TOOL_",
  "[/TOOL_",
  "[INST]",
  "[/INST]",
  "<<SYS>>",
  "<start_of_turn>",
  "<end_of_turn>",
  "<s>",
  "</s>",
];

/** Matches the marks that a result must not contain: those that open or close a call or a result. */
function forgeableMarks(
  { calls, before = [], after = [], droppedMarks = [], thinking = DEFAULT_THINKING }: TextGrammar,
  answer: readonly string[],
): MarkerSet {
  const own = calls.map(({ mark }) => mark).filter((mark) => mark.length > 1);
  const answerMarks = answer.map((mark) => mark.trim()).filter((mark) => mark !== "");
  return new MarkerSet([...CONTROL, ...own, ...before, ...after, ...droppedMarks, ...thinking.flat(), ...answerMarks]);
}

const JSON_OPENING = /[{[](?=\s{0,64}["'{])/gu;
const PYTHON_OPENING = /\[(?=\s{0,256}[\p{L}_][\p{L}\p{M}\p{N}_.:-]{0,255}\()/gu;

/** Returns patterns for calls that begin with a single character: in text that is not JSON, only a match of these could begin a call. */
function openingPatterns({ calls }: TextGrammar): readonly RegExp[] {
  const marks = calls.map(({ mark }) => mark).filter((mark) => mark.length === 1);
  if (marks.includes("{") || marks.includes("[")) return [JSON_OPENING, PYTHON_OPENING];
  return marks.map((mark) => new RegExp(`\\u{${mark.charCodeAt(0).toString(16)}}(?=[/\\p{L}_])`, "gu"));
}

/** Breaks up marks in a text: they look the same, but are not marks any more. */
function breakUpMarks(text: string, marks: MarkerSet): string {
  const pieces: string[] = [];
  let from = 0;
  for (let at = marks.findNext(text, 0); at >= 0; at = marks.findNext(text, at + 1)) {
    if (marks.matchAt(text, at).length === 0) continue;
    pieces.push(text.slice(from, at + 1));
    from = at + 1;
  }
  return [...pieces, text.slice(from)].join(NO_WIDTH);
}

/** Returns the name of a tool in text: its provider name, which every format allows, or its own name if the format allows any. */
export type NameOf = (tool: Pick<ModelTool, "name" | "fingerprint">) => string;

export const plainToolName: NameOf = ({ name, fingerprint }) =>
  fingerprint === undefined && PLAIN.test(name) ? name.replace(/^default::/u, "") : providerName(name, fingerprint);
const PLAIN = /^[\p{L}_][\p{L}\p{M}\p{N}_.:-]*$/u;

export const providerToolName: NameOf = ({ name, fingerprint }) => providerName(name, fingerprint);

export function describeTools(tools: readonly ModelTool[], writer: TextFormatWriter, nameOf: NameOf): string {
  const ours = tools.filter(({ providerExecuted = false }) => !providerExecuted);
  const [first] = ours;
  if (first === undefined) return "";
  const lines = ours.map((tool) => spacedJson({ name: nameOf(tool), description: tool.description, parameters: asJson(tool.inputSchema) }));
  return [
    "# Tools",
    "You can call these tools. Each line is one tool: its name, what it does, and the JSON Schema of its arguments.",
    lines.join("\n"),
    "To call a tool, write the call in your message exactly in this form:",
    writeCalls([{ name: nameOf(first), input: exampleInput(first.inputSchema), reasoning: "why you call it" }], writer),
    "Then end your message; the results come in the next one. Write calls only to have them run. Several calls may follow one another.",
  ].join("\n\n");
}

/** Returns a schema as JSON: it was parsed from JSON, or checked when the tool was defined. */
function asJson(schema: ModelTool["inputSchema"]): JsonValue {
  return schema as JsonValue;
}

/** Returns the required arguments, each with a value of its type. */
function exampleInput(schema: unknown): JsonValue {
  const { all, required } = argumentNames(schema);
  const keys = required.length > 0 ? required : all.slice(0, 1);
  return Object.fromEntries(keys.map((key) => [key, exampleArgument(propertySchema(schema, key))]));
}

const EXAMPLES: ReadonlyMap<unknown, JsonValue> = new Map<unknown, JsonValue>([
  ["integer", 1],
  ["number", 1.5],
  ["boolean", true],
  ["array", []],
  ["object", {}],
  ["null", null],
]);

function exampleArgument(property: JsonValue | undefined): JsonValue {
  if (!isJsonObject(property)) return "value";
  const { enum: choices, type } = property;
  return (isJsonArray(choices) ? choices[0] : undefined) ?? EXAMPLES.get(type) ?? "value";
}
