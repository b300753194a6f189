/** Counts what happened, for the last lines of a run. */
import type { RuntimeEvent } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import { plural } from "./terminal-text.ts";

export interface RunSummary {
  readonly calls: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly byOrigin: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
  readonly attempts: number;
  readonly retries: number;
  readonly repairs: number;
  readonly approvals: number;
  /** Handlers that did not stop when their time was up, and how many of them ended late. */
  readonly orphans: number;
  readonly lateEnds: number;
}

/** Collects events into a summary that can be read at any time. */
export class SummaryCounter {
  readonly #results: ToolResult[] = [];
  #retries = 0;
  #orphans = 0;
  #lateEnds = 0;
  approvals = 0;

  count(event: RuntimeEvent): void {
    if (event.type === "call-end") this.#results.push(event.result);
    else if (event.type === "call-retry") this.#retries++;
    else if (event.type === "call-orphan") this.#orphans++;
    else if (event.type === "call-late") this.#lateEnds++;
  }

  get summary(): RunSummary {
    const results = this.#results;
    return {
      calls: results.length,
      byStatus: tally(results.map((result) => result.status)),
      byOrigin: tally(results.map((result) => result.origin)),
      errors: tally(results.flatMap((result) => (result.error === undefined ? [] : [result.error.code]))),
      attempts: results.reduce((sum, result) => sum + result.attempts, 0),
      retries: this.#retries,
      repairs: results.reduce((sum, result) => sum + result.repairs.length, 0),
      approvals: this.approvals,
      orphans: this.#orphans,
      lateEnds: this.#lateEnds,
    };
  }
}

function tally(words: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/** The summary in a few lines. */
export function summaryLines(summary: RunSummary): readonly string[] {
  const list = (counts: Readonly<Record<string, number>>): string => Object.entries(counts).map(([word, count]) => `${count} ${word}`).join(", ") || "none";
  return [
    `${plural(summary.calls, "call")}: ${list(summary.byStatus)}`,
    `errors: ${list(summary.errors)}`,
    `${plural(summary.attempts, "attempt")} (${plural(summary.retries, "retry").replace("retrys", "retries")}), ${plural(summary.repairs, "repair")}, ${plural(summary.approvals, "approval")} asked`,
    `${plural(summary.orphans, "orphan")}, ${summary.lateEnds} of them ended late`,
    `results came from: ${list(summary.byOrigin)}`,
  ];
}
