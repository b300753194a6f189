/** The answer of a call, on its way from the handler's return value to the recorded result. */
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { ContentPart } from "../../core/content.ts";
import type { ToolError } from "../../core/error.ts";
import type { Fidelity } from "../../core/answers/fidelity.ts";
import type { ToolResult } from "../../core/result.ts";

export interface CallAnswer {
  /** The handler's return value; `normalizeOutput` derives the other fields from it. */
  raw: unknown;
  output: JsonValue | undefined;
  /** Upper bound of the output's size as JSON text, in bytes, if known. */
  outputBound: number | undefined;
  content?: readonly ContentPart[] | undefined;
  metadata?: JsonObject | undefined;
  exitCode?: number | undefined;
  /** The error of a call that also has an answer: both are kept. */
  error?: ToolError | undefined;
  /** The error that its engine gave as an answer, in the latest failed attempt. */
  engineError?: ToolError | undefined;
  /** As stated by the engine that answered; undefined = derived from its origin. */
  fidelity?: Fidelity | undefined;
  /** The earlier call whose result it refers to. */
  sameAs?: string | undefined;
  /** How a recorded answer was truncated when it was recorded. */
  truncation?: ToolResult["truncation"];
  /** Whether the answer is that of an equal call. */
  isCached?: true | undefined;
  /** For a cached answer, the resources that calls of its handler read, beyond those that its tool declares. */
  otherReads?: readonly string[] | undefined;
  /** For a cached answer, whether its handler read something of the session without declaring it. */
  readsSession?: true | undefined;
  /** The latest output that the handler set with `partial`: kept if the call is cancelled or times out. */
  partialOutput?: unknown;
}
