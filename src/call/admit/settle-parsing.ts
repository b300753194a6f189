/** Waits for a tool's own schema library if it is asynchronous, and reads its answer. An invalid answer is a failure, never a pass. */
import { ToolError } from "../../core/error.ts";
import type { ParsedInput } from "../../core/tool.ts";
import { isPromiseLike, waitFor } from "../../policy/attempts/deadline.ts";
import { readParsed } from "../../registry/check-input.ts";
import type { CallRun } from "../call-run.ts";

/** Longest time that a schema library's asynchronous validation may take, in milliseconds. */
const PARSE_TIMEOUT_MS = 10_000;

export interface Parsing<End> {
  readonly what: "input" | "output";
  /** The value that `parseInput` or `parseOutput` returned. */
  readonly work: unknown;
  /** Continues with the parsed value. */
  onParsed(parsed: ParsedInput): End;
}

/** Throws or rejects if the answer is not a `ParsedInput`, or with the library's own error. */
export function settleParsing<End>(run: CallRun, parsing: Parsing<End>): End | ToolError | Promise<End | ToolError> {
  return isPromiseLike(parsing.work)
    ? settleParsingLater(run, parsing, parsing.work)
    : parsing.onParsed(readParsed(parsing.work, parsing.what));
}

async function settleParsingLater<End>(run: CallRun, parsing: Parsing<End>, work: PromiseLike<unknown>): Promise<End | ToolError> {
  const { what } = parsing;
  const waited = await waitFor(run, work, {
    endsAt: Math.min(run.deadlineAt, run.clock.now() + PARSE_TIMEOUT_MS),
    timeoutError: () =>
      new ToolError("timeout", `The ${what} check of ${run.toolName} did not end in time.`, {
        retryable: false,
        outcome: what === "input" ? "not_started" : "unknown",
      }),
  });
  if ("ended" in waited) return waited.ended;
  if ("thrown" in waited) throw waited.thrown;
  return parsing.onParsed(readParsed(waited.value, what));
}
