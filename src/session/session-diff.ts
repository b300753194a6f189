/** The changes in a branch that its parent session does not have. */
import type { HistoryEntry } from "../core/history.ts";
import { diffJson, type JsonPatch } from "../core/base/json-patch.ts";
import type { JsonValue } from "../core/base/json.ts";
import { changedKeys } from "../core/collections/persistent-map.ts";
import { splitStateKey, type StateMap } from "./session-state.ts";

/** The differences of two sessions. */
export interface SessionDiff {
  /** The state values that differ, by toolset and key. */
  readonly state: readonly StateDifference[];
  /** The calls made in the branch, with their results. */
  readonly calls: readonly HistoryEntry[];
  /** The keys that simulated calls pretended to write, as their tools declare them; `toolset:x` for undeclared writes. */
  readonly pretended: readonly string[];
}

/** A state value that differs between two sessions. */
export interface StateDifference {
  readonly toolset: string;
  readonly key: string;
  /** Undefined if the value did not exist before. */
  readonly before: JsonValue | undefined;
  /** Undefined if the value no longer exists. */
  readonly after: JsonValue | undefined;
  /** The patch from `before` to `after`. */
  readonly patch: JsonPatch;
}

/** Returns the differences in state. Values that are the same object on both sides are skipped without comparing them. */
export function stateDiff(before: StateMap, after: StateMap): readonly StateDifference[] {
  return changedKeys(before, after).flatMap((at) => {
    const values = { before: before.get(at), after: after.get(at) };
    const patch = diffJson(values.before, values.after);
    return patch.length === 0 ? [] : [{ ...splitStateKey(at), ...values, patch }];
  });
}
