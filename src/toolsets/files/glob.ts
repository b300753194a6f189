/** The tool `glob`: files whose path matches a pattern, newest first. */
import { lstat } from "node:fs/promises";
import type { ToolContext } from "../../core/context.ts";
import { ToolOutput } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonSchema, PastCall, Tool } from "../../core/tool.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { MAX_PATTERN_LENGTH, type PathMatcher, compileGlob } from "./glob-pattern.ts";
import { pathLine, unnamedNote, withNotes } from "./path-list.ts";
import { toNumber, supersedesListings } from "./supersede-file-calls.ts";
import { MAX_ENTRIES, Walk } from "./walk.ts";
import { segmentsBelow, pathSchema, type Workspace } from "./workspace-path.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const MAX_CONCURRENT_STATS = 64;

interface GlobInput {
  readonly pattern: string;
  readonly path?: string;
  readonly limit?: number;
}

const INPUT_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    pattern: {
      type: "string",
      minLength: 1,
      maxLength: MAX_PATTERN_LENGTH,
      description: "* and ? match inside a name, ** any number of folders, [a-z] a character, {a,b} either.",
    },
    path: pathSchema("Folder the pattern begins in. Default: the workspace."),
    limit: { type: "integer", minimum: 1, maximum: MAX_LIMIT, description: `Most files to show. Default ${DEFAULT_LIMIT}.` },
  },
  required: ["pattern"],
  additionalProperties: false,
};

export function globTool(workspace: Workspace): Tool {
  return {
    name: "glob",
    description:
      'Finds files by the pattern of their path, newest first: "**/*.ts" for all TypeScript files, "src/*.{js,css}" for those directly in src. ' +
      "Files that .gitignore excludes are left out, and so are .git and node_modules.",
    inputSchema: INPUT_SCHEMA,
    effects: { reads: (input) => [workspace.key(input["path"])], writes: [], idempotent: true },
    supersedes: supersedesListings(workspace, coversOlderGlob),
    execute: (input: GlobInput, context: ToolContext) => glob(workspace, input, context),
  };
}

const MATCH_ALL_PATTERNS: ReadonlySet<unknown> = new Set(["**", "**/*"]);

/** Whether the newer call found everything that the older one did: the same pattern with at least the same limit, or all files. */
function coversOlderGlob(newer: PastCall, older: PastCall): boolean {
  const foundAll = isJsonObject(newer.output) && newer.output["more"] === false;
  const { pattern, limit } = newer.input;
  if (pattern !== older.input["pattern"]) return foundAll && MATCH_ALL_PATTERNS.has(pattern);
  return foundAll || toNumber(limit, DEFAULT_LIMIT) >= toNumber(older.input["limit"], DEFAULT_LIMIT);
}

async function glob(workspace: Workspace, input: GlobInput, context: ToolContext): Promise<ToolOutput> {
  const matches = compileGlob(checkPattern(input.pattern));
  const resolved = await workspace.resolve(input.path ?? ".", context);
  const walk = new Walk({ workspace, signal: context.signal });
  const start = await walk.start(resolved);
  const found = await newestFirst(await matchingFiles(walk.files(start), resolved.real, matches), context.signal);
  const limit = input.limit ?? DEFAULT_LIMIT;
  const paths = found.slice(0, limit).map((real) => workspace.toDisplayPath(real));
  const more = found.length > limit;
  const notes = [
    more ? `more files match; the ${limit} newest of ${found.length} are shown` : undefined,
    walk.stopped ? `stopped after ${MAX_ENTRIES} entries; search in a subfolder` : undefined,
    walk.unopenedCount > 0 ? `folders that could not be opened and were not searched: ${walk.unopenedCount}` : undefined,
    unnamedNote(walk, "searched"),
    found.length === 0 ? `no file matches ${input.pattern}${walk.ignoredCount > 0 ? "; ignored files were not searched" : ""}` : undefined,
  ];
  const output = { paths, more: more || walk.stopped };
  return new ToolOutput({ content: [{ type: "text", text: withNotes(paths.map(pathLine), notes) }], output });
}

function checkPattern(pattern: string): string {
  if (!pattern.startsWith("/") && !pattern.split("/").includes("..")) return pattern;
  throw new ToolError("invalid_input", `The pattern ${JSON.stringify(pattern)} leads out of the folder it begins in.`, {
    hint: 'Give the folder as path, and a pattern relative to it, such as "**/*.ts".',
  });
}

async function matchingFiles(files: AsyncIterable<{ readonly real: string }>, start: string, matches: PathMatcher): Promise<string[]> {
  const found: string[] = [];
  for await (const { real } of files) {
    if (matches(segmentsBelow(start, real))) found.push(real);
  }
  return found;
}

async function newestFirst(paths: readonly string[], signal: AbortSignal): Promise<string[]> {
  const dated: { readonly path: string; readonly mtimeMs: number }[] = [];
  for (let from = 0; from < paths.length; from += MAX_CONCURRENT_STATS) {
    signal.throwIfAborted();
    const times = await Promise.all(paths.slice(from, from + MAX_CONCURRENT_STATS).map(readModifiedTime));
    for (const time of times) if (time !== undefined) dated.push(time);
  }
  return dated.sort((one, other) => other.mtimeMs - one.mtimeMs || (one.path < other.path ? -1 : 1)).map(({ path }) => path);
}

async function readModifiedTime(path: string): Promise<{ readonly path: string; readonly mtimeMs: number } | undefined> {
  try {
    return { path, mtimeMs: (await lstat(path)).mtimeMs };
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) === "ENOENT") return undefined; // deleted since it was listed
    return { path, mtimeMs: 0 }; // it exists, but its folder may only be listed, or is too deep for `lstat`
  }
}
