/** Formats the progress and the summary of a generation for a person. */
import { maxOf } from "../../../core/collections/push-all.ts";
import type { AnswerCount, GenerationProgress, GenerationSummary } from "../../../generate/conversations/generation-summary.ts";
import { CHECK_LABELS, formatProblems, type ConversationChecks } from "../../../generate/conversations/check-conversation.ts";
import type { WritingReport } from "../../../generate/conversations/conversation-writer.ts";
import type { ModelTotals } from "../../../model/usage-meter.ts";
import { formatDuration } from "../../terminal/terminal-text.ts";

/** Returns `412 of 1,000 conversations, 3,200 calls/s, about 12 s left`. */
export function progressText({ done, total, calls, failed }: GenerationProgress, { madeBefore, elapsedMs, usage }: ProgressPlace): string {
  const made = done - madeBefore;
  const parts = [`${formatNumber(done)} of ${formatNumber(total)} conversation${total === 1 ? "" : "s"}`, rate(calls, elapsedMs)];
  if (failed > 0) parts.push(`${formatNumber(failed)} failed`);
  if (usage !== undefined) parts.push(tokens(usage));
  if (made > 0 && done < total) parts.push(`about ${formatDuration((elapsedMs / made) * (total - done))} left`);
  return parts.join(", ");
}

export interface ProgressPlace {
  /** Number of conversations that existed when the generation began. */
  readonly madeBefore: number;
  readonly elapsedMs: number;
  /** The usage of the model that is asked. */
  readonly usage?: ModelTotals | undefined;
}

export interface SummaryPlace {
  readonly where: string;
  /** The file that describes the data. */
  readonly card?: string | undefined;
  readonly peakBytes: number;
  readonly usage?: ModelTotals | undefined;
}

/** Returns one aligned line for each count. */
export function summaryLines(summary: GenerationSummary, { where, card, peakBytes, usage }: SummaryPlace): readonly string[] {
  const { checks, remade, split, writing, notes } = summary;
  const { written, existing, failed, calls, parallelMessages, statuses, answers, errors, faults, stops, durationMs } = summary;
  const before = existing === 0 ? "" : `, after ${formatNumber(existing)} that were there`;
  const rows: (readonly [name: string, count: number | undefined, words: string])[] = [
    ["conversations", written, `${where}${before}${failed === 0 ? "" : `, ${formatNumber(failed)} of them failed`}`],
    ["calls", calls, formatTally(statuses) + formatInBrackets(errors)],
  ];
  if (split !== undefined)
    rows.splice(1, 0, ["for tests", split.test, `in ${split.testFile}, and ${formatNumber(split.train)} for training`]);
  if (parallelMessages > 0) rows.push(["parallel", parallelMessages, `message${parallelMessages === 1 ? "" : "s"} with several calls`]);
  if (answers.length > 0) rows.push(["answers", sum(answers.map((answer) => answer.calls)), answers.map(answerWords).join(", ")]);
  if (Object.keys(faults).length > 0) rows.push(["faults", sum(Object.values(faults)), formatTally(faults)]);
  if (Object.keys(stops).length > 0) rows.push(["ended", sum(Object.values(stops)), formatTally(stops)]);
  if (writing !== undefined) rows.push(["texts", writing.written, writingWords(writing)]);
  if (usage !== undefined) rows.push(["model", usage.requests, `requests, ${tokens(usage)}`]);
  rows.push(["checked", undefined, checkWords(checks, remade)]);
  if (card !== undefined) rows.push(["described", undefined, `in ${card}`]);
  rows.push([
    "time",
    undefined,
    `${formatDuration(durationMs)}, ${rate(calls, durationMs)}, at most ${Math.ceil(peakBytes / 1_048_576)} MB of memory`,
  ]);
  const width = maxOf(rows.map(([, count]) => countText(count).length));
  const lines = rows.map(([name, count, words]) => `${name.padEnd(13)} ${countText(count).padStart(width)}  ${words}`.trimEnd());
  return [...lines, ...notes];
}

/** Returns `0 dangling ids, 0 unresolved references, 0 duplicates`, and other problems that were found. */
function checkWords(checks: ConversationChecks, remade: number): string {
  const { danglingIds, unresolvedReferences, duplicates, ...rest } = checks;
  const always = [
    `${formatNumber(danglingIds)} ${CHECK_LABELS.danglingIds[danglingIds === 1 ? 0 : 1]}`,
    `${formatNumber(unresolvedReferences)} ${CHECK_LABELS.unresolvedReferences[unresolvedReferences === 1 ? 0 : 1]}`,
    `${formatNumber(duplicates)} ${CHECK_LABELS.duplicates[duplicates === 1 ? 0 : 1]}${remade === 0 ? "" : ` (${formatNumber(remade)} generated again)`}`,
  ];
  return [...always, ...formatProblems({ danglingIds: 0, unresolvedReferences: 0, duplicates: 0, ...rest })].join(", ");
}

/** Returns `by the model, 3 asked for again, 1 by code in the end`. */
function writingWords({ retried, byCode }: WritingReport): string {
  return [
    "by the model",
    ...(retried > 0 ? [`${formatNumber(retried)} asked for again`] : []),
    ...(byCode > 0 ? [`${formatNumber(byCode)} by code in the end`] : []),
  ].join(", ");
}

/** Returns `3,400 tokens in, 900 out, cost 0.0123`, in the currency of the configured prices. */
function tokens({ inputTokens, outputTokens, cost }: ModelTotals): string {
  return `${formatNumber(inputTokens)} tokens in, ${formatNumber(outputTokens)} out${cost === undefined ? "" : `, cost ${cost.toFixed(4)}`}`;
}

/** Returns `9,990 simulated by example (schema-valid)`. */
function answerWords({ origin, answeredBy = origin, fidelity, calls }: AnswerCount): string {
  const by = answeredBy === origin ? "" : ` by ${answeredBy}`;
  return `${formatNumber(calls)} ${origin}${by}${fidelity === undefined ? "" : ` (${fidelity})`}`;
}

function formatInBrackets(counts: Readonly<Record<string, number>>): string {
  return Object.keys(counts).length === 0 ? "" : ` (${formatTally(counts)})`;
}

function formatTally(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([word, count]) => `${formatNumber(count)} ${word}`)
    .join(", ");
}

function rate(calls: number, elapsedMs: number): string {
  return `${formatNumber(Math.round((calls * 1_000) / Math.max(elapsedMs, 1)))} calls/s`;
}

function countText(count: number | undefined): string {
  return count === undefined ? "" : formatNumber(count);
}

export function formatNumber(value: number): string {
  return value.toLocaleString("en");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
