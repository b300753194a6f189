/** Reads an untrusted call of a model: whatever it is, it becomes a ToolCall or an error that says why not. */
import { MAX_NAME_LENGTH, type ToolCall } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { ignoreRejection } from "../../core/system/ignore-rejections.ts";
import type { JsonLimits } from "../../core/base/json-limits.ts";
import { copyJson, isJsonObject, isStringArray, type JsonObject } from "../../core/base/json.ts";
import type { Repair } from "../../core/result.ts";
import { describeValueType } from "../../core/base/wording.ts";
import { findNearNames } from "../../core/base/near-names.ts";

export interface CallReading {
  readonly call: ToolCall;
  readonly error: ToolError | undefined;
  readonly repairs: readonly Repair[];
  readonly warnings: readonly string[];
  /** The model's provider asks whether it may make a call; so says the `kind` that the wire format set. */
  readonly isProviderQuestion: boolean;
}

const NONE: readonly never[] = Object.freeze([]);
const NO_INPUT: JsonObject = Object.freeze({});
const NAMELESS_CALL: ToolCall = Object.freeze({ name: "" });
const MAX_ID_LENGTH = 1024;
/** Keys of a call that are never taken for misplaced input. */
const CALL_KEYS: ReadonlySet<string> = new Set([
  "id",
  "callId",
  "call_id",
  "type",
  "index",
  "name",
  "tool",
  "input",
  "arguments",
  "parameters",
  "reasoning",
]);

/**
 * Other keys that providers and protocols write next to a call and that do not affect how it is run, with their usual values. With any other value,
 * such a key is treated like an unknown one.
 */
const IGNORED_KEYS: ReadonlyMap<string, (value: unknown) => boolean> = new Map<string, (value: unknown) => boolean>([
  ["kind", (value) => value === "function" || value === "custom" || value === "approval"],
  ["status", (value) => value === "completed" || value === "in_progress" || value === "incomplete"],
  ["caller", isJsonObject],
  ["cache_control", isJsonObject],
  ["cacheControl", isJsonObject],
  ["thoughtSignature", (value) => typeof value === "string"],
  ["thought_signature", (value) => typeof value === "string"],
  ["_meta", isJsonObject],
  ["warnings", isStringArray],
  ["offeredName", (value) => typeof value === "string"],
  ["native", isJsonObject],
]);
/** The keys above that tools also have as parameters. */
const PARAMETER_LIKE_KEYS = ["kind", "status", "warnings", "offeredName", "native"] as const;
const INPUT_KEYS = ["input", "arguments", "parameters"] as const;

/** The correct key for common wrong ones, written without "_" and "-" in lower case. */
const KEY_CORRECTIONS: ReadonlyMap<string, string> = new Map([
  ["args", "input"],
  ["argument", "input"],
  ["params", "input"],
  ["param", "input"],
  ["parameter", "input"],
  ["payload", "input"],
  ["inputs", "input"],
  ["toolinput", "input"],
  ["kwargs", "input"],
  ["toolname", "name"],
  ["function", "name"],
  ["callids", "id"],
  ["toolcallid", "id"],
  ["tooluseid", "id"],
]);

/** True for the calls of a message; false for a single call. */
export function isBatch(calls: ToolCall | readonly ToolCall[]): calls is readonly ToolCall[] {
  try {
    return Array.isArray(calls);
  } catch {
    return false;
  }
}

/** A call that is read before its turn begins, so that later changes to the original have no effect. */
export class PreReadCall implements ToolCall {
  readonly name: string;
  readonly read: CallReading;

  constructor(raw: unknown, limits: JsonLimits) {
    this.read = readCall(raw, limits);
    this.name = this.read.call.name;
  }
}

/**
 * Copies a call into frozen plain JSON.
 *
 * Reads `tool` for `name`, unless both are there and differ, and `arguments` or `parameters` for `input`, as other runtimes write them. If no input
 * is given and the call has other keys, those become the input, with a warning. An unreadable call still gives a ToolCall to record, with its error.
 */
export function readCall(raw: unknown, limits: JsonLimits): CallReading {
  try {
    return raw instanceof PreReadCall ? raw.read : readUnguarded(raw, limits);
  } catch (error: unknown) {
    return unreadableCall(
      NAMELESS_CALL,
      new ToolError("invalid_call", "The call cannot be read: one of its properties throws.", { cause: error }),
    );
  }
}

