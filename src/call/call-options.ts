/** The options of a call, as the pipeline uses them. */
import type { Ask } from "../core/approvals/ask.ts";
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
  /** Which tools these calls may use; undefined = all. */
  readonly visibility: Visibility | undefined;
  /** The id of the principal for which the calls are made. */
  readonly principal: string | undefined;
  /** No call is run unless all of them may run; given for batches only. */
  readonly strict?: boolean | undefined;
  /** A person has approved these calls already. */
  readonly approved: boolean;
  /** true: each is answered with `pending` and continues as a background job; false: the caller waits for each. */
  readonly background: boolean | undefined;
  readonly knowsDocumentation: boolean;
  /** The fallback chain to use instead of the one that the rules give. */
  readonly answerers: readonly Answerer[] | undefined;
  readonly rewriteInput: ((call: ToolCall) => unknown) | undefined;
  /** Added to the metadata of the tool, when the call has ended. */
  readonly metadata?: ResultNotes | undefined;
}

/** Returns metadata to keep with a result, besides that of its tool. If it throws, this is logged and nothing is added. */
export type ResultNotes = (result: ToolResult) => JsonObject | undefined;
