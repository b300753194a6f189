/** Tools from a file that people edit: read when the runtime opens, at each refresh and, when asked, whenever the file changes. */
import { DEFAULT_NAMESPACE } from "../../core/call.ts";
import type { Clock } from "../../core/ports.ts";
import type { SourceContext, ToolSource } from "../../core/source.ts";
import type { Toolset } from "../../core/toolset.ts";
import { endingProblem } from "../../documents/read-document.ts";
import { ToolError } from "../../core/error.ts";
import { checkText } from "../../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { watchFiles } from "../../documents/watch-files.ts";
import { systemPorts } from "../../core/system-ports.ts";
import { TOOL_FILE_ENDINGS, readToolFile, type ReadTools } from "./tool-file.ts";

/** The settings of every toolset of a source. */
export type CommonToolset = Omit<Toolset, "name" | "tools">;

/** How the files of a source of tools are read. */
export interface FileSourceOptions {
  /** @default the path */
  readonly name?: string;
  /** A YAML or JSON file. */
  readonly path: string;
  /** Wins over the namespaces of the file, but not over those of its tools. */
  readonly namespace?: string;
  /** Where neither the file nor its tools say one. @default "default" */
  readonly defaultNamespace?: string;
  /** Engine, defaults and limits of its toolsets, or of each by its namespace. Without an engine its tools are described, and their calls end with `not_executable`. */
  readonly toolset?: CommonToolset | ((namespace: string) => CommonToolset);
  /** For the pause before a change is looked at. @default the system's */
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
 * The tools of a file in any of the usual shapes, one toolset for each namespace. A tool that cannot be used is left out with a warning
 * that names its place; overloads of one name are kept.
 *
 * @throws ToolError `invalid_argument` at once for a name that ends in none of .yaml, .yml and .json
 */
export function fileSource(options: FileSourceOptions): ToolSource {
  checkKnownKeys(options, OPTIONS, "fileSource()");
  checkText(options.path, "fileSource({ path })", "the path of a file");
  const { path, name = path, namespace, defaultNamespace = DEFAULT_NAMESPACE, toolset = {}, clock = systemPorts.clock } = options;
  const commonOf = typeof toolset === "function" ? toolset : () => toolset;
  const problem = endingProblem(path, TOOL_FILE_ENDINGS);
  if (problem !== undefined) throw new ToolError("invalid_argument", `Cannot read the tool file ${path}: its name ${problem}`);
  return {
    name,
    async load(context) {
      return toToolsets(await readToolFile(path, { namespace, otherwise: defaultNamespace }), commonOf, context);
    },
    watch: (changed) => watchFiles(() => [path], changed, { clock }),
  };
}

/** One toolset for each namespace; parts that were left out are reported. */
export function toToolsets(
  { tools, problems, unknown, notes }: ReadTools,
  commonOf: (namespace: string) => CommonToolset,
  { log }: SourceContext,
): readonly Toolset[] {
  tell(problems, (line) => log.warn(`A tool is left out: ${line}`));
  tell(unknown, (line) => log.warn(line));
  tell(notes, (line) => log.debug(line));
  return Array.from(tools, ([name, list]) => ({ ...commonOf(name), name, tools: list, overloads: true }));
}

const MAX_LINES = 20;

function tell(lines: readonly string[], say: (line: string) => void): void {
  for (const line of lines.slice(0, MAX_LINES)) say(line);
  if (lines.length > MAX_LINES) say(`and ${lines.length - MAX_LINES} more`);
}
