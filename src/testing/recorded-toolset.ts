import { isOptionsObject } from "../core/base/wording.ts";
import { checkArgument } from "../core/check-argument.ts";
import { OWN_NAMESPACE, splitName, type ToolCall } from "../core/call.ts";
import type { ContentPart } from "../core/content.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { SessionEvent } from "../core/event.ts";
import type { JsonValue } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { parseRecording } from "../core/recording/recording.ts";
import type { ToolResult } from "../core/result.ts";
import type { Toolset } from "../core/toolset.ts";
import { nestedCallsLast, recordedCalls, type RecordedCall } from "../engine/recorded-calls.ts";
import { UNKNOWN_TOOL_CODES, toolsetsOfRecording, type ReplayToolsetOptions } from "../engine/replay.ts";

/** A recording as a test fixture: toolsets that answer from it, the calls to make, and the expected results. */
export interface RecordedFixture {
  /** Toolsets for `createRuntime({ toolsets })`. */
  readonly toolsets: readonly Toolset[];
  /** The calls as the model made them, in order. Pass them to one `session.execute(calls)`, or make them one by one in one session. */
  readonly calls: readonly ToolCall[];
  /** For each call, the `recordedAnswer` of its result. */
  readonly expectedResults: readonly RecordedAnswer[];
}

/** The part of a result that is the same when the call is answered again: without its id, time and origin. */
export interface RecordedAnswer {
  readonly name: string;
  readonly output?: JsonValue;
  readonly content?: readonly ContentPart[];
  readonly exitCode?: number;
  /** Set if the call has no answer. */
  readonly error?: ErrorCode;
}

/**
 * Makes a test fixture of a recording, or of the events of a session.
 *
 * Leaves out calls of the namespace `haft`, which every runtime answers itself, and calls that a rule or a hook refused under a name without
 * a namespace: no toolset can refuse those.
 *
 * @throws ToolError `corrupt_record` if the recording is damaged
 */
export function recordedToolsets(recording: string | readonly SessionEvent[], options: ReplayToolsetOptions = {}): RecordedFixture {
  const events = typeof recording === "string" ? parseRecording(recording).events : recording;
  const recorded = nestedCallsLast(recordedCalls(events)).filter(canBeAnswered);
  return {
    toolsets: toolsetsOfRecording(events, options),
    calls: recorded.map(({ call }) => call),
    expectedResults: recorded.map(({ result }) => recordedAnswer(result)),
  };
}

/** Whether toolsets can answer the call as it was answered in the recording. */
function canBeAnswered({ result: { name, error } }: RecordedCall): boolean {
  const { namespace } = splitName(name);
  return namespace === undefined ? error === undefined || UNKNOWN_TOOL_CODES.has(error.code) : namespace !== OWN_NAMESPACE;
}

/** Returns the part that a result shares with its replay: compare `results.map(recordedAnswer)` with `expectedResults`. */
export function recordedAnswer(result: ToolResult): RecordedAnswer {
  checkArgument(
    isOptionsObject(result) && "status" in result,
    "recordedAnswer()",
    "the result of a call",
    result,
    "Of several: results.map(recordedAnswer).",
  );
  const { name, status, output, content, exitCode, error } = result;
  if (error !== undefined && status !== "partial" && exitCode === undefined) return { name, error: error.code };
  return { name, ...omitUndefined({ output, content, exitCode }) };
}
