/** Reads calls that are JSON objects: `{"name": …, "arguments": {…}}` in all its variants, single or in an array, after a mark or unmarked. */
import { own } from "../../core/base/own.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { readOutline, type OutlinedJson } from "../../schema/json-text/read-sure-json.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReadCall, ReadPlace } from "./text-grammar.ts";
import type { Reading, TextInput } from "./text-input.ts";
import { readObject, readStrict } from "./typed-value.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

const NAME_KEYS = ["name", "tool", "tool_name", "function_name", "function", "action"] as const;
const INPUT_KEYS = ["arguments", "parameters", "args", "input", "action_input"] as const;
const WHY_KEYS = ["reasoning", "thought"] as const;
/** The first keys of objects that may be calls: all other text is passed on at once. */
const FIRST_KEYS: ReadonlySet<string> = new Set<string>([
  ...NAME_KEYS,
  ...INPUT_KEYS,
  ...WHY_KEYS,
  "id",
  "type",
  "index",
  "tool_call",
  "tool_calls",
  "tool_call_id",
  "response",
]);
const MAX_KEY = 24;
const MAX_SPACE = 64;
const JUNK = /[\s}\]);,]/u;

export interface JsonCallsOptions {
  /** Whether each call is `{"name": {…}}`. */
  readonly keyed?: boolean;
  /** Whether only JSON on one line is a call. */
  readonly oneLine?: boolean;
  /** The mark after a tool name that precedes the JSON. A call with another name in the JSON is text. */
  readonly headEnd?: string;
  /** Names that are not calls, unless a tool has them. */
  readonly ignored?: ReadonlySet<string>;
  /** Reads calls if the text begins with neither `{` nor `[`. */
  readonly otherwise?: CallReader;
}

/** Reads the JSON after a mark, each call of an array as soon as it is complete. */
export function jsonCalls(options: JsonCallsOptions = {}): CallReader {
  const stopsOf = new Map<string, MarkerSet>();
  return function* (place, mark) {
    const { input } = place;
    const stops = getOrAdd(stopsOf, mark, () => new MarkerSet(tagsOf(mark)));
    yield* input.space();
    const fenced = yield* input.take("```");
    if (fenced) yield* input.while(/[a-z\s]/u, MAX_SPACE);
    const read = (text: string | undefined): boolean => acceptJson(text, place, options);
    const next = yield* input.peek();
    if (next === "{") {
      const head = input.kept().length;
      const text = yield* readObjectText(input, stops);
      let found = text === undefined ? yield* acceptUnclosed(place, { head, mark }) : read(text);
      if (found) yield* input.while(JUNK, MAX_SPACE);
      if (found && fenced) yield* input.take("```");
      while (found && (yield* input.peek()) === "{") {
        found = read(yield* readObjectText(input, stops));
        yield* input.while(JUNK, MAX_SPACE);
      }
      return found;
    }
    if (next === "[") {
      const found = yield* readList(place, read, stops);
      if (!found || !fenced) return found;
      yield* input.space();
      yield* input.take("```");
      return true;
    }
    return options.otherwise === undefined ? false : yield* options.otherwise(place, mark);
  };
}

/** Reads an object, and one superfluous bracket after it: the JSON reader can tell whether a bracket ended a part too early. */
function* readObjectText(input: TextInput, stops?: MarkerSet, begun = ""): Reading<string | undefined> {
  const text = yield* input.object(begun, stops === undefined ? {} : { stops });
  return text !== undefined && (yield* input.take("}")) ? `${text}}` : text;
}

/** Accepts a call that lacks a bracket before its end tag. Which one is unknown, so its arguments stay unclosed, to be repaired or refused. */
function* acceptUnclosed(place: ReadPlace, { head, mark }: { readonly head: number; readonly mark: string }): Reading<boolean> {
  const { input } = place;
  if (!mark.startsWith("<") || !(yield* input.stands(mark.replace("<", "</")))) return false;
  const calls = callsOf(readStrict(`${input.kept().slice(head)}}`), () => false);
  const [call] = calls ?? [];
  if (call === undefined || calls?.length !== 1 || !isJsonObject(call.input) || !place.knows(call.name)) return false;
  return place.accept({ ...call, input: JSON.stringify(call.input).slice(0, -1) });
}

