/** Compares two sessions, whether or not one is a branch of the other. */
import { quoteValue } from "../core/base/wording.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { ToolError } from "../core/error.ts";
import { checkSession } from "../core/check-argument.ts";
import type { SessionEvent } from "../core/event.ts";
import { stateDiff, type SessionDiff } from "../session/session-diff.ts";
import { historyOf } from "../session/session-log.ts";
import type { StateMap } from "../session/session-state.ts";
import { SessionFold } from "./resume/fold-events.ts";
import type { RuntimeSession } from "./runtime-session.ts";

/** The points up to which two sessions are compared. */
export interface DiffSessionsOptions {
  /** How many events of the first session count. Integer ≥ 0. @default all */
  readonly at?: number;
  /** How many events of the other session count. Integer ≥ 0. @default all */
  readonly otherAt?: number;
}

/**
 * Returns how a session differs from another of its runtime: values of state in the other (`before`) and in this one (`after`), and the calls that
 * only this one has. Shared history is not part of the difference. Reads both sessions up to the given points. With `at` and `otherAt`, a session may
 * be compared with itself, at two points of its log.
 *
 * @throws ToolError `invalid_argument` for invalid options; `store_failed`; as a rejection
 */
export async function diffSessions(
  session: RuntimeSession,
  other: RuntimeSession,
  options: DiffSessionsOptions = {},
): Promise<SessionDiff> {
  checkSession(session, "diffSessions()");
  checkSession(other, "diffSessions()");
  checkKnownKeys(options, { at: true, otherAt: true }, "diffSessions()");
  return compareLogs(session, { events: other.events(), stateMap: other.stateMap }, options);
}

/**
 * Like `diffSessions`, for another session of which only the events are known, because another process has it open.
 *
 * @throws ToolError `invalid_argument` for invalid options; as the events; as a rejection
 */
export function diffWithEvents(
  session: RuntimeSession,
  otherEvents: AsyncIterable<SessionEvent>,
  options: DiffSessionsOptions,
): Promise<SessionDiff> {
  return compareLogs(session, { events: otherEvents, stateMap: undefined }, options);
}

interface ComparedLog {
  readonly events: AsyncIterable<SessionEvent>;
  /** The state after all events; undefined if it must be found from them. */
  readonly stateMap: StateMap | undefined;
}

async function compareLogs(session: RuntimeSession, other: ComparedLog, { at, otherAt }: DiffSessionsOptions): Promise<SessionDiff> {
  const shared = new Set<string>();
  const before = await stateAt(other, otherAt, (event) => event.type === "call-start" && shared.add(event.callId));
  const own: SessionEvent[] = [];
  const after = await stateAt({ events: session.events(), stateMap: session.stateMap }, at, (event) => {
    if ("callId" in event && !shared.has(event.callId)) own.push(event);
  });
  return { state: stateDiff(before, after), calls: historyOf(own), pretended: session.simulation?.pretended ?? [] };
}

/** Reads the events up to `at`. Resolves to the state after the last of them. */
async function stateAt(
  { events, stateMap }: ComparedLog,
  at: number | undefined,
  onEvent: (event: SessionEvent) => unknown,
): Promise<StateMap> {
  if (at !== undefined && (!Number.isInteger(at) || at < 0))
    throw new ToolError("invalid_argument", `A point of a session must be a number of its events, not ${quoteValue(at)}.`);
  const whole = at === undefined ? stateMap : undefined;
  const fold = new SessionFold({ keep: 0 });
  let left = at ?? Infinity;
  if (left > 0)
    for await (const event of events) {
      onEvent(event);
      if (whole === undefined) fold.apply(event);
      if (--left <= 0) break;
    }
  return whole ?? fold.head.state;
}
