/** The options of a new session, and their checks. */
import { isJsonObject } from "../core/base/json.ts";
import { typeInWords } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";

/** Options of a new session. */
export interface SessionStart {
  /** The value that `RuntimeSession.snapshot` gave, also as it comes back from JSON: all of it is checked. */
  readonly from?: unknown;
  /**
   * Data for its engines, passed to their `openSession`, also for its branches: an account, a folder, a connection. It is not recorded; a
   * resume passes it again. @default none
   */
  readonly setup?: Readonly<Record<string, unknown>>;
}

const SESSION_OPTIONS: OptionNames<SessionStart> = { from: true, setup: true };

/** @throws ToolError `invalid_argument` */
export function checkSessionStart(start: SessionStart): void {
  checkKnownKeys(start, SESSION_OPTIONS, "session()");
}

/** A frozen copy. @throws ToolError `invalid_argument` for a value that is not an object */
export function checkedSetup(setup: unknown, where: string): SessionStart["setup"] {
  if (setup === undefined) return undefined;
  if (isJsonObject(setup)) return Object.freeze({ ...setup });
  throw new ToolError("invalid_argument", `The option "setup" of ${where} is an object, not ${typeInWords(setup)}.`);
}
