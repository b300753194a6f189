/** The progress and the summary of a generation, for a person. */
import type { AnswerCount, GenerationProgress, GenerationSummary } from "../../generate/conversations/generation-summary.ts";
import { duration } from "../terminal-text.ts";

/** `412 of 1,000 conversations, 3,200 calls/s, about 12 s left`. */
export function progressText({ done, total, calls, failed }: GenerationProgress, { madeBefore, elapsedMs }: ProgressPlace): string {
  const made = done - madeBefore;
  const parts = [`${number(done)} of ${number(total)} conversation${total === 1 ? "" : "s"}`, rate(calls, elapsedMs)];
  if (failed > 0) parts.push(`${number(failed)} failed`);
  if (made > 0 && done < total) parts.push(`about ${duration((elapsedMs / made) * (total - done))} left`);
  return parts.join(", ");
}

export interface ProgressPlace {
  /** Conversations that were there when it began. */
  readonly madeBefore: number;
  readonly elapsedMs: number;
}

/** One line for each count, aligned. */
export function summaryLines(
  summary: GenerationSummary,
  { where, peakBytes }: { readonly where: string; readonly peakBytes: number },
): readonly string[] {
  const { written, existing, failed, calls, statuses, answers, errors, faults, stops, durationMs } = summary;
  const before = existing === 0 ? "" : `, after ${number(existing)} that were there`;
  const rows: (readonly [name: string, count: number | undefined, words: string])[] = [
    ["conversations", written, `${where}${before}${failed === 0 ? "" : `, ${number(failed)} of them failed`}`],
    ["calls", calls, tally(statuses) + inBrackets(errors)],
  ];
  if (answers.length > 0) rows.push(["answers", sum(answers.map((answer) => answer.calls)), answers.map(answerWords).join(", ")]);
  if (Object.keys(faults).length > 0) rows.push(["faults", sum(Object.values(faults)), tally(faults)]);
  if (Object.keys(stops).length > 0) rows.push(["ended", sum(Object.values(stops)), tally(stops)]);
  rows.push([
    "time",
    undefined,
    `${duration(durationMs)}, ${rate(calls, durationMs)}, at most ${Math.ceil(peakBytes / 1_048_576)} MB of memory`,
  ]);
  const width = Math.max(...rows.map(([, count]) => countText(count).length));
  return rows.map(([name, count, words]) => `${name.padEnd(13)} ${countText(count).padStart(width)}  ${words}`.trimEnd());
}

/** `9,990 simulated by example (schema-valid)`. */
function answerWords({ origin, answeredBy = origin, fidelity, calls }: AnswerCount): string {
  const by = answeredBy === origin ? "" : ` by ${answeredBy}`;
  return `${number(calls)} ${origin}${by}${fidelity === undefined ? "" : ` (${fidelity})`}`;
}

function inBrackets(counts: Readonly<Record<string, number>>): string {
  return Object.keys(counts).length === 0 ? "" : ` (${tally(counts)})`;
}

function tally(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([word, count]) => `${number(count)} ${word}`)
    .join(", ");
}

function rate(calls: number, elapsedMs: number): string {
  return `${number(Math.round((calls * 1_000) / Math.max(elapsedMs, 1)))} calls/s`;
}

function countText(count: number | undefined): string {
  return count === undefined ? "" : number(count);
}

function number(value: number): string {
  return value.toLocaleString("en");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
