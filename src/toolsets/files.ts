/** A workspace folder as a toolset: read, list, search and, by default, change its files. @packageDocumentation */
import { quoteValue } from "../core/base/wording.ts";
import { checkName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { editTool, multiEditTool } from "./files/edit-file.ts";
import { globTool } from "./files/glob.ts";
import { grepTool } from "./files/grep.ts";
import { jsonReadTool, jsonWriteTool } from "./files/json-file.ts";
import { listTool } from "./files/list-files.ts";
import { readTool } from "./files/read-file.ts";
import { type PathGuard, Workspace } from "./files/workspace-path.ts";
import { writeTool } from "./files/write-file.ts";

/** Options of `filesToolset`: the folder the tools work in, and what they may do there. */
export interface FilesOptions {
  /** The workspace: an existing folder. Relative paths in calls start here. */
  readonly root: string;
  /** The namespace of the tools. @default "files" */
  readonly name?: string;
  /** How paths outside the workspace are treated. @default "block" */
  readonly guard?: PathGuard;
  /** Whether to leave out the tools that change files. @default false */
  readonly readOnly?: boolean;
  /** The names of the tools to include. @default all */
  readonly tools?: readonly string[];
  /**
   * Globs, relative to the workspace, of sensitive files that are allowed. Files that other programs run or obey, such as `package.json`,
   * `.vscode/**` or `.git/hooks/**`, may then be changed; files that hold credentials, such as `.env`, may be read and changed. `**` allows all.
   * @default none
   */
  readonly allowSensitive?: readonly string[];
  /** Paths of files and folders that are never changed, whatever `allowSensitive` says. A configuration adds its own files. @default none */
  readonly protect?: readonly string[];
  /** Paths of files and folders that are neither read nor changed. A configuration adds its store and the folder of its logins. @default none */
  readonly hide?: readonly string[];
  /** Whether a repeated read of an unchanged file is answered with one line instead of the text. @default false */
  readonly unchangedReads?: boolean;
  /** Whether PDFs are read as text, up to 32 MB, with the package `unpdf`; else as documents, which not every model can read. @default false */
  readonly pdfText?: boolean;
}

const OPTIONS: OptionNames<FilesOptions> = {
  root: true,
  name: true,
  guard: true,
  readOnly: "boolean",
  tools: "strings",
  allowSensitive: "strings",
  protect: "strings",
  hide: "strings",
  unchangedReads: "boolean",
  pdfText: true,
};
const GUARDS: ReadonlySet<unknown> = new Set(["block", "warn", "off"] satisfies PathGuard[]);

/**
 * Returns a toolset over one folder: `read`, `list`, `glob`, `grep`, `json_read`, and unless `readOnly`, `write`, `edit`, `multi_edit` and
 * `json_write`.
 *
 * Every call declares the files it touches, so that changes of one file wait for each other. A session must have read an existing file before it
 * changes it, and the change is refused if the file has changed on disk since. Links are followed only to targets inside the workspace. Files that
 * other programs run or obey are not written, and files that hold credentials are neither read nor written. Only names are checked: a hard link to
 * such a file under another name is an ordinary file and can be read; changing it replaces that name and leaves the content behind other links as it
 * was.
 *
 * @throws ToolError `invalid_config` if the root is not a readable folder, `invalid_argument` for other options
 */
export function filesToolset(options: FilesOptions): Toolset {
  checkKnownKeys(options, OPTIONS, "filesToolset()");
  const {
    root,
    name = "files",
    guard = "block",
    readOnly = false,
    allowSensitive = [],
    protect = [],
    hide = [],
    unchangedReads = false,
    pdfText = false,
  } = options;
  checkName(name, "toolset");
  if (typeof root !== "string" || root === "")
    throw new ToolError("invalid_config", `The toolset ${quoteValue(name)} needs a root: the path of its folder.`);
  if (!GUARDS.has(guard))
    throw new ToolError("invalid_argument", `The guard ${quoteValue(guard)} is unknown. Use "block", "warn" or "off".`);
  const workspace = new Workspace({ root, guard, allowSensitive, protect, hide });
  const reading: readonly Tool[] = [
    readTool(workspace, { unchangedReads, pdfText }),
    listTool(workspace),
    globTool(workspace),
    grepTool(workspace),
    jsonReadTool(workspace),
  ];
  const changing: readonly Tool[] = [writeTool(workspace), editTool(workspace), multiEditTool(workspace), jsonWriteTool(workspace)];
  const all = readOnly ? reading : [...reading, ...changing];
  return {
    name,
    description: `The files of the folder ${workspace.root}.`,
    tools: options.tools === undefined ? all : selectTools(all, options.tools),
  };
}

function selectTools(all: readonly Tool[], names: readonly string[]): readonly Tool[] {
  const unknown = names.find((name) => !all.some((tool) => tool.name === name));
  if (unknown === undefined) return all.filter(({ name }) => names.includes(name));
  throw new ToolError("invalid_argument", `filesToolset() has no tool ${quoteValue(unknown)}.`, {
    hint: `Known tools: ${all.map(({ name }) => name).join(", ")}.`,
  });
}
