/** Reads calls that are JSON objects: `{"name": …, "arguments": {…}}` in all its variants, single or in an array, after a mark or unmarked. */
import { getOwn } from "../../core/base/get-own.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { readOutline, type OutlinedJson } from "../../schema/json-text/read-unambiguous-json.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReadCall, ReaderContext } from "./text-grammar.ts";
import type { Reading, TextInput } from "./text-input.ts";
import { parseObjectOrText, parseStrict } from "./typed-value.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

const NAME_KEYS = ["name", "tool", "tool_name", "function_name", "function", "action"] as const;
const INPUT_KEYS = ["arguments", "parameters", "args", "input", "action_input"] as const;
const REASONING_KEYS = ["reasoning", "thought"] as const;
/** The first keys of objects that may be calls: all other text is passed on at once. */
const FIRST_KEYS: ReadonlySet<string> = new Set<string>([
  ...NAME_KEYS,
  ...INPUT_KEYS,
  ...REASONING_KEYS,
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
  readonly fallback?: CallReader;
}

/** Reads the JSON after a mark, each call of an array as soon as it is complete. */
export function jsonCalls(options: JsonCallsOptions = {}): CallReader {
  const stopsOf = new Map<string, MarkerSet>();
  return function* (context, mark) {
    const { input } = context;
    const stops = getOrAdd(stopsOf, mark, () => new MarkerSet(tagsOf(mark)));
    yield* input.skipSpace();
    const fenced = yield* input.tryRead("```");
    if (fenced) yield* input.readWhile(/[a-z\s]/u, MAX_SPACE);
    const read = (text: string | undefined): boolean => acceptJson(text, context, options);
    const next = yield* input.peek();
    if (next === "{") {
      const head = input.textSinceMark().length;
      const text = yield* readObjectText(input, stops);
      let found = text === undefined ? yield* acceptUnclosed(context, { head, mark }) : read(text);
      if (found) yield* input.readWhile(JUNK, MAX_SPACE);
      if (found && fenced) yield* input.tryRead("```");
      while (found && (yield* input.peek()) === "{") {
        found = read(yield* readObjectText(input, stops));
        yield* input.readWhile(JUNK, MAX_SPACE);
      }
      return found;
    }
    if (next === "[") {
      const found = yield* readArray(context, read, stops);
      if (!found || !fenced) return found;
      yield* input.skipSpace();
      yield* input.tryRead("```");
      return true;
    }
    return options.fallback === undefined ? false : yield* options.fallback(context, mark);
  };
}

/** Reads an object, and one superfluous bracket after it: the JSON reader can tell whether a bracket ended a part too early. */
function* readObjectText(input: TextInput, stops?: MarkerSet, alreadyRead = ""): Reading<string | undefined> {
  const text = yield* input.readBalancedObject(alreadyRead, stops === undefined ? {} : { stops });
  return text !== undefined && (yield* input.tryRead("}")) ? `${text}}` : text;
}

/** Accepts a call that lacks a bracket before its end tag. Which one is unknown, so its arguments stay unclosed, to be repaired or refused. */
function* acceptUnclosed(context: ReaderContext, { head, mark }: { readonly head: number; readonly mark: string }): Reading<boolean> {
  const { input } = context;
  if (!mark.startsWith("<") || !(yield* input.startsWith(mark.replace("<", "</")))) return false;
  const calls = findCalls(parseStrict(`${input.textSinceMark().slice(head)}}`), () => false);
  const [call] = calls ?? [];
  if (call === undefined || calls?.length !== 1 || !isJsonObject(call.input) || !context.acceptsName(call.name)) return false;
  return context.acceptCall({ ...call, input: JSON.stringify(call.input).slice(0, -1) });
}

/** Returns the tags at which an unclosed object is given up: in JSON they occur only in strings. */
function tagsOf(mark: string): readonly string[] {
  return mark.startsWith("<") ? [mark, mark.replace("<", "</")] : [];
}

type ReadJson = (text: string | undefined) => boolean;

function* readArray({ input }: ReaderContext, read: ReadJson, stops: MarkerSet): Reading<boolean> {
  yield* input.tryRead("[");
  let found = false;
  for (;;) {
    yield* input.skipSpace();
    const next = yield* input.peek();
    if (next === "{") {
      if (!read(yield* readObjectText(input, stops))) return false;
      found = true;
    } else if (next === "," && found) yield* input.tryRead(",");
    else {
      if (next === "]" && found) yield* input.tryRead("]");
      return found && (next === "]" || next === "" || next === "<");
    }
  }
}

function acceptJson(text: string | undefined, context: ReaderContext, options: JsonCallsOptions): boolean {
  const { keyed = false, oneLine = false, headEnd, ignored } = options;
  if (text === undefined || (oneLine && text.includes("\n"))) return false;
  const calls = readCalls(text, (value) => (keyed ? findKeyedCalls(value) : findCalls(value, () => true)));
  const kept = headEnd === undefined ? "" : context.input.textSinceMark();
  const head = kept.slice(0, Math.max(0, kept.indexOf(headEnd ?? "")));
  if (head !== "" && calls?.some(({ name }) => name !== head) === true) return false;
  return calls !== undefined && acceptAll(calls, context, ignored);
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
  const value = parseStrict(DOUBLED.exec(text)?.[1] ?? text);
  if (value !== undefined) return callsIn(value);
  const outlined = readOutline(text);
  const calls = outlined === undefined ? undefined : callsIn(outlined.value);
  return outlined === undefined || calls === undefined ? undefined : readDamagedCalls(outlined, calls);
}

/**
 * Returns the calls in damaged JSON; undefined if the damage around the arguments is ambiguous. If the JSON contradicts itself, the arguments are its
 * whole text, for the runtime to refuse.
 */
function readDamagedCalls({ outline, source }: OutlinedJson, calls: readonly FoundCall[]): readonly ReadCall[] | undefined {
  const outerPieces: string[] = [];
  let at = 0;
  const read = calls.map(({ given, ...call }) => {
    const span = given === undefined || !isJsonObject(call.input) ? undefined : outline.findSpan(given.holder, given.key);
    if (span === undefined || span.start < at || source[span.start] !== "{") return call;
    outerPieces.push(source.slice(at, span.start), "{}");
    at = span.end;
    return { ...call, input: parseObjectOrText(source.slice(span.start, span.end)) };
  });
  const rest = readOutline(outerPieces.join("") + source.slice(at));
  if (rest?.mends.certainty !== "sure") return undefined;
  return outline.hasContradiction && rest.outline.hasContradiction ? read.map((call) => ({ ...call, input: source })) : read;
}

function acceptAll(all: readonly ReadCall[], context: ReaderContext, ignored?: ReadonlySet<string>): boolean {
  const calls = ignored === undefined ? all : all.filter(({ name }) => !ignored.has(name) || context.hasTool(name));
  return (
    all.length > 0 && calls.every(({ name }) => context.acceptsName(name)) && calls.map((call) => context.acceptCall(call)).every(Boolean)
  );
}

/** Reads unmarked JSON, whose first bracket is the mark: only if it begins like a call. */
export const unmarkedJsonCalls: CallReader = function* (context, mark) {
  const { input } = context;
  const inner = mark === "[" ? yield* skipSpacesFrom(context, 0) : -1;
  if (inner >= 0 && (input.peekArrived(inner) ?? (yield* input.peek(inner))) !== "{") return false;
  if (!(yield* startsLikeCall(context, inner + 1))) return false;
  if (mark === "[") return yield* readUnmarkedArray(context);
  const text = (yield* readObjectText(input, undefined, "{")) ?? "";
  let isResponseText = false;
  const calls = readCalls(text, (value) => {
    isResponseText = reportResponseText(value, context);
    return isResponseText ? undefined : findCalls(value, (name) => mayLackInput(name, value, context));
  });
  if (isResponseText) return true;
  if (calls === undefined || !acceptAll(calls, context)) return false;
  yield* skipCallSeparator(context);
  return true;
};

/** Reports the `response` of a model that may only write JSON as text. */
function reportResponseText(value: JsonValue | undefined, context: ReaderContext): boolean {
  if (!isJsonObject(value) || !context.hasNoText || Object.keys(value).length !== 1 || typeof value["response"] !== "string") return false;
  context.addText(value["response"]);
  return true;
}

function* readUnmarkedArray(context: ReaderContext): Reading<boolean> {
  const { input } = context;
  const read = (text: string | undefined): boolean => {
    const calls = readCalls(text ?? "", (value) => findCalls(value, (name) => mayLackInput(name, value, context)));
    return calls !== undefined && acceptAll(calls, context);
  };
  let found = false;
  for (;;) {
    yield* input.skipSpace();
    const next = yield* input.peek();
    if (next === "{") {
      if (!read(yield* readObjectText(input))) return false;
      found = true;
    } else if (next === "," && found) yield* input.tryRead(",");
    else return found && (next === "" || (yield* input.tryRead("]")));
  }
}

/** Skips a `;` between two calls. */
function* skipCallSeparator({ input }: ReaderContext): Reading<void> {
  const space = yield* skipSpacesFrom({ input }, 0);
  if ((yield* input.peek(space)) === ";") yield* input.readWhile(/[\s;]/u, MAX_SPACE);
}

function* skipSpacesFrom({ input }: Pick<ReaderContext, "input">, from: number): Reading<number> {
  return from + (yield* input.countSpaces(from, MAX_SPACE));
}

function* startsLikeCall(context: ReaderContext, from: number): Reading<boolean> {
  const at = yield* skipSpacesFrom(context, from);
  const quote = context.input.peekArrived(at) ?? (yield* context.input.peek(at));
  if (quote !== '"' && quote !== "'") return false;
  let key = "";
  for (let ahead = at + 1; key.length <= MAX_KEY; ahead++) {
    const next = context.input.peekArrived(ahead) ?? (yield* context.input.peek(ahead));
    if (next === quote) return FIRST_KEYS.has(key);
    if (next === "") return false;
    key += next;
  }
  return false;
}

/** Whether unmarked JSON without arguments is a call: only if its key `tool` has the name of an existing tool. */
function mayLackInput(name: string, value: JsonValue | undefined, context: ReaderContext): boolean {
  return isJsonObject(value) && getOwn(value, "tool") === name && context.hasTool(name);
}

/** Whether a call with this name may have no arguments. */
type MayLackInput = (name: string) => boolean;

/** Returns the calls in a value; undefined if it is not a call. */
function findCalls(value: JsonValue | undefined, mayLack: MayLackInput): readonly FoundCall[] | undefined {
  if (!isJsonObject(value)) return undefined;
  const { tool_calls: many, tool_call: one } = value;
  if (isJsonArray(many)) return allDefined(many.map((call) => findCall(call, mayLack)));
  const call = findCall(isJsonObject(one) ? one : value, mayLack);
  return call === undefined ? undefined : [call];
}

function findCall(value: JsonValue, mayLack: MayLackInput): FoundCall | undefined {
  if (!isJsonObject(value)) return undefined;
  const { function: nested } = value;
  const holder = isJsonObject(nested) ? nested : value;
  const nameKey = findNameKey(holder);
  const name = nameKey === undefined ? undefined : getOwn(holder, nameKey);
  const key = findInputKey(holder);
  if (typeof name !== "string" || (key === undefined && !mayLack(name))) return undefined;
  const input = key === undefined ? {} : parseCallInput(getOwn(holder, key) ?? {});
  if (input === undefined || isDefinition(holder, input)) return undefined;
  const reasoning = REASONING_KEYS.map((one) => getOwn(value, one)).find((found) => typeof found === "string");
  const id = [getOwn(value, "id"), getOwn(value, "tool_call_id")].find((found) => typeof found === "string" && found !== "");
  const others = isJsonObject(input) ? misplacedInput(holder, nameKey, key) : undefined;
  const misplaced = isEmptyObject(input) ? others : undefined;
  const ignoredKeys = misplaced === undefined && key !== undefined ? others : undefined;
  return {
    name,
    ...(ignoredKeys === undefined ? {} : withIgnoredKeysWarning(name, ignoredKeys)),
    ...(misplaced === undefined ? { input, ...(key === undefined ? {} : { given: { holder, key } }) } : withMisplacedInput(misplaced)),
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof reasoning === "string" ? { reasoning } : {}),
  };
}

