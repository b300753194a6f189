/** What went wrong at Bedrock, in our words. */
import type { ErrorCode } from "../../core/error-codes.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonValue } from "../../core/base/json.ts";

/** @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors */
const CODES: ReadonlyMap<string, ErrorCode> = new Map([
  ["throttlingexception", "rate_limited"],
  ["servicequotaexceededexception", "rate_limited"],
  ["toomanyrequestsexception", "rate_limited"],
  ["internalserverexception", "unavailable"],
  ["serviceunavailableexception", "unavailable"],
  ["modelnotreadyexception", "unavailable"],
  ["modelstreamerrorexception", "model_failed"],
  ["modelerrorexception", "model_failed"],
  ["modeltimeoutexception", "timeout"],
  ["resourcenotfoundexception", "not_found"],
  ["accessdeniedexception", "permission_denied"],
  ["unrecognizedclientexception", "permission_denied"],
  ["expiredtokenexception", "permission_denied"],
]);
const RETRYABLE: ReadonlySet<string> = new Set(["modelstreamerrorexception", "modelerrorexception"]);
/** Names of errors that are not in the table. */
const ERROR_NAME = /(?:exception|error|failure|fault)$/iu;
const TOO_LONG = /too long|too many (?:input )?tokens|maximum (?:context|tokens|number of tokens)|exceeds? the (?:model|context|maximum)/iu;

/** The error that an event's name and payload tell of; undefined for every other event. */
export function bedrockError(name: string, payload: JsonValue): ToolError | undefined {
  const kind = name.toLowerCase();
  if (!CODES.has(kind) && !ERROR_NAME.test(kind)) return undefined;
  const { message, Message } = isJsonObject(payload) ? payload : {};
  const text = [message, Message].find((one) => typeof one === "string");
  const what = typeof text === "string" ? text : "it does not say what is wrong";
  const known = CODES.get(kind) ?? "model_failed";
  const code = kind === "validationexception" && TOO_LONG.test(what) ? "too_large" : known;
  const retryable = code === "unavailable" || RETRYABLE.has(kind);
  return new ToolError(code, `Bedrock reports ${name}: ${what}`, retryable ? { retryable } : {});
}
