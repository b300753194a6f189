/** Calls whose arguments are in tags of their own, as plain text: `<function=name><parameter=key>value</parameter></function>`. */
import { readArgumentText } from "./named-calls.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReaderContext } from "./text-grammar.ts";
import { type RestMarks, readRestOfValue } from "./rest-of-value.ts";
import type { Reading, TextInput } from "./text-input.ts";
import { TextArguments } from "./text-arguments.ts";
import { type OpeningTag, type ReadTag, parseArgumentTag, readTagRest, parseToolName } from "./opening-tag.ts";
import { argumentNames, parseLooseValue } from "./typed-value.ts";

export interface ParameterCallOptions {
  /** The end of the call: `</function>`. */
  readonly close: string;
  /** The beginning of a parameter's tag: `<parameter`. */
  readonly open: string;
  /** The end of a parameter: `</parameter>`. */
  readonly end: string;
  /** The end marks of what encloses calls. They end a call that lacks its own end, whose arguments then stay unclosed; they do not end a value. */
  readonly enclosingEnds?: readonly string[];
  /** The part of the opening tag after the mark's first word: `name=`. */
  readonly attribute?: string;
  /** The end of an opening tag. @default ">" */
  readonly tagEnd?: string;
  /** Reads the rest of an opening tag. @default `=name`, `name` or ` name="…"` */
  readonly readTag?: ReadTag;
  /** Whether values are used unchanged: line ends next to the tags, and `<![CDATA[…]]>`, are part of them. @default false */
  readonly exact?: boolean;
  /** The marks around all arguments as one JSON object, in place of one tag each: the beginning of the opening tag, and the end mark. */
  readonly json?: readonly [open: string, close: string];
  /** Whether arguments that are not in the schema are left out, and a call without a required one is text. @default false */
  readonly requiresSchemaMatch?: boolean;
}

/** Returns a reader whose mark is the beginning of the call's tag, up to the name: `<function=`, or `<invoke` with `name="…"` after it. */
export function parameterCall(options: ParameterCallOptions): CallReader {
  const { attribute = "", tagEnd = ">", requiresSchemaMatch = false, readTag } = options;
  const marks = parameterMarks(options);
  const { open, end, close } = marks;
  return function* (context) {
    const { input } = context;
    const head = attribute + (yield* readTagRest(input, { tagEnd }));
    const name = readTag === undefined ? parseToolName(head) : readTag(head, [])?.name;
    if (name === undefined || !(yield* input.tryRead(tagEnd)) || !context.acceptsName(name)) return false;
    yield* input.skipSpace();
    const jsonEnd = yield* readJsonTag(input, options);
    if (jsonEnd !== undefined || (yield* input.peek()) === "{")
      return yield* acceptJsonBody(context, name, { outside: marks.outside, jsonEnd });
    const values = new TextArguments(context, name);
    const inner = { ...marks, names: argumentNames(values.schema).all };
    let { text, marker, tag } = yield* readPart(context, marks.outside, inner);
    while (marker === open) {
      const opened = marks.readTag(tag, inner.names);
      if (text.trim() !== "" || opened === undefined || !(yield* input.tryRead(tagEnd))) return false;
      const value = yield* readParameter(context, inner);
      if (value.marker === undefined) return false;
      setArgument(values, opened, marks.exact ? { ...value, isData: true } : value);
      values.isCutShort = value.marker === close;
      ({ text, marker, tag } = value.marker === end ? yield* readPart(context, marks.outside, inner) : { ...value, text: "" });
    }
    if (text.trim() !== "" || marker === undefined) return false;
    if (marker !== close) input.unread(marker);
    values.isCutShort ||= marker !== close;
    const read = requiresSchemaMatch ? values.toSchemaInput() : values.toInput();
    return read !== undefined && context.acceptCall({ name, input: read });
  };
}

/** Reads the tag that opens arguments as JSON, if it is at this position. Returns the mark that ends them; undefined if it is not. */
function* readJsonTag(input: TextInput, { json, tagEnd = ">" }: ParameterCallOptions): Reading<string | undefined> {
  if (json === undefined || !(yield* input.tryRead(json[0]))) return undefined;
  yield* readTagRest(input, { tagEnd });
  yield* input.tryRead(tagEnd);
  yield* input.skipSpace();
  return json[1];
}

interface ParameterMarks {
  readonly open: string;
  readonly end: string;
  readonly close: string;
  readonly rest: RestMarks;
  readonly outside: MarkerSet;
  readonly inside: MarkerSet;
  readonly tagEnd: string;
  readonly readTag: ReadTag;
  readonly exact: boolean;
}