function readUnguarded(raw: unknown, limits: JsonLimits): CallReading {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw) || ArrayBuffer.isView(raw)) {
    return unreadableCall(
      NAMELESS_CALL,
      new ToolError("invalid_call", `A call is an object with a name and an input, not ${describeType(raw)}.`, { hint: CALL_HINT }),
    );
  }
  const fields = raw as Readonly<Record<string, unknown>>; // any key may be read from an object; a getter that throws is caught
  const id = readId(fields["id"] ?? fields["callId"] ?? fields["call_id"]);
  const { tool } = fields;
  const name = fields["name"] ?? tool;
  if (typeof tool === "string" && typeof name === "string" && tool !== name) {
    const hint = `Put what is not the name of the tool into the input. ${CALL_HINT}`;
    return unreadableCall(makeCall({ name: "", id }), new ToolError("invalid_call", TWO_NAMES, { hint }));
  }
  if (typeof name !== "string" || name === "") {
    const hint = isProviderCall(fields) ? WIRE_HINT : namelessHint(fields);
    return unreadableCall(
      makeCall({ name: "", id }),
      new ToolError("invalid_call", `The call has no name: "name" is ${name === "" ? "empty" : describeType(name)}.`, { hint }),
    );
  }
  if (name.length > MAX_NAME_LENGTH * 2) {
    return unreadableCall(
      makeCall({ name: name.slice(0, MAX_NAME_LENGTH), id }),
      new ToolError("invalid_call", `The call's name has ${name.length} characters.`),
    );
  }
  return readInput({ name, id }, fields, limits);
}

/** Whether this is a call as OpenAI, Gemini or Bedrock write it, or one of their messages. */
function isProviderCall(fields: Readonly<Record<string, unknown>>): boolean {
  return ["function", "functionCall", "function_call", "toolUse", "tool_use", "tool_calls", "content", "parts"].some(
    (key) => typeof fields[key] === "object" && fields[key] !== null,
  );
}

const WIRE_HINT =
  'This looks like the JSON of a provider: read it with a format of haft/wire, openAiChat().decodeReply(json).calls, which gives {"name": …, "input": {…}}.';
const TWO_NAMES = 'A call has both "name" and "tool", with different values; the call was not run.';
const CALL_HINT = 'Send {"name": "toolset::tool", "input": {…}}.';

function readInput({ name, id }: CallHeader, fields: Readonly<Record<string, unknown>>, limits: JsonLimits): CallReading {
  const reasoning = typeof fields["reasoning"] === "string" ? fields["reasoning"] : undefined;
  let input = findInput(fields);
  if (input instanceof Error && input instanceof ToolError) return unreadableCall(makeCall({ name, id, reasoning }), input);
  const hasNoInput = input === undefined || isEmptyObject(input);
  let warnings = hasNoInput ? NONE : readWarnings(fields["warnings"]);
  const unknown = unknownKeyError(fields, hasNoInput);
  if (unknown !== undefined) return unreadableCall(makeCall({ name, id, reasoning }), unknown);
  if (hasNoInput) {
    const misplaced = misplacedInput(fields, !INPUT_KEYS.some((key) => key in fields));
    if (misplaced !== undefined) {
      input = misplaced;
      warnings = [`The input was next to the name instead of in "input": ${Object.keys(misplaced).join(", ")}.`];
    }
  }
  input ??= NO_INPUT; // callers and models write null for no input
  try {
    const copy = copyJson(input, limits);
    const repairs = copy.dropped.length === 0 ? NONE : copy.dropped.map(droppedKeyRepair);
    const isProviderQuestion = fields["kind"] === "approval";
    return { call: makeCall({ name, id, input: copy.value, reasoning }), error: undefined, repairs, warnings, isProviderQuestion };
  } catch (error: unknown) {
    const cause = ToolError.fromUnknown(error);
    const code = cause.code === "too_large" ? "too_large" : "invalid_input";
    return {
      call: makeCall({ name, id, reasoning }),
      error: new ToolError(code, `The input of ${name} cannot be read: ${cause.message}`),
      repairs: NONE,
      warnings,
      isProviderQuestion: false,
    };
  }
}

/** The input, under any of its three names; an error if two of them are set. */
function findInput(fields: Readonly<Record<string, unknown>>): unknown {
  const { input, arguments: given, parameters } = fields;
  if (given === undefined && parameters === undefined) return input ?? undefined;
  const presentKeys = INPUT_KEYS.filter((key) => fields[key] !== undefined && fields[key] !== null && !isEmptyObject(fields[key]));
  const [first, second] = presentKeys;
  if (first === undefined) return input ?? given ?? parameters ?? undefined;
  if (second === undefined) return fields[first];
  return new ToolError("invalid_call", `A call has both "${first}" and "${second}"; the call was not run.`, { hint: CALL_HINT });
}

/** Returns the corrections that the reader of the model's reply made. */
function readWarnings(warnings: unknown): readonly string[] {
  return isStringArray(warnings) ? warnings.slice(0, MAX_WARNINGS).map((warning) => warning.slice(0, MAX_WARNING_LENGTH)) : NONE;
}

const MAX_WARNINGS = 20;
const MAX_WARNING_LENGTH = 2_000;

/** The name and id of a call, before its input is read. */
interface CallHeader {
  readonly name: string;
  readonly id: string | undefined;
}

