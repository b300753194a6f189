/** How the formats write calls and results. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { jsonTypeOf } from "../../schema/repair/coerce.ts";
import { spacedJson } from "../spaced-json.ts";
import { delimitersOf, type Delimiters } from "./delimited-grammar.ts";
import { MarkerSet } from "./marker-set.ts";
import { isTagName } from "./opening-tag.ts";
import type { WrittenCall } from "./text-format.ts";
import type { TextFormatWriter } from "./write-text.ts";

function inputEntries(input: JsonValue): readonly (readonly [string, JsonValue])[] {
  return Object.entries(isJsonObject(input) ? input : { value: input });
}

function toPlainText(value: JsonValue): string {
  return typeof value === "string" ? value : spacedJson(value);
}

/** `{"tool": …, "parameters": …, "reasoning": …}` */
export const FALLBACK_WRITER: TextFormatWriter = {
  writeCall: ({ name, input, reasoning = "" }) => spacedJson({ tool: name, parameters: input, reasoning }),
};

export type CallDelimiters = readonly [before: string, between: string, after: string];

/** Writes `{"name": …, "arguments": …}`, with the format's own keys. */
export function jsonWriter(
  callDelimiters: CallDelimiters,
  rest: Partial<TextFormatWriter> & { readonly keys?: readonly [string, string] } = {},
): TextFormatWriter {
  const { keys: [nameKey, inputKey] = ["name", "arguments"], ...more } = rest;
  return { writeCall: ({ name, input }) => spacedJson({ [nameKey]: name, [inputKey]: input }), callDelimiters, ...more };
}

/** Writes name and JSON, each after its own mark. */
export function namedWriter([open, between, close]: CallDelimiters, rest: Partial<TextFormatWriter> = {}): TextFormatWriter {
  return { writeCall: ({ name, input }) => open + name + between + spacedJson(input) + close, ...rest };
}

/** The arguments of a call as JSON, in which no tag begins. */
export function tagFreeJson(input: JsonValue): string {
  return spacedJson(Object.fromEntries(inputEntries(input))).replaceAll("<", "\\u003c");
}

export interface ParameterTags {
  readonly call: readonly [string, string];
  readonly argument: readonly [string, string];
  /** Whether values are written between their tags unchanged: without line breaks around them and without CDATA. */
  readonly exact?: boolean;
  /** Whether the tag says if the value is a string (`string="true"`), and line ends at the edges of a string belong to it. @default false */
  readonly typed?: boolean;
  /** Marks that tags cannot hold: a call with one of them in a name or a value is written as JSON. */
  readonly forbiddenMarks?: MarkerSet;
  /** Whether a name can be in a tag. @default isTagName */
  readonly acceptsName?: (name: string) => boolean;
  /** A call with a name or a value that tags cannot hold. @default the arguments as JSON in place of their tags */
  readonly json?: (call: WrittenCall) => string;
}

/** Writes one tag per argument; `%` is replaced by its name. */
export function parameterWriter(tags: ParameterTags, rest: Partial<TextFormatWriter>): TextFormatWriter {
  const { exact = false, typed = false, forbiddenMarks = NO_MARKS, acceptsName = isTagName } = tags;
  const fill = (template: string, name: string): string => template.split("%").join(name);
  const [open, end] = tags.argument;
  const marks = [open.trim().split(/[ =%]/u, 1).join(""), end.trim(), tags.call[1].split(">", 1).join("")];
  const write = (text: string): string => {
    if (exact) return text;
    if (containsEndMark(text, marks)) return `<![CDATA[${text.replaceAll("]]>", "]]]]><![CDATA[>")}]]>`;
    return typed || end.startsWith("\n") || !/^\r?\n|\n$/u.test(text) ? text : `\n${text}\n`;
  };
  const typeOf = (value: JsonValue): string => (typed ? ` string="${typeof value === "string"}">` : "");
  const json = tags.json ?? (({ name, input }) => fill(tags.call[0], name) + tagFreeJson(input) + tags.call[1]);
  return {
    writeCall: (call) => {
      const values = inputEntries(call.input);
      if (
        !values.every(
          ([key, value]) => acceptsName(key) && !containsMark(key, forbiddenMarks) && !containsMark(toPlainText(value), forbiddenMarks),
        )
      )
        return json(call);
      const written = values.map(([key, value]) => fill(open, key) + typeOf(value) + write(toPlainText(value)) + end);
      return fill(tags.call[0], call.name) + written.join("") + tags.call[1];
    },
    ...rest,
  };
}

