/** The tool `grep`: lines that match a regular expression. */
import { lstat } from "node:fs/promises";
import type { ToolContext } from "../../core/context.ts";
import { ToolOutput } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { plural } from "../../core/base/wording.ts";
import { supersedesSameInput } from "../../history/supersede.ts";
import { type LinearPattern, linearPattern } from "../../schema/pattern/pattern.ts";
import { binaryFileError, findBinaryReason, refuseBinary } from "./detect-binary.ts";
import { fileError } from "./file-error.ts";
import { MAX_PATTERN_LENGTH, type PathMatcher, compileGlob } from "./glob-pattern.ts";
import { type FoundLine, LineSearch, MAX_SEARCHED_CHARS, searchFile } from "./line-search.ts";
import { type OpenFile, openFile } from "./open-resolved-path.ts";
import { pathLine, unnamedNote, withNotes } from "./path-list.ts";
import { type Entry, MAX_ENTRIES, Walk } from "./walk.ts";
import { type ResolvedPath, segmentsBelow, pathSchema, type Workspace } from "./workspace-path.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 500;
const MAX_CONTEXT = 10;
const MAX_NAMED_FILES = 5;
const MAX_SEARCHED_BYTES = 256 * 1024 * 1024;

interface GrepInput {
  readonly pattern: string;
  readonly path?: string;
  readonly glob?: string;
  readonly limit?: number;
  readonly context?: number;
}

const INPUT_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    pattern: {
      type: "string",
      minLength: 1,
      maxLength: MAX_PATTERN_LENGTH,
      description: "Regular expression; escape ( [ { . * + ? | ^ $ \\ to find them.",
    },
    path: pathSchema("Folder or file to search. Default: the workspace."),
    glob: {
      type: "string",
      minLength: 1,
      maxLength: MAX_PATTERN_LENGTH,
      description: 'Only files like this: "*.ts" by name, "src/**/*.ts" by path below the folder searched.',
    },
    limit: { type: "integer", minimum: 1, maximum: MAX_LIMIT, description: `Most matches to show. Default ${DEFAULT_LIMIT}.` },
    context: {
      type: "integer",
      minimum: 0,
      maximum: MAX_CONTEXT,
      description: "Lines to show before and after each match. Default 0.",
    },
  },
  required: ["pattern"],
  additionalProperties: false,
};

export function grepTool(workspace: Workspace): Tool {
  return {
    name: "grep",
    description:
      "Finds lines that match a regular expression (JavaScript syntax, one line at a time, case-sensitive), as path:line: text. " +
      "Searches text files only; what .gitignore excludes is left out, and so are .git and node_modules.",
    inputSchema: INPUT_SCHEMA,
    effects: { reads: (input) => [workspace.key(input["path"])], writes: [], idempotent: true },
    supersedes: supersedesSameInput,
    execute: (input: GrepInput, context: ToolContext) => new Grep(workspace, input, context).run(),
  };
}

interface FileMatches {
  readonly path: string;
  readonly lines: readonly FoundLine[];
}

class Grep {
  readonly #workspace: Workspace;
  readonly #input: GrepInput;
  readonly #signal: AbortSignal;
  readonly #context: ToolContext;
  readonly #pattern: LinearPattern;
  readonly #matchesFilter: PathMatcher;
  readonly #limit: number;
  readonly #foundFiles: FileMatches[] = [];
  #matches = 0;
  #bytesLeft = MAX_SEARCHED_BYTES;
  #unreadable = 0;
  #unread = 0;
  #withheld = 0;
  #cutLines = 0;
  #isOneFile = false;
  readonly #otherEncodings: string[] = [];

  constructor(workspace: Workspace, input: GrepInput, context: ToolContext) {
    this.#workspace = workspace;
    this.#input = input;
    this.#context = context;
    this.#signal = context.signal;
    this.#pattern = compilePattern(input.pattern);
    this.#matchesFilter = compileFilter(input.glob);
    this.#limit = input.limit ?? DEFAULT_LIMIT;
  }

