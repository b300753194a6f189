/** Asks the model that plays a tool, and turns its failures into errors of the call. */
import { ToolError, pickHints } from "../../core/error.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import type { Model, ModelReply, ModelRequest } from "../../core/model.ts";
import { NoAnswer } from "../../core/answers/no-answer.ts";

export interface AskOptions {
  readonly signal: AbortSignal;
  /** Maximum number of characters of a reply; a longer one is cancelled at once. */
  readonly maxChars: number;
}

/**
 * The whole reply; undefined if it became too long.
 *
 * @throws NoAnswer if the model cannot be reached; ToolError `cancelled`, or the model's error
 */
export async function askModel(model: Model, request: ModelRequest, { signal, maxChars }: AskOptions): Promise<ModelReply | undefined> {
  let reply: ModelReply | undefined;
  let chars = 0;
  try {
    for await (const event of model.stream(request, { signal })) {
      if (event.type === "reply-void") chars = 0;
      if (event.type === "text-delta" && (chars += event.text.length) > maxChars) return undefined;
      if (event.type === "reply-end") reply = event.reply;
    }
  } catch (thrown: unknown) {
    throw toModelError(thrown);
  }
  if (reply !== undefined) return reply;
  throw new ToolError("model_failed", `The model ${model.name} ended without a reply.`, { retryable: false });
}

/** Errors that mean that the model could not be reached, so that another answer source may answer. */
const UNREACHABLE_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "network_error",
  "unavailable",
  "rate_limited",
  "timeout",
  "permission_denied",
  "not_found",
  "limit_exceeded",
]);

function toModelError(thrown: unknown): ToolError {
  const error = ToolError.fromUnknown(thrown, "model_failed");
  const { code, message, details } = error;
  if (code === "cancelled") return error;
  const errorOptions = { details, cause: thrown, retryable: false, ...pickHints(error) };
  if (UNREACHABLE_CODES.has(code)) return new NoAnswer(code, message, { ...errorOptions, outcome: "not_started" });
  return new ToolError(code, message, { ...errorOptions, outcome: "failed" });
}
