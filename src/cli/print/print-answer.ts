import { resultText, type ToolResult } from "../../core/result.ts";
import type { CommandContext } from "../command.ts";
import { errorLines, repairText } from "./print-result.ts";
import { safeJson, safeText } from "../terminal/terminal-text.ts";

/** Prints the result of one call: the answer on standard output, warnings about it on standard error. */
export function printAnswer({ out, err, options }: Pick<CommandContext, "out" | "err" | "options">, result: ToolResult): void {
  if (options.json) {
    out.writeJson(result);
    return;
  }
  const origin = result.origin === "live" ? [] : [originText(result)];
  for (const note of [...result.repairs.map(repairText), ...result.warnings.map(safeText), ...origin]) err.print(err.paint("yellow", note));
  const text = answerText(result);
  if (text !== "") out.write(`${out.isTerminal ? safeText(text) : text}${text.endsWith("\n") ? "" : "\n"}`);
  if (result.error !== undefined) err.print(errorLines(result.error, err));
}

/** Returns `origin: simulated by example (schema-valid)`. */
function originText({ origin, answeredBy = origin, fidelity }: ToolResult): string {
  return `origin: ${origin}${answeredBy === origin ? "" : ` by ${answeredBy}`}${fidelity === undefined ? "" : ` (${fidelity})`}`;
}

function answerText(result: ToolResult): string {
  const { error: _error, ...answer } = result;
  if (result.content === undefined && typeof result.output === "object") return safeJson(result.output, 2);
  return resultText({ ...answer, status: "ok" });
}
