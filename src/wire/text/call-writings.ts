/** How the formats write calls and answers. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { spacedJson } from "../spaced-json.ts";
import { delimitersOf, type Delimiters } from "./delimited-grammar.ts";
import { MarkerSet } from "./marker-set.ts";
import type { WrittenCall } from "./text-format.ts";
import { takeApart, type TextWriting } from "./write-text.ts";

function members(input: JsonValue): readonly (readonly [string, JsonValue])[] {
  return Object.entries(isJsonObject(input) ? input : { value: input });
}

function plain(value: JsonValue): string {
  return typeof value === "string" ? value : spacedJson(value);
}

/** `{"tool": …, "parameters": …, "reasoning": …}` */
export const FALLBACK_WRITING: TextWriting = {
  call: ({ name, input, reasoning = "" }) => spacedJson({ tool: name, parameters: input, reasoning }),
};

export type Around = readonly [before: string, between: string, after: string];

/** `{"name": …, "arguments": …}`, under whatever the arguments are called. */
export function jsonWriting(around: Around, rest: Partial<TextWriting> & { readonly keys?: readonly [string, string] } = {}): TextWriting {
  const { keys: [nameKey, inputKey] = ["name", "arguments"], ...more } = rest;
  return { call: ({ name, input }) => spacedJson({ [nameKey]: name, [inputKey]: input }), around, ...more };
}

/** Name and JSON, each after a text of its own. */
export function namedWriting([open, between, close]: Around, rest: Partial<TextWriting> = {}): TextWriting {
  return { call: ({ name, input }) => open + name + between + spacedJson(input) + close, ...rest };
}

export interface ParameterTags {
  readonly call: readonly [string, string];
  readonly argument: readonly [string, string];
  /** Values are between their tags as they are: no line ends around them, nothing marked as data. These marks in them are taken apart. */
  readonly exact?: MarkerSet;
  /** The tag says whether the value is a text, and the line ends of a text are part of it: `string="true"`. @default false */
  readonly typed?: boolean;
}

/** An argument a tag; `%` is replaced by the name. */
export function parameterWriting(tags: ParameterTags, rest: Partial<TextWriting>): TextWriting {
  const fill = (template: string, name: string): string => template.split("%").join(name);
  const [open, end] = tags.argument;
  const marks = [open.trim().split(/[ =%]/u, 1).join(""), end.trim(), tags.call[1].split(">", 1).join("")];
  const write = (value: JsonValue): string => {
    const text = plain(value);
    if (tags.exact !== undefined) return takeApart(text, tags.exact);
    if (isMarked(text, marks)) return `<![CDATA[${text.replaceAll("]]>", "]]]]><![CDATA[>")}]]>`;
    return tags.typed === true || end.startsWith("\n") || !/^\r?\n|\n$/u.test(text) ? text : `\n${text}\n`;
  };
  const typeOf = (value: JsonValue): string => (tags.typed === true ? ` string="${typeof value === "string"}">` : "");
  return {
    call: ({ name, input }) =>
      fill(tags.call[0], name) +
      members(input)
        .map(([key, value]) => fill(open, key) + typeOf(value) + write(value) + end)
        .join("") +
      tags.call[1],
    ...rest,
  };
}

/** Whether a value holds what would end it. */
function isMarked(text: string, marks: readonly string[]): boolean {
  return text.trimStart().startsWith("<![CDATA[") || marks.some((mark) => text.includes(mark));
}

export function pythonicWriting(around: Around): TextWriting {
  return {
    call: ({ name, input }) =>
      `${name}(${members(input)
        .map(([key, value]) => (PYTHON_NAME.test(key) ? `${key}=${pythonic(value)}` : `**${pythonic({ [key]: value })}`))
        .join(", ")})`,
    around,
  };
}

const PYTHON_NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u;

