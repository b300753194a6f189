/** Asks the person at the terminal for approvals. */
import type { CoveredCall } from "../../core/store/approval-store.ts";
import type { ApprovalAnswer, ApprovalRequest, Approver } from "../../core/approvals/ask.ts";
import type { ApprovalConfig } from "../../config/tables/policy-config.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import { previewLines } from "../commands/approvals/preview-lines.ts";
import type { Ask, CommandContext } from "../command.ts";
import { enqueueQuestion } from "./question-queue.ts";
import { safeJson, safeName, safeText, type Screen } from "./terminal-text.ts";

const ANSWERS: ReadonlyMap<string, ApprovalAnswer> = new Map([
  ["y", "allow-once"],
  ["i", "allow-input"],
  ["input", "allow-input"],
  ["yes", "allow-once"],
  ["a", "allow-always"],
  ["always", "allow-always"],
  ["n", "deny"],
  ["no", "deny"],
  ["", "deny"],
]);

/** Returns an approver that allows everything with `--yes`, and else asks the person; undefined without a terminal. */
export function createPersonApprover({ options, ask, err }: CommandContext): Approver | undefined {
  if (options.yes) return () => "allow-once";
  return ask === undefined ? undefined : createApprover(ask, err);
}

/** Returns an approver for use without a terminal if the configuration enables the inbox. It prints that the call waits, and never answers itself. */
export function createInboxApprover({ err }: CommandContext, { inbox }: ApprovalConfig): Approver | undefined {
  if (inbox !== true) return undefined;
  return ({ id, toolName, reason }) => {
    err.print(`? ${safeName(toolName)} waits for approval. ${safeText(reason)} Answer it with: haft approvals allow ${safeName(id)}`);
    return new Promise(() => {});
  };
}

/**
 * Makes an approver that shows the whole call and asks until the answer is yes, no or always. Enter alone means no. Questions of parallel calls are
 * asked one after another.
 */
function createApprover(ask: Ask, screen: Screen): Approver {
  return (request) => enqueueQuestion(ask, () => askUntilClear(request, ask, screen));
}

async function askUntilClear(request: ApprovalRequest, ask: Ask, screen: Screen): Promise<ApprovalAnswer> {
  request.signal.throwIfAborted(); // answered while it waited, by an "always" or the end of the call
  const description = safeText(request.description).replaceAll(/^/gmu, "    ");
  screen.print(`\n  ${screen.paint("yellow", `? May ${safeName(request.toolName)} run? ${safeText(request.reason)}`)}`);
  screen.print(`${screen.paint("dim", description)}\n${formatInput(request.input, "    ")}`);
  for (const { toolName, input } of request.within ?? [])
    screen.print(`${screen.paint("dim", `    It is made in ${safeName(toolName)}:`)}\n${formatInput(input, "      ")}`);
  for (const line of coveredLines(request.covers ?? [], screen)) screen.print(line);
  for (;;) {
    const text = (await ask(questionOf(request), request.signal)) ?? "";
    const word = text.trim().toLowerCase();
    const answer = ANSWERS.get(word);
    if (answer !== undefined) return answer;
    if (request.preview !== undefined && (word === "p" || word === "preview")) await showPreview(request.preview, screen);
    else screen.print("  Type y, n, i for this input in this session, or a for always in this session.");
  }
}

/** Returns lines for the other calls that the answer covers. */
function coveredLines(covers: readonly CoveredCall[], screen: Screen): readonly string[] {
  if (covers.length === 0) return [];
  const calls = covers.map(({ toolName, input }) => `      ${safeName(toolName)} ${safeJson(input)}`);
  return [screen.paint("dim", "    A yes covers these calls, as a simulation made them; others are asked about:"), ...calls];
}

function questionOf({ preview }: ApprovalRequest): string {
  return `  [y]es, [n]o, [a]lways in this session${preview === undefined ? "" : ", [p]review"}: `;
}

async function showPreview(preview: NonNullable<ApprovalRequest["preview"]>, screen: Screen): Promise<void> {
  for (const line of previewLines(await preview())) screen.print(screen.paint("dim", `    ${line}`));
}

/** Formats an input as JSON, and a string of several lines, such as a program, as plain text. */
function formatInput(input: JsonObject, indent: string): string {
  const hasLines = Object.values(input).some((value) => typeof value === "string" && value.includes("\n"));
  const lines = hasLines ? Object.entries(input).flatMap(fieldLines) : safeJson(input, 2).split("\n");
  return lines.map((line) => indent + line).join("\n");
}

function fieldLines([key, value]: readonly [string, JsonValue]): readonly string[] {
  if (typeof value !== "string" || !value.includes("\n")) return `${safeText(key)}: ${safeJson(value, 2)}`.split("\n");
  return [`${safeText(key)}:`, ...value.split("\n").map((line) => `  ${safeText(line)}`)];
}
