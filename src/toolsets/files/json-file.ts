/** The tools `json_read` and `json_write`: one value of a JSON file. */
import { ANSWER_LIMITS } from "../../core/answers/answer-limits.ts";
import type { ToolContext } from "../../core/context.ts";
import { ToolOutput } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_DEPTH, type JsonValue } from "../../core/base/json.ts";
import type { JsonStep } from "../../core/base/json-steps.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import type { Tool } from "../../core/tool.ts";
import { pathLine } from "./path-list.ts";
import { changeFile, loadCurrent, decodeFile } from "./change-file.ts";
import { parseJsonPath, getValueAt, withValueAt } from "./json-path.ts";
import { type JsonLayout, spliceValue } from "./json-splice.ts";
import { recordRead } from "./track-reads.ts";
import { supersedesFileCalls } from "./supersede-file-calls.ts";
import { pathSchema, type Workspace } from "./workspace-path.ts";

const MAX_JSON_CHARS = 4 * 1024 * 1024;
const DEFAULT_INDENT = "  ";

interface JsonReadInput {
  readonly path: string;
  readonly at?: string;
}

interface JsonWriteInput {
  readonly path: string;
  readonly at: string;
  readonly value: JsonValue;
}

const PATH = pathSchema("Path of the JSON file, relative to the workspace.");
const AT = {
  type: "string",
  maxLength: 1000,
  description: 'Where in the document: a.b[0].c, or ["my.key"] for a key with other characters; "" is the whole document.',
};

export function jsonReadTool(workspace: Workspace): Tool {
  return {
    name: "json_read",
    description: "Reads one value of a JSON file, or the whole of it. The file counts as read afterwards.",
    inputSchema: { type: "object", properties: { path: PATH, at: AT }, required: ["path"], additionalProperties: false },
    effects: { reads: (input) => [workspace.key(input["path"])], writes: [], idempotent: true },
    supersedes: supersedesFileCalls(workspace),
    execute: (input: JsonReadInput, context: ToolContext) => readJson(workspace, input, context),
  };
}

export function jsonWriteTool(workspace: Workspace): Tool {
  return {
    name: "json_write",
    description:
      "Sets one value of a JSON file; missing objects on the way are made, and so is a missing file. An existing file must have been read before. " +
      'A string that is JSON is stored as that value ("5" as the number 5); to store such a string itself, put it in quotes ("\\"5\\"").',
    inputSchema: {
      type: "object",
      properties: { path: PATH, at: AT, value: { description: "The value to store." } },
      required: ["path", "at", "value"],
      additionalProperties: false,
    },
    effects: { writes: (input) => [workspace.key(input["path"])], idempotent: true },
    supersedes: supersedesFileCalls(workspace),
    execute: (input: JsonWriteInput, context: ToolContext) => writeJson(workspace, input, context),
  };
}

async function readJson(workspace: Workspace, input: JsonReadInput, context: ToolContext): Promise<JsonValue> {
  const steps = parseJsonPath(input.at ?? "");
  const resolved = await workspace.resolveForRead(input.path, context);
  const file = await loadCurrent(resolved, context.signal);
  const value = getValueAt(parseDocument(decodeFile(file), file.shown), steps);
  recordRead(context, resolved.real, file.known);
  return value;
}

async function writeJson(workspace: Workspace, input: JsonWriteInput, context: ToolContext): Promise<ToolOutput> {
  const steps = parseJsonPath(input.at);
  const value = parseIfJson(input.value);
  parseJson(JSON.stringify(value), { maxDepth: DEFAULT_MAX_DEPTH - steps.length }); // a deeper value would make the file unreadable
  const change = await changeFile({
    workspace,
    path: input.path,
    context,
    isWhole: steps.length === 0,
    revise: (before) => {
      const text = before === undefined ? undefined : decodeFile(before);
      return text === undefined ? formatDocument(withValueAt(undefined, steps, value), text) : setValue(text, { input, steps, value });
    },
  });
  const text = `${change.created ? "Created" : "Updated"} ${pathLine(change.shown)}.`;
  return new ToolOutput({
    content: [{ type: "text", text }],
    output: { path: change.shown, created: change.created, at: input.at, value },
  });
}

interface Setting {
  readonly input: JsonWriteInput;
  readonly steps: readonly JsonStep[];
  readonly value: JsonValue;
}

/** Returns the text with one value set, and the rest as it is written. @throws ToolError the errors of `parseDocument` and `withValueAt` */
function setValue(text: string, { input, steps, value }: Setting): string {
  const document = withValueAt(parseDocument(text, input.path, "round"), steps, value);
  if (steps.length === 0) return formatDocument(document, text);
  return editPlainText(text, (plain, layout) => spliceValue(plain, steps, value, layout));
}

/** Changes a document without its byte order mark, which is kept. */
export function editPlainText(text: string, edit: (plain: string, layout: JsonLayout) => string): string {
  const plain = withoutByteOrderMark(text);
  const layout = { indent: indentOf(text), lineEnd: text.includes("\r\n") ? "\r\n" : "\n" };
  return text.slice(0, text.length - plain.length) + edit(plain, layout);
}

/** Returns the parsed value of a string that is JSON: models often send numbers and objects as text. */
function parseIfJson(value: JsonValue): JsonValue {
  if (typeof value !== "string") return value;
  try {
    return parseJson(value);
  } catch {
    return value;
  }
}

function parseDocument(text: string, shown: string, longIntegers: "refuse" | "round" = "refuse"): JsonValue {
  try {
    return parseJson(withoutByteOrderMark(text), { maxChars: MAX_JSON_CHARS, maxWideKeys: ANSWER_LIMITS.maxWideKeys, longIntegers });
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    const code = error.code === "too_large" ? "too_large" : "execution_failed";
    throw new ToolError(code, `${JSON.stringify(shown)}: ${error.message}`, {
      outcome: "failed",
      cause: thrown,
      hint: "Use read and edit to work on its text.",
    });
  }
}

/** Writes the document with the indentation, byte order mark and line ends of the previous text. */
function formatDocument(document: JsonValue, before: string | undefined): string {
  if (before === undefined) return `${JSON.stringify(document, null, DEFAULT_INDENT)}\n`;
  const mark = before.startsWith("\ufeff") ? "\ufeff" : "";
  const text = `${JSON.stringify(document, null, indentOf(before))}${before.endsWith("\n") ? "\n" : ""}`;
  return mark + (before.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text);
}

/** Returns the indentation of one level; empty for a document in one line. */
function indentOf(text: string): string {
  const first = /^[[{]\r?\n([ \t]{1,10})\S/u.exec(withoutByteOrderMark(text))?.[1];
  return first ?? (text.trimEnd().includes("\n") ? DEFAULT_INDENT : "");
}

/** Removes the byte order mark. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}
