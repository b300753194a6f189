/** The tools `edit` and `multi_edit`: exact replacements in a file that was read. */
import type { JsonObject } from "../../core/base/json.ts";
import type { ToolContext } from "../../core/context.ts";
import { ToolOutput } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { plural } from "../../core/base/wording.ts";
import { type CurrentFile, changeFile, decodeFile } from "./change-file.ts";
import { yieldToEventLoop } from "./file-bytes.ts";
import { refusalError } from "./file-error.ts";
import { pathLine } from "./path-list.ts";
import { supersedesFileCalls } from "./supersede-file-calls.ts";
import { applyDiff } from "./text-diff.ts";
import { type EditOutcome, type TextEdit, applyEdit } from "./text-edit.ts";
import { pathSchema, type Workspace } from "./workspace-path.ts";

/** One exact replacement, or a diff. */
interface EditInput extends Partial<TextEdit> {
  readonly path: string;
  readonly diff?: string;
}

/** `strict`: all edits or none; `partial`: up to the first that fails; `best_effort`: all that can be applied. */
type EditMode = "strict" | "partial" | "best_effort";

interface MultiEditInput {
  readonly path: string;
  readonly edits: readonly TextEdit[];
  readonly mode?: EditMode;
}

const PATH = pathSchema("Path of the file, relative to the workspace.");
const EDIT = {
  old: {
    type: "string",
    minLength: 1,
    description: "The exact text to replace, without line numbers. It must occur once, unless replaceAll is true.",
  },
  new: { type: "string", description: "The text to put in its place; empty to delete it." },
  replaceAll: { type: "boolean", description: "Replace every occurrence. Default false." },
};

const DIFF = {
  type: "string",
  minLength: 1,
  description: "A unified diff of this file, in place of old and new. Its line numbers may be wrong; the lines it shows may not.",
};

const MULTI_EDIT_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    path: PATH,
    edits: {
      type: "array",
      minItems: 1,
      maxItems: 100,
      items: { type: "object", properties: EDIT, required: ["old", "new"], additionalProperties: false },
    },
    mode: { enum: ["strict", "partial", "best_effort"], description: "What happens when an edit fails. Default strict." },
  },
  required: ["path", "edits"],
  additionalProperties: false,
};

export function editTool(workspace: Workspace): Tool {
  return {
    name: "edit",
    description:
      "Replaces an exact piece of text in a file: give old and new, or a unified diff. The file must have been read before, and must not have changed since.",
    inputSchema: { type: "object", properties: { path: PATH, ...EDIT, diff: DIFF }, required: ["path"], additionalProperties: false },
    validate: editProblems,
    effects: { writes: (input) => [workspace.key(input["path"])], idempotent: false },
    supersedes: supersedesFileCalls(workspace),
    execute: (input: EditInput, context: ToolContext) => editFile(workspace, input, context),
  };
}

export function multiEditTool(workspace: Workspace): Tool {
  return {
    name: "multi_edit",
    description:
      "Makes several exact replacements in one file, in order; each sees what the ones before it left. The file must have been read before. " +
      "Mode strict (default) writes all edits or none, partial those before the first that fails, best_effort all that can be applied.",
    inputSchema: MULTI_EDIT_SCHEMA,
    effects: { writes: (input) => [workspace.key(input["path"])], idempotent: false },
    supersedes: supersedesFileCalls(workspace),
    execute: (input: MultiEditInput, context: ToolContext) => multiEditFile(workspace, input, context),
  };
}

/** Requires either `old` and `new` or `diff`, not both. */
function editProblems({ old, new: replacement, diff, replaceAll }: JsonObject): readonly string[] {
  if (diff === undefined)
    return [
      ...(old === undefined ? ["$.old: is missing: give old and new, or diff"] : []),
      ...(replacement === undefined ? ["$.new: is missing: give old and new, or diff"] : []),
    ];
  return old === undefined && replacement === undefined && replaceAll === undefined
    ? []
    : ["$.diff: cannot be combined with old, new and replaceAll"];
}

function applyInput(before: string, { old = "", new: replacement = "", replaceAll = false, diff }: EditInput): EditOutcome {
  return diff === undefined ? applyEdit(before, { old, new: replacement, replaceAll }) : applyDiff(before, diff);
}

