import { splitName } from "../../core/call.ts";
import type { RuntimeEvent } from "../../core/event.ts";
import type { Origin, ToolResult } from "../../core/result.ts";

const LEAST_COUNT_WIDTH = 3;

/** Counts events for the summary of a run, which can be read at any time. Keeps no results, which a long run has too many of. */
export class Summary {
  readonly #statuses = new Tally();
  readonly #errors = new Tally();
  readonly #origins = new Tally();
  readonly #toolsets = new Tally();
  /** How reliable the answers are that are not live. */
  readonly #fidelities = new Tally();
  readonly #approvals = new Tally();
  #isMadeUp = false;
  #attempts = 0;
  #repairs = 0;
  #retries = 0;
  #orphans = 0;
  #lateEnds = 0;

  countEvent(event: RuntimeEvent): void {
    if (event.type === "call-end") this.#countResult(event.result);
    else if (event.type === "call-retry") this.#retries++;
    else if (event.type === "call-orphan") this.#orphans++;
    else if (event.type === "call-late") this.#lateEnds++;
  }

  /** Counts an approval by its outcome. */
  countApproval(outcome: "allowed" | "denied"): void {
    this.#approvals.add(outcome);
  }

  /** Number of abandoned handlers that have not ended. */
  get running(): number {
    return this.#orphans - this.#lateEnds;
  }

  /** Returns one aligned line for each count. */
  lines(): readonly string[] {
    const statuses = this.#statuses.format();
    const rows: (readonly [string, number, string])[] = [
      ["calls", this.#statuses.total, this.#errors.total === 0 ? statuses : `${statuses} (${this.#errors.format()})`],
      ["attempts", this.#attempts, this.#retries === 0 ? "" : `${this.#retries} of them retries`],
      ["repairs", this.#repairs, ""],
      ["approvals", this.#approvals.total, this.#approvals.format()],
      ["orphans", this.#orphans, this.#orphans === 0 ? "" : `${this.#lateEnds} ended late, ${this.running} still running`],
      ["origins", this.#statuses.total, this.#formatOrigins()],
    ];
    if (this.#fidelities.total > 0) rows.push(["not live", this.#fidelities.total, this.#formatFidelities()]);
    const width = rows.reduce((widest, [, count]) => Math.max(widest, String(count).length), LEAST_COUNT_WIDTH);
    return rows.map(([name, count, words]) => `${name.padEnd(10)} ${String(count).padStart(width)}  ${words}`.trimEnd());
  }

  #countResult(result: ToolResult): void {
    const { status, error, attempts, repairs, name, origin, fidelity } = result;
    this.#statuses.add(status);
    if (error !== undefined && (status === "error" || status === "partial")) this.#errors.add(error.code);
    this.#attempts += attempts;
    this.#repairs += repairs.length;
    if (!isAnswered(result)) return;
    this.#origins.add(ORIGIN_WORDS[origin]);
    this.#toolsets.add(splitName(name).namespace ?? name);
    if (fidelity === undefined) return;
    this.#fidelities.add(fidelityWords(result, fidelity));
    this.#isMadeUp ||= fidelity === "schema-valid" || (fidelity === "unchecked" && status !== "error");
  }

  /** Says where the answers came from: `13 live (8 files, 5 demo), 2 never run`. */
  #formatOrigins(): string {
    const answered = this.#origins.total;
    const parts = answered === 0 ? [] : [`${this.#origins.format()} (${this.#toolsets.format()})`];
    if (answered < this.#statuses.total) parts.push(`${this.#statuses.total - answered} never run`);
    return parts.join(", ");
  }

  /** Says how reliable answers are that are not live: `3 observed by replay, 1 schema-valid by example; made up, never observed`. */
  #formatFidelities(): string {
    const words = this.#fidelities.format();
    return this.#isMadeUp ? `${words}; made up, never observed` : words;
  }
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

function fidelityWords({ answeredBy, status }: ToolResult, fidelity: string): string {
  const by = answeredBy === undefined ? "" : ` by ${answeredBy}`;
  return fidelity === "unchecked" && status === "error" ? `error${by}` : `${fidelity}${by}`;
}

/** Counts how often each word was added. */
class Tally {
  readonly #counts = new Map<string, number>();
  total = 0;

  add(word: string): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
    this.total++;
  }

  /** Returns `3 ok, 1 error`, the most frequent first. */
  format(): string {
    return [...this.#counts]
      .sort(([, one], [, other]) => other - one)
      .map(([word, count]) => `${count} ${word}`)
      .join(", ");
  }
}
