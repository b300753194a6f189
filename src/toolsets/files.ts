/** A workspace folder as a toolset: read, list, search and, by default, change its files. @packageDocumentation */
import { quoted } from "../core/base/wording.ts";
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

/** Which folder the tools work in, and what they may do there. */
export interface FilesOptions {
  /** The workspace: an existing folder. Relative paths in calls start here. */
  readonly root: string;
  /** The namespace of the tools. @default "files" */
  readonly name?: string;
  /** How paths outside the workspace are treated. @default "block" */
  readonly guard?: PathGuard;
  /** Leave out the tools that change files. @default false */
  readonly readOnly?: boolean;
  /** Only these of the tools, by their names. @default all */
  readonly tools?: readonly string[];
  /**
   * Globs, relative to the workspace, of files that may be changed although other programs run or obey them, such as `package.json`,
   * `.vscode/**` or `.git/hooks/**`, or read and changed although credentials are kept there, such as `.env`. `**` allows all.
   * @default none
   */
  readonly allowSensitive?: readonly string[];
  /** Paths of files and folders that are not changed, whatever `allowSensitive` says. A configuration file gives its own. @default none */
  readonly protect?: readonly string[];
  /** Answer a repeated read of an unchanged file with one line instead of its text. @default false */
  readonly unchangedReads?: boolean;
  /** Give the text of PDFs up to 32 MB, with the package `unpdf`, in place of the documents, which not every model reads. @default false */
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
  unchangedReads: "boolean",
  pdfText: true,
};
const GUARDS: ReadonlySet<unknown> = new Set(["block", "warn", "off"] satisfies PathGuard[]);

/**
 * Makes the tools `read`, `list`, `glob`, `grep`, `json_read`, and with them `write`, `edit`, `multi_edit` and
 * `json_write`, over one folder.
 *
 * Every call declares the files it touches, so that changes of one file wait for each other. A session must have
 * read an existing file before it changes it, and a change made on disk in between is noticed. Links are
 * followed only to what lies inside the workspace. Files that other programs run or obey are not written, and files where credentials
 * are kept are neither read nor written. Names decide: a hard link to such a file under another name is an ordinary file, and its content
 * is read like any other's; a change of it replaces the name and leaves what other links show as it was.
 *
 * @throws ToolError `invalid_config` when the root is not a folder that can be read, `invalid_argument` for other options
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
    unchangedReads = false,
    pdfText = false,
  } = options;
  checkName(name, "toolset");
  if (typeof root !== "string" || root === "")
    throw new ToolError("invalid_config", `The toolset ${quoted(name)} needs a root: the path of its folder.`);
  if (!GUARDS.has(guard)) throw new ToolError("invalid_argument", `The guard ${quoted(guard)} is unknown. Use "block", "warn" or "off".`);
  const workspace = new Workspace({ root, guard, allowSensitive, protect });
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
    tools: options.tools === undefined ? all : chosen(all, options.tools),
  };
}

function chosen(all: readonly Tool[], names: readonly string[]): readonly Tool[] {
  const unknown = names.find((name) => !all.some((tool) => tool.name === name));
  if (unknown === undefined) return all.filter(({ name }) => names.includes(name));
  throw new ToolError("invalid_argument", `filesToolset() has no tool ${quoted(unknown)} to choose.`, {
    hint: `There are: ${all.map(({ name }) => name).join(", ")}.`,
  });
}
