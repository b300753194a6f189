/** The options of a new session, and their checks. */
import type { Session, SessionSettings } from "../session/session.ts";
import type { BranchPoint, CallPlace, SessionEvent } from "../core/event.ts";
import type { CallServices } from "../call/call-run.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { isJsonObject } from "../core/base/json.ts";
import { describeValueType } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";

/** The folder and environment of a session's handlers. Not recorded: pass them to `resume` again. Branches and sessions of its calls inherit them. */
export interface SessionPlace {
  /** Where relative paths of handlers start in this session; itself relative to the runtime's folder. @default the runtime's folder */
  readonly workingFolder?: string;
  /** Variables of `context.environment`; variables that a tool declares take precedence. @default none */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Options of a new session. */
export interface SessionStart extends SessionPlace {
  /** A value that `RuntimeSession.snapshot` returned, possibly after a round trip through JSON: all of it is validated. */
  readonly from?: unknown;
  /** Data for its engines' `openSession`, also of its branches: an account, a connection. Not recorded: pass it to `resume` again. @default none */
  readonly setup?: Readonly<Record<string, unknown>>;
}

const SESSION_OPTIONS: OptionNames<SessionStart> = { from: true, setup: true, workingFolder: true, environment: true };

/** @throws ToolError `invalid_argument` */
export function checkSessionStart(start: SessionStart): void {
  checkKnownKeys(start, SESSION_OPTIONS, "session()");
}

/** The validated and copied surroundings of a session's calls. @throws ToolError `invalid_argument` */
export function checkSessionSettings({ setup, workingFolder, environment }: SessionSettings, where: string): SessionSettings {
  if (workingFolder !== undefined && (typeof workingFolder !== "string" || workingFolder === ""))
    throw new ToolError("invalid_argument", `The option "workingFolder" of ${where} is a string that is not empty.`);
  return { setup: checkSetup(setup, where), workingFolder, environment: checkEnvironment(environment, where) };
}

function checkEnvironment(environment: unknown, where: string): SessionSettings["environment"] {
  if (environment === undefined) return undefined;
  const nonStringName = isJsonObject(environment) ? Object.keys(environment).find((name) => typeof environment[name] !== "string") : "";
  // all of them were checked above
  if (isJsonObject(environment) && nonStringName === undefined) return Object.freeze({ ...environment } as Record<string, string>);
  const nameText = nonStringName === "" || nonStringName === undefined ? "" : `; ${JSON.stringify(nonStringName)} is none`;
  throw new ToolError("invalid_argument", `The option "environment" of ${where} is an object of strings${nameText}.`);
}

/** Returns a frozen copy. @throws ToolError `invalid_argument` for a value that is not an object */
function checkSetup(setup: unknown, where: string): SessionStart["setup"] {
  if (setup === undefined) return undefined;
  if (isJsonObject(setup)) return Object.freeze({ ...setup });
  throw new ToolError("invalid_argument", `The option "setup" of ${where} is an object, not ${describeValueType(setup)}.`);
}

/** The branch point of a session, the call that it belongs to, or the number of events from its snapshot. */
export interface SessionOrigin {
  readonly parent?: BranchPoint;
  readonly copied?: number | undefined;
  readonly parentCall?: CallPlace | undefined;
}

/** Records the first event of a session: in its log or, if it has none and a call began it, for listeners only. */
export function recordSessionStart(session: Session, from: SessionOrigin, { ports, emit }: Pick<CallServices, "ports" | "emit">): void {
  const { id: sessionId, eventLog } = session;
  const at = eventLog?.options.at ?? ports.clock.wallTime();
  const event: SessionEvent = { type: "session-start", sessionId, at, ...omitUndefined({ ...from }) };
  if (eventLog !== undefined) session.recordAndNotify(event);
  else if (from.parentCall !== undefined) emit(event);
}
