/** `haft fleet`: the processes that use a store, the sessions that each has open, and how they differ. */
import type { StoredProcess } from "../../core/store/process-store.ts";
import type { Store } from "../../core/store/store.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { describeFleetDifferences, processName } from "../../server/fleet-differences.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { withStore } from "../open/open-store.ts";
import { printList } from "../print/print-list.ts";
import { formatTime } from "./sessions/format-time.ts";
import { columnWidth, formatDuration, toOneLine, safeText } from "../terminal/terminal-text.ts";
import { padColumns } from "../terminal/text-width.ts";
import { throwIfBroken } from "../throw-if-broken.ts";

const REFRESH_MS = 2_000;
/** How long a living process may be silent before it counts as late: one and a half heartbeat intervals of 5 seconds. */
const LATE_MS = 7_500;
const MAX_NAME = 28;
const HEAD = ["PROCESS", "ROLE", "STATE", "SESSIONS", "BEHIND", "SEEN", "VERSION"] as const;
/** Maximum width of each column. */
const MOST: readonly number[] = [MAX_NAME, 8, 5, 8, 8, 12, 12];
const NUMBERS: ReadonlySet<string> = new Set(["SESSIONS", "BEHIND"]);

export const fleetCommand: CommandBody = {
  details: [
    "For each process: its role, whether it is alive, how many sessions it has open,",
    "how many events it had not read yet, and when it last reported. Processes",
    "report every 5 seconds: one that missed a report is late, and one whose",
    "sessions others may open is gone. Versions, tools and settings that differ",
    "between live processes are listed below. With --json one object per line, with",
    "the sessions that were used last.",
  ],
  args: [0, 0],
  options: ["store", "config", "watch"],
  examples: ["haft fleet --store postgres://haft@localhost/haft", "haft fleet --watch", "haft fleet --json | jq -r .address"],
  async run(context) {
    const { options, signal } = context;
    const watch = async (store: Store): Promise<void> => {
      do await print(context, await store.processes());
      while (options.watch && (await waitForRefresh(signal)));
    };
    await withStore(context, { readOnly: true }, watch).catch((thrown: unknown) => {
      if (!options.watch || !signal.aborted) throw thrown; // Ctrl-C is how a watch ends
    });
    throwIfBroken(signal);
    return 0;
  },
};

/** Waits for the next refresh. Resolves to false if the signal aborted, which is how a watch ends. */
async function waitForRefresh(signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = systemPorts.clock.timer(resolve, REFRESH_MS);
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (!signal.aborted) await promise;
  stop();
  return !signal.aborted;
}

async function print(context: CommandContext, processes: readonly StoredProcess[]): Promise<void> {
  const { options, out, err } = context;
  const differences = describeFleetDifferences(processes);
  if (options.watch && !options.json) out.clear();
  await printList(context, processes, { none: "no processes" }, () => formatTable(processes, out));
  for (const line of differences) err.print(err.paint("yellow", `haft: ${safeText(line)}`));
}

function* formatTable(processes: readonly StoredProcess[], out: CommandContext["out"]): Generator<string, void, undefined> {
  if (processes.length === 0) return;
  const rows = processes.map(cellsOf);
  const widths = HEAD.map((head, at) => columnWidth([head, ...rows.map((cells) => cells[at] ?? "")], MOST[at] ?? MAX_NAME));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => {
        const padded = padColumns(toOneLine(cell, widths[at] ?? MAX_NAME), widths[at] ?? 0);
        return NUMBERS.has(HEAD[at] ?? "") ? padded.trimEnd().padStart(padded.length) : padded;
      })
      .join("  ")
      .trimEnd();
  yield out.paint("dim", line(HEAD));
  for (const [index, process] of processes.entries()) {
    const text = line(rows[index] ?? []);
    yield process.alive ? text : out.paint("dim", text);
    yield out.paint("dim", `  ${toOneLine(formatFacts(process), Math.max(MAX_NAME, out.width - 2))}`);
  }
}

function cellsOf(process: StoredProcess): readonly string[] {
  const { role = "–", alive, silentMs, sessions, eventsBehind, version = "–" } = process;
  const state = alive ? (silentMs > LATE_MS ? "late" : "alive") : "gone";
  return [processName(process), role, state, String(sessions), String(eventsBehind ?? "–"), `${formatDuration(silentMs)} ago`, version];
}

function formatFacts({ address, host, pid, startedAt, places = [] }: StoredProcess): string {
  return [
    ...(address === undefined ? [] : [address]),
    `process ${pid} on ${host}`,
    ...(startedAt === undefined ? [] : [`since ${formatTime(startedAt)}`]),
    ...(places.length === 0 ? [] : [`has ${places.join(" ")}`]),
  ].join(", ");
}
