/** The schedules of a store, and the one that a command line means. */
import { nearNames } from "../../../core/base/near-names.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import type { Store, StoredSession } from "../../../core/store.ts";
import { systemPorts } from "../../../core/system-ports.ts";
import { storedTriggers } from "../../../runtime/stored-triggers.ts";
import type { StoredTrigger } from "../../../session/inbox.ts";
import { createTriggers } from "../../../triggers/triggers.ts";
import type { CommandContext } from "../../command.ts";
import { withSession } from "../../open/open-store.ts";
import { safeText } from "../../terminal/terminal-text.ts";

/** So many sessions are looked through, those that were used last. */
const MOST_SESSIONS = 200;
const TYPE = "schedule";

/** A schedule as its session's log has it. */
export interface StoredSchedule extends Pick<StoredTrigger, "id" | "settings" | "addedAt" | "sent" | "paused"> {
  readonly sessionId: string;
  /** Wall-clock milliseconds since the epoch; left out while it is paused, and where it is never due. */
  readonly nextAt?: number;
  /** The process that has its session open. */
  readonly openedBy?: string;
  readonly session: StoredSession;
}

/** Those of `--session`, else of the sessions that were used last. A log that is damaged is named on standard error. @throws ToolError `not_found` for a session that is not there */
export async function findSchedules(context: CommandContext, store: Store): Promise<readonly StoredSchedule[]> {
  const { session: sessionId } = context.options;
  const kinds = createTriggers().kinds;
  const schedulesOf = async (session: StoredSession): Promise<readonly StoredSchedule[]> =>
    (await storedTriggers(store, session)).filter(({ kind }) => kind === TYPE).map((one) => scheduleOf(one, session));
  const scheduleOf = ({ id, settings, addedAt, sent, paused }: StoredTrigger, session: StoredSession): StoredSchedule => {
    const nextAt = paused === true ? undefined : kinds.get(TYPE)?.kind.nextAt?.(settings, systemPorts.clock.wallTime());
    const facts = omitUndefined({ paused, nextAt, openedBy: session.openedBy });
    return { id, sessionId: session.sessionId, settings, addedAt, sent, ...facts, session };
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
      found.push(...(await schedulesOf(session)));
    } catch (thrown: unknown) {
      context.err.print(
        `haft: the session ${safeText(session.sessionId)} was left out: ${safeText(ToolError.fromUnknown(thrown).message)}`,
      );
    }
  }
  if (sessions.length > MOST_SESSIONS)
    context.err.print(`haft: looked through the ${MOST_SESSIONS} sessions that were used last; --session names another`);
  return found;
}

/** The schedule of the first argument, and of `--session` where that is given. @throws ToolError `not_found`, `ambiguous` */
export async function scheduleOfLine(context: CommandContext, store: Store): Promise<StoredSchedule> {
  const [id = ""] = context.args;
  const all = await findSchedules(context, store);
  const [schedule, other] = all.filter((one) => one.id === id);
  if (schedule === undefined) throw noSchedule(id, [...new Set(all.map((one) => one.id))]);
  if (other === undefined) return schedule;
  throw new ToolError(
    "ambiguous",
    `Several sessions have a schedule ${JSON.stringify(id)}, among them ${JSON.stringify(schedule.sessionId)}.`,
    {
      operatorHint: "Name its session with --session.",
    },
  );
}

function noSchedule(id: string, ids: readonly string[]): ToolError {
  const [near] = nearNames(id, ids, 1);
  const others = ids.length === 0 ? "There are no schedules." : `There are ${ids.slice(0, 5).join(", ")}.`;
  return new ToolError("not_found", `There is no schedule ${JSON.stringify(id)}.`, {
    operatorHint: near === undefined ? others : `Did you mean ${near}?`,
  });
}