function pythonic(value: JsonValue): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (isJsonArray(value)) return `[${value.map(pythonic).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${pythonic(item)}`)
    .join(", ")}}`;
}

export function gemmaWriting([open, close]: readonly [string, string], quote: string): TextWriting {
  const write = (value: JsonValue): string => {
    if (typeof value === "string") return value.includes(quote) ? JSON.stringify(value) : quote + value + quote;
    if (isJsonArray(value)) return `[${value.map(write).join(",")}]`;
    if (!isJsonObject(value)) return JSON.stringify(value);
    return `{${Object.entries(value)
      .map(([key, item]) => `${BARE_NAME.test(key) ? key : write(key)}:${write(item)}`)
      .join(",")}}`;
  };
  return {
    call: ({ name, input }) => `${open}call:${name}${write(isJsonObject(input) ? input : { value: input })}${close}`,
    around: ["", "", ""],
  };
}

const BARE_NAME = /^[\p{L}_$][\p{L}\p{M}\p{N}_$.-]*$/u;

/** Arguments in tags of their names, which nest, and a token before each tag. */
export function nestedWriting(token: string): TextWriting {
  const tokens = new MarkerSet([token]);
  const tag = (name: string, inside: string): string => `${token}<${name}>${inside}${token}</${name}>`;
  const write = (value: JsonValue): string => {
    if (isJsonArray(value)) return value.map((item) => tag("item", write(item))).join("");
    if (isJsonObject(value)) return all(value);
    return takeApart(plain(value), tokens);
  };
  const all = (input: JsonValue): string =>
    members(input)
      .map(([key, value]) => tag(key, write(value)))
      .join("");
  return {
    call: ({ name, input }) => `${token}<invoke name="${name}">${all(input)}${token}</invoke>`,
    around: [`${token}<tool_call>\n`, "\n", `\n${token}</tool_call>`],
  };
}

const K3_TOKENS = new MarkerSet(["<|open|>", "<|close|>", "<|sep|>"]);

function jsonType(value: JsonValue): string {
  if (value === null) return "null";
  return isJsonArray(value) ? "array" : typeof value;
}

/** A type in each argument's tag, and the number of each call in its own. */
export const KIMI_K3_WRITING: TextWriting = {
  call: ({ name, input }, index) =>
    `<|open|>call tool="${name}" index="${index + 1}"<|sep|>${members(input)
      .map(
        ([key, value]) =>
          `<|open|>argument key="${key.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}" type="${jsonType(value)}"<|sep|>${takeApart(plain(value), K3_TOKENS)}<|close|>argument<|sep|>`,
      )
      .join("")}<|close|>call<|sep|>`,
  around: ["<|open|>tools<|sep|>", "", "<|close|>tools<|sep|>"],
};

export const REACT_WRITING: TextWriting = {
  call: ({ name, input }) => `Action: ${name}\nAction Input: ${spacedJson(input)}`,
  answer: ["Observation: ", ""],
};

export const HARMONY_WRITING: TextWriting = {
  call: ({ name, input }) =>
    `<|start|>assistant<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${spacedJson(input)}<|call|>`,
  around: ["", "", ""],
};

const ATTRIBUTE_MARKS: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["\n", "&#10;"],
]);

/** Arguments on lines of their own, or as attributes; one that has several lines is the body. */
export function delimitedWriting(delimiters: Delimiters): TextWriting {
  return { call: (call) => (delimiters.arguments === "lines" ? writeLines(call, delimiters) : writeAttributes(call, delimiters)) };
}

function writeLines({ name, input }: WrittenCall, delimiters: Delimiters): string {
  const { prefix = "@@", separator = "=", bodyArguments = {} } = delimiters;
  const { open, close } = delimitersOf(name, delimiters);
  const closes = new MarkerSet([close]);
  const values = members(input).map(([key, value]) => [key, takeApart(plain(value), closes)] as const);
  const bodyKey = Object.hasOwn(bodyArguments, name) ? bodyArguments[name] : "content";
  const body = values.find(([key, text]) => (key === bodyKey && text !== "") || text.includes("\n"));
  const lines = values
    .filter((value) => value !== body)
    .map(([key, text]) => `${prefix}${key}${separator}${text.replaceAll(/\r?\n/gu, " ")}`);
  const text = body?.[1] ?? "";
  const apart = text.trim() === "" || /^\r?\n/u.test(text) || text.trimStart().startsWith(prefix.trimStart()) ? [prefix] : []; // else its first line would be read as something else
  return [open, ...lines, ...(body === undefined ? [] : [...apart, text]), close].join("\n");
}

function writeAttributes({ name, input }: WrittenCall, delimiters: Delimiters): string {
  const { start, end } = delimiters;
  const attributes = members(input).map(
    ([key, value]) => ` ${key}="${plain(value).replaceAll(/[&<>"\n]/gu, (mark) => ATTRIBUTE_MARKS.get(mark) ?? mark)}"`,
  );
  return `${start}${name}${attributes.join("")}/${end}`;
}
