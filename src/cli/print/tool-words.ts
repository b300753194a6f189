/** Tools as text: the table of `haft list` and `haft search`, and the effects of a call. */
import { plural } from "../../core/base/wording.ts";
import { effectWord } from "../../registry/effect-word.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { toolDefinition, type ToolDefinition } from "../../registry/tool-definition.ts";
import { compareNames } from "../../registry/tool-search.ts";
import type { CommandContext } from "../command.ts";
import { columnFor, oneLine, safeText } from "../terminal/terminal-text.ts";
import { columnsOf } from "../terminal/text-width.ts";

/** Wider names are on a line of their own. */
const MAX_NAME_WIDTH = 40;
const LEAST_DESCRIPTION = 16;
/** In front of a description that is below its tool. */
const INDENT = "    ";
const EFFECT_WIDTH = "destructive".length;

/** One line a tool, or with `--json` a list of their definitions. */
export function printTools({ out, options }: CommandContext, tools: readonly RegisteredTool[]): void {
  if (options.json) {
    out.writeJson(tools.map(definitionOf));
    return;
  }
  const names = tools.map((registered) => safeText(registered.qualifiedName));
  const nameWidth = columnFor(names, MAX_NAME_WIDTH);
  for (const [index, registered] of tools.entries()) {
    const name = names[index] ?? "";
    const effect = (registered.denied === undefined ? effectWord(registered) : "denied").padEnd(EFFECT_WIDTH);
    const colour = registered.denied === undefined ? "cyan" : "red";
    const left = out.width - nameWidth - EFFECT_WIDTH - 4;
    const isNarrow = left < LEAST_DESCRIPTION;
    const description = oneLine(registered.tool.description, isNarrow ? out.width - INDENT.length : left);
    // A name that is wider than its column is on a line of its own, so that the columns of all others stay.
    const gap = columnsOf(name) > nameWidth ? `\n${" ".repeat(nameWidth)}` : " ".repeat(nameWidth - columnsOf(name));
    const end = isNarrow && description !== "" ? `\n${INDENT}${description}` : `  ${description}`;
    out.print(`${out.paint("bold", name)}${gap}  ${out.paint(colour, effect)}${end}`.trimEnd());
  }
  if (out.isTerminal) out.print(out.paint("dim", plural(tools.length, "tool")));
}

/** Every tool of a configuration, the denied ones among the others. */
export function allTools(registry: Registry, toolset?: string): readonly RegisteredTool[] {
  const denied = registry.listDenied(toolset);
  return denied.length === 0 ? registry.list(toolset) : [...registry.list(toolset), ...denied].sort(compareNames);
}

/** A tool as `--json` prints it: with `denied`, the reason, where the permission rules take it away. */
export function definitionOf(registered: RegisteredTool): ToolDefinition & { readonly denied?: string } {
  const { denied } = registered;
  return denied === undefined ? toolDefinition(registered) : { ...toolDefinition(registered), denied };
}
