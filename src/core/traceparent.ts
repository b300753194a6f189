/** The header `traceparent` as events keep it, for which it must have a length that their readers take. */
import { ToolError } from "./error.ts";
import { MAX_ID_LENGTH } from "./recording/read-event.ts";

/** Whether an event can hold it: a log with one that it cannot hold would not be read again. */
function isTraceparent(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_LENGTH;
}

/** The span that the fields name, where an event can hold it; they are written by a propagator of the program. */
export function spanOf(fields: { readonly traceparent?: unknown } | undefined): string | undefined {
  const traceparent = fields?.traceparent;
  return isTraceparent(traceparent) ? traceparent : undefined;
}

/** @throws ToolError `invalid_argument` for what an event cannot hold */
export function checkTraceparent(value: unknown, what: string): void {
  if (value === undefined || isTraceparent(value)) return;
  throw new ToolError("invalid_argument", `The ${what} is a string of 1 to ${MAX_ID_LENGTH} characters.`);
}
