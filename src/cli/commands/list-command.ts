/** `haft list`: lists the tools. */
import { ToolError } from "../../core/error.ts";
import { serverStateOf } from "../../engine/known-tools.ts";
import { findNearNames } from "../../core/base/near-names.ts";
import { printBlockedNote } from "../open/blocked-tools.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { withRuntime, type OpenRuntime } from "../open/open-runtime.ts";
import { safeText } from "../terminal/terminal-text.ts";
import { allTools, printTools } from "../print/print-tools.ts";

export const listCommand: CommandBody = {
  details: [
    "One line per tool: its name, what a call does (pure, reads, writes,",
    "destructive, undeclared, or composite: it makes other calls) and its",
    "description. A tool that the permission rules deny is marked as denied: it is",
    "not shown to any model or client. Tools of a toolset that does not open, and",
    "those that are not as they were pinned, are left out, and standard error says",
    "why.",
  ],
  args: [0, 1],
  options: ["config"],
  examples: ["haft list", "haft list files", "haft list --json | jq -r '.[].name'"],
  async run(context) {
    const [toolset] = context.args;
    return withRuntime(context, { only: toolset }, (open) => {
      if (toolset !== undefined) checkToolset(toolset, open);
      printTools(context, allTools(open.runtime.registry, toolset));
      printBlockedNote(context, open.runtime.registry, toolset);
      if (context.out.isTerminal && !context.options.json) printUnstartedServers(context, open, toolset);
      return 0;
    });
  },
};

/** Prints which servers were not started because their tools are remembered from before. */
function printUnstartedServers({ out }: CommandContext, { runtime }: OpenRuntime, only: string | undefined): void {
  const known = runtime.registry
    .toolsets()
    .filter(({ name, engine }) => (only === undefined || name === only) && engine !== undefined && serverStateOf(engine) === "known")
    .map(({ name }) => safeText(name));
  if (known.length > 0) out.print(out.paint("dim", `not started; its tools at an earlier start: ${known.join(", ")}`));
}

function checkToolset(name: string, { runtime }: OpenRuntime): void {
  const known = runtime.registry.namespaces();
  if (!known.includes(name)) {
    const near = findNearNames(name, known).map((one) => JSON.stringify(one));
    throw new ToolError("not_found", `There is no toolset ${JSON.stringify(name)}.`, {
      hint: near.length > 0 ? `Did you mean ${near.join(" or ")}?` : `Toolsets: ${known.join(", ")}.`,
    });
  }
}