function makeCall({
  name,
  id,
  input,
  reasoning,
}: CallHeader & { readonly input?: unknown; readonly reasoning?: string | undefined }): ToolCall {
  // Most calls have an id and an input: creating these at once avoids a slower object layout.
  const call: { id?: string; name: string; input?: unknown; reasoning?: string } =
    id === undefined || input === undefined ? { name } : { id, name, input };
  if (id !== undefined && input === undefined) call.id = id;
  if (input !== undefined && id === undefined) call.input = input;
  if (reasoning !== undefined) call.reasoning = reasoning;
  return Object.freeze(call);
}

function readId(id: unknown): string | undefined {
  if (typeof id === "number") return String(id);
  return typeof id === "string" && id !== "" && id.length <= MAX_ID_LENGTH ? id : undefined;
}

function isEmptyObject(value: unknown): boolean {
  if (!isJsonObject(value) || ArrayBuffer.isView(value)) return false; // of bytes, all keys would be listed first
  for (const key in value) if (Object.hasOwn(value, key)) return false;
  return true;
}

/**
 * Refuses a key that is not known: ignoring it could do something else than was meant.
 *
 * @param mayBeInput there is no other input, so the key may be a misplaced parameter
 */
function unknownKeyError(fields: Readonly<Record<string, unknown>>, mayBeInput: boolean): ToolError | undefined {
  for (const key in fields) {
    if (key === "id" || key === "name" || key === "input") continue; // most calls have only these
    if (CALL_KEYS.has(key) || key === "__proto__" || isIgnoredKey(key, fields[key])) continue;
    const suggestion = suggestKey(key);
    if (mayBeInput && (suggestion === undefined || !looksLikeInput(fields[key]))) continue;
    const shown = JSON.stringify(key.slice(0, 100));
    return new ToolError("invalid_call", `A call has no key ${shown}; the call was not run.`, {
      hint: suggestion === undefined ? CALL_HINT : `Did you mean ${JSON.stringify(suggestion)}? ${CALL_HINT}`,
    });
  }
  return undefined;
}

/** Hints at the key that was probably meant to be the name, or at a promise that was not awaited. */
function namelessHint(fields: object): string {
  ignoreRejection(fields);
  if (fields instanceof Promise) return `A promise was given: put await before it. ${CALL_HINT}`;
  const suggestion = Object.keys(fields).find((key) => key !== "name" && suggestKey(key) === "name");
  return suggestion === undefined ? CALL_HINT : `Write "name" in place of ${JSON.stringify(suggestion.slice(0, 100))}. ${CALL_HINT}`;
}

function suggestKey(key: string): string | undefined {
  const [near] = key.length > 20 ? [] : findNearNames(key, KEYS_OF_A_CALL, 1);
  return KEY_CORRECTIONS.get(key.replaceAll(/[_-]/gu, "").toLowerCase()) ?? near;
}

const KEYS_OF_A_CALL = ["name", "input", "id", "arguments", "parameters", "reasoning"] as const;

/** Whether a value looks like the whole input rather than one parameter of it. */
function looksLikeInput(value: unknown): boolean {
  return isJsonObject(value) || (typeof value === "string" && value.trimStart().startsWith("{"));
}

/** True for a provider's key with its usual value, and for a missing value. */
function isIgnoredKey(key: string, value: unknown): boolean {
  return value === undefined || value === null || IGNORED_KEYS.get(key)?.(value) === true;
}

/**
 * Collects misplaced parameters, those next to the name. A key that may also be a provider's counts as a parameter if there are others, or if the
 * call has no input key at all: a tool that runs without one of its parameters may do something else than was asked.
 *
 * @param hasNoInputKey the call has none of the input keys, not even with an empty value
 */
function misplacedInput(fields: Readonly<Record<string, unknown>>, hasNoInputKey: boolean): Record<string, unknown> | undefined {
  let found: Record<string, unknown> | undefined;
  const add = (key: string): void => {
    found ??= Object.create(null) as Record<string, unknown>; // no prototype: the key may be __proto__
    found[key] = fields[key];
  };
  for (const key of Object.keys(fields)) if (!CALL_KEYS.has(key) && IGNORED_KEYS.get(key)?.(fields[key]) !== true) add(key);
  if (found !== undefined || (hasNoInputKey && "status" in fields))
    for (const key of PARAMETER_LIKE_KEYS) if (fields[key] !== undefined) add(key);
  return found;
}

function droppedKeyRepair(path: string): Repair {
  return { path, kind: "dropped", note: "a key named __proto__ is never passed on" };
}

function unreadableCall(call: ToolCall, error: ToolError): CallReading {
  return { call, error, repairs: NONE, warnings: NONE, isProviderQuestion: false };
}

function describeType(value: unknown): string {
  return value === undefined ? "missing" : describeValueType(value);
}