function parameterMarks(options: ParameterCallOptions): ParameterMarks {
  const { open, end, close, enclosingEnds = [], tagEnd = ">", readTag = parseArgumentTag, exact = false } = options;
  const callEnds = [open, close, ...enclosingEnds];
  const rest: RestMarks = { end, stops: new MarkerSet([end, open]), callEnds, next: [open, close] };
  return { open, end, close, rest, outside: new MarkerSet(callEnds), inside: new MarkerSet([end, open, close]), tagEnd, readTag, exact };
}

interface Part {
  readonly text: string;
  /** The mark after the text. */
  readonly marker: string | undefined;
  /** The rest of the opening tag that the mark begins. */
  readonly tag: string;
}

function* readPart({ input }: ReaderContext, markers: MarkerSet, marks: NamedMarks): Reading<Part> {
  const { text, marker } = yield* input.readTextUntil(markers);
  return { text, marker, tag: marker === marks.open ? yield* readTagRest(input, marks) : "" };
}

interface ReadValue extends Part {
  /** Whether the line ends at the tags were already removed, or belong to the text, such as that of a CDATA section. */
  readonly isData?: boolean;
}

/** Reads a value up to its end. Marks inside `<![CDATA[…]]>` are ignored, and several such sections are joined. */
function* readParameter(context: ReaderContext, marks: NamedMarks): Reading<ReadValue> {
  const { input } = context;
  const space = yield* input.readWhile(/\s/u);
  const sections: string[] = [];
  while (!marks.exact && (yield* input.tryRead(DATA))) {
    const { text, marker } = yield* input.readTextUntil(DATA_ENDS);
    if (marker === undefined) return { text, marker, tag: "" };
    sections.push(text);
  }
  if (marks.exact) return yield* readPlainValue(context, space, marks);
  const behind = yield* input.readWhile(/\s/u);
  if (sections.length > 0 && (yield* input.tryRead(marks.end)))
    return { text: sections.join(""), marker: marks.end, tag: "", isData: true };
  const alreadyRead = space + sections.map((text) => `${DATA}${text}]]>`).join("") + behind;
  return yield* readPlainValue(context, alreadyRead, marks);
}

interface NamedMarks extends ParameterMarks {
  /** The names of the tool's arguments; empty if they are not known. */
  readonly names: readonly string[];
}

/** A value without an end mark ends where a line begins with another argument of the tool. Any other opening tag is part of the value. */
function* readPlainValue(context: ReaderContext, alreadyRead: string, marks: NamedMarks): Reading<Part> {
  const { names, open, end, close, inside, rest } = marks;
  const pieces = [alreadyRead];
  for (;;) {
    const part = yield* readPart(context, inside, marks);
    const mark = part.marker === close || part.marker === end ? part.marker : undefined;
    const more = mark === undefined ? undefined : yield* readRestOfValue(context.input, rest, mark);
    if (more !== undefined) return { text: [...pieces, part.text, mark, more].join(""), marker: end, tag: "" };
    const isLine = BEGINS_LINE.test(`${pieces.at(-1) ?? ""}${part.text}`);
    pieces.push(part.text);
    const next = marks.readTag(part.tag, names);
    const isNext = isLine && next !== undefined && (names.length === 0 || names.includes(next.name));
    if (part.marker !== open || isNext) return { ...part, text: pieces.join("") };
    pieces.push(open + part.tag);
  }
}

const BEGINS_LINE = /(?:^|\n)[ \t]{0,64}$/u;
const DATA = "<![CDATA[";
const DATA_ENDS = new MarkerSet(["]]>"]);

interface JsonMarks {
  readonly outside: MarkerSet;
  readonly jsonEnd?: string | undefined;
}

function* acceptJsonBody(context: ReaderContext, name: string, { outside, jsonEnd }: JsonMarks): Reading<boolean> {
  const { input } = context;
  if (jsonEnd !== undefined && (yield* input.peek()) !== "{") return false;
  const value = yield* readArgumentText(context);
  if (value === undefined) return false;
  yield* input.skipSpace();
  if (jsonEnd !== undefined && !(yield* input.tryRead(jsonEnd))) return false;
  const { text } = yield* input.readTextUntil(outside);
  return text.trim() === "" && context.acceptCall({ name, input: value });
}

/** Line breaks next to a value are part of it only if the tag says that the value is a string. */
function setArgument(values: TextArguments, { name, isString }: OpeningTag, { text, isData = false }: ReadValue): void {
  if (isString === true) return values.setValue(name, text);
  const inner = isData ? text : text.replace(/^\r?\n/u, "").replace(/\r?\n$/u, "");
  const value = isString === false ? parseLooseValue(inner) : undefined;
  if (value === undefined) values.set(name, inner);
  else values.setValue(name, value);
}