  async run(): Promise<ToolOutput> {
    const resolved = await this.#workspace.resolveForRead(this.#input.path ?? ".", this.#context);
    const walk = new Walk({ workspace: this.#workspace, signal: this.#signal });
    for await (const entry of await filesToSearch(walk, resolved)) {
      const isNamed = entry.real === resolved.real; // a file that the call names is searched even if the glob excludes it
      if (isNamed) {
        this.#isOneFile = true;
        refuseBinary(resolved.shown);
      } else if (entry.kind === "link" || findBinaryReason(entry.name) !== undefined) continue;
      if (!isNamed && !this.#matchesFilter(segmentsBelow(resolved.real, entry.real))) continue;
      if (this.#workspace.isUnreadable(entry.real)) {
        this.#withheld++;
        continue;
      }
      await this.#search(entry, isNamed);
      if (this.#matches > this.#limit || this.#bytesLeft <= 0) break;
    }
    return this.#describe(walk);
  }

  /** Looks for one match more than is shown, to know whether there are more. */
  async #search(entry: Entry, mustRead: boolean): Promise<void> {
    const path = this.#workspace.toDisplayPath(entry.real);
    let file: OpenFile;
    try {
      file = await openFile({ real: entry.real, shown: path, existing: entry.real, missing: [] });
    } catch (thrown: unknown) {
      if (mustRead) throw thrown;
      this.#unreadable++;
      return;
    }
    try {
      const limit = this.#limit - this.#matches + 1;
      const search = new LineSearch({ pattern: this.#pattern, context: this.#input.context ?? 0, limit });
      this.#bytesLeft -= await this.#read(search, file, mustRead ? path : undefined);
      if (mustRead && search.binaryReason !== undefined) throw binaryFileError(path, search.binaryReason);
      if (search.otherEncoding !== undefined) this.#otherEncodings.push(`${pathLine(path)} (${search.otherEncoding})`);
      if (search.matches > 0) this.#foundFiles.push({ path, lines: search.found });
      this.#matches += search.matches;
      this.#cutLines += search.cutLines;
    } finally {
      await file.handle.close();
    }
  }

  /** Counts a file that cannot be read to its end, and keeps the lines found before. Throws instead if the call names the file, as `named`. */
  async #read(search: LineSearch, file: OpenFile, named: string | undefined): Promise<number> {
    try {
      return await searchFile(search, file, { signal: this.#signal, maxBytes: this.#bytesLeft });
    } catch (thrown: unknown) {
      this.#signal.throwIfAborted();
      if (thrown instanceof ToolError || systemErrorCode(thrown) === undefined) throw thrown;
      if (named !== undefined) throw fileError(thrown, { verb: "read", shown: named });
      this.#unread++;
      return 0;
    }
  }

  #describe(walk: Walk): ToolOutput {
    const more = this.#matches > this.#limit;
    const shown = limitMatches(this.#foundFiles, this.#limit);
    const notes = [
      more ? `more matches exist; only ${this.#limit} are shown: narrow the pattern, path or glob` : undefined,
      this.#bytesLeft <= 0
        ? `stopped after ${MAX_SEARCHED_BYTES / 1024 / 1024} MiB; ${this.#isOneFile ? "the rest of the file was not searched" : "search in a subfolder"}`
        : undefined,
      walk.stopped ? `stopped after ${MAX_ENTRIES} entries; search in a subfolder` : undefined,
      walk.unopenedCount > 0 ? `folders that could not be opened and were not searched: ${walk.unopenedCount}` : undefined,
      unnamedNote(walk, "searched"),
      this.#unreadable > 0 ? `${plural(this.#unreadable, "file")} could not be opened` : undefined,
      this.#unread > 0 ? `${plural(this.#unread, "file")} could not be read to the end` : undefined,
      this.#withheld > 0 ? `not searched, as credentials are kept there: ${this.#withheld}` : undefined,
      this.#cutLines > 0 ? `lines of which only the first ${MAX_SEARCHED_CHARS} characters were searched: ${this.#cutLines}` : undefined,
      otherEncodingsNote(this.#otherEncodings),
      shown.length === 0 ? `no line matches ${this.#input.pattern}` : undefined,
    ];
    const matches = shown.flatMap(({ path, lines }) =>
      lines.filter(({ matched }) => matched).map(({ line, text }) => ({ path, line, text })),
    );
    const output = { matches, more: more || walk.stopped || this.#bytesLeft <= 0 };
    return new ToolOutput({ content: [{ type: "text", text: withNotes(shown.flatMap(describeFile), notes) }], output });
  }
}

function otherEncodingsNote(files: readonly string[]): string | undefined {
  if (files.length === 0) return undefined;
  const more = files.length > MAX_NAMED_FILES ? ` and ${files.length - MAX_NAMED_FILES} more` : "";
  return `not searched, as text is searched in UTF-8 only: ${files.slice(0, MAX_NAMED_FILES).join(", ")}${more}`;
}

function compilePattern(source: string): LinearPattern {
  try {
    return linearPattern(source);
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    throw new ToolError("invalid_input", `Cannot search: ${error.message}`, {
      cause: thrown,
      hint: error.hint ?? "Escape ( [ { . * + ? | ^ $ \\ to find these characters themselves.",
    });
  }
}

function compileFilter(glob: string | undefined): PathMatcher {
  if (glob === undefined) return () => true;
  const byName = !glob.includes("/");
  const matches = compileGlob(glob);
  return (names) => matches(byName ? names.slice(-1) : names);
}

/** Returns the files to search: those below a folder, or the one file. */
async function filesToSearch(walk: Walk, resolved: ResolvedPath): Promise<AsyncIterable<Entry> | readonly Entry[]> {
  if (await isFolder(resolved)) return walk.files(await walk.start(resolved));
  return [{ name: resolved.shown.split("/").at(-1) ?? "", kind: "file", real: resolved.real }];
}

async function isFolder(resolved: ResolvedPath): Promise<boolean> {
  try {
    return (await lstat(resolved.real)).isDirectory();
  } catch (thrown: unknown) {
    throw fileError(thrown, { verb: "search", shown: resolved.shown });
  }
}

/** Returns the matches up to the limit, with their context lines. */
function limitMatches(found: readonly FileMatches[], limit: number): readonly FileMatches[] {
  let left = limit;
  const shown: FileMatches[] = [];
  for (const { path, lines } of found) {
    const end = lines.findIndex(({ matched }) => matched && left-- === 0);
    const kept = end < 0 ? lines : lines.slice(0, end);
    if (kept.some(({ matched }) => matched)) shown.push({ path, lines: kept });
  }
  return shown;
}

/** Formats like grep: `path:12: text` for matches, `path-11- text` for context lines, `--` between groups. */
function describeFile({ path, lines }: FileMatches): readonly string[] {
  const name = pathLine(path);
  const written: string[] = [];
  let last: number | undefined;
  const grouped = lines.some(({ matched }) => !matched);
  for (const { line, text, matched } of lines) {
    if (grouped && last !== undefined && line > last + 1) written.push("--");
    written.push(matched ? `${name}:${line}: ${text}` : `${name}-${line}- ${text}`);
    last = line;
  }
  return written;
}
