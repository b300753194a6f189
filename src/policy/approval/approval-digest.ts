/** Computes the digest that the answer to a question is bound to, and the question's stable id. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import type { JsonObject } from "../../core/base/json.ts";

/** The parts of a question that an answer is bound to. */
export interface ApprovedCall {
  /** Qualified. */
  readonly toolName: string;
  readonly input: JsonObject;
  /** Fingerprint of the tool's definition. */
  readonly definition: string;
}

/** Returns the digest that an answer is bound to: SHA-256, in hex, of the tool's name, its definition and its final input. */
export function approvalDigest({ toolName: tool, input, definition }: ApprovedCall): string {
  return sha256({ definition, input, tool });
}

/** Returns the id of the question about a call. It is the same if the question is asked again after a crash. */
export function approvalId({ sessionId, callId }: { readonly sessionId: string; readonly callId: string }): string {
  return `approval_${sha256({ callId, sessionId }).slice(0, 24)}`;
}

function sha256(value: JsonObject): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
