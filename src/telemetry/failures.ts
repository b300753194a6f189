/** How calls failed, as attributes: `error.type` is the server's own code if it answered with one. */
import type { Attributes } from "@opentelemetry/api";
import { causesOf } from "../core/base/causes.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { ErrorInfo, ToolError } from "../core/error.ts";
import { findHttpStatus } from "../engine/mcp/call-error.ts";
import { ANSWER_TOO_LARGE, UNREADABLE_ANSWER } from "../engine/mcp/rpc-codes.ts";
import { LimitedValues } from "./limited-values.ts";
import { ATTRIBUTES, MAX_RPC_CODES, TOOL_ERROR } from "./semantic-conventions.ts";
import { runSafely } from "./run-safely.ts";

interface Failure {
  readonly code: ErrorCode;
  readonly attributes: Attributes;
}

/** The last failed attempts of running calls. */
export class Failures {
  readonly #last = new Map<string, Failure>();
  readonly #rpcCodes = new LimitedValues(MAX_RPC_CODES);

  note(callId: string, error: ToolError): void {
    const attributes = runSafely(() => answeredError(error, this.#rpcCodes)); // handlers throw anything as a cause
    if (attributes === undefined) this.#last.delete(callId);
    else this.#last.set(callId, { code: error.code, attributes });
  }

  /** The attributes of an error in an event of the call: those of the last attempt that failed, if it failed with this code. */
  attributesOf(callId: string, { code }: ErrorInfo): Attributes {
    const last = this.#last.get(callId);
    return last?.code === code ? last.attributes : { [ATTRIBUTES.errorType]: code };
  }

  forget(callId: string): void {
    this.#last.delete(callId);
  }
}

/** The attributes of an error that a server answered: of MCP, or over HTTP. Undefined for any other error. */
function answeredError(error: ToolError, rpcCodes: LimitedValues): Attributes | undefined {
  let httpStatus: number | undefined;
  for (const each of causesOf(error)) {
    const { isError, rpcCode, status } = Object(each) as { readonly [name: string]: unknown }; // any value has these fields, or lacks them
    if (isError === true) return { [ATTRIBUTES.errorType]: TOOL_ERROR };
    if (isRpcCode(rpcCode)) return rpcAttributes(rpcCodes.format(rpcCode));
    if (isHttpStatus(status)) httpStatus ??= status;
  }
  httpStatus ??= findHttpStatus(error);
  return isHttpStatus(httpStatus) ? { [ATTRIBUTES.errorType]: String(httpStatus), [ATTRIBUTES.httpStatus]: httpStatus } : undefined;
}

/** The attributes of a JSON-RPC error. */
export function rpcAttributes(code: string): Attributes {
  return { [ATTRIBUTES.errorType]: code, [ATTRIBUTES.rpcStatus]: code };
}

/** Whether a server answered with this code: two codes are those of answers that could not be read. */
function isRpcCode(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value !== ANSWER_TOO_LARGE && value !== UNREADABLE_ANSWER;
}

function isHttpStatus(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 100 && value <= 599;
}
