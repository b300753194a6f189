/** The toolset `notebook`: cells of Jupyter notebooks in a folder. @packageDocumentation */
import { quoteValue } from "../core/base/wording.ts";
import { checkName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Toolset } from "../core/toolset.ts";
import { Workspace, type PathGuard } from "./files/workspace-path.ts";
import { editCellTool } from "./notebook/edit-cell.ts";
import { readCellsTool } from "./notebook/read-cells.ts";

/** Options of `notebookToolset`. */
export interface NotebookOptions {
  /** The folder of the notebooks, which must exist. Relative paths in calls start here. */
  readonly root: string;
  /** The namespace of the tools. @default "notebook" */
  readonly name?: string;
  /** How paths outside the folder are treated. @default "block" */
  readonly guard?: PathGuard;
}

const OPTIONS: OptionNames<NotebookOptions> = { root: true, name: true, guard: true };

/**
 * Returns the tools `notebook_read` and `notebook_edit` over the `.ipynb` files (nbformat 4) of one folder. Cells are read, replaced, inserted and
 * deleted, never run. As with `filesToolset`, a notebook must be read before it is changed, and the change is refused if it has changed on disk
 * since.
 *
 * @throws ToolError `invalid_config` if the root is not a readable folder, `invalid_argument` for other options
 * @see https://nbformat.readthedocs.io/en/latest/format_description.html
 */
export function notebookToolset(options: NotebookOptions): Toolset {
  checkKnownKeys(options, OPTIONS, "notebookToolset()");
  const { root, name = "notebook", guard = "block" } = options;
  checkName(name, "toolset");
  if (typeof root !== "string" || root === "")
    throw new ToolError("invalid_config", `The toolset ${JSON.stringify(name)} needs a root: the path of its folder.`);
  if (guard !== "block" && guard !== "warn" && guard !== "off")
    throw new ToolError("invalid_argument", `The guard ${quoteValue(guard)} is unknown. Use "block", "warn" or "off".`);
  const workspace = new Workspace({ root, guard, allowSensitive: [] });
  return {
    name,
    description: `The notebooks of the folder ${workspace.root}.`,
    tools: [readCellsTool(workspace), editCellTool(workspace)],
  };
}
