/** The options of a call, as the pipeline has them. */
import type { Ask } from "../core/ask.ts";
import type { ToolCall } from "../core/call.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { ToolResult } from "../core/result.ts";
import type { Visibility } from "../policy/visibility.ts";
import type { ProgressListener } from "./execute-options.ts";
import type { Answerer } from "./route.ts";

export interface CallOptions {
  readonly validate: boolean;
  readonly recordHistory: boolean;
  readonly data: Readonly<Record<string, unknown>>;
  readonly variation: string;
  readonly ask: Ask | undefined;
  readonly onProgress: ProgressListener | undefined;
  /** Which tools these calls may use at all; undefined = all. */
  readonly visibility?: Visibility | undefined;
  /** The id of the principal that they are made for. */
  readonly principal?: string | undefined;
  /** None of the calls is run unless all of them may be. */
  readonly strict?: boolean | undefined;
  /** A person has allowed these calls already. */
  readonly approved?: boolean | undefined;
  /** True: each is answered `pending`, and continues as a background job; false: each is waited for. */
  readonly background?: boolean | undefined;
  readonly knowsDocumentation?: boolean | undefined;
  /** The fallback chain that replaces that of the rules. */
  readonly answerers?: readonly Answerer[] | undefined;
  readonly rewriteInput?: ((call: ToolCall) => unknown) | undefined;
  /** Added to what the tool said for programs, when the call has ended. */
  readonly metadata?: ResultNotes | undefined;
}

/** Returns metadata to keep with a result besides that of its tool. Throwing is logged and adds nothing. */
export type ResultNotes = (result: ToolResult) => JsonObject | undefined;
