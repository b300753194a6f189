/** Reads calls between custom delimiters that have the tool's name in them: `[/read]…[read/]`, `<read path="x"/>`, and similar ones. */
import { maxOf } from "../../core/collections/push-all.ts";
import { splitName } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { MarkerSet } from "./marker-set.ts";
import { TextArguments } from "./text-arguments.ts";
import type { CallReader, ReaderContext, TextGrammar } from "./text-grammar.ts";
import type { Reading } from "./text-input.ts";
import { argumentNames, parseStrict, unnamedArgument } from "./typed-value.ts";

/** The delimiters between which a model writes its calls. */
export interface Delimiters {
  /** Text before a name. It does not begin with white space. */
  readonly start: string;
  /** Text after a name. It does not begin with white space, or with a letter, a digit or one of `_.:-`, which names have. */
  readonly end: string;
  /** The meaning of the slash next to a name. `opens`: `[/name]…[name/]`; `closes`: `<name>…</name>`, or `<name/>`. */
  readonly slash: "opens" | "closes";
  /** `lines`: one argument per line before the body; `attributes`: `key="value"` in the opening, which is also accepted with `lines`. */
  readonly arguments: "lines" | "attributes";
  /** Text before the key of an argument line, on the same line: not only white space. @default "@@" */
  readonly prefix?: string;
  /** Text between key and value of an argument line, without a line end. @default "=" */
  readonly separator?: string;
  /** The argument that the body is, by tool. @default `content`, the one required argument that is missing, or the only one that can be a string */
  readonly bodyArguments?: Readonly<Record<string, string>>;
}

export const BRACKETS: Delimiters = { start: "[", end: "]", slash: "opens", arguments: "lines" };
export const TAGS: Delimiters = { start: "<", end: ">", slash: "closes", arguments: "attributes" };

const DELIMITERS: OptionNames<Delimiters> = {
  start: true,
  end: true,
  slash: true,
  arguments: true,
  prefix: true,
  separator: true,
  bodyArguments: "object",
};
const CHOICES: Readonly<Record<string, readonly unknown[]>> = { slash: ["opens", "closes"], arguments: ["lines", "attributes"] };

/** Checks delimiters that untyped JavaScript may pass. @throws ToolError `invalid_argument` */
export function checkDelimiters(format: string, delimiters: Delimiters): void {
  checkKnownKeys(delimiters, DELIMITERS, `The text format ${JSON.stringify(format)}`);
  const { start, end, prefix = "@@", separator = "=" } = delimiters;
  for (const [key, text] of Object.entries({ start, end, prefix, separator }))
    if (typeof text !== "string" || text === "") throw wrongDelimiter(format, key, "must be a string that is not empty");
  for (const [key, words] of Object.entries(CHOICES))
    if (!words.includes(Reflect.get(delimiters, key))) throw wrongDelimiter(format, key, `must be ${words.join(" or ")}`);
  const rule = findBrokenRule({ start, end, prefix, separator });
  if (rule !== undefined) throw wrongDelimiter(format, ...rule);
}

/** Delimiters with which no call could be read: the reader skips white space before arguments, and reads a name as far as it goes. */
function findBrokenRule({
  start,
  end,
  prefix,
  separator,
}: Record<"start" | "end" | "prefix" | "separator", string>): readonly [string, string] | undefined {
  for (const [key, text] of Object.entries({ start, end }))
    if (/^\s/u.test(text)) return [key, `must not begin with white space: ${JSON.stringify(text)}`];
  if (BEGINS_LIKE_NAME.test(end)) return ["end", `must begin with a character that no name has: ${JSON.stringify(end)}`];
  if (prefix.trim() === "") return ["prefix", `must not be only white space: ${JSON.stringify(prefix)}`];
  for (const [key, text] of Object.entries({ prefix, separator }))
    if (text.includes("\n")) return [key, `must not contain a line end: ${JSON.stringify(text)}`];
  return undefined;
}

function wrongDelimiter(format: string, key: string, rule: string): ToolError {
  return new ToolError("invalid_argument", `${key} of the text format ${JSON.stringify(format)} ${rule}.`, {
    hint: 'Such as { start: "[", end: "]", slash: "opens", arguments: "lines" }.',
  });
}

/** Returns how a tool's call begins and ends. */
export function delimitersOf(name: string, { start, end, slash }: Delimiters): { readonly open: string; readonly close: string } {
  return slash === "opens"
    ? { open: `${start}/${name}${end}`, close: `${start}${name}/${end}` }
    : { open: `${start}${name}${end}`, close: `${start}/${name}${end}` };
}

