/** The `traceparent` header in events, which limit its length. */
import { ToolError } from "../error.ts";
import { MAX_ID_LENGTH } from "../recording/read-event.ts";

/** Whether an event can hold the value: a log with an invalid one could not be read again. */
function isTraceparent(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_LENGTH;
}

/** Returns the `traceparent` of the fields if an event can hold it; the fields come from a propagator of the program. */
export function readTraceparent(fields: { readonly traceparent?: unknown } | undefined): string | undefined {
  const traceparent = fields?.traceparent;
  return isTraceparent(traceparent) ? traceparent : undefined;
}

/** Refuses a `traceparent` that an event cannot hold. @throws ToolError `invalid_argument` */
export function checkTraceparent(value: unknown, what: string): void {
  if (value === undefined || isTraceparent(value)) return;
  throw new ToolError("invalid_argument", `The ${what} must be a string of 1 to ${MAX_ID_LENGTH} characters.`);
}
