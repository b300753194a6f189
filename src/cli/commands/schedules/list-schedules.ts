/** `haft schedules list`: the schedules of the most recently used sessions. */
import type { Command, CommandContext } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { formatTime } from "../sessions/format-time.ts";
import { columnWidth, toOneLine, safeJson, safeName } from "../../terminal/terminal-text.ts";
import { countColumns, padColumns } from "../../terminal/text-width.ts";
import { plural } from "../../../core/base/wording.ts";
import { findSchedules, type StoredSchedule } from "./stored-schedules.ts";

const MAX_COLUMN = 40;

export const listSchedules: Command = {
  name: "schedules list",
  usage: "",
  summary: "List the schedules, and when each is due next.",
  details: [
    "One line per schedule: its id, whether it is paused, when it is due next, its",
    "rule, its session, and what it says. One whose session no process has open does",
    "not run. One that the configuration no longer declares is stopped. It shows",
    "what the store has: a schedule that a program or a configuration declares is",
    "there once an agent of the session has run, and is shown as it was then. A",
    "process that has the session open uses its own declarations. Looks through the",
    "200 sessions that were used last; --session names any other. With --json one",
    "object per line.",
  ],
  args: [0, 0],
  options: ["store", "config", "session"],
  examples: ["haft schedules list", "haft schedules list --session travel --json | jq -r .nextAt"],
  async run(context) {
    await withStore(context, { readOnly: true }, async (store, config) => print(context, await findSchedules(context, { store, config })));
    return 0;
  },
};

function print({ options, out, err }: CommandContext, schedules: readonly StoredSchedule[]): void {
  if (options.json) {
    for (const { session: _session, ...schedule } of schedules) out.writeJson(schedule);
    return;
  }
  const ids = schedules.map(({ id }) => toOneLine(id, Infinity));
  const idWidth = columnWidth(ids, MAX_COLUMN);
  for (const [index, schedule] of schedules.entries()) {
    const id = padColumns(ids[index] ?? "", idWidth);
    const state = schedule.error !== undefined ? "stopped" : schedule.paused === true ? "paused" : "active";
    const facts = toOneLine(formatFacts(schedule), Math.max(MAX_COLUMN, out.width - countColumns(`${id}  ${state}  `)));
    const style = state === "active" ? "green" : "yellow";
    out.print(`${out.paint("bold", id)}  ${out.paint(style, state)}  ${out.paint("dim", facts)}`);
  }
  const note = formatNote(schedules);
  if (note !== undefined) err.print(err.paint("dim", note));
}

/** Returns a line about what the store does not know of these schedules; undefined if it knows all. */
function formatNote(schedules: readonly StoredSchedule[]): string | undefined {
  if (schedules.length === 0) return "no schedules in the store: one that a program declares is there once its agent has run";
  const open = schedules.filter(({ declared, openedBy }) => declared === true && openedBy !== undefined);
  if (open.length === 0) return undefined;
  const [are, they] = open.length === 1 ? ["is", "it"] : ["are", "they"];
  return `${plural(open.length, "declared schedule")} ${are} open in another process, which decides whether ${they} still run${open.length === 1 ? "s" : ""}, and when`;
}

/** Says when the schedule is due. */
function formatDue({ nextAt, error, paused }: StoredSchedule): string {
  if (nextAt !== undefined) return formatTime(nextAt);
  if (error !== undefined) return "when it is declared again";
  return paused === true ? "when it is resumed" : "never";
}

function formatFacts(schedule: StoredSchedule): string {
  const { settings, sessionId, openedBy, sent } = schedule;
  return [
    formatDue(schedule),
    ruleWords(settings),
    `session ${safeName(sessionId)}`,
    openedBy === undefined ? "not running" : `open in ${safeName(openedBy)}`,
    `${plural(sent, "message")} sent`,
    String(settings["prompt"] ?? ""),
  ].join(", ");
}

/** Formats the rule of a schedule. */
function ruleWords({ everyMinutes, dailyAt, hourlyAt, cron, zone }: StoredSchedule["settings"]): string {
  const at = (): string => {
    if (everyMinutes !== undefined) return everyMinutes === 1 ? "every minute" : `every ${safeJson(everyMinutes)} minutes`;
    if (dailyAt !== undefined) return `daily at ${String(dailyAt)}`;
    return hourlyAt === undefined ? `cron ${String(cron)}` : `hourly at minute ${safeJson(hourlyAt)}`;
  };
  return `${at()} ${String(zone)}`;
}
