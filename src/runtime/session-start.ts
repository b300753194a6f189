/** The options of a new session, and their checks. */
import type { Session, Surroundings } from "../session/session.ts";
import type { BranchPoint, CallPlace, SessionEvent } from "../core/event.ts";
import type { CallParts } from "../call/call-run.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { isJsonObject } from "../core/base/json.ts";
import { typeInWords } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";

/** Where the handlers of a session work. Not recorded: a resume says it again. Branches, and sessions that its calls begin, have the same. */
export interface SessionPlace {
  /** Where the relative paths of handlers start in this session; itself relative to the folder of the runtime. @default the folder of the runtime */
  readonly workingFolder?: string;
  /** Variables of `context.environment`; those that a tool declares itself win. @default none */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Options of a new session. */
export interface SessionStart extends SessionPlace {
  /** The value that `RuntimeSession.snapshot` gave, also as it comes back from JSON: all of it is checked. */
  readonly from?: unknown;
  /**
   * Data for its engines, passed to their `openSession`, also for its branches: an account, a folder, a connection. It is not recorded; a
   * resume passes it again. @default none
   */
  readonly setup?: Readonly<Record<string, unknown>>;
}

const SESSION_OPTIONS: OptionNames<SessionStart> = { from: true, setup: true, workingFolder: true, environment: true };

/** @throws ToolError `invalid_argument` */
export function checkSessionStart(start: SessionStart): void {
  checkKnownKeys(start, SESSION_OPTIONS, "session()");
}

/** The surroundings of a session's calls, checked and copied. @throws ToolError `invalid_argument` */
export function surroundingsOf({ setup, workingFolder, environment }: Surroundings, where: string): Surroundings {
  if (workingFolder !== undefined && (typeof workingFolder !== "string" || workingFolder === ""))
    throw new ToolError("invalid_argument", `The option "workingFolder" of ${where} is a string that is not empty.`);
  return { setup: checkedSetup(setup, where), workingFolder, environment: checkedEnvironment(environment, where) };
}

function checkedEnvironment(environment: unknown, where: string): Surroundings["environment"] {
  if (environment === undefined) return undefined;
  const wrong = isJsonObject(environment) ? Object.keys(environment).find((name) => typeof environment[name] !== "string") : "";
  if (isJsonObject(environment) && wrong === undefined) return Object.freeze({ ...environment } as Record<string, string>); // all of them were looked at
  const named = wrong === "" || wrong === undefined ? "" : `; ${JSON.stringify(wrong)} is none`;
  throw new ToolError("invalid_argument", `The option "environment" of ${where} is an object of strings${named}.`);
}

/** A frozen copy. @throws ToolError `invalid_argument` for a value that is not an object */
function checkedSetup(setup: unknown, where: string): SessionStart["setup"] {
  if (setup === undefined) return undefined;
  if (isJsonObject(setup)) return Object.freeze({ ...setup });
  throw new ToolError("invalid_argument", `The option "setup" of ${where} is an object, not ${typeInWords(setup)}.`);
}

/** The branch point of a session, the call that it belongs to, or the length of its snapshot. */
export interface StartedFrom {
  readonly parent?: BranchPoint;
  readonly copied?: number | undefined;
  readonly parentCall?: CallPlace | undefined;
}

/** Records the first event of a session: in its log, or, of one that no store has and a call has begun, for listeners. */
export function recordStart(session: Session, from: StartedFrom, { ports, emit }: Pick<CallParts, "ports" | "emit">): void {
  const { id: sessionId, eventLog } = session;
  const at = eventLog?.options.at ?? ports.clock.wallTime();
  const event: SessionEvent = { type: "session-start", sessionId, at, ...omitUndefined({ ...from }) };
  if (eventLog !== undefined) session.recordAndTell(event);
  else if (from.parentCall !== undefined) emit(event);
}
