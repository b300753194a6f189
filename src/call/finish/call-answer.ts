/** The answer of a call, from what its handler returned to what is recorded. */
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { ContentPart } from "../../core/content.ts";
import type { ToolError } from "../../core/error.ts";
import type { Fidelity } from "../../core/fidelity.ts";
import type { ToolResult } from "../../core/result.ts";

export interface CallAnswer {
  /** As the handler returned it; `takeOutput` makes the rest of it. */
  raw: unknown;
  output: JsonValue | undefined;
  /** The JSON text of the output has no more bytes than this, where that is known. */
  outputBound: number | undefined;
  content?: readonly ContentPart[] | undefined;
  metadata?: JsonObject | undefined;
  exitCode?: number | undefined;
  /** The error of a call that has an answer: both are kept. */
  error?: ToolError | undefined;
  /** The error that its engine answered with on purpose, in the latest attempt that failed. */
  engineError?: ToolError | undefined;
  /** As the engine says that answered; undefined = as its origin says. */
  fidelity?: Fidelity | undefined;
  /** The earlier call whose result it refers to. */
  sameAs?: string | undefined;
  /** How a recorded answer was cut then. */
  truncation?: ToolResult["truncation"];
  /** The handler changed a value of its session. */
  changedState?: true | undefined;
  /** It was an equal call's. */
  isCached?: true | undefined;
  /** As the handler said last: kept where the call is cancelled or runs out of time. */
  partialOutput?: unknown;
}
