/** The tool `notebook_edit`: replaces, inserts or deletes one cell. */
import type { ToolContext } from "../../core/context.ts";
import { getOwn } from "../../core/base/get-own.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { plural } from "../../core/base/wording.ts";
import type { Tool } from "../../core/tool.ts";
import { changeFile, decodeFile } from "../files/change-file.ts";
import { refusalError } from "../files/file-error.ts";
import { editPlainText } from "../files/json-file.ts";
import { type JsonLayout, removeItem, spliceItem, spliceValue } from "../files/json-splice.ts";
import { pathLine } from "../files/path-list.ts";
import type { Workspace } from "../files/workspace-path.ts";
import { PATH, splitLines, readNumber, parseNotebook, type CellType, type Notebook } from "./notebook-file.ts";

interface EditInput {
  readonly path: string;
  readonly cell: number;
  readonly action?: "replace" | "insert" | "delete";
  readonly source?: string;
  readonly type?: CellType;
}

export function editCellTool(workspace: Workspace): Tool {
  return {
    name: "notebook_edit",
    description:
      "Replaces the source of one cell of a Jupyter notebook, inserts a new cell before it, or deletes it. Cells are numbered from 0; to append, insert at the number of cells. " +
      "Outputs of a replaced code cell are removed. The notebook must have been read before.",
    inputSchema: {
      type: "object",
      properties: {
        path: PATH,
        cell: { type: "integer", minimum: 0 },
        action: { enum: ["replace", "insert", "delete"], description: "replace unless given." },
        source: { type: "string", description: "The new source; for replace and insert." },
        type: { enum: ["code", "markdown", "raw"], description: "The type of the cell; of a new one, code unless given." },
      },
      required: ["path", "cell"],
      additionalProperties: false,
    },
    validate: (input) =>
      input["action"] !== "delete" && input["source"] === undefined ? ['"source" is missing: replace and insert need it.'] : [],
    effects: { writes: (input) => [workspace.key(input["path"])] },
    execute: (input: EditInput, context: ToolContext) => editCell(workspace, input, context),
  };
}

async function editCell(workspace: Workspace, input: EditInput, context: ToolContext): Promise<string> {
  const { path, cell, action = "replace" } = input;
  let count = 0;
  const change = await changeFile({
    workspace,
    path,
    context,
    isWhole: false,
    revise: (before) => {
      if (before === undefined) throw refusalError(`${JSON.stringify(path)} does not exist.`, "Make the notebook with a file tool first.");
      const text = decodeFile(before);
      const notebook = parseNotebook(text, before.shown);
      checkCell(notebook, input, before.shown);
      count = notebook.cells.length + { replace: 0, insert: 1, delete: -1 }[action];
      return editPlainText(text, (plain, layout) => reviseText({ plain, layout }, { notebook, input, callId: context.callId }));
    },
  });
  const done = { replace: "Replaced", insert: "Inserted", delete: "Deleted" }[action];
  return `${done} cell ${cell} of ${pathLine(change.shown)}, which has ${plural(count, "cell")} now.`;
}

function checkCell({ cells }: Notebook, { cell: at, action = "replace" }: EditInput, shown: string): void {
  const last = action === "insert" ? cells.length : cells.length - 1;
  if (at > last)
    throw refusalError(
      `${JSON.stringify(shown)} has ${plural(cells.length, "cell")}; there is no cell ${at} to ${action === "insert" ? "insert before" : action}.`,
    );
}

interface Revision {
  readonly notebook: Notebook;
  readonly input: EditInput;
  readonly callId: string;
}

/** Returns the text of the notebook with one cell changed, and the rest as it is written. */
function reviseText(
  { plain, layout }: { readonly plain: string; readonly layout: JsonLayout },
  { notebook, input, callId }: Revision,
): string {
  const { cell: index, action = "replace", source = "", type } = input;
  const place = { steps: ["cells"], index };
  if (action === "delete") return removeItem(plain, place);
  if (action === "insert")
    return spliceItem(plain, { ...place, value: newCell(notebook.document, { type: type ?? "code", source, callId }) }, layout);
  return spliceValue(plain, ["cells", index], withSource(notebook.cells[index] ?? {}, source, type), layout);
}

/** Keeps the order of the keys. */
function withSource(cell: JsonObject, source: string, type: CellType | undefined): JsonObject {
  const cellType = type ?? getOwn(cell, "cell_type") ?? "code";
  const changed = { cell_type: cellType, source: [...splitLines(source)] };
  const { attachments: _attachments, ...keptOfCode } = cell; // only other cells may have attachments
  if (cellType === "code") return { ...keptOfCode, ...changed, ...NOT_RUN };
  const { outputs: _outputs, execution_count: _count, ...kept } = cell;
  return { ...kept, ...changed };
}

/** The fields of a code cell that was not run. */
const NOT_RUN = { execution_count: null, outputs: [] as readonly never[] };

/** Returns a new cell. Cells have ids since nbformat 4.5: 1 to 64 letters, digits, "-" and "_". */
function newCell(
  document: JsonObject,
  { type, source, callId }: { readonly type: CellType; readonly source: string; readonly callId: string },
): JsonObject {
  const minor = readNumber(getOwn(document, "nbformat_minor")) ?? 0;
  const id = minor >= 5 ? { id: callId.replaceAll(/[^\w-]/gu, "-").slice(-64) } : {};
  return { ...id, cell_type: type, metadata: {}, source: [...splitLines(source)], ...(type === "code" ? NOT_RUN : {}) };
}
