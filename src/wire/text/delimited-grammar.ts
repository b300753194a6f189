/** Calls between delimiters of one's choice that bear the tool's name: `[/read]…[read/]`, `<read path="x"/>`, and any like them. */
import { ToolError } from "../../core/error.ts";
import { MarkerSet } from "./marker-set.ts";
import { TextArguments } from "./parameter-calls.ts";
import type { CallReader, ReadPlace, TextGrammar } from "./text-grammar.ts";
import type { Reading } from "./text-input.ts";
import { argumentNames } from "./typed-value.ts";

export interface Delimiters {
  /** Before a name. */
  readonly start: string;
  /** Behind it. */
  readonly end: string;
  /** What the slash beside a name means: `opens`: `[/name]…[name/]`; `closes`: `<name>…</name>`. */
  readonly slash: "opens" | "closes";
  /** `lines`: one argument a line below the opening, before the body; `attributes`: `key="value"` in the opening. */
  readonly arguments: "lines" | "attributes";
  /** Before the key of an argument line. @default "@@" */
  readonly prefix?: string;
  /** Between key and value of an argument line. @default "=" */
  readonly separator?: string;
  /** By tool, the argument that the body is. @default `content`, or the one argument that is left */
  readonly bodyArguments?: Readonly<Record<string, string>>;
}

export const BRACKETS: Delimiters = { start: "[", end: "]", slash: "opens", arguments: "lines" };
export const TAGS: Delimiters = { start: "<", end: ">", slash: "closes", arguments: "attributes" };

const CHOICES: Readonly<Record<string, readonly unknown[]>> = { slash: ["opens", "closes"], arguments: ["lines", "attributes"] };

/** @throws ToolError `invalid_argument`, for what plain JavaScript may pass */
export function checkDelimiters(format: string, delimiters: Delimiters): void {
  const { start, end, prefix = "@@", separator = "=" } = delimiters ?? {};
  for (const [key, text] of Object.entries({ start, end, prefix, separator }))
    if (typeof text !== "string" || text === "") throw wrongDelimiter(format, key, "must be a string that is not empty");
  for (const [key, words] of Object.entries(CHOICES))
    if (!words.includes(Reflect.get(delimiters, key))) throw wrongDelimiter(format, key, `must be ${words.join(" or ")}`);
}

function wrongDelimiter(format: string, key: string, rule: string): ToolError {
  return new ToolError("invalid_argument", `${key} of the text format ${JSON.stringify(format)} ${rule}.`, {
    hint: 'Such as { start: "[", end: "]", slash: "opens", arguments: "lines" }.',
  });
}

/** How one tool's call begins and ends. */
export function delimitersOf(name: string, { start, end, slash }: Delimiters): { readonly open: string; readonly close: string } {
  return slash === "opens"
    ? { open: `${start}/${name}${end}`, close: `${start}${name}/${end}` }
    : { open: `${start}${name}${end}`, close: `${start}/${name}${end}` };
}

/** Names that no tool has, calls without an end and marks in code or quotation marks stay text. Calls do not nest. */
export function delimitedGrammar(delimiters: Delimiters): TextGrammar {
  const { start, slash } = delimiters;
  return {
    calls: [{ mark: slash === "opens" ? `${start}/` : start, read: delimitedCall(delimiters), where: "prose", behind: [NAME] }],
    unknownTools: "text",
  };
}

