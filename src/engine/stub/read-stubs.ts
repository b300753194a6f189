/** The stubs of a stub engine, and their validation. */
import { ERROR_CODES, type ErrorCode } from "../../core/error-codes.ts";
import { MAX_MESSAGE_LENGTH, ToolError, describeThrown } from "../../core/error.ts";
import { copyJson, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";

/** A prepared answer to matching calls: an output, or an error. */
export interface Stub {
  /** A qualified name, or a bare one for the tools of that name in all toolsets; `*` matches any characters. */
  readonly tool: string;
  /**
   * The values that the input of the call must contain: an object with at least these keys, whose values match in the same way; arrays item by item.
   * @default any input
   */
  readonly input?: JsonObject;
  /** Whether the input must be exactly this. @default false */
  readonly exact?: boolean;
  readonly output?: JsonValue;
  readonly error?: StubError;
  /** How often it may be used in a session, for each toolset; then the next matching stub answers. Integer ≥ 1. @default no limit */
  readonly times?: number;
}

/** The error that a stub answers with. */
export interface StubError {
  /** @default "execution_failed" */
  readonly code?: ErrorCode;
  readonly message: string;
  /** @default as the code defines */
  readonly retryable?: boolean;
  readonly hint?: string;
}

const MAX_STUBS = 100_000;
const MAX_TOOL_LENGTH = 512;
const FIELDS: ReadonlySet<string> = new Set(["tool", "input", "exact", "output", "error", "times"]);
const ERROR_FIELDS: ReadonlySet<string> = new Set(["code", "message", "retryable", "hint"]);

/**
 * Reads stubs from the value of a file: an array, or an object with an array `stubs`. Returns frozen copies.
 *
 * @throws ToolError `invalid_config` naming each invalid place: `stubs[2].tool …`
 */
export function readStubs(value: unknown): readonly Stub[] {
  return checkStubs(isJsonObject(value) && Object.hasOwn(value, "stubs") ? value["stubs"] : value, "invalid_config");
}

/** Like `readStubs`, for an array. @throws ToolError with the given code */
export function checkStubs(value: unknown, code: "invalid_config" | "invalid_argument"): readonly Stub[] {
  if (!Array.isArray(value))
    throw new ToolError(code, `Stubs must be an array, such as [{"tool": "mail::send", "output": {"sent": true}}].`);
  if (value.length > MAX_STUBS) throw new ToolError(code, `There are ${value.length} stubs; ${MAX_STUBS} is the limit.`);
  const problems: string[] = [];
  const stubs = value.map((stub: unknown, index) => readStub(stub, `stubs[${index}]`, problems));
  const [first] = problems;
  if (first === undefined) return stubs;
  const more = problems.length === 1 ? "" : ` (${problems.length - 1} more below)`;
  throw new ToolError(code, `${first}${more}`, { details: problems });
}

function readStub(raw: unknown, place: string, problems: string[]): Stub {
  const stub = copyObject(raw, place, problems);
  if (stub === undefined) return NO_STUB;
  const { tool = null, input, exact, output, error, times } = stub;
  const wrong = (what: string): number => problems.push(`${place}${what}`);
  checkKeys(stub, FIELDS, place, problems);
  if (typeof tool !== "string" || tool === "" || tool.length > MAX_TOOL_LENGTH) wrong(".tool must be the name of a tool, or a pattern.");
  if (input !== undefined && !isJsonObject(input)) wrong(".input must be an object.");
  if (exact !== undefined && typeof exact !== "boolean") wrong(".exact must be a boolean.");
  if (exact === true && input === undefined) wrong(".exact needs an input.");
  if (times !== undefined && !(Number.isSafeInteger(times) && Number(times) >= 1)) wrong(".times must be an integer of at least 1.");
  if ((output === undefined) === (error === undefined)) wrong(" must have either an output or an error.");
  if (error !== undefined) checkError(error, `${place}.error`, problems);
  return stub as unknown as Stub; // each field has been checked; if one is wrong, the caller throws
}

const NO_STUB: Stub = Object.freeze({ tool: "" });

function copyObject(raw: unknown, place: string, problems: string[]): JsonObject | undefined {
  try {
    const { value } = copyJson(raw);
    if (isJsonObject(value) && !isJsonArray(value)) return value;
    problems.push(`${place} must be an object.`);
  } catch (thrown: unknown) {
    problems.push(`${place} is not JSON: ${describeThrown(thrown)}`);
  }
  return undefined;
}

function checkError(error: JsonValue, place: string, problems: string[]): void {
  if (!isJsonObject(error)) return void problems.push(`${place} must be an object with a message.`);
  const { code, message, retryable, hint } = error;
  checkKeys(error, ERROR_FIELDS, place, problems);
  if (typeof message !== "string" || message.length > MAX_MESSAGE_LENGTH)
    problems.push(`${place}.message must be a string of at most ${MAX_MESSAGE_LENGTH} characters.`);
  if (code !== undefined && !(typeof code === "string" && Object.hasOwn(ERROR_CODES, code)))
    problems.push(`${place}.code must be a code of an error, such as "not_found" or "network_error".`);
  if (retryable !== undefined && typeof retryable !== "boolean") problems.push(`${place}.retryable must be a boolean.`);
  if (hint !== undefined && typeof hint !== "string") problems.push(`${place}.hint must be a string.`);
}

function checkKeys(object: JsonObject, fields: ReadonlySet<string>, place: string, problems: string[]): void {
  for (const key of Object.keys(object))
    if (!fields.has(key))
      problems.push(`${place} has the unknown key ${JSON.stringify(key.slice(0, 80))}; known keys: ${[...fields].join(", ")}.`);
}
