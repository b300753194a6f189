/** The problems that a sequence of calls can have: a closed list of reasons. */
import type { JsonObject } from "../../core/base/json.ts";

/** Why a sequence is not sound. */
export const SEQUENCE_REASONS = [
  "malformed",
  "duplicate_call",
  "duplicate_id",
  "unknown_tool",
  "extra_keys",
  "missing_name",
  "missing_arguments",
  "schema_violation",
  "unknown_argument",
  "future_reference",
  "indirect_reference",
  "missing_reference",
  "nesting_required",
  "nesting_forbidden",
] as const;

/**
 * Of the names that need explaining: `unknown_argument`: an argument that the tool does not have; `future_reference`: to the call itself or one after it;
 * `indirect_reference`: inside a longer text; `missing_reference`: to a call that is not in the sequence; `nesting_required`: no call
 * refers to another; `nesting_forbidden`: one does.
 */
export type SequenceReason = (typeof SEQUENCE_REASONS)[number];

/** One thing that is wrong, its place, and what would work. */
export interface SequenceProblem {
  readonly reason: SequenceReason;
  /** The call, counted from 0; -1 for the sequence as a whole. */
  readonly index: number;
  /** `$` path in the call's input; left out where the problem is not in there. */
  readonly path?: string;
  /** The call as it was read: left out where it could not be. */
  readonly call?: SequenceCall;
  readonly message: string;
  /** A hint at what would work. */
  readonly hint?: string;
}

/** A call of a sequence, read. */
export interface SequenceCall {
  readonly id?: string;
  readonly name: string;
  /** Frozen. */
  readonly input: JsonObject;
  readonly reasoning?: string;
}
