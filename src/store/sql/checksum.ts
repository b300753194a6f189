/**
 * Checksums that chain the events of a log: each is over the event and the checksum before, so that no event can be changed, removed, moved or
 * inserted without the next one revealing it. They detect damage, not forgery: anyone who can write the file can compute them.
 */
import { hash } from "node:crypto";
import type { LogOptions } from "../../core/store/store.ts";
import type { LogWrite } from "../records/log-database.ts";
import { toStoredText, toStoredTime } from "../records/stored-text.ts";
import type { CacheTable, EventTable, SessionTable } from "./tables.ts";

/** 22 characters of base64url: 132 bits of the SHA-256. */
const LENGTH = 22;

function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, LENGTH);
}

/** The checksum of a log before its first own event. `parent` is the checksum of the last event that it shares with its parent, or empty. */
export function rootChecksum(
  { id, parent_id, parent_length }: Pick<SessionTable, "id" | "parent_id" | "parent_length">,
  parent: string,
): string {
  return digest(`haft log 1\n${id}\n${parent_id ?? ""}\n${parent_length}\n${parent}`);
}

/** The checksum of an event. `previous` is the checksum of the event before. */
export function eventChecksum(previous: string, event: Omit<EventTable, "session" | "checksum">): string {
  const { position, at, type, call_id, body } = event;
  return digest(`${previous}\n${position}\n${at}\n${type}\n${call_id ?? ""}\n${body}`);
}

/** The checksum of a session's record. The owner and the epoch are not part of it. */
export function sessionChecksum(session: Omit<SessionTable, "checksum" | "owner" | "epoch">): string {
  const { id, parent_id, parent_length, created_at, durability, updated_at, length, head } = session;
  return digest(
    `haft session 1\n${id}\n${parent_id ?? ""}\n${parent_length}\n${created_at}\n${durability}\n${updated_at}\n${length}\n${head}`,
  );
}

/** The record of a new log that has no events of its own. @param parentSum checksum of the last event that it shares with its parent, or empty */
export function createRecord(
  { sessionId, epoch, create: { at, durability, parent } }: Pick<LogWrite, "sessionId" | "epoch"> & { readonly create: LogOptions },
  { owner, parentSum = "" }: { readonly owner: string | null; readonly parentSum?: string },
): SessionTable {
  const parentId = parent === undefined ? null : toStoredText(parent.sessionId);
  const root = { id: toStoredText(sessionId), parent_id: parentId, parent_length: parent?.length ?? 0 };
  const created = toStoredTime(at);
  const head = rootChecksum(root, parentSum);
  const session = { ...root, created_at: created, durability, updated_at: created, length: root.parent_length, head };
  return { ...session, checksum: sessionChecksum(session), owner, epoch };
}

/** The record of a session after this event was appended. */
export function advanceRecord(
  row: SessionTable,
  { position, at, checksum }: Pick<EventTable, "position" | "at" | "checksum">,
): SessionTable {
  const moved = { ...row, length: position, updated_at: Math.max(row.updated_at, at), head: checksum };
  return { ...moved, checksum: sessionChecksum(moved) };
}

export function cacheChecksum({
  key,
  body,
  resources,
  versions,
  expires_at,
}: Omit<CacheTable, "stored_at" | "bytes" | "checksum">): string {
  return digest(`haft cache 1\n${key}\n${body}\n${resources}\n${versions}\n${expires_at ?? ""}`);
}
