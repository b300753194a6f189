/** Reads calls that begin with the tool's name and continue with its arguments as JSON. */
import { type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { readUnambiguousJson } from "../../schema/json-text/read-unambiguous-json.ts";
import { jsonCalls } from "./json-calls.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReaderContext } from "./text-grammar.ts";
import type { Reading } from "./text-input.ts";
import { startsLikeObject, parseObjectOrText } from "./typed-value.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

const FENCE = /[`a-z\s]/u;
const MAX_FENCE = 32;
const MAX_HEAD = 256;
const HEAD = /[^{[<\n]/u;
const IN_HEAD = /[^<\n]/u;
const NAME = /^[\p{L}\p{M}\p{N}_.:/-]+$/u;

/** Reads the arguments here; `{}` if there are none, undefined if they do not end. Text that is not strict JSON is kept, to repair or refuse. */
export function* readArgumentText(context: ReaderContext, close: readonly string[] = []): Reading<JsonValue | undefined> {
  const { input } = context;
  if ((yield* input.peek()) !== "{") return {};
  const head = input.textSinceMark().length;
  const text = yield* input.readBalancedObject("", { stops: getOrAdd(stopsByMarks, close, () => new MarkerSet(close)) });
  if (text !== undefined) return parseArgumentText(text);
  // the model ended the arguments, but brackets are missing
  return (yield* context.input.startsWithAny(close)) ? parseArgumentText(input.textSinceMark().slice(head)) : undefined;
}

const stopsByMarks = new WeakMap<readonly string[], MarkerSet>();

/** Returns the arguments; undefined for braces around text that does not even have a key. */
function parseArgumentText(text: string): JsonValue | undefined {
  const value = parseObjectOrText(text);
  return isJsonObject(value) || startsLikeObject(text) || isJsonObject(readUnambiguousJson(text)?.value) ? value : undefined;
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
  const behind = nameLineCall(close);
  return function* (context, mark) {
    const { input } = context;
    yield* input.skipSpace();
    const head = yield* input.readWhile(IN_HEAD, MAX_HEAD);
    yield* input.skipSpace();
    const separator = yield* input.tryReadAny(separators);
    if (separator === undefined) return false;
    if (numbered.includes(separator) && readHead(head.trim()).id === undefined && !context.hasTool(head.trim())) return false;
    return yield* head.trim() === kind ? behind(context, mark) : acceptWithArguments(context, head, close);
  };
}

/** Reads the name on one line, and the arguments below it. */
export function nameLineCall(close: readonly string[]): CallReader {
  return function* (context) {
    yield* context.input.readWhile(/\s/u, MAX_FENCE);
    return yield* acceptWithArguments(context, yield* context.input.readWhile(/[^\n{`<]/u, MAX_HEAD), close);
  };
}

/** Reads the arguments and accepts the call. A call without arguments must have an end mark: without either it was only begun. */
function* acceptWithArguments(context: ReaderContext, head: string, close: readonly string[]): Reading<boolean> {
  const { name, id } = readHead(head.trim());
  if (!NAME.test(name)) return false;
  yield* context.input.readWhile(FENCE, MAX_FENCE);
  if ((yield* context.input.peek()) !== "{" && !(yield* context.input.startsWithAny(close))) return false;
  const value = yield* readArgumentText(context, close);
  if (value === undefined || !context.acceptCall({ name, id, input: value })) return false;
  yield* context.input.readWhile(FENCE, MAX_FENCE);
  return true;
}

/** Splits a head such as `functions.get_weather:0` into name and id. */
function readHead(head: string): { readonly name: string; readonly id: string | undefined } {
  const found = /^(?:functions\.)?([^\s:]+):(\d{1,9})$/u.exec(head);
  return found?.[1] === undefined ? { name: head.replace(/^functions\./u, ""), id: undefined } : { name: found[1], id: head };
}

const listCalls = jsonCalls();

/** Reads Mistral's calls: an array of objects in older versions; then `name{…}`, `name[ARGS]{…}` and `name[CALL_ID]id[ARGS]{…}`. */
export const mistralCalls: CallReader = function* (context, mark) {
  const { input } = context;
  yield* input.skipSpace();
  const name = (yield* input.readWhile(HEAD, MAX_HEAD)).trim();
  let id: string | undefined;
  if (yield* input.tryRead("[CALL_ID]")) id = (yield* input.readWhile(/[\w-]/u, MAX_HEAD)).trim();
  const argued = yield* input.tryRead("[ARGS]");
  if (argued) yield* input.skipSpace();
  const next = yield* input.peek();
  if (next === "[" || (next === "{" && name === "")) return yield* listCalls(context, mark);
  if (next !== "{" || !NAME.test(name)) return false;
  const read = yield* input.readBalancedObject();
  const text = read ?? unclosedJson(input.textSinceMark(), mark);
  if (text === undefined) return false;
  const value = read === undefined ? text : parseArgumentText(text);
  return value !== undefined && context.acceptCall({ name, id, input: value });
};

/** Returns JSON that was left open at the end of the message, for the runtime to repair or refuse. */
function unclosedJson(text: string, mark: string): string | undefined {
  return text.includes(mark) ? undefined : text.slice(text.indexOf("{"));
}
