/** Imports a recording into a store, as a session that can be resumed. */
import { ToolError } from "../core/error.ts";
import { checkStore } from "../core/check-argument.ts";
import { CopiedEventsFinder, findLastCopied } from "../core/copied-events.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { SessionEvent } from "../core/event.ts";
import { diffJson } from "../core/base/json-patch.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { copyJson, type JsonValue } from "../core/base/json.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";
import { readRecording, type OpenRecording, type RecordingSource } from "../core/recording/recording.ts";
import type { RecordingHeader } from "../core/recording/format.ts";
import type { EventLog, Store } from "../core/store/store.ts";
import { outcomeUnknownError } from "../call/admit/reconcile-call.ts";
import { SessionFold } from "./resume/fold-events.ts";
import { createCallEndEvents, type OpenCall } from "./resume/open-call.ts";
import { storedEvents } from "../session/read-events.ts";
import { checkSessionId } from "../session/session-id.ts";
import { stateKey } from "../session/session-state.ts";

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
 * says that their outcome is unknown. If the process dies meanwhile, the store may have only the beginning of the session; importing the same
 * recording again completes it, unless the session has continued.
 *
 * @throws ToolError `corrupt_record` for a recording that is damaged, truncated, of another version, or whose state changes do not fit; `duplicate`
 * if the store has another session with this id; `resource_busy` if it has the beginning of this one, and it is open; `invalid_argument` for the id
 * of a session that began with a snapshot, if the recording is of a branch that began within that snapshot; as a rejection
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
  const others = getOrAdd(IMPORTS, store, () => new Map<string, Promise<unknown>>());
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

async function importNew(store: Store, sessionId: string, { header, events }: OpenRecording): Promise<ImportedRecording> {
  const source = events[Symbol.asyncIterator]();
  const progress = new ImportProgress();
  try {
    if (!(await isStored(store, sessionId))) {
      const log = store.create(sessionId, { at: header.exportedAt, durability: "sync" });
      return await importInto(log, store, { header, source, progress });
    }
    const missing = await compareWithStored(store, sessionId, { source, progress });
    if (missing === undefined) return { sessionId, events: progress.count, isNew: false };
    const log = await claimBeginning(store, sessionId, { header, length: progress.stored });
    return await importInto(log, store, { header, source: prepend(missing, source), progress });
  } finally {
    await source.return?.();
  }
}

interface ImportParts {
  readonly header: RecordingHeader;
  /** The events that the log does not have yet. */
  readonly source: AsyncIterator<SessionEvent>;
  readonly progress: ImportProgress;
}

/** Appends the rest of a recording to a log, and closes it. If that fails, the session is removed. */
async function importInto(log: EventLog, store: Store, { header, source, progress }: ImportParts): Promise<ImportedRecording> {
  const { sessionId } = log;
  try {
    const group = await copyEvents(log, { header, source, progress });
    // Whether these calls ran after the recording is not known. If they counted as never started, a resume would run them.
    group.push(
      ...createUndoEvents(progress.fold, header),
      ...progress.fold.open.flatMap((call) =>
        createCallEndEvents(call, noResultError(call), { sessionId: header.sessionId, at: header.exportedAt }),
      ),
    );
    if (progress.copied > 0 && sessionId !== header.sessionId) group.push(createOriginEvent(sessionId, header, log.length + group.length));
    log.append(group);
    await log.close();
    return { sessionId, events: progress.count, isNew: true };
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

/**
 * Compares a recording with the session that the store has.
 *
 * Returns the first event that the session does not have if the session is only the beginning of the recording, and undefined if it has them all.
 */
async function compareWithStored(
  store: Store,
  sessionId: string,
  { source, progress }: Omit<ImportParts, "header">,
): Promise<SessionEvent | undefined> {
  const stored = storedEvents(store, sessionId);
  let first = await stored.next();
  for (let next = await source.next(); next.done !== true; next = await source.next()) {
    const event = next.value;
    // A session without a store has no `session-start`; the import added one.
    if (progress.count === 0 && event.type !== "session-start" && first.value?.type === "session-start") {
      first = await stored.next();
      progress.stored++;
    }
    if (first.done === true) return event;
    if (canonicalJson(asJson(first.value)) !== canonicalJson(asJson(event))) throw otherSessionError(sessionId);
    progress.add(event);
    progress.stored++;
    first = await stored.next();
  }
  return undefined;
}

/**
 * Claims a session that is the beginning of a recording, if it was left by an import of this recording whose process died: such a session was
 * created at the time of the export, as no other is.
 *
 * @throws ToolError `duplicate` for any other session, `resource_busy` if it is open, as a rejection
 */
async function claimBeginning(
  store: Store,
  sessionId: string,
  { header, length }: { readonly header: RecordingHeader; readonly length: number },
): Promise<EventLog> {
  const [stored] = await store.list({ sessionId });
  if (stored?.createdAt !== header.exportedAt || stored.parent !== undefined) throw otherSessionError(sessionId);
  const log = await store.claim(sessionId);
  if (log.length === length) return log;
  await log.close(); // it has continued meanwhile
  throw otherSessionError(sessionId);
}

async function* prepend(event: SessionEvent, rest: AsyncIterator<SessionEvent>): AsyncGenerator<SessionEvent> {
  yield event;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
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

/** The events of a recording that were compared or copied. */
class ImportProgress {
  readonly fold = new SessionFold({ keep: 1 });
  readonly #copiedFinder = new CopiedEventsFinder();
  /** The number of events of the recording. */
  count = 0;
  /** The number of events that the store had before. */
  stored = 0;
  /** Position of the last event that came from a snapshot; 0 if there is none. */
  copied = 0;
  /** The session of the first event. */
  root = "";

  add(event: SessionEvent): void {
    if (this.count === 0) [this.root, this.copied] = [event.sessionId, findLastCopied(event)];
    this.fold.apply(event);
    this.#copiedFinder.add(event, ++this.count);
  }

  /** Whether a log with this id would hide events of the recorded branch as part of the snapshot that it began with. */
  hidesBranch(sessionId: string, recorded: string): boolean {
    return this.root === sessionId && this.#copiedFinder.findLast(recorded) < this.copied;
  }
}

/**
 * Appends the events, and returns the last of them, which are not appended yet: they are to become durable together with those that the
 * import adds. A session that has the last event of its recording is therefore complete.
 *
 * @throws ToolError `invalid_argument` if the log would hide the branch's own events as part of the snapshot, as a rejection
 */
async function copyEvents(log: EventLog, { header, source, progress }: ImportParts): Promise<SessionEvent[]> {
  let group: SessionEvent[] = [];
  for (let next = await source.next(); next.done !== true; next = await source.next()) {
    const event = next.value;
    // The events from a snapshot are appended together with the first one, which counts them.
    if (group.length >= GROUP_SIZE && progress.fold.open.length === 0 && progress.count >= progress.copied) {
      log.append(group);
      group = [];
      await log.whenDurable(); // at most one group waits in memory
    }
    if (progress.count + progress.stored === 0 && event.type !== "session-start")
      group.push(Object.freeze({ type: "session-start", sessionId: log.sessionId, at: header.exportedAt }));
    group.push(event);
    progress.add(event);
  }
  if (progress.hidesBranch(log.sessionId, header.sessionId)) throw hiddenBranchError(log.sessionId, header);
  return group;
}
