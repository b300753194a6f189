/** Imports a recording into a store, as a session that can be resumed. */
import { ToolError } from "../core/error.ts";
import { checkStore } from "../core/check-argument.ts";
import { CopiedEventsFinder, findLastCopied } from "../core/copied-events.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { SessionEvent } from "../core/event.ts";
import { diffJson } from "../core/base/json-patch.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { copyJson, type JsonValue } from "../core/base/json.ts";
import { readRecording, type RecordingSource } from "../core/recording/recording.ts";
import type { RecordingHeader } from "../core/recording/format.ts";
import type { EventLog, Store } from "../core/store.ts";
import { outcomeUnknownError } from "../call/admit/reconcile-call.ts";
import { SessionFold } from "./fold-events.ts";
import { createCallEndEvents, type OpenCall } from "./open-call.ts";
import { storedEvents } from "../session/read-events.ts";
import { checkSessionId } from "../session/session-id.ts";
import { stateKey } from "../session/session.ts";

/** How a recording is imported. */
export interface ImportOptions {
  /** @default the id of the session that was recorded */
  readonly id?: string;
  /** Called with the id of the session before anything is written; throws to refuse it. @default every id is accepted */
  readonly checkId?: (sessionId: string) => void;
}

/** The session that a recording became. */
export interface ImportedRecording {
  readonly sessionId: string;
  readonly events: number;
  /** False if the store had this recording already; the session may have continued since. */
  readonly isNew: boolean;
}

const GROUP_SIZE = 500;

/** The imports in progress of each store, by session id. */
const IMPORTS = new WeakMap<Store, Map<string, Promise<unknown>>>();

/**
 * Imports a recording into a store: all of it, or nothing. Importing it again changes nothing. Calls without a result in the recording get one that
 * says that their outcome is unknown.
 *
 * @throws ToolError `corrupt_record` for a recording that is damaged, truncated, of another version, or whose state changes do not fit; `duplicate`
 * if the store has another session with this id; `invalid_argument` for the id of a session that began with a snapshot, if the recording is of a
 * branch that began within that snapshot; as a rejection
 */
export async function importRecording(store: Store, source: RecordingSource, options: ImportOptions = {}): Promise<ImportedRecording> {
  checkStore(store, "importRecording(store, source)");
  checkKnownKeys(options, { id: true, checkId: true }, "importRecording()");
  if (options.id !== undefined) checkSessionId(options.id);
  await store.open();
  const { header, events } = await readRecording(source);
  const sessionId = options.id ?? header.sessionId;
  checkSessionId(sessionId);
  options.checkId?.(sessionId);
  const others = IMPORTS.get(store) ?? new Map<string, Promise<unknown>>();
  IMPORTS.set(store, others);
  // A concurrent import of this id may be of the same recording, which is known only when it is complete.
  for (let other = others.get(sessionId); other !== undefined; other = others.get(sessionId)) await other.catch(() => {});
  const work = importNew(store, sessionId, { header, events });
  others.set(sessionId, work);
  try {
    return await work;
  } finally {
    others.delete(sessionId);
  }
}

interface OpenedRecording {
  readonly header: RecordingHeader;
  readonly events: AsyncIterable<SessionEvent>;
}

async function importNew(store: Store, sessionId: string, { header, events }: OpenedRecording): Promise<ImportedRecording> {
  if (await isStored(store, sessionId)) return compareWithStored(store, sessionId, events);
  const log = store.create(sessionId, { at: header.exportedAt, durability: "sync" });
  const fold = new SessionFold(1);
  try {
    const { count, copied } = await copyEvents(events, log, { fold, header });
    // Whether these calls ran after the recording is not known. If they counted as never started, a resume would run them.
    log.append([
      ...createUndoEvents(fold, header),
      ...fold.open.flatMap((call) =>
        createCallEndEvents(call, noResultError(call), { sessionId: header.sessionId, at: header.exportedAt }),
      ),
    ]);
    if (copied > 0 && sessionId !== header.sessionId) log.append([createOriginEvent(sessionId, header, log.length)]);
    await log.close();
    return { sessionId, events: count, isNew: true };
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    await log.close().catch(() => {}); // the first error is reported
    if (error.code !== "duplicate") await store.remove(sessionId).catch(() => {});
    throw error;
  }
}

