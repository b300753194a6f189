/** Counts all conversations of a dataset, including those already in the file, from their lines in any format. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { CHECK_NAMES, CHECK_LABELS, NO_PROBLEMS, type ConversationChecks } from "./check-conversation.ts";
import { Tally } from "./tally.ts";
import { readLineMetadata } from "./trajectory-file.ts";

/** Counts of all conversations, for a description of the dataset. */
export interface DatasetSummary {
  readonly seed: string;
  /** The plan fingerprint that all lines have. */
  readonly plan: string;
  readonly conversations: number;
  /** Number of conversations that ended with an error. */
  readonly failed: number;
  readonly calls: number;
  /** Number of messages with several calls. */
  readonly parallelMessages: number;
  /** Number of calls by tool, the most frequent first. */
  readonly tools: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  /** Number of calls by where the answer came from: `simulated by example (schema-valid)`. */
  readonly answers: Readonly<Record<string, number>>;
  readonly checks: ConversationChecks;
}

export class DatasetCounts {
  readonly #tools = new Tally();
  readonly #statuses = new Tally();
  readonly #answers = new Tally();
  readonly #checks: Record<keyof ConversationChecks, number> = { ...NO_PROBLEMS };
  #conversations = 0;
  #failed = 0;
  #calls = 0;
  #parallelMessages = 0;

  add(line: JsonObject): void {
    const metadata = readLineMetadata(line);
    this.#conversations++;
    if (metadata["error"] !== undefined) this.#failed++;
    for (const problem of itemsOf(metadata["problems"])) this.#addProblem(String(problem));
    const { report } = metadata;
    const parallel = isJsonObject(report) ? report["parallelMessages"] : undefined;
    if (typeof parallel === "number") this.#parallelMessages += parallel;
    const results =
      metadata["results"] ?? itemsOf(line["messages"]).filter((message) => isJsonObject(message) && message["role"] === "tool");
    for (const result of itemsOf(results)) if (isJsonObject(result)) this.#addResult(result);
  }

  summary(origin: Pick<DatasetSummary, "seed" | "plan">): DatasetSummary {
    return {
      ...origin,
      conversations: this.#conversations,
      failed: this.#failed,
      calls: this.#calls,
      parallelMessages: this.#parallelMessages,
      tools: this.#tools.counts,
      statuses: this.#statuses.counts,
      answers: this.#answers.counts,
      checks: { ...this.#checks },
    };
  }

  #addResult({ name, status, origin, answeredBy = origin, fidelity }: JsonObject): void {
    this.#calls++;
    this.#tools.add(String(name));
    this.#statuses.add(String(status));
    if (status !== "ok" && status !== "partial") return;
    const by = answeredBy === origin ? "" : ` by ${String(answeredBy)}`;
    this.#answers.add(`${String(origin)}${by}${fidelity === undefined ? "" : ` (${String(fidelity)})`}`);
  }

  /** Adds a problem such as `2 dangling ids`, as `formatProblems` writes it. */
  #addProblem(problem: string): void {
    const [count = "", ...rest] = problem.split(" ");
    const words = rest.join(" ");
    const name = CHECK_NAMES.find((each) => CHECK_LABELS[each].some((known) => known === words));
    if (name !== undefined) this.#checks[name] += Number(count);
  }
}

function itemsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return value !== undefined && isJsonArray(value) ? value : [];
}