async function editFile(workspace: Workspace, input: EditInput, context: ToolContext): Promise<ToolOutput> {
  let replacements = 0;
  let line = 0;
  const change = await changeFile({
    workspace,
    path: input.path,
    context,
    isWhole: false,
    revise: (before) => {
      const outcome = applyInput(textToEdit(before, input.path), input);
      if ("problem" in outcome)
        throw refusalError(`Cannot edit ${JSON.stringify(input.path)}: ${outcome.problem}. Nothing was written.`, outcome.hint);
      ({ replacements, line } = outcome);
      return outcome.text;
    },
  });
  const changes = plural(replacements, input.diff === undefined ? "replacement" : "hunk");
  const text = `Updated ${pathLine(change.shown)}: ${changes}, the first at line ${line}.`;
  return new ToolOutput({ content: [{ type: "text", text }], output: { path: change.shown, replacements, line } });
}

async function multiEditFile(workspace: Workspace, input: MultiEditInput, context: ToolContext): Promise<ToolOutput> {
  let reports: readonly EditReport[] = [];
  const change = await changeFile({
    workspace,
    path: input.path,
    context,
    isWhole: false,
    revise: async (before) => {
      const run = await applyEdits(textToEdit(before, input.path), input, context.signal);
      reports = run.reports;
      const applied = appliedCount(reports);
      if (applied === 0 || (applied < reports.length && (input.mode ?? "strict") === "strict")) throw editsFailedError(input, reports);
      return run.text;
    },
  });
  const summary = `Updated ${pathLine(change.shown)}: ${appliedCount(reports)} of ${plural(reports.length, "edit")} applied.`;
  const text = [summary, ...reports.map(describeReport)].join("\n");
  return new ToolOutput({ content: [{ type: "text", text }], output: { path: change.shown, edits: reports } });
}

function textToEdit(before: CurrentFile | undefined, path: string): string {
  if (before === undefined) throw refusalError(`Cannot edit ${JSON.stringify(path)}: it does not exist.`, "Use write to create it.");
  return decodeFile(before);
}

interface EditReport {
  /** The number of the edit, from 1. */
  readonly edit: number;
  readonly status: "applied" | "failed" | "skipped";
  readonly note: string;
}

const LONG_TEXT = 256 * 1024;

/** Tries every edit in strict mode too, so that one answer lists all problems. */
async function applyEdits(
  before: string,
  input: MultiEditInput,
  signal: AbortSignal,
): Promise<{ text: string; reports: readonly EditReport[] }> {
  const reports: EditReport[] = [];
  let text = before;
  let failed = false;
  for (const [index, edit] of input.edits.entries()) {
    if (failed && input.mode === "partial") {
      reports.push({ edit: index + 1, status: "skipped", note: "an edit before it failed" });
      continue;
    }
    if (text.length > LONG_TEXT) await yieldToEventLoop(signal);
    const outcome = applyEdit(text, edit);
    if ("problem" in outcome) {
      failed = true;
      reports.push({ edit: index + 1, status: "failed", note: `${outcome.problem}. ${outcome.hint}` });
    } else {
      text = outcome.text;
      reports.push({
        edit: index + 1,
        status: "applied",
        note: `${plural(outcome.replacements, "replacement")}, the first at line ${outcome.line}`,
      });
    }
  }
  return { text, reports };
}

function editsFailedError(input: MultiEditInput, reports: readonly EditReport[]): ToolError {
  const failed = reports.filter(({ status }) => status === "failed");
  return new ToolError(
    "execution_failed",
    `${failed.length} of ${plural(reports.length, "edit")} of ${JSON.stringify(input.path)} failed. Nothing was written.`,
    {
      outcome: "failed",
      hint: "Correct the edits that failed and send all of them again.",
      details: failed.map(describeReport),
    },
  );
}

function describeReport(report: EditReport): string {
  return `edit ${report.edit} ${report.status}: ${report.note}`;
}

function appliedCount(reports: readonly EditReport[]): number {
  return reports.filter(({ status }) => status === "applied").length;
}