async function isStored(store: Store, sessionId: string): Promise<boolean> {
  try {
    await store.read(sessionId, { limit: 1 });
    return true;
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.code === "not_found") return false;
    throw error;
  }
}

/** Compares a recording with the session that the store has; nothing to do if they are the same. */
async function compareWithStored(store: Store, sessionId: string, events: AsyncIterable<SessionEvent>): Promise<ImportedRecording> {
  const stored = storedEvents(store, sessionId);
  let first = await stored.next();
  let count = 0;
  for await (const event of events) {
    // A session without a store has no `session-start`; the import added one.
    if (count === 0 && event.type !== "session-start" && first.value?.type === "session-start") first = await stored.next();
    if (first.done === true || canonicalJson(asJson(first.value)) !== canonicalJson(asJson(event))) throw otherSessionError(sessionId);
    count++;
    first = await stored.next();
  }
  return { sessionId, events: count, isNew: false };
}

/** Undoes the state changes of calls without a result, as a resume does. */
function createUndoEvents(fold: SessionFold, { sessionId, exportedAt }: RecordingHeader): readonly SessionEvent[] {
  let { state } = fold.head;
  return fold.openChanges.toReversed().flatMap(({ callId, turnId, toolset, key, before, after }): readonly SessionEvent[] => {
    const at = stateKey(toolset, key);
    if (state.get(at) !== after) return []; // another call has changed it since
    state = before === undefined ? state.delete(at) : state.set(at, before);
    const patch = diffJson(after, before);
    return [{ type: "state-change", callId, turnId, sessionId, at: exportedAt, toolset, key, patch }];
  });
}

function noResultError({ call }: OpenCall): ToolError {
  return outcomeUnknownError(call.name, "It had no result when its session was recorded.");
}

/** Records which session was recorded, if events came from a snapshot: the starts in the log show where the copied part ends. */
function createOriginEvent(sessionId: string, header: RecordingHeader, length: number): SessionEvent {
  const parent = Object.freeze({ sessionId: header.sessionId, length });
  return Object.freeze({ type: "session-start", sessionId, at: header.exportedAt, parent });
}

/** Converts an event, whose type has optional fields, to JSON; events are frozen JSON already. */
function asJson(event: SessionEvent): JsonValue {
  return copyJson(event).value;
}

function otherSessionError(sessionId: string): ToolError {
  return new ToolError("duplicate", `The store already has another session ${JSON.stringify(sessionId)}; nothing was imported.`, {
    hint: "Import it under another id.",
  });
}

function hiddenBranchError(sessionId: string, { sessionId: recorded }: RecordingHeader): ToolError {
  const [id, branch] = [JSON.stringify(sessionId), JSON.stringify(recorded)];
  return new ToolError(
    "invalid_argument",
    `The session ${branch} began inside of the snapshot from which ${id} began: under that id its own events could not be told from those of the snapshot; nothing was imported.`,
    { hint: "Import it under another id." },
  );
}

interface CopiedEvents {
  readonly count: number;
  /** Position of the last event that came from a snapshot; 0 if there is none. */
  readonly copied: number;
}

/** @throws ToolError `invalid_argument` if the log would hide the branch's own events as part of the snapshot, as a rejection */
async function copyEvents(
  events: AsyncIterable<SessionEvent>,
  log: EventLog,
  { fold, header }: { readonly fold: SessionFold; readonly header: RecordingHeader },
): Promise<CopiedEvents> {
  const copiedFinder = new CopiedEventsFinder();
  let root = "";
  let count = 0;
  let copied = 0;
  let group: SessionEvent[] = [];
  for await (const event of events) {
    if (count === 0 && event.type !== "session-start")
      group.push(Object.freeze({ type: "session-start", sessionId: log.sessionId, at: header.exportedAt }));
    if (count === 0) [root, copied] = [event.sessionId, findLastCopied(event)];
    fold.apply(event);
    group.push(event);
    copiedFinder.add(event, ++count);
    // The events from a snapshot are appended together with the first one, which counts them.
    if (group.length < GROUP_SIZE || fold.open.length > 0 || count < copied) continue;
    log.append(group);
    group = [];
    await log.whenDurable(); // at most one group waits in memory
  }
  if (root === log.sessionId && copiedFinder.findLast(header.sessionId) < copied) throw hiddenBranchError(log.sessionId, header);
  log.append(group);
  await log.whenDurable();
  return { count, copied };
}
