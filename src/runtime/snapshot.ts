/** A session as one JSON value: its events, its state, and the state of its engines. */
import { ToolError } from "../core/error.ts";
import type { Engine } from "../core/engine.ts";
import type { SessionEvent } from "../core/event.ts";
import { diffJson } from "../core/base/json-patch.ts";
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import { readEvent } from "../core/recording/read-event.ts";
import { outcomeUnknownError } from "../call/admit/reconcile-call.ts";
import type { Clock } from "../core/ports.ts";
import { SessionFold } from "./resume/fold-events.ts";
import { createCallEndEvents } from "./resume/open-call.ts";
import type { SessionHead } from "../session/session.ts";
import { splitStateKey, type StateMap } from "../session/session-state.ts";
import type { SubmittedBatch } from "./submissions.ts";

const VERSION = 1;

/** A session as JSON, from which it can be restored. */
export interface SessionSnapshot {
  readonly haft: "snapshot";
  readonly version: typeof VERSION;
  /** The id of the original session. */
  readonly sessionId: string;
  /** Wall-clock milliseconds since the epoch. */
  readonly at: number;
  readonly events: readonly SessionEvent[];
  /** The values of state by toolset and key; replaying the events gives the same. */
  readonly state: Readonly<Record<string, JsonObject>>;
  /** The state of engines, by toolset. */
  readonly engines: JsonObject;
}

/** Makes the snapshot, deeply frozen. */
export function createSnapshot(fields: {
  readonly sessionId: string;
  readonly at: number;
  readonly events: readonly SessionEvent[];
  readonly state: StateMap;
  readonly engines: ReadonlyMap<string, JsonValue>;
}): SessionSnapshot {
  return Object.freeze({
    haft: "snapshot",
    version: VERSION,
    sessionId: fields.sessionId,
    at: fields.at,
    events: Object.freeze([...fields.events]),
    state: toStateObject(fields.state),
    engines: Object.freeze(Object.fromEntries(fields.engines)),
  });
}

/** The values of state by toolset and key. A value named `__proto__` is only in the events, because no JSON that is read may have such a key. */
function toStateObject(state: StateMap): Readonly<Record<string, JsonObject>> {
  const toolsets = new Map<string, [string, JsonValue][]>();
  for (const [at, value] of state.entries()) {
    const { toolset, key } = splitStateKey(at);
    if (toolset === "__proto__" || key === "__proto__") continue;
    const values = toolsets.get(toolset) ?? [];
    toolsets.set(toolset, values);
    values.push([key, value]);
  }
  return Object.freeze(Object.fromEntries([...toolsets].map(([toolset, values]) => [toolset, Object.freeze(Object.fromEntries(values))])));
}

export interface SnapshotContent {
  readonly sessionId: string;
  readonly head: SessionHead;
  readonly engines: ReadonlyMap<string, JsonValue>;
  readonly submissions: ReadonlyMap<string, SubmittedBatch>;
}

/** Reads an untrusted snapshot. @throws ToolError `corrupt_record` that says what is wrong and where */
export function readSnapshot(raw: unknown): SnapshotContent {
  const fields = asObject(raw);
  if (fields["haft"] !== "snapshot") throw corruptSnapshotError('It does not begin with "haft": "snapshot".');
  if (fields["version"] !== VERSION)
    throw corruptSnapshotError(`It is of version ${JSON.stringify(fields["version"])}; this version of Haft reads version ${VERSION}.`);
  const { sessionId, events, state, engines } = fields;
  if (typeof sessionId !== "string") throw corruptSnapshotError('"sessionId" is not a string.');
  if (!Array.isArray(events)) throw corruptSnapshotError('"events" is not an array.');
  if (!isJsonObject(state)) throw corruptSnapshotError('"state" is not an object.');
  if (!isJsonObject(engines)) throw corruptSnapshotError('"engines" is not an object.');
  const fold = new SessionFold({ sessionId, spendItems: createChangeLimit() });
  for (const [index, event] of events.entries()) fold.apply(readEvent(event, `Event ${index + 1} of the snapshot`));
  const open = fold.openInTurn;
  if (open !== undefined) throw corruptSnapshotError(`The call ${JSON.stringify(open.callId)} has no result in it.`);
  const place = findDifference(toStateObject(fold.head.state), state);
  if (place !== undefined) throw corruptSnapshotError(`Its state does not match its events: they differ at "${place}".`);
  return { sessionId, head: fold.head, engines: new Map(Object.entries(engines)), submissions: fold.submissions };
}