/** Unknown tool names, calls without an end, and marks in code or quotation marks are text. Calls do not nest. */
export function delimitedGrammar(delimiters: Delimiters): TextGrammar {
  const { start, slash } = delimiters;
  return {
    calls: [{ mark: slash === "opens" ? `${start}/` : start, read: delimitedCall(delimiters), where: "prose", nextPatterns: [NAME] }],
    unknownTools: "text",
  };
}

const NAME = /[\p{L}\p{M}\p{N}_.:-]/u;
const BEGINS_LIKE_NAME = /^[\p{L}\p{M}\p{N}_.:-]/u;
const MAX_NAME = 256;
const KEY = /[^\s"'<>=]/u;
const DEFAULT_BODY = "content";

function delimitedCall(delimiters: Delimiters): CallReader {
  return function* (context) {
    const { input } = context;
    const name = yield* input.readWhile(NAME, MAX_NAME);
    if (!context.acceptsName(name)) return false;
    const values = new TextArguments(context, name, (text) => text);
    const { close } = delimitersOf(name, delimiters);
    const opened = yield* readAttributes(context, values, delimiters);
    if (opened === false) return false;
    if (opened !== "whole") {
      const body = yield* readBodyText(context, values, { delimiters, close });
      if (body === undefined) return false;
      if (body !== "") setBody(context, values, { name, body, delimiters });
    }
    return context.acceptCall({ name, input: values.toInput() });
  };
}

/** Returns false if this is not an opening; `whole` if it is self-closing. */
function* readAttributes(context: ReaderContext, values: TextArguments, { end, ...delimiters }: Delimiters): Reading<boolean | "whole"> {
  const { input } = context;
  for (;;) {
    const space = yield* input.readWhile(/\s/u, MAX_NAME);
    if (delimiters.arguments === "attributes" && (yield* input.tryRead(`/${end}`))) return "whole";
    if (yield* input.tryRead(end)) return true;
    const key = space === "" ? "" : yield* input.readWhile(KEY, MAX_NAME);
    yield* input.readWhile(/\s/u, MAX_NAME);
    if (key === "" || !(yield* input.tryRead("="))) return false;
    yield* input.readWhile(/\s/u, MAX_NAME);
    const quote = yield* input.peek();
    if (quote !== '"' && quote !== "'") return false;
    yield* input.tryRead(quote);
    const text = yield* input.readWhile(quote === '"' ? /[^"]/u : /[^']/u);
    if (!(yield* input.tryRead(quote))) return false;
    values.set(unescapeName(key), unescapeAttribute(text));
  }
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&quot;", '"'],
  ["&apos;", "'"],
  ["&#10;", "\n"],
  ["&amp;", "&"],
]);

function unescapeAttribute(text: string): string {
  return text.replaceAll(/&(?:lt|gt|quot|apos|#10|amp);/gu, (entity) => ENTITIES.get(entity) ?? entity);
}

/** Characters that a name cannot have are written by their numbers: `&#32;`. */
function unescapeName(text: string): string {
  return text.replaceAll(/&#(\d{1,6});/gu, (_entity, code: string) => String.fromCodePoint(Number(code)));
}

interface BodyContext {
  readonly delimiters: Delimiters;
  readonly close: string;
}

/** Reads argument lines and returns the body after them; undefined if the end is missing. */
function* readBodyText(context: ReaderContext, values: TextArguments, { delimiters, close }: BodyContext): Reading<string | undefined> {
  const head: ArgumentLines | undefined =
    delimiters.arguments === "lines" ? yield* readLines(context, values, { delimiters, close }) : NO_LINES;
  if (head === undefined || head.end === "call") return head?.space;
  const { text, marker } = yield* context.input.readTextUntil(new MarkerSet([close]));
  if (marker === undefined) return undefined;
  const body = head.space + text;
  if (head.end === "mark") return body.replace(LAST_LINE_END, "");
  return body.trim() === "" ? "" : body.replace(FIRST_LINE_END, "").replace(LAST_LINE_END, "");
}

const FIRST_LINE_END = /^\r?\n/u;
const LAST_LINE_END = /\r?\n$/u;

interface ArgumentLines {
  /** The end of the argument lines: the end of the call, a line with only the prefix, or the body. */
  readonly end: "call" | "mark" | "body";
  /** The part of the body that was already read. */
  readonly space: string;
}

const NO_LINES: ArgumentLines = { end: "body", space: "" };

/** Reads argument lines, indented or not, with blank lines between; undefined if the last one does not end. */
function* readLines(
  { input }: ReaderContext,
  values: TextArguments,
  { delimiters, close }: BodyContext,
): Reading<ArgumentLines | undefined> {
  const { prefix = "@@", separator = "=" } = delimiters;
  const lineEnds = new MarkerSet(["\n", close]);
  const start = prefix.trimStart();
  const { all: names } = argumentNames(values.schema);
  for (let lines = 0; ; lines++) {
    const space = yield* input.readWhile(/\s/u);
    const before = lines === 0 ? space.replace(FIRST_LINE_END, "") : space;
    // the end of the call may begin like an argument line
    if ((close.startsWith(start) && (yield* input.startsWith(close))) || !(yield* input.tryRead(start)))
      return { end: "body", space: before };
    const { text, marker } = yield* input.readTextUntil(lineEnds);
    if (marker === undefined) return undefined;
    if (setJsonLine(values, text, separator)) {
      values.isCutShort = marker === close;
      if (marker === close) return { end: "call", space: "" };
      continue;
    }
    const at = findSeparator(text, separator, names);
    const key = (at < 0 ? text : text.slice(0, at)).trim();
    const isName = !/\s/u.test(key) || names.includes(key) || (names.length === 0 && at >= 0);
    if (!isName)
      // a diff, which begins with `@@ -1,3 +1,4 @@`, is the body
      return { end: marker === close ? "call" : "body", space: before + start + text + (marker === close ? "" : marker) };
    if (key !== "" || at >= 0) values.set(key, at < 0 ? "" : text.slice(at + separator.length).trim());
    values.isCutShort = marker === close;
    if (marker === close) return { end: "call", space: "" };
    if (key === "" && at < 0) return { end: "mark", space: "" };
  }
}

/** Takes a line whose name and value are both JSON. */
function setJsonLine(values: TextArguments, line: string, separator: string): boolean {
  const [name = ""] = JSON_STRING.exec(line) ?? [];
  const key = parseStrict(name);
  if (typeof key !== "string" || !line.startsWith(separator, name.length)) return false;
  const value = parseStrict(line.slice(name.length + separator.length));
  if (value !== undefined) values.setValue(key, value);
  return value !== undefined;
}

const JSON_STRING = /^"(?:[^"\\]|\\.)*"/u;

/** Where the name ends: behind the longest of the tool's names that has the separator in it, else at the first separator. */
function findSeparator(text: string, separator: string, names: readonly string[]): number {
  const lengths = names.filter((name) => name.includes(separator) && text.startsWith(name + separator)).map(({ length }) => length);
  return lengths.length > 0 ? maxOf(lengths) : text.indexOf(separator);
}

interface Body {
  readonly name: string;
  readonly body: string;
  readonly delimiters: Delimiters;
}

/** Sets the argument that the body is. If there is none, or it is set already, the body is kept under another name, with a warning. */
function setBody(context: ReaderContext, values: TextArguments, { name, body, delimiters }: Body): void {
  const argument = bodyArgument(context, values, { name, body, delimiters });
  if (argument !== undefined && !values.has(argument)) return values.set(argument, body);
  if (body.trim() === "") return undefined;
  let free = argument === undefined ? DEFAULT_BODY : "body";
  for (let count = 2; values.has(free); count++) free = `body_${count}`;
  values.setValue(free, body);
  const why = argument === undefined ? "a body, but no argument for it" : `both a body and the argument ${JSON.stringify(argument)}`;
  context.warn(`The call of ${JSON.stringify(name)} has ${why}; the body is kept as ${JSON.stringify(free)}.`);
}

/** Returns the argument that the body is: from `bodyArguments`, else `content`, the missing required one, or the only one that can be a string. */
function bodyArgument(context: ReaderContext, values: TextArguments, { name, delimiters }: Body): string | undefined {
  const tool = context.findTool(name);
  for (const given of [context.bodyArguments, delimiters.bodyArguments ?? {}])
    for (const one of tool === undefined ? [name] : [name, tool.name, splitName(tool.name).name])
      if (Object.hasOwn(given, one)) return given[one];
  const { schema } = values;
  const { all } = argumentNames(schema);
  return all.length === 0 || all.includes(DEFAULT_BODY) ? DEFAULT_BODY : unnamedArgument(schema, (key) => values.has(key));
}
