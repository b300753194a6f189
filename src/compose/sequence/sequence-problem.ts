/** The problems that a sequence of calls can have, with a closed list of reasons. */
import type { JsonObject } from "../../core/base/json.ts";

/** Why a sequence is invalid. */
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
 * The less obvious ones: `unknown_argument`: an argument that the tool does not have; `future_reference`: a reference to the call itself or a later
 * one; `indirect_reference`: a reference inside a longer text; `missing_reference`: a reference to a call that is not in the sequence;
 * `nesting_required`: no call refers to another; `nesting_forbidden`: one does.
 */
export type SequenceReason = (typeof SEQUENCE_REASONS)[number];

/** A problem of a sequence, its place, and what would work. */
export interface SequenceProblem {
  readonly reason: SequenceReason;
  /** The index of the call, from 0; -1 for the sequence as a whole. */
  readonly index: number;
  /** The `$` path in the call's input; left out if the problem is elsewhere. */
  readonly path?: string;
  /** The parsed call; left out if it could not be parsed. */
  readonly call?: SequenceCall;
  readonly message: string;
  /** A hint at a fix. */
  readonly hint?: string;
}

/** A parsed call of a sequence. */
export interface SequenceCall {
  readonly id?: string;
  readonly name: string;
  /** Frozen. */
  readonly input: JsonObject;
  readonly reasoning?: string;
}