const NAME = /[\p{L}\p{N}_.:-]/u;
const MAX_NAME = 256;
const KEY = /[^\s"'<>=]/u;
const DEFAULT_BODY = "content";

function delimitedCall(delimiters: Delimiters): CallReader {
  return function* (place) {
    const { input } = place;
    const name = yield* input.while(NAME, MAX_NAME);
    if (!place.knows(name)) return false;
    const values = new TextArguments(place, name, (text) => text);
    const { close } = delimitersOf(name, delimiters);
    const opened = delimiters.arguments === "lines" ? yield* input.take(delimiters.end) : yield* readAttributes(place, values, delimiters);
    if (opened === false) return false;
    if (opened !== "whole") {
      const body = yield* readInside(place, values, { delimiters, close });
      if (body === undefined) return false;
      if (body !== "") setBody(place, values, { name, body, delimiters });
    }
    return place.accept({ name, input: values.all() });
  };
}

/** False for what is no opening; `whole` for one that closes itself. */
function* readAttributes(place: ReadPlace, values: TextArguments, { end }: Delimiters): Reading<boolean | "whole"> {
  const { input } = place;
  for (;;) {
    const space = yield* input.while(/\s/u, MAX_NAME);
    if (yield* input.take(`/${end}`)) return "whole";
    if (yield* input.take(end)) return true;
    const key = space === "" ? "" : yield* input.while(KEY, MAX_NAME);
    if (key === "" || !(yield* input.take("="))) return false;
    const quote = yield* input.peek();
    if (quote !== '"' && quote !== "'") return false;
    yield* input.take(quote);
    const text = yield* input.while(quote === '"' ? /[^"]/u : /[^']/u);
    if (!(yield* input.take(quote))) return false;
    values.set(key, unescapeAttribute(text));
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

interface Inside {
  readonly delimiters: Delimiters;
  readonly close: string;
}

/** Argument lines and the body behind them; undefined where the end is missing. */
function* readInside(place: ReadPlace, values: TextArguments, { delimiters, close }: Inside): Reading<string | undefined> {
  const { prefix = "@@", separator = "=" } = delimiters;
  const ends = new MarkerSet([close]);
  if (delimiters.arguments === "lines") {
    const lineEnds = new MarkerSet(["\n", close]);
    yield* readNewline(place);
    while (yield* place.input.take(prefix)) {
      const { text, marker } = yield* place.input.textUntil(lineEnds);
      if (marker === undefined) return undefined;
      const at = text.indexOf(separator);
      const key = (at < 0 ? text : text.slice(0, at)).trim();
      if (key !== "") values.set(key, at < 0 ? "" : text.slice(at + separator.length).replace(/\r$/u, ""));
      if (marker === close) return "";
    }
  }
  const { text, marker } = yield* place.input.textUntil(ends);
  return marker === undefined ? undefined : text.replace(/^\r?\n/u, "").replace(/\r?\n$/u, "");
}

function* readNewline({ input }: ReadPlace): Reading<void> {
  yield* input.take("\r");
  yield* input.take("\n");
}

interface Body {
  readonly name: string;
  readonly body: string;
  readonly delimiters: Delimiters;
}

/** A body beside the argument it stands for is kept as `body`, and told of. */
function setBody(place: ReadPlace, values: TextArguments, { name, body, delimiters }: Body): void {
  const argument = bodyArgument(place, values, { name, body, delimiters });
  if (!values.has(argument)) return values.set(argument, body);
  if (body.trim() === "") return undefined;
  let free = "body";
  for (let count = 2; values.has(free); count++) free = `body_${count}`;
  values.setValue(free, body);
  place.warn(
    `The call of ${JSON.stringify(name)} has both a body and the argument ${JSON.stringify(argument)}; the body is kept as ${JSON.stringify(free)}.`,
  );
}

function bodyArgument(place: ReadPlace, values: TextArguments, { name, delimiters: { bodyArguments = {} } }: Body): string {
  const tool = place.tool(name);
  for (const one of [name, tool?.name ?? name]) if (Object.hasOwn(bodyArguments, one)) return bodyArguments[one] ?? DEFAULT_BODY;
  const { all, required } = argumentNames(tool?.inputSchema);
  if (all.length === 0 || all.includes(DEFAULT_BODY)) return DEFAULT_BODY;
  const left = required.filter((key) => !values.has(key));
  return (left.length === 1 ? left[0] : all.length === 1 ? all[0] : undefined) ?? DEFAULT_BODY;
}
