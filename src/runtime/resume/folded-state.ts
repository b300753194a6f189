/** The state of a session that is rebuilt from its events, and the changes in it that do not count yet. */
import type { SessionEvent } from "../../core/event.ts";
import { addTo } from "../../core/base/add-to.ts";
import { applyPatch, diffJson } from "../../core/base/json-patch.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { shareJson } from "../../core/base/share-json.ts";
import type { Session } from "../../session/session.ts";
import { NO_STATE, stateKey, type StateMap, type StatePlace } from "../../session/session-state.ts";

/** A change to a session's state by a call. */
export interface StateChange extends StatePlace {
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/**
 * The changes of a call count once the call has ended, and the message of the model that it belongs to, if any, has ended well. Until then they are
 * kept, so that they can be undone.
 */
export class FoldedState {
  /** The latest changes of each value, as far as they were made by calls that do not count yet. */
  readonly #changes = new Map<string, StateChange[]>();
  /** The values that each such call changed. */
  readonly #changedKeys = new Map<string, Set<string>>();
  readonly #spendItems: ((items: number) => void) | undefined;
  #state: StateMap = NO_STATE;

  /** @param spendItems passed to `applyPatch` */
  constructor(spendItems: ((items: number) => void) | undefined) {
    this.#spendItems = spendItems;
  }

  get current(): StateMap {
    return this.#state;
  }

  /** The changes to undo, so that calls which do not count have changed nothing: each restores the first value that they found. */
  get uncountedChanges(): readonly StateChange[] {
    return [...this.#changes.values()].flatMap((changes) => {
      const [first] = changes;
      return first === undefined ? [] : [{ ...first, after: changes.at(-1)?.after }];
    });
  }

  /** Keeps the changes that this call will make until they count. */
  beginCall(callId: string): void {
    this.#changedKeys.set(callId, new Set());
  }

  /** Whether the call has begun, its changes do not count yet, and there are none. */
  hasChangedNothing(callId: string): boolean {
    return this.#changedKeys.get(callId)?.size === 0;
  }

  /** @param isOpen whether the call has not ended. @throws ToolError `corrupt_record` for a change that does not fit the state */
  change({ callId, turnId, toolset, key, patch }: SessionEvent & { readonly type: "state-change" }, isOpen: boolean): void {
    const at = stateKey(toolset, key);
    const before = this.#state.get(at);
    const patched = applyPatch(before, patch, this.#spendItems);
    const after = patched === undefined ? undefined : shareJson(patched); // so that later changes cost only as much as they change
    this.#state = after === undefined ? this.#state.delete(at) : this.#state.set(at, after);
    const changedKeys = this.#changedKeys.get(callId);
    // A change after the end of its call undoes what the call changed, and everything changed after that.
    if (changedKeys === undefined || !isOpen) return this.#dropUndoneChanges(at, after);
    changedKeys.add(at);
    addTo(this.#changes, at, { callId, turnId, toolset, key, before, after });
  }

  /** Lets the changes of the call count, and so the earlier changes of the same values. */
  count(callId: string): void {
    for (const at of this.#changedKeys.get(callId) ?? []) {
      const changes = this.#changes.get(at) ?? [];
      changes.splice(0, changes.findLastIndex((change) => change.callId === callId) + 1);
      if (changes.length === 0) this.#changes.delete(at);
    }
    this.#changedKeys.delete(callId);
  }

  /** Keeps the changes before the undone ones; the current value is the result of the last one kept. */
  #dropUndoneChanges(at: string, value: JsonValue | undefined): void {
    const changes = this.#changes.get(at) ?? [];
    const undoneFrom = changes.findLastIndex(({ before }) => diffJson(before, value).length === 0);
    const kept = changes.slice(0, Math.max(0, undoneFrom));
    const last = kept.pop();
    if (last === undefined) this.#changes.delete(at);
    else this.#changes.set(at, [...kept, { ...last, after: value }]);
  }
}

/** Undoes changes, last first; skips values that have been changed since. */
export function undoChanges(session: Session, changes: readonly StateChange[]): void {
  for (const { before, after, ...place } of changes.toReversed())
    if (session.state(place.toolset, place.key) === after) session.changeState(place, before);
}

/** Redoes changes that were undone, first one first, unless the value has changed since. */
export function redoChanges(session: Session, changes: readonly StateChange[]): void {
  for (const { before, after, ...place } of changes)
    if (session.state(place.toolset, place.key) === before) session.changeState(place, after);
}
