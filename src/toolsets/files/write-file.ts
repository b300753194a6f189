/** The tool `write`: creates a file, or replaces the whole of one that was read. */
import type { ToolContext } from "../../core/context.ts";
import { ToolOutput } from "../../core/content.ts";
import type { Tool } from "../../core/tool.ts";
import { plural } from "../../core/base/wording.ts";
import { refuseBinary } from "./detect-binary.ts";
import { pathLine } from "./path-list.ts";
import { changeFile } from "./change-file.ts";
import { supersedesFileCalls } from "./supersede-file-calls.ts";
import { pathSchema, type Workspace } from "./workspace-path.ts";

interface WriteInput {
  readonly path: string;
  readonly content: string;
}

export function writeTool(workspace: Workspace): Tool {
  return {
    name: "write",
    description:
      "Writes a whole text file, replacing what it held; missing folders are made. " +
      "An existing file must have been read before, and must not have changed since. To change a part of a file, use edit.",
    inputSchema: {
      type: "object",
      properties: {
        path: pathSchema("Path of the file, relative to the workspace."),
        content: { type: "string", description: "The whole new text of the file." },
      },
      required: ["path", "content"],
      additionalProperties: false,
    },
    effects: { writes: (input) => [workspace.key(input["path"])], idempotent: true },
    supersedes: supersedesFileCalls(workspace),
    execute: (input: WriteInput, context: ToolContext) => writeFile(workspace, input, context),
  };
}

async function writeFile(workspace: Workspace, input: WriteInput, context: ToolContext): Promise<ToolOutput> {
  const change = await changeFile({
    workspace,
    path: input.path,
    context,
    isWhole: true,
    revise: (before) => {
      if (before !== undefined) refuseBinary(before.shown);
      return input.content;
    },
  });
  const verb = change.created ? "Created" : "Updated";
  const output = { path: change.shown, created: change.created, bytes: change.bytes };
  return new ToolOutput({
    content: [{ type: "text", text: `${verb} ${pathLine(change.shown)} (${plural(change.bytes, "byte")}).` }],
    output,
  });
}