/** Returns the tags at which an unclosed object is given up: in JSON they occur only in strings. */
function tagsOf(mark: string): readonly string[] {
  return mark.startsWith("<") ? [mark, mark.replace("<", "</")] : [];
}

type ReadJson = (text: string | undefined) => boolean;

function* readList({ input }: ReadPlace, read: ReadJson, stops: MarkerSet): Reading<boolean> {
  yield* input.take("[");
  let found = false;
  for (;;) {
    yield* input.space();
    const next = yield* input.peek();
    if (next === "{") {
      if (!read(yield* readObjectText(input, stops))) return false;
      found = true;
    } else if (next === "," && found) yield* input.take(",");
    else {
      if (next === "]" && found) yield* input.take("]");
      return found && (next === "]" || next === "" || next === "<");
    }
  }
}

function acceptJson(text: string | undefined, place: ReadPlace, options: JsonCallsOptions): boolean {
  const { keyed = false, oneLine = false, headEnd, ignored } = options;
  if (text === undefined || (oneLine && text.includes("\n"))) return false;
  const calls = readCalls(text, (value) => (keyed ? keyedCalls(value) : callsOf(value, () => true)));
  const kept = headEnd === undefined ? "" : place.input.kept();
  const head = kept.slice(0, Math.max(0, kept.indexOf(headEnd ?? "")));
  if (head !== "" && calls?.some(({ name }) => name !== head) === true) return false;
  return calls !== undefined && acceptAll(calls, place, ignored);
}

/** A call in parsed JSON, and the position of its arguments in it. */
interface FoundCall extends ReadCall {
  readonly given?: { readonly holder: JsonObject; readonly key: string } | undefined;
}

type FindCalls = (value: JsonValue | undefined) => readonly FoundCall[] | undefined;

/** Matches doubled brackets, as in the templates that models have seen: `{{"name": …}}`. */
const DOUBLED = /^\{\s{0,64}(\{[^]*\})\s{0,64}\}$/u;

/** Returns the calls in a text. Arguments that are not strict JSON are returned as text, for the runtime to repair or refuse. */
function readCalls(text: string, callsIn: FindCalls): readonly ReadCall[] | undefined {
  const value = readStrict(DOUBLED.exec(text)?.[1] ?? text);
  if (value !== undefined) return callsIn(value);
  const outlined = readOutline(text);
  const calls = outlined === undefined ? undefined : callsIn(outlined.value);
  return outlined === undefined || calls === undefined ? undefined : damagedCalls(outlined, calls);
}

/**
 * Returns the calls in damaged JSON; undefined if the damage around the arguments is ambiguous. If the JSON contradicts itself, the arguments are its
 * whole text, for the runtime to refuse.
 */
function damagedCalls({ outline, source }: OutlinedJson, calls: readonly FoundCall[]): readonly ReadCall[] | undefined {
  const around: string[] = [];
  let at = 0;
  const read = calls.map(({ given, ...call }) => {
    const span = given === undefined || !isJsonObject(call.input) ? undefined : outline.spanOf(given.holder, given.key);
    if (span === undefined || span.start < at || source[span.start] !== "{") return call;
    around.push(source.slice(at, span.start), "{}");
    at = span.end;
    return { ...call, input: readObject(source.slice(span.start, span.end)) };
  });
  const rest = readOutline(around.join("") + source.slice(at));
  if (rest?.mends.certainty !== "sure") return undefined;
  return outline.contradicts && rest.outline.contradicts ? read.map((call) => ({ ...call, input: source })) : read;
}

function acceptAll(all: readonly ReadCall[], place: ReadPlace, ignored?: ReadonlySet<string>): boolean {
  const calls = ignored === undefined ? all : all.filter(({ name }) => !ignored.has(name) || place.has(name));
  return all.length > 0 && calls.every(({ name }) => place.knows(name)) && calls.map((call) => place.accept(call)).every(Boolean);
}

