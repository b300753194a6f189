/** The commands that hooks add, as a toolset. */
import type { Hook } from "../core/hook.ts";
import { ToolError } from "../core/error.ts";
import type { Tool } from "../core/tool.ts";
import type { Registry } from "./registry.ts";

const TOOLSET = "commands";

/** Adds the commands of all hooks. @throws ToolError `duplicate` if a tool or another command has the same name; `invalid_argument` as for tools */
export function addHookCommands(registry: Registry, hooks: readonly Hook[]): void {
  if (!hooks.some(({ commands = [] }) => commands.length > 0)) return; // avoids listing all tools
  const owners = new Map(registry.list().map(({ tool, qualifiedName }) => [tool.name, `the tool ${qualifiedName}`]));
  const tools: Tool[] = [];
  for (const hook of hooks)
    for (const command of hook.commands ?? []) {
      const { name, description = "", inputSchema = { type: "object" } } = command;
      const owner = owners.get(name);
      if (owner !== undefined)
        throw new ToolError(
          "duplicate",
          `The command ${JSON.stringify(name)} of the hook ${JSON.stringify(hook.name)} has the same name as ${owner}.`,
          { hint: "Give the command another name." },
        );
      owners.set(name, `a command of the hook ${JSON.stringify(hook.name)}`);
      tools.push({ ...command, description, inputSchema });
    }
  registry.addToolset({ name: TOOLSET, description: "Commands that the program adds.", tools });
}