const OTHER_NAMES: ReadonlySet<string> = new Set(NAME_KEYS);
const OTHER_INPUTS: ReadonlySet<string> = new Set(INPUT_KEYS);

/** Keys of a call that are not read as arguments where they belong to the call. */
const CALL_KEYS: ReadonlySet<string> = new Set<string>([
  ...NAME_KEYS,
  ...INPUT_KEYS,
  ...REASONING_KEYS,
  "id",
  "call_id",
  "tool_call_id",
  "type",
  "index",
  "__proto__",
]);

/** The key with the name of the tool. Tools have parameters called `name` and `tool` too, so of these two the first counts. */
function findNameKey(holder: JsonObject): NameKey | undefined {
  const isName = (key: NameKey): boolean => typeof getOwn(holder, key) === "string" && getOwn(holder, key) !== "";
  if (isName("name") && isName("tool")) return Object.keys(holder).find((key) => key === "name" || key === "tool");
  return NAME_KEYS.find(isName);
}

type NameKey = (typeof NAME_KEYS)[number];

/** The key with the arguments: the first that has some, or else the first. */
function findInputKey(holder: JsonObject): (typeof INPUT_KEYS)[number] | undefined {
  const keys = INPUT_KEYS.filter((key) => getOwn(holder, key) !== undefined);
  return keys.length < 2
    ? keys[0]
    : (keys.find((key) => isJsonObject(getOwn(holder, key)) && !isEmptyObject(getOwn(holder, key))) ?? keys[0]);
}

