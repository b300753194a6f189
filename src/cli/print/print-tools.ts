/** Formats tools as text: the table of `haft list` and `haft search`. */
import { plural } from "../../core/base/wording.ts";
import { effectWord } from "../../registry/effect-word.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { toolDefinition, type ToolDefinition } from "../../registry/tool-definition.ts";
import { compareNames } from "../../registry/tool-search.ts";
import type { CommandContext } from "../command.ts";
import { columnWidth, toOneLine, safeText } from "../terminal/terminal-text.ts";
import { countColumns } from "../terminal/text-width.ts";

/** Maximum width of the column of names; a wider name gets a line of its own. */
const MAX_NAME_WIDTH = 40;
const LEAST_DESCRIPTION = 16;
/** The indent of a description below its tool. */
const INDENT = "    ";
const EFFECT_WIDTH = "destructive".length;

/** Prints one line for each tool, or with `--json` an array of their definitions. */
export function printTools({ out, options }: CommandContext, tools: readonly RegisteredTool[]): void {
  if (options.json) {
    out.writeJson(tools.map(definitionOf));
    return;
  }
  const names = tools.map((registered) => safeText(registered.qualifiedName));
  const nameWidth = columnWidth(names, MAX_NAME_WIDTH);
  for (const [index, registered] of tools.entries()) {
    const name = names[index] ?? "";
    const effect = (registered.denied === undefined ? effectWord(registered) : "denied").padEnd(EFFECT_WIDTH);
    const colour = registered.denied === undefined ? "cyan" : "red";
    const left = out.width - nameWidth - EFFECT_WIDTH - 4;
    const isNarrow = left < LEAST_DESCRIPTION;
    const description = toOneLine(registered.tool.description, isNarrow ? out.width - INDENT.length : left);
    // A name that is wider than its column gets its own line, so that the columns of all others stay aligned.
    const gap = countColumns(name) > nameWidth ? `\n${" ".repeat(nameWidth)}` : " ".repeat(nameWidth - countColumns(name));
    const end = isNarrow && description !== "" ? `\n${INDENT}${description}` : `  ${description}`;
    out.print(`${out.paint("bold", name)}${gap}  ${out.paint(colour, effect)}${end}`.trimEnd());
  }
  if (out.isTerminal) out.print(out.paint("dim", plural(tools.length, "tool")));
}

/** Returns every tool of a configuration, including denied ones, sorted by name. */
export function allTools(registry: Registry, toolset?: string): readonly RegisteredTool[] {
  const denied = registry.listDenied(toolset);
  return denied.length === 0 ? registry.list(toolset) : [...registry.list(toolset), ...denied].sort(compareNames);
}

/** Returns a tool as `--json` prints it, with the reason in `denied` if the permission rules deny it. */
export function definitionOf(registered: RegisteredTool): ToolDefinition & { readonly denied?: string } {
  const { denied } = registered;
  return denied === undefined ? toolDefinition(registered) : { ...toolDefinition(registered), denied };
}