/** Tags written as tokens that begin with a word of the model family. */
export function tokenTagWriter(word: string): TextFormatWriter {
  const token = `｜${word}｜`;
  return parameterWriter(
    {
      call: [`<${token}invoke name="%">\n`, `</${token}invoke>`],
      argument: [`<${token}parameter name="%"`, `</${token}parameter>\n`],
      typed: true,
    },
    { callDelimiters: [`<${token}tool_calls>\n`, "\n", `\n</${token}tool_calls>`] },
  );
}

const NO_MARKS = new MarkerSet([]);

function containsMark(text: string, marks: MarkerSet): boolean {
  for (let at = marks.findNext(text, 0); at >= 0; at = marks.findNext(text, at + 1)) if (marks.matchAt(text, at).length > 0) return true;
  return false;
}

/** Whether a value contains a mark that would end it. */
function containsEndMark(text: string, marks: readonly string[]): boolean {
  return text.trimStart().startsWith("<![CDATA[") || marks.some((mark) => text.includes(mark));
}

export function pythonicWriter(callDelimiters: CallDelimiters): TextFormatWriter {
  return {
    writeCall: ({ name, input }) =>
      `${name}(${inputEntries(input)
        .map(([key, value]) => (PYTHON_NAME.test(key) ? `${key}=${toPythonLiteral(value)}` : `**${toPythonLiteral({ [key]: value })}`))
        .join(", ")})`,
    callDelimiters,
  };
}

const PYTHON_NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u;

function toPythonLiteral(value: JsonValue): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (isJsonArray(value)) return `[${value.map(toPythonLiteral).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${toPythonLiteral(item)}`)
    .join(", ")}}`;
}

export function gemmaWriter([open, close]: readonly [string, string], quote: string): TextFormatWriter {
  const write = (value: JsonValue): string => {
    if (typeof value === "string") return value.includes(quote) ? JSON.stringify(value) : quote + value + quote;
    if (isJsonArray(value)) return `[${value.map(write).join(",")}]`;
    if (!isJsonObject(value)) return JSON.stringify(value);
    return `{${Object.entries(value)
      .map(([key, item]) => `${BARE_NAME.test(key) ? key : write(key)}:${write(item)}`)
      .join(",")}}`;
  };
  return {
    writeCall: ({ name, input }) => `${open}call:${name}${write(isJsonObject(input) ? input : { value: input })}${close}`,
    callDelimiters: ["", "", ""],
  };
}

const BARE_NAME = /^[\p{L}_$][\p{L}\p{M}\p{N}_$.-]*$/u;

/** Writes arguments in nested tags named after them, with a token before each tag. */
export function nestedTagWriter(token: string): TextFormatWriter {
  const tag = (name: string, inside: string): string => `${token}<${name}>${inside}${token}</${name}>`;
  const write = (value: JsonValue): string => {
    if (isJsonArray(value)) return value.map((item) => tag("item", write(item))).join("");
    if (isJsonObject(value)) return writeMembers(value);
    return toPlainText(value);
  };
  const writeMembers = (input: JsonValue): string =>
    inputEntries(input)
      .map(([key, value]) => tag(key, write(value)))
      .join("");
  const canNest = (value: JsonValue): boolean => {
    if (isJsonArray(value)) return value.every(canNest);
    if (!isJsonObject(value)) return !toPlainText(value).includes(token);
    const keys = Object.keys(value);
    return keys.every((key) => IN_NESTED_TAG.test(key)) && keys.join() !== "item" && Object.values(value).every(canNest);
  };
  return {
    writeCall: ({ name, input }) => {
      const body = canNest(Object.fromEntries(inputEntries(input))) ? writeMembers(input) : tagFreeJson(input);
      return `${token}<invoke name="${name}">${body}${token}</invoke>`;
    },
    callDelimiters: [`${token}<tool_call>\n`, "\n", `\n${token}</tool_call>`],
  };
}

const IN_NESTED_TAG = /^[^<>/][^<>]{0,511}$/u;

const K3_TOKENS = new MarkerSet(["<|open|>", "<|close|>", "<|sep|>"]);
const MAX_K3_NAME = 64;

function k3Argument([key, value]: readonly [string, JsonValue]): string {
  const name = key.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<|open|>argument key="${name}" type="${jsonTypeOf(value)}"<|sep|>${toPlainText(value)}<|close|>argument<|sep|>`;
}

