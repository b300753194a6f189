/** Tools from a file: read when the runtime opens, at each refresh and, if watched, whenever the file changes. */
import { DEFAULT_NAMESPACE } from "../../core/call.ts";
import type { Clock } from "../../core/ports.ts";
import type { SourceContext, ToolSource } from "../../core/source.ts";
import type { Toolset } from "../../core/toolset.ts";
import { findEndingProblem } from "../../documents/read-document.ts";
import { ToolError } from "../../core/error.ts";
import { checkString } from "../../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { watchFiles } from "../../documents/watch-files.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { TOOL_FILE_ENDINGS, readToolFile, type ReadTools } from "./tool-file.ts";

/** The settings of every toolset of a source. */
export type CommonToolset = Omit<Toolset, "name" | "tools">;

/** Options of `fileSource`. */
export interface FileSourceOptions {
  /** @default the path */
  readonly name?: string;
  /** A YAML or JSON file. */
  readonly path: string;
  /** A namespace that wins over the one of the file, but not over those of its tools. */
  readonly namespace?: string;
  /** The namespace if neither the file nor the tool has one. @default "default" */
  readonly defaultNamespace?: string;
  /** Engine, defaults and limits of its toolsets, or a function of the namespace. Without an engine, calls end with `not_executable`. */
  readonly toolset?: CommonToolset | ((namespace: string) => CommonToolset);
  /** The clock for the pause before a change is read. @default the system's */
  readonly clock?: Clock;
}

const OPTIONS: OptionNames<FileSourceOptions> = {
  name: "string",
  path: "string",
  namespace: "string",
  defaultNamespace: "string",
  toolset: true,
  clock: "object",
};

/**
 * Returns a source of the tools in a file, in any of the usual shapes, with one toolset for each namespace. A tool that cannot be used is left out
 * with a warning that names its place; overloads are kept.
 *
 * @throws ToolError `invalid_argument` at once for a file name that does not end in .yaml, .yml or .json
 */
export function fileSource(options: FileSourceOptions): ToolSource {
  checkKnownKeys(options, OPTIONS, "fileSource()");
  checkString(options.path, "fileSource({ path })", "the path of a file");
  const { path, name = path, namespace, defaultNamespace = DEFAULT_NAMESPACE, toolset = {}, clock = systemPorts.clock } = options;
  const commonOf = typeof toolset === "function" ? toolset : () => toolset;
  const problem = findEndingProblem(path, TOOL_FILE_ENDINGS);
  if (problem !== undefined) throw new ToolError("invalid_argument", `Cannot read the tool file ${path}: its name ${problem}`);
  return {
    name,
    async load(context) {
      return toToolsets(await readToolFile(path, { namespace, otherwise: defaultNamespace }), commonOf, context);
    },
    watch: (changed) => watchFiles(() => [path], changed, { clock }),
  };
}

/** Returns one toolset for each namespace, and logs the parts that were left out. */
export function toToolsets(
  { tools, problems, unknown, notes }: ReadTools,
  commonOf: (namespace: string) => CommonToolset,
  { log }: SourceContext,
): readonly Toolset[] {
  logLines(problems, (line) => log.warn(`A tool is left out: ${line}`));
  logLines(unknown, (line) => log.warn(line));
  logLines(notes, (line) => log.debug(line));
  return Array.from(tools, ([name, list]) => ({ ...commonOf(name), name, tools: list, overloads: true }));
}

const MAX_LINES = 20;

function logLines(lines: readonly string[], log: (line: string) => void): void {
  for (const line of lines.slice(0, MAX_LINES)) log(line);
  if (lines.length > MAX_LINES) log(`and ${lines.length - MAX_LINES} more`);
}
