/** Tools in words: the table of `haft list` and `haft search`, and what a call does to the world. */
import type { RegisteredTool } from "../runtime/registry/registered-tool.ts";
import type { Registry } from "../runtime/registry/registry.ts";
import { toolDefinition } from "../runtime/registry/tool-definition.ts";
import type { ToolDefinition } from "../runtime/registry/tool-definition.ts";
import { compareNames } from "../runtime/registry/tool-search.ts";
import type { CommandContext } from "./command.ts";
import { columnFor, oneLine, plural, safeJson, safeText } from "./terminal-text.ts";

/** Names of more columns push their description aside rather than those of all others. */
const MAX_NAME_WIDTH = 40;
const LEAST_DESCRIPTION = 20;
const EFFECT_WIDTH = "destructive".length;

/** One line a tool, or with `--json` a list of their definitions. */
export function printTools({ out, options }: CommandContext, tools: readonly RegisteredTool[]): void {
  if (options.json) {
    out.write(`${safeJson(tools.map(definitionOf))}\n`);
    return;
  }
  const names = tools.map((registered) => safeText(registered.qualifiedName));
  const nameWidth = columnFor(names, MAX_NAME_WIDTH);
  for (const [index, registered] of tools.entries()) {
    const name = (names[index] ?? "").padEnd(nameWidth);
    const effect = (registered.denied === undefined ? effectWord(registered) : "denied").padEnd(EFFECT_WIDTH);
    const colour = registered.denied === undefined ? "cyan" : "red";
    const left = Math.max(LEAST_DESCRIPTION, out.width - name.length - EFFECT_WIDTH - 4);
    out.write(`${out.paint("bold", name)}  ${out.paint(colour, effect)}  ${oneLine(registered.tool.description, left)}`.trimEnd());
    out.write("\n");
  }
  if (out.isTerminal) out.write(`${out.paint("dim", plural(tools.length, "tool"))}\n`);
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

/** What a call may do at worst, in one word. */
export function effectWord({ tool: { effects } }: RegisteredTool): "destructive" | "undeclared" | "writes" | "reads" | "pure" {
  if (effects?.destructive === true) return "destructive";
  if (effects === undefined || (effects.reads === undefined && effects.writes === undefined)) return "undeclared";
  if (typeof effects.writes === "function" || (effects.writes?.length ?? 0) > 0) return "writes";
  return effects.reads !== undefined && effects.reads.length === 0 ? "pure" : "reads";
}
