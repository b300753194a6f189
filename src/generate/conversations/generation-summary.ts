import type { ErrorInfo } from "../../core/error.ts";
import type { Fidelity } from "../../core/answers/fidelity.ts";
import type { Origin } from "../../core/result.ts";
import type { StopReason } from "../../compose/stop-reason.ts";
import { CHECK_NAMES, NO_PROBLEMS, type ConversationChecks } from "./check-conversation.ts";
import type { WritingReport } from "./conversation-writer.ts";
import type { DatasetSummary } from "./dataset-counts.ts";
import { Tally } from "./tally.ts";
import { countParallelMessages, resultsOf, type Trajectory } from "./trajectory.ts";

/** The result of a generation. Counts are those of the conversations that this run wrote; `existing` are those written before. */
export interface GenerationSummary {
  /** Number of conversations in the plan. */
  readonly conversations: number;
  /** Number of them that were in the file already. */
  readonly existing: number;
  readonly written: number;
  /** Number of written conversations that ended with an error, which is in their line. */
  readonly failed: number;
  readonly calls: number;
  /** Number of messages with several calls. */
  readonly parallelMessages: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** Number of calls by where the answer came from, the most frequent first. */
  readonly answers: readonly AnswerCount[];
  /** Number of errors by code. */
  readonly errors: Readonly<Record<string, number>>;
  /** Number of injected faults by type; each also counts as an error or an answer. */
  readonly faults: Readonly<Record<string, number>>;
  /** Number of played conversations by the reason why the model stopped. */
  readonly stops: Readonly<{ [Reason in StopReason]?: number }>;
  /** Sums of the checks of all conversations. */
  readonly checks: ConversationChecks;
  /** Number of conversations that were generated again with other draws because they were duplicates. */
  readonly remade: number;
  /** The parts of a split, including conversations written before; left out without a split. */
  readonly split?: SplitCounts;
  /** Counts of all conversations, including those written before. */
  readonly dataset: DatasetSummary;
  /** How many requests and answers a model wrote; left out if none did. */
  readonly writing?: WritingReport;
  /** Remarks on the plan: tools that were left out, chains that are shorter than requested. */
  readonly notes: readonly string[];
  /** Duration of the run, in milliseconds. */
  readonly durationMs: number;
  /** Set if the run stopped early: `cancelled` if the signal aborted, else the error of the failed conversations. Another run continues. */
  readonly stopped?: ErrorInfo;
}

/** Number of conversations in each part of a split. */
export interface SplitCounts {
  readonly train: number;
  readonly test: number;
  /** The path of the file for tests. */
  readonly testFile: string;
}

/** Number of calls whose answers came from the same source. */
export interface AnswerCount {
  readonly origin: Origin;
  readonly answeredBy?: string;
  readonly fidelity?: Fidelity;
  readonly calls: number;
}

/** The progress of a generation. */
export interface GenerationProgress {
  /** Number of conversations in the file, including those written before. */
  readonly done: number;
  readonly total: number;
  /** Number of calls in this run; `failed` counts its conversations that ended with an error. */
  readonly calls: number;
  readonly failed: number;
}

export class GenerationCounts {
  readonly #statuses = new Tally();
  readonly #errors = new Tally();
  readonly #faults = new Tally();
  readonly #stops = new Tally();
  readonly #answers = new Tally();
  written = 0;
  failed = 0;
  calls = 0;
  parallelMessages = 0;
  remade = 0;
  readonly #checks: Record<keyof ConversationChecks, number> = { ...NO_PROBLEMS };

  add(trajectory: Trajectory): void {
    this.written++;
    if (trajectory.error !== undefined) this.failed++;
    this.parallelMessages += countParallelMessages(trajectory);
    for (const name of CHECK_NAMES) this.#checks[name] += trajectory.checks[name];
    if (trajectory.stop !== undefined) this.#stops.add(trajectory.stop);
    for (const { status, error, fault, origin, answeredBy, fidelity } of resultsOf(trajectory)) {
      this.calls++;
      this.#statuses.add(status);
      if (error !== undefined) this.#errors.add(error.code);
      if (fault !== undefined) this.#faults.add(fault);
      if (status === "ok" || status === "partial") this.#answers.add([origin, answeredBy ?? "", fidelity ?? ""].join(" "));
    }
  }

  get counts(): Omit<
    GenerationSummary,
    "conversations" | "existing" | "notes" | "split" | "dataset" | "writing" | "durationMs" | "stopped"
  > {
    const { written, failed, calls, parallelMessages: parallel, remade } = this;
    const answers = Object.entries(this.#answers.counts).map(([key, count]) => answerCount(key, count));
    const [errors, faults, stops] = [this.#errors.counts, this.#faults.counts, this.#stops.counts];
    const checks = { ...this.#checks };
    const made = { written, failed, calls, parallelMessages: parallel };
    return { ...made, statuses: this.#statuses.counts, answers, errors, faults, stops, checks, remade };
  }
}

/** Splits a key of `#answers` into the strings that it was joined from. */
function answerCount(key: string, calls: number): AnswerCount {
  const [origin = "", answeredBy = "", fidelity = ""] = key.split(" ");
  return {
    origin: origin as Origin,
    ...(answeredBy === "" ? {} : { answeredBy }),
    ...(fidelity === "" ? {} : { fidelity: fidelity as Fidelity }),
    calls,
  };
}
