/** Says in a result why a signal ended a call. */
import { singleLine } from "./base/wording.ts";
import { truncateText } from "./base/truncate-text.ts";
import { escapeInvisible } from "./base/escape-invisible.ts";
import { isToolError } from "./error.ts";

/** Long enough for nested calls, each of which says why the next was cancelled. */
const MAX_CHARS = 500;

/**
 * Returns the text that follows `<tool> was cancelled: ` for an aborted signal. A ToolError already says who cancelled the call. Any other reason is
 * the caller's and may hold third-party text: its message is reduced to one line. A signal of `AbortSignal.timeout` is reported as a time limit.
 *
 * @param by the party that aborts this signal. @default "the caller aborted"
 */
export function formatCancelReason(signal: AbortSignal, by = "the caller aborted"): string {
  try {
    const reason: unknown = signal.reason;
    if (isToolError(reason)) return toOneLine(reason.message).replace(/\.$/u, "");
    if (nameOf(reason) === "TimeoutError") return "the time limit of its caller was reached";
    const text = toOneLine(messageOf(reason));
    return text === "" ? by : `${by}: ${text}`;
  } catch {
    return by; // its getters throw
  }
}

function nameOf(reason: unknown): unknown {
  return reason instanceof Error ? reason.name : undefined;
}

/** Returns the message of a reason; empty if the signal was aborted without a reason. */
function messageOf(reason: unknown): string {
  if (typeof reason === "string") return reason;
  if (!(reason instanceof Error)) return "";
  const { message }: { readonly message: unknown } = reason;
  const isDefault = reason.name === "AbortError" && message === (AbortSignal.abort().reason as Error).message; // the platform's default message
  return typeof message === "string" && !isDefault ? message : "";
}

function toOneLine(text: string): string {
  const words = singleLine(text.slice(0, 2 * MAX_CHARS));
  return truncateText(escapeInvisible(words), MAX_CHARS).toWellFormed();
}
