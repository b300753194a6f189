/** The answer of a call, from what its handler returned to what is recorded. */
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { ContentPart } from "../../core/content.ts";
import type { ToolError } from "../../core/error.ts";
import type { Fidelity } from "../../core/fidelity.ts";
import type { ToolResult } from "../../core/result.ts";

/** One that few calls set is declared only: it takes no room in the others. */
export class CallAnswer {
  /** As the handler returned it; `takeOutput` makes the rest of it. */
  raw: unknown;
  output: JsonValue | undefined;
  /** The JSON text of the output has no more bytes than this, where that is known. */
  outputBound: number | undefined;
  declare content: readonly ContentPart[] | undefined;
  declare metadata: JsonObject | undefined;
  declare exitCode: number | undefined;
  /** The error of a call that has an answer: both are kept. */
  declare error: ToolError | undefined;
  /** The error that its engine answered with on purpose, in the latest attempt that failed. */
  declare engineError: ToolError | undefined;
  /** As the engine says that answered; undefined = as its origin says. */
  declare fidelity: Fidelity | undefined;
  /** The earlier call whose result it refers to. */
  declare sameAs: string | undefined;
  /** How a recorded answer was cut then. */
  declare truncation: ToolResult["truncation"];
  /** The handler changed a value of its session. */
  declare changedState: true | undefined;
  /** It was an equal call's. */
  declare isCached: true | undefined;
  /** As the handler said last: kept where the call is cancelled or runs out of time. */
  declare partialOutput: unknown;
}
