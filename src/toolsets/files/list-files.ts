/** The tool `list`: the content of a folder, to a given depth. */
import type { ToolContext } from "../../core/context.ts";
import { ToolOutput } from "../../core/content.ts";
import type { PastCall, Tool } from "../../core/tool.ts";
import { pathLine, unnamedNote, withNotes } from "./path-list.ts";
import { toNumber, supersedesListings } from "./supersede-file-calls.ts";
import { type Level, MAX_ENTRIES, Walk } from "./walk.ts";
import { pathSchema, type Workspace } from "./workspace-path.ts";

const LIST_LIMIT = 100;
const DEFAULT_DEPTH = 1;
const MAX_DEPTH = 20;

interface ListInput {
  readonly path?: string;
  readonly depth?: number;
}

export function listTool(workspace: Workspace): Tool {
  return {
    name: "list",
    description:
      `Lists a folder of the workspace, at most ${LIST_LIMIT} entries, the upper levels first. Folders end in "/", links in "@". ` +
      "Files that .gitignore excludes are left out, and so are .git and node_modules.",
    inputSchema: {
      type: "object",
      properties: {
        path: pathSchema("The folder, relative to the workspace. Default: the workspace."),
        depth: { type: "integer", minimum: 1, maximum: MAX_DEPTH, description: "How many levels to show. Default 1." },
      },
      additionalProperties: false,
    },
    effects: { reads: (input) => [workspace.key(input["path"])], writes: [], idempotent: true },
    supersedes: supersedesListings(workspace, (newer, older) => depthOf(newer) >= depthOf(older)),
    execute: (input: ListInput, context: ToolContext) => listFiles(workspace, input, context),
  };
}

/** Returns the depth of a listing. Upper levels come first, so a deeper listing that was cut holds all of a shallower one. */
function depthOf({ input }: PastCall): number {
  return toNumber(input["depth"], DEFAULT_DEPTH);
}

async function listFiles(workspace: Workspace, input: ListInput, context: ToolContext): Promise<ToolOutput> {
  const resolved = await workspace.resolve(input.path ?? ".", context);
  const walk = new Walk({ workspace, signal: context.signal });
  const { paths, more } = await collect(walk, { workspace, start: await walk.start(resolved), depth: input.depth ?? DEFAULT_DEPTH });
  const notes = [
    more ? `more entries exist; only ${LIST_LIMIT} are shown: list a subfolder, or use glob` : undefined,
    walk.stopped ? `stopped after ${MAX_ENTRIES} entries` : undefined,
    walk.unopenedCount > 0 ? `folders that could not be opened and are not listed: ${walk.unopenedCount}` : undefined,
    unnamedNote(walk, "listed"),
    walk.ignoredCount > 0 ? `${walk.ignoredCount} ignored, not shown` : undefined,
    paths.length === 0 ? `${pathLine(resolved.shown)} is empty` : undefined,
  ];
  const output = { path: resolved.shown, entries: paths, more: more || walk.stopped };
  return new ToolOutput({ content: [{ type: "text", text: withNotes(paths.map(pathLine), notes) }], output });
}

interface CollectOptions {
  readonly workspace: Workspace;
  readonly start: Level;
  readonly depth: number;
}

/** Collects level by level, so that a large folder deep down does not crowd out the files next to it. */
async function collect(walk: Walk, { workspace, start, depth }: CollectOptions): Promise<{ paths: readonly string[]; more: boolean }> {
  const paths: string[] = [];
  let levels = [start];
  for (let level = 1; level <= depth && levels.length > 0; level++) {
    const below: Level[] = [];
    for (const folder of levels) {
      for (const entry of await walk.entries(folder, start)) {
        if (paths.length >= LIST_LIMIT) return { paths: paths.sort(), more: true };
        paths.push(workspace.toDisplayPath(entry.real) + (entry.kind === "folder" ? "/" : entry.kind === "link" ? "@" : ""));
        if (entry.kind === "folder" && level < depth) below.push(await walk.enter(folder, entry));
      }
    }
    levels = below;
  }
  return { paths: paths.sort(), more: false };
}