/**
 * The events that a session from a snapshot begins with. Open calls are ended, so that a resume does not treat them as its own: they began elsewhere,
 * for a principal and under rules that only the snapshot knows, and may have been run.
 */
export function copiedEvents(
  { id, isStored }: { readonly id: string; readonly isStored: boolean },
  { head }: Pick<SnapshotContent, "head">,
  clock: Clock,
): readonly SessionEvent[] {
  const events = head.log.events();
  if (!isStored) return events; // without a store, it cannot be resumed
  const fold = new SessionFold({ keep: 1, sessionId: id });
  for (const event of events) fold.apply(event);
  const at = { sessionId: id, at: clock.wallTime() };
  const reason = "It had no result when the snapshot was taken.";
  return [
    ...events,
    ...fold.open.toReversed().flatMap((call) => createCallEndEvents(call, outcomeUnknownError(call.call.name, reason), at)),
  ];
}

/** Maps engines to toolset names, which identify engine state in a snapshot. */
export interface ToolsetEngines {
  /** The engine of a toolset; undefined for an unknown name. */
  readonly engineOf: (toolset: string) => Engine | undefined;
  /** Names of all toolsets, in order. */
  readonly toolsets: () => readonly string[];
}

export function mapToEngines(snapshots: ReadonlyMap<string, JsonValue>, { engineOf }: ToolsetEngines): ReadonlyMap<Engine, JsonValue> {
  const engines = new Map<Engine, JsonValue>();
  for (const [toolset, snapshot] of snapshots) {
    const engine = engineOf(toolset);
    if (engine !== undefined) engines.set(engine, snapshot);
  }
  return engines;
}

/** Converts the keys to toolset names; an engine that several toolsets share gets the name of the first. */
export function mapToToolsets(
  snapshots: ReadonlyMap<Engine, JsonValue>,
  { engineOf, toolsets }: ToolsetEngines,
): ReadonlyMap<string, JsonValue> {
  const named = new Map<string, JsonValue>();
  for (const [engine, snapshot] of snapshots) {
    const name = toolsets().find((toolset) => engineOf(toolset) === engine);
    if (name !== undefined) named.set(name, snapshot);
  }
  return named;
}

/** The first toolset, or value of one, that differs. Compares value by value, because the depth of each comparison is limited. */
function findDifference(one: Readonly<Record<string, JsonObject>>, other: JsonObject): string | undefined {
  return findDifferingKey(one, other, (toolset) => {
    const [left, right] = [one[toolset], other[toolset]];
    if (left === undefined || !isJsonObject(right)) return `/${toolset}`;
    const key = findDifferingKey(left, right, (name) => (diffJson(left[name], right[name]).length === 0 ? undefined : name));
    return key === undefined ? undefined : `/${toolset}/${key}`;
  });
}

function findDifferingKey(one: JsonObject, other: JsonObject, find: (key: string) => string | undefined): string | undefined {
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const found = find(key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Limits that allow long conversations; a larger session belongs in a store. */
const LIMITS = { maxNodes: 50_000_000, maxChars: 512 * 1024 * 1024, maxDepth: 80 } as const;

/**
 * Maximum number of items that all state changes may touch. A short change of a large value costs as much as the value is large, so that a client
 * could block the process for hours.
 */
const MAX_CHANGED = 2 ** 25;

function createChangeLimit(): (items: number) => void {
  let left = MAX_CHANGED;
  return (items) => {
    if ((left -= items) < 0)
      throw corruptSnapshotError("Its changes of state take too long to apply: too many of them change large arrays or objects.");
  };
}

function asObject(raw: unknown): JsonObject {
  try {
    const { value } = copyJson(raw, LIMITS);
    if (isJsonObject(value)) return value;
  } catch (thrown: unknown) {
    throw corruptSnapshotError(ToolError.fromUnknown(thrown).message);
  }
  throw corruptSnapshotError("It is not an object.");
}

function corruptSnapshotError(problem: string): ToolError {
  return new ToolError("corrupt_record", `The snapshot cannot be used. ${problem}`, { hint: "Take it again with session.snapshot()." });
}
