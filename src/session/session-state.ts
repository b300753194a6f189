/** The state of a session, and the changes in it that can still be undone because the calls that made them may be taken back. */
import { diffJson, type JsonPatch } from "../core/base/json-patch.ts";
import type { JsonValue } from "../core/base/json.ts";
import { shareJson } from "../core/base/share-json.ts";
import { PersistentMap } from "../core/collections/persistent-map.ts";
import type { TurnCall } from "./turn-queue.ts";

/** State values by toolset and key. */
export type StateMap = PersistentMap<JsonValue>;

export const NO_STATE: StateMap = PersistentMap.empty<JsonValue>();

/** Where a state change belongs. */
export interface StatePlace {
  readonly turnId: string;
  readonly callId: string;
  readonly toolset: string;
  readonly key: string;
}

/** A value that was changed, and how. */
export interface PatchedValue extends StatePlace {
  readonly patch: JsonPatch;
}

/** A change to one value by a call that may still be taken back. */
interface OpenChange {
  readonly call: TurnCall;
  readonly place: StatePlace;
  readonly before: JsonValue | undefined;
  isVoid: boolean;
}

export class SessionState {
  #values: StateMap;
  /**
   * For each value, its changes since the last one that nothing can take back, in order. A void change stays here while a later one of another call
   * counts: if that becomes void too, both are undone.
   */
  readonly #open = new Map<string, OpenChange[]>();

  constructor(values: StateMap) {
    this.#values = values;
  }

  get values(): StateMap {
    return this.#values;
  }

  /**
   * Sets a value, or deletes it if undefined. Returns what changed; undefined if the value is equal to the one before.
   *
   * @param call the call that makes the change, which is noted so that it can be undone; undefined for a change that nothing takes back
   */
  set(place: StatePlace, value: JsonValue | undefined, call?: TurnCall): PatchedValue | undefined {
    const at = stateKey(place.toolset, place.key);
    const before = this.#values.get(at);
    const patched = this.#write(at, place, value);
    if (patched === undefined) return undefined;
    if (call?.takenBackWith === undefined) this.#open.delete(at);
    else this.#note(at, { call, place, before, isVoid: false });
    return patched;
  }

  /**
   * Undoes the changes of these calls, except values that another call has changed since.
   *
   * @param calls calls and turns, each of them with everything nested in it. @param onUndo called after each value that changes
   */
  undo(calls: ReadonlySet<object>, onUndo: (patched: PatchedValue) => void): void {
    for (const [at, changes] of this.#open) {
      for (const change of changes) change.isVoid ||= isOneOf(calls, change.call);
      const undone = changes.splice(changes.findLastIndex(({ isVoid }) => !isVoid) + 1);
      if (changes.length === 0) this.#open.delete(at);
      const [first, last] = [undone[0], undone.at(-1)];
      const patched = first === undefined || last === undefined ? undefined : this.#write(at, last.place, first.before);
      if (patched !== undefined) onUndo(patched);
    }
  }

  /** Forgets the changes that can no longer be undone: those of calls that nothing takes back any more, and those that such a call has overwritten. */
  forgetSettled(): void {
    for (const [at, changes] of this.#open) {
      changes.splice(0, changes.findLastIndex(({ call, isVoid }) => !isVoid && call.takenBackWith === undefined) + 1);
      if (changes.length === 0) this.#open.delete(at);
    }
  }

  #write(at: string, place: StatePlace, value: JsonValue | undefined): PatchedValue | undefined {
    const after = value === undefined ? undefined : shareJson(value);
    const patch = diffJson(this.#values.get(at), after);
    if (patch.length === 0) return undefined;
    this.#values = after === undefined ? this.#values.delete(at) : this.#values.set(at, after);
    return { ...place, patch };
  }

  /** Changes that can only be undone together are noted as one. */
  #note(at: string, change: OpenChange): void {
    const changes = this.#open.get(at) ?? [];
    this.#open.set(at, changes);
    mergeLast(changes); // the call of the last one may have ended since
    changes.push(change);
    mergeLast(changes);
  }
}

function isOneOf(calls: ReadonlySet<object>, call: TurnCall): boolean {
  const unit = call.takenBackWith;
  return calls.has(call) || (unit !== undefined && calls.has(unit));
}

function mergeLast(changes: OpenChange[]): void {
  const [earlier, last] = changes.slice(-2);
  if (earlier === undefined || last === undefined || earlier.isVoid || last.isVoid) return;
  if (earlier.call.takenBackWith === last.call.takenBackWith) changes.splice(-2, 2, { ...last, before: earlier.before });
}

/** Returns the key of a value in a `StateMap`. Names of toolsets contain no control characters, so the separator is unambiguous. */
export function stateKey(toolset: string, key: string): string {
  return `${toolset}\u0000${key}`;
}

/** Splits a key of a `StateMap` into toolset and key. */
export function splitStateKey(at: string): { readonly toolset: string; readonly key: string } {
  const split = at.indexOf("\u0000");
  return { toolset: at.slice(0, split), key: at.slice(split + 1) };
}
