/** What a session has read, so that nothing is changed unseen. */
import type { ToolState } from "../../core/context.ts";
import { isJsonObject } from "../../core/json.ts";
import { refusal } from "./file-error.ts";
import { type Fingerprint, sameFingerprint } from "./file-bytes.ts";

interface ReadRecord extends Fingerprint {
  /** The part last shown to the model; empty after the session's own change. */
  readonly view: string;
}

/** Remembers that the session knows the file as it is now. `view` names the part that was shown. */
export function recordRead(state: ToolState, real: string, known: Fingerprint, view = ""): void {
  state.update(keyOf(real), () => ({ mtimeMs: known.mtimeMs, size: known.size, hash: known.hash, view }));
}

/** True when exactly this part of the unchanged file was the last thing shown of it. */
export function wasShown(state: ToolState, real: string, now: Fingerprint, view: string): boolean {
  const record = recordOf(state, real);
  return record !== undefined && record.view === view && sameFingerprint(record, now);
}

/** @throws ToolError when the session never read the existing file, or it changed since */
export function checkRead(state: ToolState, place: { readonly real: string; readonly shown: string }, now: Fingerprint): void {
  const record = recordOf(state, place.real);
  const name = JSON.stringify(place.shown);
  if (record === undefined) throw refusal(`${name} exists and was not read in this session.`, "Read it first, then make the change.");
  if (!sameFingerprint(record, now)) throw stale(place.shown);
}

/** The file is not what the session read. */
export function stale(shown: string): Error {
  return refusal(
    `${JSON.stringify(shown)} changed on disk since it was read; nothing was written.`,
    "Read it again, then make the change to what it holds now.",
  );
}

function keyOf(real: string): string {
  return `read:${real}`;
}

function recordOf(state: ToolState, real: string): ReadRecord | undefined {
  const value = state.get(keyOf(real));
  if (!isJsonObject(value)) return undefined;
  const { mtimeMs, size, hash, view } = value;
  if (typeof mtimeMs !== "number" || typeof size !== "number" || typeof hash !== "string" || typeof view !== "string") return undefined;
  return { mtimeMs, size, hash, view };
}