/** Whether this is the definition of a tool, as models list their tools, and not a call of it: its parameters are a schema. */
function isDefinition(holder: JsonObject, input: JsonValue): boolean {
  if (typeof getOwn(holder, "description") !== "string" || !isJsonObject(input)) return false;
  return getOwn(input, "type") === "object" && isJsonObject(getOwn(input, "properties"));
}

function isEmptyObject(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/**
 * Returns the keys next to the name of a call that are not part of the call format, as its arguments; undefined if there are none. So are keys after
 * the name that could have held the name, and keys that could have held the arguments.
 */
function misplacedInput(holder: JsonObject, nameKey: NameKey | undefined, inputKey: string | undefined): JsonObject | undefined {
  let isAfterName = false;
  const found = Object.entries(holder).filter(([key, value]) => {
    if (key === nameKey) isAfterName = true;
    if (key === nameKey || key === inputKey || value === null || isEmptyObject(value)) return false;
    return !CALL_KEYS.has(key) || (isAfterName && OTHER_NAMES.has(key)) || OTHER_INPUTS.has(key);
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

function withMisplacedInput(input: JsonObject): Pick<FoundCall, "input" | "warnings"> {
  return { input, warnings: [`The input was next to the name instead of in "parameters": ${Object.keys(input).join(", ")}.`] };
}

/** Returns a warning about keys next to the arguments: they are not read as arguments, because models also write comments there. */
function withIgnoredKeysWarning(name: string, ignored: JsonObject): Pick<FoundCall, "warnings"> {
  const keys = Object.keys(ignored);
  return { warnings: [`The call of ${JSON.stringify(name)} has ${keys.join(", ")} beside its arguments; only the arguments are used.`] };
}

/** Returns the arguments: an object, or a text for the runtime to repair or refuse; undefined for a text without a brace. */
function parseCallInput(value: JsonValue): JsonValue | undefined {
  if (isJsonObject(value)) return value;
  if (typeof value !== "string" || (value.trim() !== "" && !value.includes("{"))) return undefined;
  return parseObjectOrText(value);
}

function findKeyedCalls(value: JsonValue | undefined): readonly FoundCall[] | undefined {
  if (!isJsonObject(value)) return undefined;
  return allDefined(
    Object.entries(value).map(([key, input]) => (isJsonObject(input) ? { name: key, input, given: { holder: value, key } } : undefined)),
  );
}

function allDefined<T>(values: readonly (T | undefined)[]): readonly T[] | undefined {
  const found = values.filter((value) => value !== undefined);
  return found.length === values.length && found.length > 0 ? found : undefined;
}

/** Reads a code fence that is the whole message and has calls in it. */
export const fencedCalls: CallReader = function* (context) {
  const { input } = context;
  yield* input.readWhile(/[a-z_]/u, 16);
  yield* input.skipSpace();
  const next = yield* input.peek();
  const inner = next === "[" ? yield* skipSpacesFrom(context, 1) : 0;
  if (next === "[" && (yield* input.peek(inner)) !== "{") return false;
  if ((next !== "{" && next !== "[") || !(yield* startsLikeCall(context, inner + 1))) return false;
  yield* input.tryRead(next);
  if (!(yield* unmarkedJsonCalls(context, next))) return false;
  yield* input.skipSpace();
  yield* input.tryRead("```");
  return true;
};
