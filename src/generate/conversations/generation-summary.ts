/** The summary of a generation. */
import type { ErrorInfo } from "../../core/error.ts";
import type { Fidelity } from "../../core/fidelity.ts";
import type { Origin } from "../../core/result.ts";
import type { StopReason } from "../../compose/stop-reason.ts";
import { CHECK_NAMES, NO_PROBLEMS, type ConversationChecks } from "./check-conversation.ts";
import type { WritingReport } from "./conversation-writer.ts";
import type { DatasetSummary } from "./dataset-counts.ts";
import { Tally } from "./tally.ts";
import { parallelMessages, resultsOf, type Trajectory } from "./trajectory.ts";

/** The counts are those of the conversations that this run has written; those that were there before are `existing`. */
export interface GenerationSummary {
  /** How many the plan asks for. */
  readonly conversations: number;
  /** How many of them were in the file already. */
  readonly existing: number;
  readonly written: number;
  /** How many of the written ones broke off with an error, which is in their line. */
  readonly failed: number;
  readonly calls: number;
  /** Messages with several calls. */
  readonly parallelMessages: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** Where the answers came from, the most frequent first. */
  readonly answers: readonly AnswerCount[];
  /** By error code. */
  readonly errors: Readonly<Record<string, number>>;
  /** By fault; each is among the errors or the answers, too. */
  readonly faults: Readonly<Record<string, number>>;
  /** Why models said no more. */
  readonly stops: Readonly<{ [Reason in StopReason]?: number }>;
  /** Sums of the checks of all conversations. */
  readonly checks: ConversationChecks;
  /** How many conversations were generated again with other draws, since they were the same as an earlier one. */
  readonly remade: number;
  /** The parts of a split, those that were there before included; left out where there is none. */
  readonly split?: SplitCounts;
  /** Counts of all conversations, those that were there before included. */
  readonly dataset: DatasetSummary;
  /** How a model wrote requests and answers; left out where none did. */
  readonly writing?: WritingReport;
  /** Remarks on the plan: tools that were left out, chains that are shorter than asked for. */
  readonly notes: readonly string[];
  /** In milliseconds. */
  readonly durationMs: number;
  /** Set where it ended before all were written: `cancelled` when the signal aborted, else what conversations failed with. Run again, it continues. */
  readonly stopped?: ErrorInfo;
}

/** How many conversations are in each part. */
export interface SplitCounts {
  readonly train: number;
  readonly test: number;
  /** The path of the file for tests. */
  readonly testFile: string;
}

/** How many calls were answered in one way. */
export interface AnswerCount {
  readonly origin: Origin;
  readonly answeredBy?: string;
  readonly fidelity?: Fidelity;
  readonly calls: number;
}

/** How far it is. */
export interface GenerationProgress {
  /** Conversations in the file, those that were there before included. */
  readonly done: number;
  readonly total: number;
  /** Of this run. */
  readonly calls: number;
  readonly failed: number;
}

/** Counts what is written. */
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
    this.parallelMessages += parallelMessages(trajectory);
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

/** The words of a key are unchanged. */
function answerCount(key: string, calls: number): AnswerCount {
  const [origin = "", answeredBy = "", fidelity = ""] = key.split(" ");
  return {
    origin: origin as Origin,
    ...(answeredBy === "" ? {} : { answeredBy }),
    ...(fidelity === "" ? {} : { fidelity: fidelity as Fidelity }),
    calls,
  };
}
