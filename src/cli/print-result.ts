/** How results, errors and repairs look in a terminal. */
import type { ErrorInfo } from "../core/error.ts";
import { resultText } from "../core/result.ts";
import type { ToolResult } from "../core/result.ts";
import { duration, oneLine, plural, safeText } from "./terminal-text.ts";
import type { Paint } from "./terminal-text.ts";

const MARKS = { ok: "✓", partial: "~", error: "✗", cancelled: "✗", skipped: "-" } as const;
const COLOURS = { ok: "green", partial: "yellow", error: "red", cancelled: "red", skipped: "dim" } as const;

/** One line for a result, and one more for each repair and warning. */
export function resultLines(result: ToolResult, label: string, options: { readonly paint: Paint; readonly width: number }): readonly string[] {
  const { paint, width } = options;
  const mark = paint(COLOURS[result.status], MARKS[result.status]);
  const attempts = result.attempts > 1 ? `, ${plural(result.attempts, "attempt")}` : "";
  const facts = paint("dim", `${duration(result.durationMs)}${attempts}, ${result.origin}`);
  const lines = [`${mark} ${label} ${safeText(result.name)} (${facts}) ${answerLine(result, Math.max(30, width - label.length - result.name.length - 30))}`];
  if (result.error?.hint !== undefined) lines.push(`    ${paint("dim", `hint: ${oneLine(result.error.hint, width)}`)}`);
  for (const repair of result.repairs) lines.push(`    ${paint("yellow", `repaired ${safeText(repair.path)}: ${oneLine(repair.note, width)}`)}`);
  for (const warning of result.warnings) lines.push(`    ${paint("yellow", oneLine(warning, width))}`);
  return lines;
}

function answerLine(result: ToolResult, width: number): string {
  if (result.error === undefined) return oneLine(resultText(result), width);
  const details = (result.error.details ?? []).length === 0 ? "" : ` ${(result.error.details ?? []).join("; ")}`;
  return oneLine(`${result.error.code}: ${result.error.message}${details}`, width * 2);
}

/** An error with its details and hint, for standard error. */
export function errorLines(error: ErrorInfo, paint: Paint): string {
  const lines = [`${paint("red", `haft: ${error.code}:`)} ${safeText(error.message)}`];
  for (const detail of error.details ?? []) lines.push(`  ${safeText(detail)}`);
  if (error.hint !== undefined) lines.push(`  ${paint("dim", safeText(error.hint))}`);
  return `${lines.join("\n")}\n`;
}
