/** The exit code of a command, by how the model's run ended. */
import type { LoopResult } from "../../../compose/loop-result.ts";
import type { StopReason } from "../../../compose/stop-reason.ts";
import { ERROR_CODES, type ErrorCode } from "../../../core/error-codes.ts";

/** The error code for each stop reason; undefined if the run ended well. */
const FAILURES = {
  answered: undefined,
  "tool-ended-turn": undefined,
  "one-action": undefined,
  "max-rounds": "limit_exceeded",
  budget: "limit_exceeded",
  "repeated-calls": "limit_exceeded",
  "stop-condition": undefined,
  timeout: "timeout",
  length: "model_failed",
  "content-filter": "model_failed",
  refusal: "model_failed",
  "model-error": "model_failed",
  cancelled: "cancelled",
  approval: "approval_required",
  "nothing-pending": "invalid_argument",
  "emergency-stop": "limit_exceeded",
  "already-running": "resource_busy",
  "invalid-output": "invalid_output",
  disabled: "unavailable",
} as const satisfies Readonly<Record<StopReason, ErrorCode | undefined>>;

/** Returns 0 if the run ended well, else the exit code of its error or of its stop reason. */
export function exitCodeForResult({ reason, error }: LoopResult): number {
  const code = error?.code ?? FAILURES[reason];
  return code === undefined ? 0 : ERROR_CODES[code].exit;
}
