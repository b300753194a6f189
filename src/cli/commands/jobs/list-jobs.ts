/** `haft jobs list`: the background jobs of the store, the newest first. */
import { didYouMean } from "../../../core/base/near-names.ts";
import { ToolError } from "../../../core/error.ts";
import { JOB_STATES, type JobState } from "../../../core/jobs/job-status.ts";
import type { StoredJob } from "../../../core/store/job-store.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { listStoredJobs } from "../../../runtime/list-stored-jobs.ts";
import type { Command, CommandContext } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { formatTime } from "../sessions/format-time.ts";
import { columnWidth, formatDuration, toOneLine, safeName } from "../../terminal/terminal-text.ts";
import { countColumns, padColumns } from "../../terminal/text-width.ts";
import { printList } from "../../print/print-list.ts";
import { STATE_STYLES } from "./job-text.ts";

const DEFAULT_LIMIT = 20;
const MAX_COLUMN = 40;

export const listJobs: Command = {
  name: "jobs list",
  usage: "",
  summary: "List the background jobs, the newest first.",
  details: [
    "One line per job: its id, its state, when it began, its tool and its session. A",
    "job that has not ended and whose session no process has open does not run until",
    "the session is resumed. States: queued, running, waiting (for input or",
    "approval), done, error, cancelled, and parked: not run again, because its",
    "process ended each time it ran. With --json one object per line.",
  ],
  args: [0, 0],
  options: ["store", "config", "session", "state", "limit"],
  examples: ["haft jobs list", "haft jobs list --state running --state waiting", "haft jobs list --session travel --json | jq -r .id"],
  async run(context) {
    const { session: sessionId, state, limit = DEFAULT_LIMIT } = context.options;
    const states = state.length === 0 ? {} : { states: state.map(parseState) };
    await withStore(context, { readOnly: true }, async (store) => {
      const options = { ...(sessionId === undefined ? {} : { sessionId }), ...states, limit: limit + 1 };
      const found = await listStoredJobs(store, options, systemPorts.clock.wallTime());
      await printList(context, found, { limit, none: "no jobs" }, (jobs) => formatJobs(context, jobs));
    });
    return 0;
  },
};

/** Returns the state of this name. @throws ToolError `invalid_argument` */
function parseState(name: string): JobState {
  const state = JOB_STATES.find((one) => one === name);
  if (state !== undefined) return state;
  throw new ToolError("invalid_argument", `A job has no state ${JSON.stringify(name)}.`, {
    hint: didYouMean(name, JOB_STATES, String) ?? `States: ${JOB_STATES.join(", ")}.`,
  });
}

function* formatJobs({ out }: CommandContext, jobs: readonly StoredJob[]): Generator<string, void, undefined> {
  const ids = jobs.map(({ id }) => toOneLine(id, Infinity));
  const idWidth = columnWidth(ids, MAX_COLUMN);
  const stateWidth = columnWidth(
    jobs.map(({ state }) => state),
    MAX_COLUMN,
  );
  for (const [index, job] of jobs.entries()) {
    const id = padColumns(ids[index] ?? "", idWidth);
    const state = padColumns(job.state, stateWidth);
    const width = countColumns(`${id}  ${state}  `);
    const facts = toOneLine(`${formatTime(job.startedAt)}  ${formatFacts(job)}`, Math.max(MAX_COLUMN, out.width - width));
    yield `${out.paint("bold", id)}  ${out.paint(STATE_STYLES[job.state], state)}  ${out.paint("dim", facts)}`;
  }
}

function formatFacts({ toolName, sessionId, startedAt, endedAt, openedBy, errorCode, cancelReason, starts }: StoredJob): string {
  const unended = openedBy === undefined ? "not running" : `open in ${openedBy}`;
  return [
    toolName,
    `session ${safeName(sessionId)}`,
    endedAt === undefined ? unended : `took ${formatDuration(Math.max(0, endedAt - startedAt))}`,
    ...(errorCode === undefined ? [] : [errorCode]),
    ...(cancelReason === undefined ? [] : ["is to be cancelled"]),
    ...(starts > 1 ? [`begun ${starts} times`] : []),
  ].join(", ");
}
