/** The parts of files that the model of a session has read and can still see, so that it cannot change a file unseen. */
import type { ToolContext, ToolState } from "../../core/context.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { refusalError } from "./file-error.ts";
import { type Fingerprint, isSameFingerprint } from "./file-bytes.ts";

interface ReadRecord extends Fingerprint {
  /** The part last shown to the model; empty after a change by the session. */
  readonly view: string;
  /** The call whose result or input showed the file. Records of the first version lack it. */
  readonly shownBy?: string;
}

/** Records that the model knows the current file by this call. `view` names the part that was shown; empty = it wrote the file itself. */
export function recordRead(context: ToolContext, real: string, known: Fingerprint, view = ""): void {
  storeRecord(context, real, { ...known, view, shownBy: context.callId });
}

/** Records that the session changed a part of the file: the model knows the rest by the call that showed it before. */
export function recordChange(context: ToolContext, real: string, known: Fingerprint): void {
  const { shownBy = context.callId } = findRecord(context.state, real) ?? {};
  storeRecord(context, real, { ...known, view: "", shownBy });
}

function storeRecord({ state }: ToolContext, real: string, { mtimeMs, size, hash, view, shownBy }: Required<ReadRecord>): void {
  state.update(keyOf(real), () => ({ mtimeMs, size, hash, view, shownBy }));
}

/** Returns the call that shows exactly this part of the unchanged file, if it was the last to show the file and the model can still see it. */
export function findShowingCall(context: ToolContext, real: string, now: Fingerprint, view: string): string | undefined {
  const { shownBy, ...record } = findRecord(context.state, real) ?? {};
  if (shownBy === undefined || !("view" in record) || record.view !== view || !isSameFingerprint(record, now)) return undefined;
  return context.isShown(shownBy) ? shownBy : undefined;
}

/** @throws ToolError if the model never read the existing file or can no longer see what it read, or if the file changed since */
export function checkRead(context: ToolContext, place: { readonly real: string; readonly shown: string }, now: Fingerprint): void {
  const record = findRecord(context.state, place.real);
  const name = JSON.stringify(place.shown);
  if (record === undefined) throw refusalError(`${name} exists and was not read in this session.`, unreadHint(context));
  if (record.shownBy !== undefined && !context.isShown(record.shownBy))
    throw refusalError(`${name} was read, but the result is no longer part of the conversation.`, "Read it again, then make the change.");
  if (!isSameFingerprint(record, now)) throw staleFileError(place.shown);
}

/** Names another cause if this is the first call of its session: clients without sessions would read the file and be refused again, without end. */
function unreadHint({ history }: ToolContext): string {
  const hint = "Read it first, then make the change.";
  return history.length > 0
    ? hint
    : `${hint} If you have read it, your calls share no session, and this tool cannot change existing files.`;
}

/** Returns the error for a file that has changed since the session read it. */
export function staleFileError(shown: string): Error {
  return refusalError(
    `${JSON.stringify(shown)} changed on disk since it was read; nothing was written.`,
    "Read it again, then make the change to its current content.",
  );
}

function keyOf(real: string): string {
  return `read:${real}`;
}

function findRecord(state: ToolState, real: string): ReadRecord | undefined {
  const value = state.get(keyOf(real));
  if (!isJsonObject(value)) return undefined;
  const { mtimeMs, size, hash, view, shownBy } = value;
  if (typeof mtimeMs !== "number" || typeof size !== "number" || typeof hash !== "string" || typeof view !== "string") return undefined;
  return { mtimeMs, size, hash, view, ...(typeof shownBy === "string" ? { shownBy } : {}) };
}
