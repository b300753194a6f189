/** Parses a Jupyter notebook and its cells. */
import { ANSWER_LIMITS } from "../../core/answer-limits.ts";
import { own } from "../../core/base/own.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { parseAsWritten } from "../../core/base/written-numbers.ts";
import { withoutMark } from "../files/json-file.ts";
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
  const document = documentOf(text, shown);
  if (!isJsonObject(document)) throw notNotebook(shown, "it is not a JSON object");
  const version = own(document, "nbformat");
  if (numberIn(version) !== 4) throw notNotebook(shown, `its nbformat is ${JSON.stringify(version ?? null)}, and only 4 is supported`);
  const cells = own(document, "cells");
  if (!Array.isArray(cells)) throw notNotebook(shown, '"cells" is not an array');
  return { document, cells: cells.map((cell, index) => checkedCell(cell, index, shown)) };
}

/** Returns a number of the document, even if it is written as `4.0`; undefined for other values. */
export function numberIn(value: JsonValue | undefined): number | undefined {
  const number: unknown = value === undefined ? undefined : parseJson(JSON.stringify(value), { longIntegers: "round" });
  return typeof number === "number" ? number : undefined;
}

/** Returns the text of a cell's source or of an output: a string, or an array of lines. */
export function textOfLines(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return value.map((line) => (typeof line === "string" ? line : "")).join("");
  return typeof value === "string" ? value : "";
}

/** Returns source in the form of notebooks: an array of lines, each with its line end. */
export function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/u);
}

function documentOf(text: string, shown: string): JsonValue {
  try {
    const plain = withoutMark(text);
    parseJson(plain, { maxChars: MAX_CHARS, maxWideKeys: ANSWER_LIMITS.maxWideKeys, longIntegers: "round" });
    return parseAsWritten(plain) as JsonValue; // known to be JSON from the line above
  } catch (thrown: unknown) {
    const { code, message } = ToolError.fromUnknown(thrown);
    if (code === "too_large")
      throw new ToolError("too_large", `${JSON.stringify(shown)}: ${message}`, { outcome: "failed", cause: thrown });
    throw notNotebook(shown, message.replace(/\.$/u, ""));
  }
}

function checkedCell(cell: JsonValue, index: number, shown: string): JsonObject {
  const type = isJsonObject(cell) ? own(cell, "cell_type") : undefined;
  if (isJsonObject(cell) && (type === "code" || type === "markdown" || type === "raw")) return cell;
  throw notNotebook(shown, `its cell ${index} is not a code, markdown or raw cell`);
}

function notNotebook(shown: string, reason: string): ToolError {
  return new ToolError("execution_failed", `${JSON.stringify(shown)} cannot be read as a notebook: ${reason}.`, {
    outcome: "failed",
    hint: "Notebooks are .ipynb files of Jupyter, nbformat 4.",
  });
}
