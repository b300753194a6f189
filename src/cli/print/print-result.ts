/** Formats results, repairs and errors for a terminal. */
import { minOf } from "../../core/collections/push-all.ts";
import type { ErrorInfo } from "../../core/error.ts";
import { resultText, type Repair, type ToolResult } from "../../core/result.ts";
import { plural } from "../../core/base/wording.ts";
import { truncateToWidth, formatDuration, toOneLine, safeName, safeText, wrap, type Screen } from "../terminal/terminal-text.ts";
import { countColumns, padColumns } from "../terminal/text-width.ts";

const MARKS = { ok: "✓", partial: "~", error: "✗", cancelled: "✗", skipped: "-", pending: "…" } as const;
const COLOURS = { ok: "green", partial: "yellow", error: "red", cancelled: "red", skipped: "dim", pending: "dim" } as const;

/** The indent of text under the line of a call. */
const INDENT = "        ";
const MAX_BLOCK_LINES = 8;
const MAX_NOTE_LENGTH = 400;
/** Maximum length of a line, which is wider than any terminal. */
const MAX_LINE_LENGTH = 1_000;

export interface ResultStyle {
  readonly screen: Pick<Screen, "paint">;
  readonly width: number;
  /** The call's label, such as `#3`. */
  readonly label: string;
  /** Number of columns for the tool's name. */
  readonly nameWidth: number;
  /** The waits of the call, as text. */
  readonly waits: readonly string[];
}

/** Returns a line for a result, and lines under it for a long answer, an error, repairs, waits and warnings. */
export function resultLines(result: ToolResult, style: ResultStyle): readonly string[] {
  const { screen, width, label, nameWidth, waits } = style;
  const { paint } = screen;
  const name = padColumns(safeName(result.name), nameWidth);
  const origin = result.origin === "live" ? "" : `  ${result.origin}`;
  const duration = formatDuration(result.durationMs).padStart(7) + origin;
  const head = `  ${paint(COLOURS[result.status], MARKS[result.status])} ${label} ${name}  ${paint("dim", duration)}`;
  const remainingWidth = width - countColumns(`  ✓ ${label} ${name}  ${duration}  `);
  const under = width - INDENT.length;
  const { line, block } = result.error === undefined ? answerParts(result, remainingWidth, under) : errorParts(result, result.error, under);
  const facts = [
    ...waits,
    ...(result.attempts > 1 ? [`took ${plural(result.attempts, "attempt")}`] : []),
    ...(result.fault === undefined ? [] : [`the fault ${safeText(result.fault)} was put in on purpose`]),
  ];
  return [
    line === "" ? head : `${head}  ${line}`,
    ...block.map((text) => `${INDENT}${text}`),
    ...facts.map((fact) => `${INDENT}${paint("dim", fact)}`),
    ...result.repairs.map((repair) => `${INDENT}${paint("yellow", repairText(repair))}`),
    ...result.warnings.map((warning) => `${INDENT}${paint("yellow", toOneLine(warning, MAX_NOTE_LENGTH))}`),
  ];
}

interface AnswerParts {
  /** The text next to the tool's name. */
  readonly line: string;
  /** The lines under it. */
  readonly block: readonly string[];
}

function answerParts(result: ToolResult, left: number, width: number): AnswerParts {
  const text = resultText(result).trimEnd();
  if (!text.includes("\n")) return { line: toOneLine(text, left), block: [] };
  const lines = text.split("\n");
  const first = lines
    .slice(0, MAX_BLOCK_LINES)
    .map((line) => safeText(truncateToWidth(line.trimEnd(), MAX_LINE_LENGTH)).replaceAll("\t", "  "));
  const margin = minOf(first.filter((line) => line.trim() !== "").map((line) => line.search(/\S/u)));
  const shown = first.map((line) => truncateToWidth(line.slice(margin).trimEnd(), width));
  const hidden = lines.length - shown.length;
  return { line: "", block: hidden > 0 ? [...shown, `… and ${plural(hidden, "more line")}`] : shown };
}

function errorParts(result: ToolResult, error: ErrorInfo, width: number): AnswerParts {
  const { error: _error, ...answer } = result;
  const text = truncateToWidth(resultText({ ...answer, status: "ok" }), MAX_NOTE_LENGTH);
  const parts = [error.message, ...(error.details ?? []), error.operatorHint ?? error.hint ?? "", text].filter((part) => part !== "");
  return { line: error.code, block: parts.flatMap((part) => wrap(part, width)) };
}

/** Returns `repaired $.days: "3" → 3`, or `filled in $.days: missing → 1` for a default. */
export function repairText(repair: Repair): string {
  return `${repair.kind === "defaulted" ? "filled in" : "repaired"} ${safeText(repair.path)}: ${toOneLine(repair.note, MAX_NOTE_LENGTH)}`;
}

/** Returns lines for an error, its details and its hint. */
export function errorLines(error: ErrorInfo, { paint }: Pick<Screen, "paint">): string {
  const { headline, details } = removeRepetition(error);
  const lines = [`${paint("red", `haft: ${error.code}:`)} ${safeText(headline)}`, ...details.map((detail) => `  ${safeText(detail)}`)];
  if (error.retryAfterMs !== undefined) lines.push(`  It may be tried again in ${formatDuration(error.retryAfterMs)}.`);
  const hint = error.operatorHint ?? error.hint;
  if (hint !== undefined) lines.push(`  ${safeText(hint)}`);
  return lines.join("\n");
}

/** Removes a repetition: the message of a bad file is its first problem, "(and 4 more)", and its details are all problems, or the first twenty. */
function removeRepetition({ message, details = [] }: ErrorInfo): { readonly headline: string; readonly details: readonly string[] } {
  const [first] = details;
  if (first === undefined || !message.startsWith(first)) return { headline: message, details };
  const more = Number(/^ \(and (\d+) more\)$/u.exec(message.slice(first.length))?.[1] ?? 0);
  if (more === 0) return { headline: first, details: details.slice(1) };
  const unlisted = more + 1 - details.length;
  return { headline: `${more + 1} problems`, details: unlisted > 0 ? [...details, `and ${unlisted} more`] : details };
}