/** Reads unmarked JSON, whose first bracket is the mark: only if it begins like a call. */
export const openJsonCalls: CallReader = function* (place, mark) {
  const { input } = place;
  const inner = mark === "[" ? yield* spaces(place, 0) : -1;
  if (inner >= 0 && (input.seen(inner) ?? (yield* input.peek(inner))) !== "{") return false;
  if (!(yield* beginsLikeCall(place, inner + 1))) return false;
  if (mark === "[") return yield* readOpenList(place);
  const text = (yield* readObjectText(input, undefined, "{")) ?? "";
  let said = false;
  const calls = readCalls(text, (value) => {
    said = sayResponse(value, place);
    return said ? undefined : callsOf(value, (name) => mayLackInput(name, value, place));
  });
  if (said) return true;
  if (calls === undefined || !acceptAll(calls, place)) return false;
  yield* skipSeparator(place);
  return true;
};

/** Reports the `response` of a model that may only write JSON as text. */
function sayResponse(value: JsonValue | undefined, place: ReadPlace): boolean {
  if (!isJsonObject(value) || !place.silent || Object.keys(value).length !== 1 || typeof value["response"] !== "string") return false;
  place.say(value["response"]);
  return true;
}

function* readOpenList(place: ReadPlace): Reading<boolean> {
  const { input } = place;
  const read = (text: string | undefined): boolean => {
    const calls = readCalls(text ?? "", (value) => callsOf(value, (name) => mayLackInput(name, value, place)));
    return calls !== undefined && acceptAll(calls, place);
  };
  let found = false;
  for (;;) {
    yield* input.space();
    const next = yield* input.peek();
    if (next === "{") {
      if (!read(yield* readObjectText(input))) return false;
      found = true;
    } else if (next === "," && found) yield* input.take(",");
    else return found && (next === "" || (yield* input.take("]")));
  }
}

/** Skips a `;` between two calls. */
function* skipSeparator({ input }: ReadPlace): Reading<void> {
  const space = yield* spaces({ input }, 0);
  if ((yield* input.peek(space)) === ";") yield* input.while(/[\s;]/u, MAX_SPACE);
}

function* spaces({ input }: Pick<ReadPlace, "input">, from: number): Reading<number> {
  return from + (yield* input.spacesAt(from, MAX_SPACE));
}

function* beginsLikeCall(place: ReadPlace, from: number): Reading<boolean> {
  const at = yield* spaces(place, from);
  const quote = place.input.seen(at) ?? (yield* place.input.peek(at));
  if (quote !== '"' && quote !== "'") return false;
  let key = "";
  for (let ahead = at + 1; key.length <= MAX_KEY; ahead++) {
    const next = place.input.seen(ahead) ?? (yield* place.input.peek(ahead));
    if (next === quote) return FIRST_KEYS.has(key);
    if (next === "") return false;
    key += next;
  }
  return false;
}

/** Whether unmarked JSON without arguments is a call: only if its key `tool` has the name of an existing tool. */
function mayLackInput(name: string, value: JsonValue | undefined, place: ReadPlace): boolean {
  return isJsonObject(value) && own(value, "tool") === name && place.has(name);
}

/** Whether a call with this name may have no arguments. */
type MayLackInput = (name: string) => boolean;

/** Returns the calls in a value; undefined if it is not a call. */
function callsOf(value: JsonValue | undefined, mayLack: MayLackInput): readonly FoundCall[] | undefined {
  if (!isJsonObject(value)) return undefined;
  const { tool_calls: many, tool_call: one } = value;
  if (isJsonArray(many)) return allOf(many.map((call) => callOf(call, mayLack)));
  const call = callOf(isJsonObject(one) ? one : value, mayLack);
  return call === undefined ? undefined : [call];
}

