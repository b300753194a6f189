import { splitName } from "../../core/call.ts";
import type { RuntimeEvent } from "../../core/event.ts";
import type { Origin, ToolResult } from "../../core/result.ts";

/** Counts events for the summary of a run, which can be read at any time. */
export class Summary {
  readonly #results: ToolResult[] = [];
  readonly #approvals: string[] = [];
  #retries = 0;
  #orphans = 0;
  #lateEnds = 0;

  countEvent(event: RuntimeEvent): void {
    if (event.type === "call-end") this.#results.push(event.result);
    else if (event.type === "call-retry") this.#retries++;
    else if (event.type === "call-orphan") this.#orphans++;
    else if (event.type === "call-late") this.#lateEnds++;
  }

  /** Counts an approval by its outcome. */
  countApproval(outcome: "allowed" | "denied"): void {
    this.#approvals.push(outcome);
  }

  /** Number of abandoned handlers that have not ended. */
  get running(): number {
    return this.#orphans - this.#lateEnds;
  }

  /** Returns one aligned line for each count. */
  lines(): readonly string[] {
    const results = this.#results;
    const failed = results.filter((result) => result.status === "error" || result.status === "partial");
    const errors = failed.flatMap((result) => result.error?.code ?? []);
    const statuses = tally(results.map((result) => result.status));
    const rows: (readonly [string, number, string])[] = [
      ["calls", results.length, errors.length === 0 ? statuses : `${statuses} (${tally(errors)})`],
      ["attempts", sum(results.map((result) => result.attempts)), this.#retries === 0 ? "" : `${this.#retries} of them retries`],
      ["repairs", sum(results.map((result) => result.repairs.length)), ""],
      ["approvals", this.#approvals.length, tally(this.#approvals)],
      ["orphans", this.#orphans, this.#orphans === 0 ? "" : `${this.#lateEnds} ended late, ${this.running} still running`],
      ["origins", results.length, originsOf(results)],
    ];
    const notLive = results.filter((result) => result.fidelity !== undefined && isAnswered(result));
    if (notLive.length > 0) rows.push(["not live", notLive.length, fidelityOf(notLive)]);
    return rows.map(([name, count, words]) => `${name.padEnd(10)} ${String(count).padStart(3)}  ${words}`.trimEnd());
  }
}

/** Says where the answers came from: `13 live (8 files, 5 demo), 2 never run`. */
function originsOf(results: readonly ToolResult[]): string {
  const ran = results.filter(isAnswered);
  const toolsets = tally(ran.map((result) => splitName(result.name).namespace ?? result.name));
  const origins = tally(ran.map((result) => ORIGIN_WORDS[result.origin]));
  const parts = ran.length === 0 ? [] : [`${origins} (${toolsets})`];
  if (ran.length < results.length) parts.push(`${results.length - ran.length} never run`);
  return parts.join(", ");
}

/** Whether an answer source was asked: a call that ended before that has an origin, too. A cached result is returned without an attempt. */
function isAnswered({ attempts, origin, status }: ToolResult): boolean {
  return attempts > 0 || (origin === "cache" && status !== "error");
}

const ORIGIN_WORDS: Readonly<Record<Origin, string>> = {
  live: "live",
  cache: "cached",
  replay: "replayed",
  simulated: "simulated",
  stub: "stubbed",
};

/** Says how reliable answers are that are not live: `3 observed by replay, 1 schema-valid by example; made up, never observed`. */
function fidelityOf(results: readonly ToolResult[]): string {
  const words = results.map(({ fidelity = "", answeredBy, status }) => {
    const by = answeredBy === undefined ? "" : ` by ${answeredBy}`;
    return fidelity === "unchecked" && status === "error" ? `error${by}` : `${fidelity}${by}`;
  });
  const isMadeUp = results.some(({ fidelity, status }) => fidelity === "schema-valid" || (fidelity === "unchecked" && status !== "error"));
  return isMadeUp ? `${tally(words)}; made up, never observed` : tally(words);
}

/** Returns `3 ok, 1 error`, the most frequent first. */
function tally(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([word, count]) => `${count} ${word}`)
    .join(", ");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
