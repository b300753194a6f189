/** The principal that sends something, such as a message or the input of a job. */
import { describeValueType } from "./base/wording.ts";
import { ToolError } from "./error.ts";
import { checkKnownKeys } from "./known-keys.ts";
import { MAX_ID_LENGTH } from "./recording/read-event.ts";

/** The sender of a message or an input. */
export interface SentBy {
  /** The id of the principal, as an authenticator determined it; stored in the event, for filters and the audit. */
  readonly principal?: string;
}

/** Checks the options of a sender. @throws ToolError `invalid_argument` */
export function checkSender(options: SentBy, where: string): void {
  checkKnownKeys(options, { principal: true }, where);
  const wrong = findPrincipalError(options.principal, where);
  if (wrong !== undefined) throw wrong;
}

/** Returns the error for an invalid principal id; undefined if it is valid or not set. */
export function findPrincipalError(principal: unknown, where: string): ToolError | undefined {
  if (principal === undefined || (typeof principal === "string" && principal !== "" && principal.length <= MAX_ID_LENGTH)) return undefined;
  const given = typeof principal === "string" ? `one of ${principal.length}` : describeValueType(principal);
  return new ToolError(
    "invalid_argument",
    `The option "principal" of ${where} must be a string of 1 to ${MAX_ID_LENGTH} characters, not ${given}.`,
  );
}
