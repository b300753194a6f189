/** `haft schedules pause` and `haft schedules resume`: write to the store, or ask the server that has the session open. */
import { ApiError, createClient } from "../../../client/client.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { pauseStoredTrigger } from "../../../runtime/stored-triggers.ts";
import type { Command, CommandContext } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { TOKEN_VARIABLE } from "../../open/server-access-options.ts";
import { formatTime } from "../sessions/format-time.ts";
import { safeName, safeText } from "../../terminal/terminal-text.ts";
import { findSchedules, findNamedSchedule, type ScheduleSource, type StoredSchedule } from "./stored-schedules.ts";

export const pauseSchedule: Command = {
  name: "schedules pause",
  usage: "<id>",
  summary: "Pause a schedule until it is resumed.",
  details: [
    "Where no process has its session open, the pause is written to the store. A",
    "server that has it open is asked to pause it, with the key in HAFT_TOKEN. The",
    "pause survives a restart. A paused one stays paused. With --json the schedule",
    "as it is then.",
  ],
  args: [1, 1],
  options: ["store", "config", "session"],
  examples: ["haft schedules pause morning", "haft schedules pause morning --session travel"],
  run: (context) => setPaused(context, true),
};

export const resumeSchedule: Command = {
  name: "schedules resume",
  usage: "<id>",
  summary: "Let a schedule that was paused wake its agent again.",
  details: [
    "Missed times are not made up for. Where no process has its session open, the",
    "change is written to the store, and the schedule runs when an agent of the",
    "session does. A server that has it open is asked to resume it, with the key in",
    "HAFT_TOKEN. With --json the schedule as it is then.",
  ],
  args: [1, 1],
  options: ["store", "config", "session"],
  examples: ["haft schedules resume morning", "haft schedules resume morning --session travel"],
  run: (context) => setPaused(context, false),
};

/** Pauses or resumes a schedule. Resolves to the exit code. */
function setPaused(context: CommandContext, paused: boolean): Promise<number> {
  return withStore(context, { readOnly: false }, async (store, config) => {
    const source = { store, config };
    const before = await findNamedSchedule(context, source);
    const { id, sessionId, session } = before;
    if ((before.paused === true) === paused)
      return print(context, before, `the schedule ${safeName(id)} is ${paused ? "paused" : "active"} already`);
    if (session.openedBy === undefined) await pauseStoredTrigger(store, session, { id, paused, ports: systemPorts });
    else await askServer(context, before, paused);
    const after = await reloadSchedule(context, source, before);
    const due = after.nextAt === undefined ? "" : `; it is due next at ${formatTime(after.nextAt)}`;
    return print(
      context,
      after,
      `${paused ? "paused" : "resumed"} the schedule ${safeName(id)} of the session ${safeName(sessionId)}${due}`,
    );
  });
}

/** Asks the process that has the session open: no other may write its log. */
async function askServer(
  { environment, signal }: CommandContext,
  { id, sessionId, session }: StoredSchedule,
  paused: boolean,
): Promise<void> {
  const { openedAt: url, openedBy } = session;
  const where = `The session ${JSON.stringify(sessionId)} is open in ${safeName(openedBy ?? "another process")}`;
  if (url === undefined)
    throw new ToolError("resource_busy", `${where}, which announced no address.`, { operatorHint: "Do it there, or when it has ended." });
  const token = environment[TOKEN_VARIABLE];
  if (token === undefined || token === "")
    throw new ToolError("resource_busy", `${where}, the server at ${safeText(url)}.`, {
      operatorHint: `Set ${TOKEN_VARIABLE} to its token or to a key of it with the scope execute, and the server is asked to do it.`,
    });
  try {
    const operation = paused ? "pauseSchedule" : "resumeSchedule";
    await createClient({ url, token, maxAttempts: 1 }).call(operation, { params: { scheduleId: id }, query: { sessionId }, signal });
  } catch (thrown: unknown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    signal.throwIfAborted();
    const code = thrown.status === 401 || thrown.status === 403 ? "permission_denied" : "unavailable";
    throw new ToolError(code, `The server at ${safeText(url)}: ${safeText(thrown.message)}`, { cause: thrown });
  }
}

async function reloadSchedule(context: CommandContext, source: ScheduleSource, { id, sessionId }: StoredSchedule): Promise<StoredSchedule> {
  const all = await findSchedules({ ...context, options: { ...context.options, session: sessionId } }, source);
  const schedule = all.find((one) => one.id === id);
  if (schedule === undefined) throw new ToolError("not_found", `The schedule ${JSON.stringify(id)} was removed meanwhile.`);
  return schedule;
}

function print({ options, out }: CommandContext, { session: _session, ...schedule }: StoredSchedule, text: string): number {
  if (options.json) out.writeJson(omitUndefined(schedule));
  else out.print(text);
  return 0;
}
