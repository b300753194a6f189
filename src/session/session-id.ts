/** The valid ids of a session. */
import { createHash } from "node:crypto";
import { ToolError } from "../core/error.ts";
import { MAX_ID_LENGTH } from "../core/recording/read-event.ts";

/** A longer id could be recorded, and not read again. @throws ToolError `invalid_argument` */
export function checkSessionId(id: unknown): void {
  if (typeof id === "string" && id !== "" && id.length <= MAX_ID_LENGTH) return;
  const given = typeof id === "string" ? `this one has ${id.length}` : `this is of type ${id === null ? "null" : typeof id}`;
  throw new ToolError("invalid_argument", `The id of a session is a string of 1 to ${MAX_ID_LENGTH} characters; ${given}.`);
}

/** The ids of calls are made of it, and what is recorded has a longest id. */
const MAX_MADE_ID_LENGTH = 256;

/** The id itself, or a digest of one that is too long. */
export function shortId(id: string): string {
  return id.length <= MAX_MADE_ID_LENGTH ? id : createHash("sha256").update(id).digest("base64url");
}
