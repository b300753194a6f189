/** The changes of a branch that its parent has not: the typed difference of two sessions. */
import type { HistoryEntry } from "../core/history.ts";
import { diffJson, type JsonPatch } from "../core/base/json-patch.ts";
import type { JsonValue } from "../core/base/json.ts";
import { changedKeys } from "../core/base/persistent-map.ts";
import { splitStateKey, type StateMap } from "./session.ts";

/** The differences of two sessions. */
export interface SessionDiff {
  /** The values of state that differ, by toolset and key. */
  readonly state: readonly StateDifference[];
  /** The calls that were made, with their results. */
  readonly calls: readonly HistoryEntry[];
  /** The keys that calls of a simulation pretended to write, as their tools declare them; `toolset:x` where nothing is declared. */
  readonly pretended: readonly string[];
}

/** A value of the state that two sessions do not share. */
export interface StateDifference {
  readonly toolset: string;
  readonly key: string;
  /** Undefined where there was no such value. */
  readonly before: JsonValue | undefined;
  /** Undefined where there is no such value any more. */
  readonly after: JsonValue | undefined;
  /** The steps from one to the other. */
  readonly patch: JsonPatch;
}

/** The differences in state, those that are the same object on both sides skipped unseen. */
export function stateDiff(before: StateMap, after: StateMap): readonly StateDifference[] {
  return changedKeys(before, after).flatMap((at) => {
    const values = { before: before.get(at), after: after.get(at) };
    const patch = diffJson(values.before, values.after);
    return patch.length === 0 ? [] : [{ ...splitStateKey(at), ...values, patch }];
  });
}
