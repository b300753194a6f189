/** Converts events to rows of their table. */
import { eventChecksum } from "./checksum.ts";
import { joinPieces } from "../records/json-pieces.ts";
import type { EventRow } from "../records/log-database.ts";
import { toStoredText } from "../records/stored-text.ts";
import type { EventTable, SessionTable } from "./tables.ts";

/** The rows of events that are appended to a session, each with its checksum. */
export function toEventRows(
  events: readonly EventRow[],
  { id, length, head }: Pick<SessionTable, "id" | "length" | "head">,
): readonly EventTable[] {
  let position = length;
  let checksum = head;
  return events.map(({ at, type, callId, body }) => {
    const event = { position: ++position, at, type, call_id: callId === undefined ? null : toStoredText(callId), body: joinPieces(body) };
    checksum = eventChecksum(checksum, event);
    return { session: id, ...event, checksum };
  });
}
