/** Opening tags that name an argument or a tool: `=name`, `name`, or ` name="…"` with other attributes. */
import type { Reading, TextInput } from "./text-input.ts";

const MAX_TAG = 512;
const IN_TAG = /[^<>\n]/u;
const ENDS_TAG = /[<>\n]/u;
const ANY = /[^]/u;
const TOOL_NAME = /^[^\s<>"'=]+$/u;
/** Names of arguments may have several words. */
const ARGUMENT_NAME = /^[^<>"=]+$/u;
const QUOTED_NAME = /(?:^|\s)name\s?=\s?(["'])/u;
const STRING_ATTRIBUTE = /(?:^|\s)string="(true|false)"/u;

export interface OpeningTag {
  readonly name: string;
  /** Whether the value is a string; undefined if the tag does not say. */
  readonly isString?: boolean | undefined;
}

/** Reads the rest of an opening tag of one of these arguments; undefined for another tag with the same beginning, such as `<parameters>`. */
export type ReadTag = (tag: string, names: readonly string[]) => OpeningTag | undefined;

/** Whether the reader of tags takes an argument of this name as it is, without a tool that has it. */
export function isTagName(name: string): boolean {
  return name.length < MAX_TAG / 2 && name === name.trim() && !name.includes("\n") && ARGUMENT_NAME.test(name);
}

interface TagMarks {
  readonly tagEnd: string;
  readonly names?: readonly string[];
}

/** The text up to the end of an opening tag. It may contain `<`, `>` or a line break only in a name that the tool has, or if tags end with a token. */
export function* readTagRest(input: TextInput, { tagEnd, names = [] }: TagMarks): Reading<string> {
  let tag = yield* input.readWhile(IN_TAG, MAX_TAG);
  if (tagEnd === ">") return tag + (yield* readRestOfName(input, tag, names));
  const token = tagEnd.slice(0, 2);
  while (tag.length < MAX_TAG && (yield* input.peek()) !== "" && !(yield* input.startsWith(token)))
    tag += (yield* input.readWhile(ANY, 1)) + (yield* input.readWhile(IN_TAG, MAX_TAG - tag.length));
  return tag;
}

function* readRestOfName(input: TextInput, tag: string, names: readonly string[]): Reading<string> {
  const quoted = QUOTED_NAME.exec(tag);
  const beginning = quoted === null ? tag.replace(/^=/u, "") : tag.slice(quoted.index + quoted[0].length);
  const longer = names.filter((name) => name.startsWith(beginning) && ENDS_TAG.test(name)).sort((a, b) => b.length - a.length);
  for (const name of longer) {
    const rest = name.slice(beginning.length);
    if (!(yield* input.startsWith(rest + (quoted?.[1] ?? ">")))) continue;
    yield* input.tryRead(rest);
    return rest + (yield* input.readWhile(IN_TAG, MAX_TAG));
  }
  return "";
}

export function parseToolName(tag: string): string | undefined {
  const name = findQuotedName(tag, []) ?? { name: unquotedName(tag) };
  return TOOL_NAME.test(name.name) ? name.name : undefined;
}

/** A name truncated at a quotation mark or an equals sign would be another argument, so it counts only if the tool has it. */
export const parseArgumentTag: ReadTag = (tag, names) => {
  if (!/^[=\s]/u.test(tag)) return undefined;
  if (tag.startsWith("=") && names.includes(tag.slice(1))) return { name: tag.slice(1) };
  const found = findQuotedName(tag, names) ?? { name: unquotedName(tag) };
  return names.includes(found.name) || ARGUMENT_NAME.test(found.name) ? found : undefined;
};

/** The name in quotation marks: it ends at one with white space or nothing behind it, the first one with which it is the name of an argument. */
function findQuotedName(tag: string, names: readonly string[]): OpeningTag | undefined {
  const opened = QUOTED_NAME.exec(tag);
  if (opened === null) return undefined;
  const from = opened.index + opened[0].length;
  const ends = Array.from(tag.slice(from).matchAll(opened[1] === "'" ? /'(?=\s|\/?$)/gu : /"(?=\s|\/?$)/gu), ({ index }) => from + index);
  const end = ends.find((at) => names.includes(tag.slice(from, at))) ?? ends[0];
  if (end === undefined) return undefined;
  const stringFlag = STRING_ATTRIBUTE.exec(tag.slice(0, opened.index) + tag.slice(end + 1))?.[1];
  return { name: tag.slice(from, end), isString: stringFlag === undefined ? undefined : stringFlag === "true" };
}

function unquotedName(tag: string): string {
  return tag
    .replace(/^=/u, "")
    .trim()
    .replace(/^"([^"]+)"$/u, "$1");
}
