/** Calls whose arguments are in tags of their own, as plain text: `<function=name><parameter=key>value</parameter></function>`. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { jsonMembers } from "./literal.ts";
import { readArgumentText } from "./named-calls.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReadPlace } from "./text-grammar.ts";
import type { Reading, TextInput } from "./text-input.ts";
import { argumentNames, guessValue, propertySchema, readValue, typedValue } from "./typed-value.ts";

const MAX_TAG = 512;
const IN_TAG = /[^<>\n]/u;
const TOOL_NAME = /^[^\s<>"'=]+$/u;
/** Arguments may have names of several words. */
const ARGUMENT_NAME = /^[^<>"=]+$/u;

type Written = { readonly value: JsonValue } | { readonly text: string };

/** Arguments as they come, typed by the tool's schema. */
export class TextArguments {
  readonly #place: ReadPlace;
  readonly #name: string;
  readonly #untyped: (text: string) => JsonValue;
  /** Text is typed when all of it is there. */
  readonly #values = new Map<string, Written>();
  /** The values behind a key that was there already. */
  readonly #again: [key: string, written: Written][] = [];
  /** The last argument has no end of its own before that of the call, or the call has none: something may be missing. */
  isCutShort = false;

  /** @param untyped what becomes of text where the tool is not known */
  constructor(place: ReadPlace, name: string, untyped: (text: string) => JsonValue = guessValue) {
    this.#place = place;
    this.#name = name;
    this.#untyped = untyped;
  }

  set(key: string, text: string): void {
    this.#put(key, { text });
  }

  setValue(key: string, value: JsonValue): void {
    this.#put(key, { value });
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  /** Only arguments of the schema; undefined where something required is missing. */
  fitted(): JsonValue | undefined {
    const { schema } = this;
    if (schema === undefined) return this.all();
    const broken = this.#unwrap(schema);
    if (broken !== undefined) return broken;
    const { all, required } = argumentNames(schema);
    const unknown = [...this.#values.keys()].filter((key) => !all.includes(key));
    if (!required.every((key) => this.#values.has(key))) return undefined;
    for (const key of unknown) this.#values.delete(key);
    if (unknown.length > 0) this.#place.warn(leftOut(this.#name, unknown));
    return this.#written(schema, ([key]) => all.includes(key));
  }

  /** JSON text where an argument occurs twice, which the runtime refuses; without its end where that is missing, which no tool that writes is given. */
  all(): JsonValue {
    const { schema } = this;
    return (schema === undefined ? undefined : this.#unwrap(schema)) ?? this.#written(schema, () => true);
  }

  get schema(): JsonObject | undefined {
    const schema = this.#place.tool(this.#name)?.inputSchema;
    return isJsonObject(schema) ? schema : undefined;
  }

  #put(key: string, written: Written): void {
    if (this.#values.has(key)) this.#again.push([key, written]);
    else this.#values.set(key, written);
  }

  #written(schema: JsonObject | undefined, keep: (member: readonly [string, Written]) => boolean): JsonValue {
    const members = [...this.#values, ...this.#again]
      .filter(keep)
      .map(([key, written]) => [key, this.#typed(key, written, schema)] as const);
    const mayRun = this.#place.anyTool || this.#place.has(this.#name);
    const isCutShort = this.isCutShort && mayRun;
    if (members.length === this.#values.size && !isCutShort) return Object.fromEntries(members);
    const text = jsonMembers(members.map(([key, value]) => [key, JSON.stringify(value)]));
    return isCutShort ? text.slice(0, -1) : text;
  }

  /** Takes arguments out of one that the tool does not have and that holds them as JSON; gives that JSON where it cannot be read. */
  #unwrap(schema: JsonObject): string | undefined {
    const { all } = argumentNames(schema);
    for (const [key, written] of this.#values) {
      if (!WRAPPERS.has(key) || all.length === 0 || all.includes(key)) continue;
      const value = "value" in written ? written.value : isBraced(written.text) ? (readValue(written.text) ?? written.text) : undefined;
      if (typeof value === "string" && "text" in written) return value;
      if (!isJsonObject(value)) continue;
      this.#values.delete(key);
      for (const [name, item] of Object.entries(value)) this.#put(name, { value: item });
      return undefined;
    }
    return undefined;
  }

  #typed(key: string, written: Written, schema: JsonObject | undefined): JsonValue {
    if ("value" in written) return written.value;
    if (schema === undefined) return this.#untyped(written.text);
    return typedValue(written.text, propertySchema(schema, key), schema);
  }
}

const WRAPPERS: ReadonlySet<string> = new Set(["arguments", "parameters"]);

function isBraced(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.startsWith("{") && trimmed.endsWith("}");
}

function leftOut(tool: string, keys: readonly string[]): string {
  return `The call of ${JSON.stringify(tool)} has arguments that the tool does not have, which are left out: ${keys.join(", ")}.`;
}

export interface ParameterCallOptions {
  /** The call's end: `</function>`. */
  readonly close: string;
  /** The beginning of a parameter's tag: `<parameter`. */
  readonly open: string;
  /** The end of a parameter: `</parameter>`. */
  readonly end: string;
  /** The ends of what is around calls. They end a call that lacks its own end, whose arguments are left open, but no value. */
  readonly around?: readonly string[];
  /** The part of the opening tag behind the mark's first word: `name=`. */
  readonly attribute?: string;
  /** The end of an opening tag. @default ">" */
  readonly tagEnd?: string;
  /** The attributes of an opening tag as `name="…"`, and `string="true"` or `"false"` where they tell the type. @default as they are */
  readonly attributes?: (tag: string) => string;
  /** Values are as they are between their tags: line ends next to the tags and `<![CDATA[…]]>` are part of them. @default false */
  readonly exact?: boolean;
  /** The marks around all arguments as one JSON object, in place of a tag for each: the beginning of the opening tag, and the end. */
  readonly json?: readonly [open: string, close: string];
  /** Arguments that are not in the schema are left out, and a call without one it requires is text. @default false */
  readonly fit?: boolean;
}

/** The mark is the beginning of the call's tag, up to the name: `<function=` or `<invoke`, which has `name="…"`. */
export function parameterCall(options: ParameterCallOptions): CallReader {
  const { attribute = "", tagEnd = ">", attributes = (tag: string) => tag, fit = false } = options;
  const marks = parameterMarks(options, attributes);
  const { open, end, close } = marks;
  return function* (place) {
    const { input } = place;
    const name = tagName(attribute + attributes(yield* input.while(IN_TAG, MAX_TAG)), TOOL_NAME);
    if (name === undefined || !(yield* input.take(tagEnd)) || !place.knows(name)) return false;
    yield* input.space();
    const jsonEnd = yield* takeJsonTag(input, options);
    if (jsonEnd !== undefined || (yield* input.peek()) === "{") return yield* jsonBody(place, name, { outside: marks.outside, jsonEnd });
    const values = new TextArguments(place, name);
    const names = argumentNames(values.schema).all;
    let { text, marker, tag } = yield* readPart(place, marks.outside, open);
    while (marker === open) {
      const key = argumentName(attributes(tag));
      if (text.trim() !== "" || key === undefined || !(yield* input.take(tagEnd))) return false;
      const value = yield* readParameter(place, names, marks);
      if (value.marker === undefined) return false;
      setParameter(values, { key, tag: attributes(tag), value: marks.exact ? { ...value, isData: true } : value });
      values.isCutShort = value.marker === close;
      ({ text, marker, tag } = value.marker === end ? yield* readPart(place, marks.outside, open) : { ...value, text: "" });
    }
    if (text.trim() !== "" || marker === undefined) return false;
    if (marker !== close) input.unread(marker);
    values.isCutShort ||= marker !== close;
    const read = fit ? values.fitted() : values.all();
    return read !== undefined && place.accept({ name, input: read });
  };
}

/** Reads the tag that opens arguments as JSON, if it is at this place; the mark that ends them. */
function* takeJsonTag(input: TextInput, { json, tagEnd = ">" }: ParameterCallOptions): Reading<string | undefined> {
  if (json === undefined || !(yield* input.take(json[0]))) return undefined;
  yield* input.while(IN_TAG, MAX_TAG);
  yield* input.take(tagEnd);
  yield* input.space();
  return json[1];
}

interface ParameterMarks {
  readonly open: string;
  readonly end: string;
  readonly close: string;
  readonly rest: RestMarks;
  readonly outside: MarkerSet;
  readonly inside: MarkerSet;
  readonly attributes: (tag: string) => string;
  readonly exact: boolean;
}

function parameterMarks(options: ParameterCallOptions, attributes: ParameterMarks["attributes"]): ParameterMarks {
  const { open, end, close, around = [], exact = false } = options;
  const over = [open, close, ...around];
  const rest = { end, stops: new MarkerSet([end, open]), over, next: [open, close] };
  return { open, end, close, rest, outside: new MarkerSet(over), inside: new MarkerSet([end, open, close]), attributes, exact };
}

interface Part {
  readonly text: string;
  /** The mark behind the text. */
  readonly marker: string | undefined;
  /** The rest of the opening tag that the mark begins. */
  readonly tag: string;
}

function* readPart({ input }: ReadPlace, markers: MarkerSet, open: string): Reading<Part> {
  const { text, marker } = yield* input.textUntil(markers);
  return { text, marker, tag: marker === open ? yield* input.while(IN_TAG, MAX_TAG) : "" };
}

interface ReadValue extends Part {
  /** The text has no line ends of the tags, as where it was marked as data. */
  readonly isData?: boolean;
}

/** A value up to its end. In `<![CDATA[…]]>` no mark means anything; data in several such sections is joined. */
function* readParameter(place: ReadPlace, names: readonly string[], marks: ParameterMarks): Reading<ReadValue> {
  const { input } = place;
  const space = yield* input.while(/\s/u);
  const sections: string[] = [];
  while (!marks.exact && (yield* input.take(DATA))) {
    const { text, marker } = yield* input.textUntil(DATA_ENDS);
    if (marker === undefined) return { text, marker, tag: "" };
    sections.push(text);
  }
  if (marks.exact) return yield* readPlain(place, space, { names, ...marks });
  const behind = yield* input.while(/\s/u);
  if (sections.length > 0 && (yield* input.take(marks.end))) return { text: sections.join(""), marker: marks.end, tag: "", isData: true };
  const begun = space + sections.map((text) => `${DATA}${text}]]>`).join("") + behind;
  return yield* readPlain(place, begun, { names, ...marks });
}

interface PlainMarks extends ParameterMarks {
  /** Of the tool's arguments; none where they are not known. */
  readonly names: readonly string[];
}

/** A value that lacks its end is over where a line begins with another argument of the tool. Any other opening tag is part of it. */
function* readPlain(place: ReadPlace, begun: string, marks: PlainMarks): Reading<Part> {
  const { names, open, end, close, inside, rest, attributes } = marks;
  const pieces = [begun];
  for (;;) {
    const part = yield* readPart(place, inside, open);
    const mark = part.marker === close || part.marker === end ? part.marker : undefined;
    const more = mark === undefined ? undefined : yield* restOfValue(place.input, rest, mark);
    if (more !== undefined) return { text: [...pieces, part.text, mark, more].join(""), marker: end, tag: "" };
    const isLine = BEGINS_LINE.test(`${pieces.at(-1) ?? ""}${part.text}`);
    pieces.push(part.text);
    const key = argumentName(attributes(part.tag));
    const isNext = isLine && key !== undefined && (names.length === 0 || names.includes(key));
    if (part.marker !== open || isNext) return { ...part, text: pieces.join("") };
    pieces.push(open + part.tag);
  }
}

interface RestMarks {
  readonly end: string;
  /** The end, and what begins another argument. */
  readonly stops: MarkerSet;
  /** Marks of which one is behind the end where the value is over. */
  readonly over: readonly string[];
  /** Marks of which one is behind an end further on where that is the value's. */
  readonly next: readonly string[];
}

/**
 * The rest of a value behind a mark that ends a value or a call, where it ends neither: the value's end follows, and more of the call
 * behind it. Undefined where that is not so, and nothing but white space is read.
 */
function* restOfValue(input: TextInput, { end, stops, over, next }: RestMarks, mark: string): Reading<string | undefined> {
  let read = mark === end ? yield* input.while(/\s/u) : "";
  if (mark === end && (yield* standsAny(input, over))) return undefined;
  for (;;) {
    const { text, marker } = yield* input.textUntil(stops);
    if (marker !== end) {
      input.unread(read + text + (marker ?? ""));
      return undefined;
    }
    const space = yield* input.while(/\s/u);
    if (yield* standsAny(input, next)) return read + text;
    read += text + end + space;
  }
}

function* standsAny(input: TextInput, marks: readonly string[]): Reading<boolean> {
  for (const mark of marks) if (yield* input.stands(mark)) return true;
  return false;
}

const BEGINS_LINE = /(?:^|\n)[ \t]{0,64}$/u;
const DATA = "<![CDATA[";
const DATA_ENDS = new MarkerSet(["]]>"]);

interface JsonMarks {
  readonly outside: MarkerSet;
  readonly jsonEnd?: string | undefined;
}

function* jsonBody(place: ReadPlace, name: string, { outside, jsonEnd }: JsonMarks): Reading<boolean> {
  const { input } = place;
  if (jsonEnd !== undefined && (yield* input.peek()) !== "{") return false;
  const value = yield* readArgumentText(place);
  if (value === undefined) return false;
  yield* input.space();
  if (jsonEnd !== undefined && !(yield* input.take(jsonEnd))) return false;
  const { text } = yield* input.textUntil(outside);
  return text.trim() === "" && place.accept({ name, input: value });
}

interface Parameter {
  readonly key: string;
  readonly tag: string;
  readonly value: ReadValue;
}

/** Only where the tag says that the value is a text are the line ends next to it part of it. */
function setParameter(values: TextArguments, { key, tag, value: { text, isData = false } }: Parameter): void {
  if (tag.includes('string="true"')) return values.setValue(key, text);
  const inner = isData ? text : text.replace(/^\r?\n/u, "").replace(/\r?\n$/u, "");
  const value = tag.includes('string="false"') ? readValue(inner) : undefined;
  if (value === undefined) values.set(key, inner);
  else values.setValue(key, value);
}

/** Of `=name`, `name`, or ` name="…"` with the other attributes of the tag. */
function tagName(tag: string, allowed: RegExp): string | undefined {
  const quoted = /(?:^|\s)name\s?=\s?(?:"([^"]+)"|'([^']+)')/u.exec(tag);
  const name =
    quoted?.[1] ??
    quoted?.[2] ??
    tag
      .replace(/^=/u, "")
      .trim()
      .replace(/^"([^"]+)"$/u, "$1");
  return allowed.test(quoted?.[2]?.replaceAll('"', "") ?? name) ? name : undefined;
}

/** The same of an argument; undefined for another tag that begins alike, as `<parameters>`. */
function argumentName(tag: string): string | undefined {
  return /^[=\s]/u.test(tag) ? tagName(tag, ARGUMENT_NAME) : undefined;
}

const NAME_OF_PAIRS = /[\p{L}\p{M}\p{N}_.:/\-\\]/u;
export const PAIRS = new MarkerSet(["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</tool_call>", "<tool_call>"]);

const REST_OF_PAIR: RestMarks = {
  end: "</arg_value>",
  stops: new MarkerSet(["</arg_value>", "<arg_key>", "<arg_value>"]),
  over: ["<arg_key>", "</tool_call>"],
  next: ["<arg_key>", "</tool_call>"],
};

/** GLM: `name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`, whichever tags were forgotten. */
export const keyValueCall: CallReader = function* (place) {
  const { input } = place;
  yield* input.space();
  const name = (yield* input.while(NAME_OF_PAIRS, MAX_TAG)).replace(/(?<!\\n)(?:\\n)+$/u, "");
  if (name === "" || !place.knows(name)) return false;
  yield* input.space();
  if (yield* input.take("<tool_sep>")) yield* input.space();
  if (!/[<\\]/u.test(yield* input.peek()) || (yield* input.stands("<tool_call>"))) return false;
  const values = new TextArguments(place, name);
  return (yield* readPairs(input, values)) && place.accept({ name, input: values.all() });
};

/** False where the call does not end. */
function* readPairs(input: TextInput, values: TextArguments): Reading<boolean> {
  let key: string | undefined;
  let opened = false;
  for (;;) {
    const { text, marker } = yield* input.textUntil(PAIRS);
    const mayEnd = marker === "</arg_value>" || marker === "</tool_call>" || marker === "<tool_call>";
    const more = opened && mayEnd && key !== undefined ? yield* restOfValue(input, REST_OF_PAIR, marker) : undefined;
    if (key !== undefined && more !== undefined) {
      values.set(key, `${text}${marker}${more}`);
      key = undefined;
      continue;
    }
    if (marker === "<tool_call>") input.unread(marker);
    if (marker === undefined || marker === "<tool_call>") return false;
    if (marker === "</arg_key>") {
      key = text.trim();
      opened = false;
    } else if (marker === "<arg_value>") opened = true;
    else if (key !== undefined) {
      values.set(key, opened ? text : text.trim());
      values.isCutShort = marker === "</tool_call>";
      key = undefined;
    } else if (text.replaceAll("\\n", "").trim() !== "") return false;
    if (marker === "</tool_call>") return true;
  }
}
