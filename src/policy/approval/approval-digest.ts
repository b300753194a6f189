/** The identities of a question: the hash that an answer is bound to, and the id under which it is found again. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import type { JsonObject } from "../../core/base/json.ts";

/** The parts of a question that an answer is bound to. */
export interface ApprovedCall {
  /** Qualified. */
  readonly toolName: string;
  readonly input: JsonObject;
  /** The fingerprint of the tool's definition. */
  readonly definition: string;
}

/** The hash that an answer is bound to: over the tool by its name and definition, and its final input. SHA-256 in hex. */
export function approvalDigest({ toolName: tool, input, definition }: ApprovedCall): string {
  return sha256({ definition, input, tool });
}

/** The id of the question about a call: the same when it is asked again after a crash. */
export function approvalId({ sessionId, callId }: { readonly sessionId: string; readonly callId: string }): string {
  return `approval_${sha256({ callId, sessionId }).slice(0, 24)}`;
}

function sha256(value: JsonObject): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
