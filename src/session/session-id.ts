/** Checks ids of sessions. */
import { createHash } from "node:crypto";
import { ToolError } from "../core/error.ts";
import { MAX_ID_LENGTH } from "../core/recording/read-event.ts";

/** Refuses an invalid session id. A longer id could be recorded, but not read again. @throws ToolError `invalid_argument` */
export function checkSessionId(id: unknown): void {
  if (typeof id === "string" && id !== "" && id.length <= MAX_ID_LENGTH) return;
  const given = typeof id === "string" ? `this one has ${id.length}` : `this is of type ${id === null ? "null" : typeof id}`;
  throw new ToolError("invalid_argument", `The id of a session must be a string of 1 to ${MAX_ID_LENGTH} characters; ${given}.`);
}

/** Maximum length of a session id inside call ids, whose recorded length is limited too. */
const MAX_MADE_ID_LENGTH = 256;

/** Returns the id itself, or a digest of an id that is too long. */
export function shortId(id: string): string {
  return id.length <= MAX_MADE_ID_LENGTH ? id : createHash("sha256").update(id).digest("base64url");
}