/** Writes a type in each argument's tag, and each call's number in its tag. */
export const KIMI_K3_WRITER: TextFormatWriter = {
  writeCall: ({ name, input }, index) => {
    const values = inputEntries(input);
    const fit = values.every(
      ([key, value]) => key !== "" && key.length <= MAX_K3_NAME && !key.includes("<|") && !containsMark(toPlainText(value), K3_TOKENS),
    );
    const body = fit ? values.map(k3Argument).join("") : `<|open|>json type="object"<|sep|>${tagFreeJson(input)}<|close|>json<|sep|>`;
    return `<|open|>call tool="${name}" index="${index + 1}"<|sep|>${body}<|close|>call<|sep|>`;
  },
  callDelimiters: ["<|open|>tools<|sep|>", "", "<|close|>tools<|sep|>"],
};

export const REACT_WRITER: TextFormatWriter = {
  writeCall: ({ name, input }) => `Action: ${name}\nAction Input: ${spacedJson(input)}`,
  resultDelimiters: ["Observation: ", ""],
};

export const HARMONY_WRITER: TextFormatWriter = {
  writeCall: ({ name, input }) =>
    `<|start|>assistant<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${spacedJson(input)}<|call|>`,
  callDelimiters: ["", "", ""],
};

export const INKLING_WRITER: TextFormatWriter = {
  writeCall: ({ name, input }) => `<|message_model|>${name}<|content_invoke_tool_json|>${spacedJson({ name, args: input })}<|end_message|>`,
  callDelimiters: ["", "", ""],
};

const ATTRIBUTE_MARKS: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["\n", "&#10;"],
]);

/** Writes arguments on separate lines, or as attributes; an argument with several lines is the body. */
export function delimitedWriter(delimiters: Delimiters): TextFormatWriter {
  return { writeCall: (call) => (delimiters.arguments === "lines" ? writeLines(call, delimiters) : writeAttributes(call, delimiters)) };
}

/** Writes name and value as JSON if the line cannot hold them unchanged. */
function writeLines({ name, input }: WrittenCall, delimiters: Delimiters): string {
  const { prefix = "@@", separator = "=", bodyArguments = {} } = delimiters;
  const { open, close } = delimitersOf(name, delimiters);
  const bodyKey = Object.hasOwn(bodyArguments, name) ? bodyArguments[name] : "content";
  const values = inputEntries(input);
  const text = toPlainText(values.find(([key]) => key === bodyKey)?.[1] ?? "");
  const body = text === "" || text.includes(close) ? undefined : bodyKey;
  const lines = values
    .filter(([key]) => key !== body)
    .map(([key, value]) => {
      const line = toPlainText(value);
      const fits = PLAIN_KEY.test(key) && !key.includes(separator) && line === line.trim() && !line.includes("\n");
      if (fits && !`${key}${separator}${line}`.includes(close)) return `${prefix}${key}${separator}${line}`;
      return `${prefix}${jsonWithoutMark(key, close)}${separator}${jsonWithoutMark(value, close)}`;
    });
  // an empty argument line before the body, whose first line would otherwise be dropped or read as an argument
  const separators = text.trim() === "" || /^\r?\n/u.test(text) || text.trimStart().startsWith(prefix.trimStart()) ? [prefix] : [];
  return [open, ...lines, ...(body === undefined ? [] : [...separators, text]), close].join("\n");
}

const PLAIN_KEY = /^[^\s"]\S*$/u;

/** JSON in which a mark does not occur. */
function jsonWithoutMark(value: JsonValue, mark: string): string {
  const json = spacedJson(value);
  return json.includes(mark) ? json.replaceAll(mark, `${unicodeEscape(mark)}${mark.slice(1)}`) : json;
}

function unicodeEscape(text: string): string {
  return `\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function writeAttributes({ name, input }: WrittenCall, delimiters: Delimiters): string {
  const { start, end, slash } = delimiters;
  const escapeIn = (key: string): string =>
    key.replaceAll(/[^]/gu, (char) =>
      /[&\s"'<>=]/u.test(char) || start.includes(char) || end.includes(char) ? `&#${char.codePointAt(0)};` : char,
    );
  const attributes = inputEntries(input).map(
    ([key, value]) => ` ${escapeIn(key)}="${toPlainText(value).replaceAll(/[&<>"\n]/gu, (mark) => ATTRIBUTE_MARKS.get(mark) ?? mark)}"`,
  );
  const written = name + attributes.join("");
  return slash === "opens" ? `${start}/${written}${end}${delimitersOf(name, delimiters).close}` : `${start}${written}/${end}`;
}
