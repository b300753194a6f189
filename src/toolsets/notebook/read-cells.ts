/** The tool `notebook_read`: the cells of a notebook, with the text of their outputs. */
import type { ToolContext } from "../../core/context.ts";
import { ToolOutput } from "../../core/content.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { plural } from "../../core/base/wording.ts";
import type { Tool } from "../../core/tool.ts";
import { loadCurrent, decodeFile } from "../files/change-file.ts";
import { refusalError } from "../files/file-error.ts";
import { recordRead } from "../files/track-reads.ts";
import type { Workspace } from "../files/workspace-path.ts";
import { PATH, parseNotebook, joinLines } from "./notebook-file.ts";

const MAX_OUTPUT_CHARS = 2_000;

interface ReadInput {
  readonly path: string;
  readonly from?: number;
  readonly count?: number;
}

export function readCellsTool(workspace: Workspace): Tool {
  return {
    name: "notebook_read",
    description:
      "Reads the cells of a Jupyter notebook with the text of their outputs. Cells are numbered from 0. The notebook counts as read afterwards.",
    inputSchema: {
      type: "object",
      properties: {
        path: PATH,
        from: { type: "integer", minimum: 0, description: "The first cell." },
        count: { type: "integer", minimum: 1, maximum: 500, description: "How many cells; 50 unless given." },
      },
      required: ["path"],
      additionalProperties: false,
    },
    effects: { reads: (input) => [workspace.key(input["path"])], writes: [], idempotent: true },
    execute: (input: ReadInput, context: ToolContext) => readCells(workspace, input, context),
  };
}

async function readCells(workspace: Workspace, { path, from = 0, count = 50 }: ReadInput, context: ToolContext): Promise<ToolOutput> {
  const resolved = await workspace.resolveForRead(path, context);
  const file = await loadCurrent(resolved, context.signal);
  const { cells } = parseNotebook(decodeFile(file), file.shown);
  if (from > 0 && from >= cells.length)
    throw refusalError(`${JSON.stringify(file.shown)} has ${plural(cells.length, "cell")}; there is no cell ${from}.`);
  const shown = cells.slice(from, from + count);
  recordRead(context, resolved.real, file.known);
  const left = cells.length - from - shown.length;
  const parts = shown.map((cell, at) => cellText(cell, from + at));
  if (left > 0) parts.push(`(${plural(left, "more cell")}; continue with from: ${from + shown.length})`);
  const text = cells.length === 0 ? "The notebook has no cells." : parts.join("\n\n");
  return new ToolOutput({
    content: [{ type: "text", text }],
    output: { path: file.shown, cells: cells.length, from, shown: shown.length, text },
  });
}

/** Formats a cell: `[3] code`, the source, and the printed outputs. */
function cellText(cell: JsonObject, index: number): string {
  const heading = `[${index}] ${String(cell["cell_type"])}`;
  const outputs = getOwn(cell, "outputs");
  const printed = Array.isArray(outputs) ? outputs.map(outputText).filter((text) => text !== "") : [];
  return [heading, joinLines(getOwn(cell, "source")), ...printed.map((text) => `output: ${truncate(text)}`)].join("\n");
}

/** @see https://nbformat.readthedocs.io/en/latest/format_description.html#code-cell-outputs */
function outputText(output: JsonValue): string {
  if (!isJsonObject(output)) return "";
  const type = getOwn(output, "output_type");
  if (type === "stream") return joinLines(getOwn(output, "text"));
  if (type === "error") return `${joinLines(getOwn(output, "ename"))}: ${joinLines(getOwn(output, "evalue"))}`;
  const data = getOwn(output, "data");
  if (!isJsonObject(data)) return "";
  const plain = getOwn(data, "text/plain");
  return plain === undefined ? `(${Object.keys(data).join(", ")})` : joinLines(plain);
}

function truncate(text: string): string {
  return text.length <= MAX_OUTPUT_CHARS
    ? text.trimEnd()
    : `${text.slice(0, MAX_OUTPUT_CHARS).toWellFormed()} … (${text.length} characters)`;
}
