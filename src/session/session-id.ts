/** What may be the id of a session. */
import { ToolError } from "../core/error.ts";
import { MAX_ID_LENGTH } from "../core/recording/read-event.ts";

/** What is longer could be recorded, and not read again. @throws ToolError `invalid_argument` */
export function checkSessionId(id: unknown): void {
  if (typeof id === "string" && id !== "" && id.length <= MAX_ID_LENGTH) return;
  throw new ToolError("invalid_argument", `The id of a session is a string of 1 to ${MAX_ID_LENGTH} characters.`);
}
