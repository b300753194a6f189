/** `haft list` and `haft search`: the tools there are. */
import { ToolError } from "../core/error.ts";
import type { RegisteredTool } from "../runtime/registered-tool.ts";
import { toolDefinition } from "../runtime/tool-definition.ts";
import type { Command, CommandContext } from "./command.ts";
import { withRuntime } from "./open-runtime.ts";
import { oneLine, plural, safeText } from "./terminal-text.ts";

export const listCommand: Command = {
  name: "list",
  usage: "[<toolset>]",
  summary: "List the tools, or those of one toolset.",
  args: [0, 1],
  options: [],
  examples: ["haft list", "haft list files", "haft list --json"],
  async run(context) {
    const [toolset] = context.args;
    return withRuntime(context, {}, ({ runtime }) => {
      if (toolset !== undefined && !runtime.registry.toolsets().some((known) => known.name === toolset)) {
        throw new ToolError("not_found", `There is no toolset ${JSON.stringify(toolset)}.`, { hint: `Toolsets: ${runtime.registry.toolsets().map((known) => known.name).join(", ")}.` });
      }
      printTools(context, runtime.registry.list(toolset));
      return 0;
    });
  },
};

export const searchCommand: Command = {
  name: "search",
  usage: "[<text>…]",
  summary: "Search the tools by text, best first, and by tag.",
  args: [0, Infinity],
  options: ["tag", "all-tags", "limit"],
  examples: ["haft search read a file", "haft search --tag money --tag weather", "haft search report --limit 3 --json"],
  async run(context) {
    const text = context.args.join(" ");
    const { tag, allTags, limit } = context.options;
    if (text === "" && tag.length === 0) throw new ToolError("invalid_argument", "haft search needs a text or a --tag to search for.");
    return withRuntime(context, {}, ({ runtime }) => {
      const found = runtime.registry.search({ ...(text === "" ? {} : { text }), tags: tag, matchAllTags: allTags, limit: limit ?? DEFAULT_LIMIT });
      printTools(context, found);
      return found.length > 0 ? 0 : 1;
    });
  },
};

const DEFAULT_LIMIT = 20;

function printTools(context: CommandContext, tools: readonly RegisteredTool[]): void {
  const { stdout, stderr, paint, width, options } = context;
  if (options.json) {
    stdout.write(`${JSON.stringify(tools.map((registered) => ({ ...toolDefinition(registered), name: registered.qualifiedName })))}\n`);
    return;
  }
  const column = Math.min(40, Math.max(0, ...tools.map((registered) => registered.qualifiedName.length)));
  for (const registered of tools) {
    const name = safeText(registered.qualifiedName);
    const tags = effectWords(registered);
    stdout.write(`${paint("bold", name.padEnd(column))}  ${paint("cyan", tags.padEnd(11))}  ${oneLine(registered.tool.description, Math.max(20, width - column - 15))}\n`);
  }
  stderr.write(paint("dim", `${plural(tools.length, "tool")}\n`));
}

/** What a call does to the world, in one word. */
export function effectWords(registered: RegisteredTool): string {
  const { effects } = registered.tool;
  if (effects === undefined || (effects.reads === undefined && effects.writes === undefined)) return effects?.destructive === true ? "destructive" : "undeclared";
  if (effects.destructive === true) return "destructive";
  const writes = effects.writes !== undefined && (typeof effects.writes === "function" || effects.writes.length > 0);
  if (writes) return "writes";
  return effects.reads !== undefined && effects.reads.length === 0 ? "pure" : "reads";
}
