/** Parses a Jupyter notebook and its cells. */
import { ANSWER_LIMITS } from "../../core/answers/answer-limits.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { parseWithRawNumbers } from "../../core/base/raw-numbers.ts";
import { withoutByteOrderMark } from "../files/json-file.ts";
import { pathSchema } from "../files/workspace-path.ts";

const MAX_CHARS = 16 * 1024 * 1024;

export type CellType = "code" | "markdown" | "raw";

export interface Notebook {
  /** The whole document. */
  readonly document: JsonObject;
  readonly cells: readonly JsonObject[];
}

export const PATH = pathSchema("Path of the .ipynb file, relative to the workspace.");

/** @throws ToolError `execution_failed` saying why it is not a notebook, `too_large` */
export function parseNotebook(text: string, shown: string): Notebook {
  const document = parseDocument(text, shown);
  if (!isJsonObject(document)) throw notNotebookError(shown, "it is not a JSON object");
  const version = getOwn(document, "nbformat");
  if (readNumber(version) !== 4)
    throw notNotebookError(shown, `its nbformat is ${JSON.stringify(version ?? null)}, and only 4 is supported`);
  const cells = getOwn(document, "cells");
  if (!Array.isArray(cells)) throw notNotebookError(shown, '"cells" is not an array');
  return { document, cells: cells.map((cell, index) => checkCell(cell, index, shown)) };
}

/** Returns a number of the document, even if it is written as `4.0`; undefined for other values. */
export function readNumber(value: JsonValue | undefined): number | undefined {
  const number: unknown = value === undefined ? undefined : parseJson(JSON.stringify(value), { longIntegers: "round" });
  return typeof number === "number" ? number : undefined;
}

/** Returns the text of a cell's source or of an output: a string, or an array of lines. */
export function joinLines(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return value.map((line) => (typeof line === "string" ? line : "")).join("");
  return typeof value === "string" ? value : "";
}

/** Returns source in the form of notebooks: an array of lines, each with its line end. */
export function splitLines(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/u);
}

function parseDocument(text: string, shown: string): JsonValue {
  try {
    const plain = withoutByteOrderMark(text);
    parseJson(plain, { maxChars: MAX_CHARS, maxWideKeys: ANSWER_LIMITS.maxWideKeys, longIntegers: "round" });
    return parseWithRawNumbers(plain) as JsonValue; // known to be JSON from the line above
  } catch (thrown: unknown) {
    const { code, message } = ToolError.fromUnknown(thrown);
    if (code === "too_large")
      throw new ToolError("too_large", `${JSON.stringify(shown)}: ${message}`, { outcome: "failed", cause: thrown });
    throw notNotebookError(shown, message.replace(/\.$/u, ""));
  }
}

function checkCell(cell: JsonValue, index: number, shown: string): JsonObject {
  const type = isJsonObject(cell) ? getOwn(cell, "cell_type") : undefined;
  if (isJsonObject(cell) && (type === "code" || type === "markdown" || type === "raw")) return cell;
  throw notNotebookError(shown, `its cell ${index} is not a code, markdown or raw cell`);
}

function notNotebookError(shown: string, reason: string): ToolError {
  return new ToolError("execution_failed", `${JSON.stringify(shown)} cannot be read as a notebook: ${reason}.`, {
    outcome: "failed",
    hint: "Notebooks are .ipynb files of Jupyter, nbformat 4.",
  });
}
