/** The schedules of a store, and the one that a command line names. */
import { pushAll } from "../../../core/collections/push-all.ts";
import { formatList } from "../../../core/base/wording.ts";
import type { LoadedConfig } from "../../../config/load-config.ts";
import { didYouMean } from "../../../core/base/near-names.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import type { Store, StoredSession } from "../../../core/store/store.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { readStoredTriggers } from "../../../runtime/stored-triggers.ts";
import type { StoredTrigger } from "../../../session/inbox.ts";
import { NOT_DECLARED } from "../../../triggers/session-triggers.ts";
import { createTriggers } from "../../../triggers/triggers.ts";
import type { CommandContext } from "../../command.ts";
import { withSession } from "../../open/open-store.ts";
import { quoteForShell } from "../../../core/base/quote-for-shell.ts";
import { safeName, safeText } from "../../terminal/terminal-text.ts";

/** Maximum number of sessions that are searched, the most recently used first. */
const MOST_SESSIONS = 200;
const TYPE = "schedule";

/** A schedule as stored in its session's log. */
export interface StoredSchedule extends Pick<StoredTrigger, "id" | "settings" | "addedAt" | "sent" | "paused" | "declared"> {
  readonly sessionId: string;
  /** When it is due next, in wall-clock milliseconds since the epoch. Left out if it is paused, stopped, or never due. */
  readonly nextAt?: number;
  /** Why it is stopped. */
  readonly error?: string;
  /** The process that has its session open. */
  readonly openedBy?: string;
  readonly session: StoredSession;
}

/** A store, and the configuration that names it and declares schedules. */
export interface ScheduleSource {
  readonly store: Store;
  readonly config: LoadedConfig | undefined;
}

/**
 * Finds schedules of `--session`, else of recently used sessions; prints which logs are damaged. @throws ToolError `not_found` for an unknown session
 */
export async function findSchedules(context: CommandContext, { store, config }: ScheduleSource): Promise<readonly StoredSchedule[]> {
  const { session: sessionId } = context.options;
  const { kind: schedule } = createTriggers().kinds.get(TYPE) ?? {};
  const schedulesOf = async (session: StoredSession): Promise<readonly StoredSchedule[]> =>
    (await readStoredTriggers(store, session)).filter(({ kind }) => kind === TYPE).map((one) => scheduleOf(one, session));
  const scheduleOf = (trigger: StoredTrigger, session: StoredSession): StoredSchedule => {
    const { id, settings, addedAt, sent, paused, declared } = trigger;
    const { sessionId: ofSession, openedBy } = session;
    const error = openedBy === undefined && isUndeclared(trigger, config) ? NOT_DECLARED : undefined;
    const nextAt = paused === true || error !== undefined ? undefined : schedule?.nextAt?.(settings, systemPorts.clock.wallTime());
    return { id, sessionId: ofSession, settings, addedAt, sent, ...omitUndefined({ declared, paused, nextAt, error, openedBy }), session };
  };
  if (sessionId !== undefined)
    return withSession(store, sessionId, async () => {
      const [session] = await store.list({ sessionId });
      if (session === undefined) throw new ToolError("not_found", `There is no session ${JSON.stringify(sessionId)}.`);
      return schedulesOf(session);
    });
  const sessions = await store.list({ limit: MOST_SESSIONS + 1 });
  const found: StoredSchedule[] = [];
  for (const session of sessions.slice(0, MOST_SESSIONS)) {
    context.signal.throwIfAborted();
    try {
      pushAll(found, await schedulesOf(session));
    } catch (thrown: unknown) {
      context.err.print(
        `haft: the session ${safeName(session.sessionId)} was left out: ${safeText(ToolError.fromUnknown(thrown).message)}`,
      );
    }
  }
  if (sessions.length > MOST_SESSIONS)
    context.err.print(`haft: looked through the ${MOST_SESSIONS} sessions that were used last; --session names another`);
  return found;
}

/** Whether the configuration declared it and no longer does. A process that has the session open goes by its own configuration. */
function isUndeclared({ id, declared }: StoredTrigger, config: LoadedConfig | undefined): boolean {
  return declared === true && config !== undefined && !config.config.triggers.some(({ name }) => name === id);
}

/** Finds the schedule of the first argument, in the session of `--session` if given. @throws ToolError `not_found`, `ambiguous` */
export async function findNamedSchedule(context: CommandContext, source: ScheduleSource): Promise<StoredSchedule> {
  const [id = ""] = context.args;
  const all = await findSchedules(context, source);
  const meant = all.filter((one) => one.id === id);
  const [schedule, other] = meant;
  if (schedule === undefined) throw noScheduleError(id, [...new Set(all.map((one) => one.id))]);
  if (other === undefined) return schedule;
  const sessions = meant.map(({ sessionId }) => JSON.stringify(sessionId));
  throw new ToolError("ambiguous", `${meant.length} sessions have a schedule ${JSON.stringify(id)}: ${formatList(sessions)}.`, {
    operatorHint: `Name its session, such as --session ${quoteForShell(schedule.sessionId)}.`,
  });
}

function noScheduleError(id: string, ids: readonly string[]): ToolError {
  const others = ids.length === 0 ? "There are no schedules." : `Known schedules: ${ids.slice(0, 5).join(", ")}.`;
  return new ToolError("not_found", `There is no schedule ${JSON.stringify(id)}.`, {
    operatorHint: didYouMean(id, ids, String) ?? others,
  });
}