function callOf(value: JsonValue, mayLack: MayLackInput): FoundCall | undefined {
  if (!isJsonObject(value)) return undefined;
  const { function: nested } = value;
  const holder = isJsonObject(nested) ? nested : value;
  const name = NAME_KEYS.map((key) => own(holder, key)).find((found) => typeof found === "string" && found !== "");
  const key = INPUT_KEYS.find((one) => own(holder, one) !== undefined);
  if (typeof name !== "string" || (key === undefined && !mayLack(name))) return undefined;
  const input = key === undefined ? {} : inputOf(own(holder, key) ?? {});
  if (input === undefined) return undefined;
  const reasoning = WHY_KEYS.map((one) => own(value, one)).find((found) => typeof found === "string");
  const id = [own(value, "id"), own(value, "tool_call_id")].find((found) => typeof found === "string" && found !== "");
  const misplaced = isJsonObject(input) && Object.keys(input).length === 0 ? misplacedInput(holder) : undefined;
  const beside = misplaced === undefined && key !== undefined && isJsonObject(input) ? misplacedInput(holder) : undefined;
  return {
    name,
    ...(beside === undefined ? {} : leftOut(name, beside)),
    ...(misplaced === undefined ? { input, ...(key === undefined ? {} : { given: { holder, key } }) } : corrected(misplaced)),
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof reasoning === "string" ? { reasoning } : {}),
  };
}

/** Keys of a call that are never read as arguments. */
const CALL_KEYS: ReadonlySet<string> = new Set<string>([
  ...NAME_KEYS,
  ...INPUT_KEYS,
  ...WHY_KEYS,
  "id",
  "call_id",
  "tool_call_id",
  "type",
  "index",
  "__proto__",
]);

/** Returns the keys next to the name of a call that are not part of the call format, as its arguments; undefined if there are none. */
function misplacedInput(holder: JsonObject): JsonObject | undefined {
  const found = Object.entries(holder).filter(([key, value]) => !CALL_KEYS.has(key) && value !== null);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

function corrected(input: JsonObject): Pick<FoundCall, "input" | "warnings"> {
  return { input, warnings: [`The input was next to the name instead of in "parameters": ${Object.keys(input).join(", ")}.`] };
}

/** Returns a warning about keys next to the arguments: they are not read as arguments, because models also write comments there. */
function leftOut(name: string, beside: JsonObject): Pick<FoundCall, "warnings"> {
  const keys = Object.keys(beside);
  return { warnings: [`The call of ${JSON.stringify(name)} has ${keys.join(", ")} beside its arguments; only the arguments are used.`] };
}

/** Returns the arguments: an object, or a text for the runtime to repair or refuse; undefined for a text without a brace. */
function inputOf(value: JsonValue): JsonValue | undefined {
  if (isJsonObject(value)) return value;
  if (typeof value !== "string" || (value.trim() !== "" && !value.includes("{"))) return undefined;
  return readObject(value);
}

function keyedCalls(value: JsonValue | undefined): readonly FoundCall[] | undefined {
  if (!isJsonObject(value)) return undefined;
  return allOf(
    Object.entries(value).map(([key, input]) => (isJsonObject(input) ? { name: key, input, given: { holder: value, key } } : undefined)),
  );
}

function allOf<T>(values: readonly (T | undefined)[]): readonly T[] | undefined {
  const found = values.filter((value) => value !== undefined);
  return found.length === values.length && found.length > 0 ? found : undefined;
}

/** Reads a code fence that is the whole message and has calls in it. */
export const fencedCalls: CallReader = function* (place) {
  const { input } = place;
  yield* input.while(/[a-z_]/u, 16);
  yield* input.space();
  const next = yield* input.peek();
  const inner = next === "[" ? yield* spaces(place, 1) : 0;
  if (next === "[" && (yield* input.peek(inner)) !== "{") return false;
  if ((next !== "{" && next !== "[") || !(yield* beginsLikeCall(place, inner + 1))) return false;
  yield* input.take(next);
  if (!(yield* openJsonCalls(place, next))) return false;
  yield* input.space();
  yield* input.take("```");
  return true;
};
