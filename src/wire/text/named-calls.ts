/** Reads calls that begin with the tool's name and continue with its arguments as JSON. */
import { type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { readSureJson } from "../../schema/json-text/read-sure-json.ts";
import { jsonCalls } from "./json-calls.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReadPlace } from "./text-grammar.ts";
import type { Reading } from "./text-input.ts";
import { beginsLikeObject, readObject } from "./typed-value.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

const FENCE = /[`a-z\s]/u;
const MAX_FENCE = 32;
const MAX_HEAD = 256;
const HEAD = /[^{[<\n]/u;
const IN_HEAD = /[^<\n]/u;
const NAME = /^[\p{L}\p{M}\p{N}_.:/-]+$/u;

/** Reads the arguments here; `{}` if there are none, undefined if they do not end. Text that is not strict JSON is kept, to repair or refuse. */
export function* readArgumentText(place: ReadPlace, close: readonly string[] = []): Reading<JsonValue | undefined> {
  const { input } = place;
  if ((yield* input.peek()) !== "{") return {};
  const head = input.kept().length;
  const text = yield* input.object("", { stops: getOrAdd(stops, close, () => new MarkerSet(close)) });
  if (text !== undefined) return argumentsIn(text);
  // the model ended the arguments, but brackets are missing
  return (yield* standsAny(place, close)) ? argumentsIn(input.kept().slice(head)) : undefined;
}

const stops = new WeakMap<readonly string[], MarkerSet>();

/** Returns the arguments; undefined for braces around text that does not even have a key. */
function argumentsIn(text: string): JsonValue | undefined {
  const value = readObject(text);
  return isJsonObject(value) || beginsLikeObject(text) || isJsonObject(readSureJson(text)?.value) ? value : undefined;
}

export interface NamedCallOptions {
  /** Marks between the name and the arguments. */
  readonly separators: readonly string[];
  /** Marks after the arguments. */
  readonly close: readonly string[];
  /** The word before the separator if the name follows it: `function`. */
  readonly kind?: string;
  /** Separators before which a name without a call number must be that of a known tool. */
  readonly numbered?: readonly string[];
}

/** Reads `name<sep>{…}<close>`, also as `function<sep>name` and with a fence around the JSON; `functions.name:0` is also used as the call's id. */
export function namedCall({ separators, close, kind, numbered = [] }: NamedCallOptions): CallReader {
  const behind = namedBehind(close);
  return function* (place, mark) {
    const { input } = place;
    yield* input.space();
    const head = yield* input.while(IN_HEAD, MAX_HEAD);
    yield* input.space();
    const separator = yield* takeAny(place, separators);
    if (separator === undefined) return false;
    if (numbered.includes(separator) && readHead(head.trim()).id === undefined && !place.has(head.trim())) return false;
    return yield* head.trim() === kind ? behind(place, mark) : argumentsOf(place, head, close);
  };
}

/** Reads the name on one line, and the arguments below it. */
export function namedBehind(close: readonly string[]): CallReader {
  return function* (place) {
    yield* place.input.while(/\s/u, MAX_FENCE);
    return yield* argumentsOf(place, yield* place.input.while(/[^\n{`<]/u, MAX_HEAD), close);
  };
}

/** Reads the arguments and accepts the call. A call without arguments must have an end mark: without either it was only begun. */
function* argumentsOf(place: ReadPlace, head: string, close: readonly string[]): Reading<boolean> {
  const { name, id } = readHead(head.trim());
  if (!NAME.test(name)) return false;
  yield* place.input.while(FENCE, MAX_FENCE);
  if ((yield* place.input.peek()) !== "{" && !(yield* standsAny(place, close))) return false;
  const value = yield* readArgumentText(place, close);
  if (value === undefined || !place.accept({ name, id, input: value })) return false;
  yield* place.input.while(FENCE, MAX_FENCE);
  return true;
}

function* takeAny({ input }: ReadPlace, marks: readonly string[]): Reading<string | undefined> {
  for (const mark of marks) if (yield* input.take(mark)) return mark;
  return undefined;
}

function* standsAny({ input }: ReadPlace, marks: readonly string[]): Reading<boolean> {
  for (const mark of marks) if (yield* input.stands(mark)) return true;
  return false;
}

/** Splits a head such as `functions.get_weather:0` into name and id. */
function readHead(head: string): { readonly name: string; readonly id: string | undefined } {
  const found = /^(?:functions\.)?([^\s:]+):(\d{1,9})$/u.exec(head);
  return found?.[1] === undefined ? { name: head.replace(/^functions\./u, ""), id: undefined } : { name: found[1], id: head };
}

const listCalls = jsonCalls();

/** Reads Mistral's calls: an array of objects in older versions; then `name{…}`, `name[ARGS]{…}` and `name[CALL_ID]id[ARGS]{…}`. */
export const mistralCalls: CallReader = function* (place, mark) {
  const { input } = place;
  yield* input.space();
  const name = (yield* input.while(HEAD, MAX_HEAD)).trim();
  let id: string | undefined;
  if (yield* input.take("[CALL_ID]")) id = (yield* input.while(/[\w-]/u, MAX_HEAD)).trim();
  const argued = yield* input.take("[ARGS]");
  if (argued) yield* input.space();
  const next = yield* input.peek();
  if (next === "[" || (next === "{" && name === "")) return yield* listCalls(place, mark);
  if (next !== "{" || !NAME.test(name)) return false;
  const read = yield* input.object();
  const text = read ?? unclosed(input.kept(), mark);
  if (text === undefined) return false;
  const value = read === undefined ? text : argumentsIn(text);
  return value !== undefined && place.accept({ name, id, input: value });
};

/** Returns JSON that was left open at the end of the message, for the runtime to repair or refuse. */
function unclosed(kept: string, mark: string): string | undefined {
  return kept.includes(mark) ? undefined : kept.slice(kept.indexOf("{"));
}
