/** Walks folders in order of names, skipping ignored entries, without following links and within limits. */
import type { Dirent } from "node:fs";
import { opendir, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileError } from "./file-error.ts";
import { yieldToEventLoop, readWhole } from "./file-bytes.ts";
import { type IgnoreRules, createIgnoreRules, isIgnored } from "./ignore-rules.ts";
import { openFile, openFolder } from "./open-resolved-path.ts";
import { type ResolvedPath, type Workspace, isInsideFolder } from "./workspace-path.ts";

export const MAX_ENTRIES = 50_000;
/** In place of bytes that are not UTF-8. */
const REPLACEMENT = "\ufffd";
const MAX_IGNORE_BYTES = 1024 * 1024;
const ENTRIES_PER_TURN = 256;
/** Maximum number of comparisons with ignore rules before other work may run. */
const COMPARISONS_PER_TURN = 50_000;

export interface Entry {
  readonly name: string;
  readonly kind: "file" | "folder" | "link";
  /** The canonical path, except that a link itself is not followed. */
  readonly real: string;
}

/** A folder of the walk, with the rules that apply in it. */
export interface Level {
  readonly real: string;
  readonly rules: IgnoreRules;
  /** The names from the outermost folder with rules to this one. */
  readonly names: readonly string[];
}

export interface WalkOptions {
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  /** Maximum number of entries that are examined, ignored ones included. @default 50_000 */
  readonly maxEntries?: number;
}

export class Walk {
  /** Whether `maxEntries` ended the walk early. */
  stopped = false;
  /** Number of entries that ignore rules left out. */
  ignoredCount = 0;
  /** Number of folders below the first that could not be opened: no permission, removed, or too deep for the system. */
  unopenedCount = 0;
  /** Number of entries that were left out because their names are not UTF-8: a path of a call cannot name them. */
  unnamedCount = 0;
  readonly #workspace: Workspace;
  readonly #signal: AbortSignal;
  #entriesLeft: number;

  constructor(options: WalkOptions) {
    this.#workspace = options.workspace;
    this.#signal = options.signal;
    this.#entriesLeft = options.maxEntries ?? MAX_ENTRIES;
  }

  /** Returns the first folder, with the rules of every folder of the workspace above it. */
  async start(resolved: ResolvedPath): Promise<Level> {
    const { root } = this.#workspace;
    const top = isInsideFolder(resolved.real, root) ? root : resolved.real;
    let level: Level = { real: top, names: [], rules: createIgnoreRules(undefined, await this.#gitignore(top)) };
    for (const name of relative(top, resolved.real).split(sep)) {
      if (name !== "") level = await this.enter(level, { name, kind: "folder", real: join(level.real, name) });
    }
    return level;
  }

  async enter(level: Level, folder: Entry): Promise<Level> {
    return {
      real: folder.real,
      names: [...level.names, folder.name],
      rules: createIgnoreRules(level.rules, await this.#gitignore(folder.real)),
    };
  }

  /** Returns the entries of a folder that are not ignored, sorted by name. A folder below `start` that cannot be read has none and is counted. */
  async entries(level: Level, start: Level): Promise<readonly Entry[]> {
    try {
      return await this.#entriesOf(level);
    } catch (thrown: unknown) {
      this.#signal.throwIfAborted();
      if (level === start) throw thrown;
      this.unopenedCount++;
      return [];
    }
  }

  async #entriesOf(level: Level): Promise<readonly Entry[]> {
    const found: Entry[] = [];
    let seen = 0;
    let comparisons = 0;
    for await (const dirent of this.#read(level.real)) {
      comparisons += level.rules.count;
      if (++seen % ENTRIES_PER_TURN === 0 || comparisons > COMPARISONS_PER_TURN) {
        comparisons = 0;
        await yieldToEventLoop(this.#signal);
      }
      const kind = kindOf(dirent);
      if (kind === undefined) continue;
      if (isIgnored(level.rules, { name: dirent.name, isFolder: kind === "folder" }, level.names)) this.ignoredCount++;
      else found.push({ name: dirent.name, kind, real: join(level.real, dirent.name) });
    }
    return found.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Yields every file and link below a folder, folder by folder. */
  async *files(start: Level): AsyncGenerator<Entry, void> {
    const open: Level[] = [start];
    for (let level = open.pop(); level !== undefined; level = open.pop()) {
      this.#signal.throwIfAborted();
      const folders: Level[] = [];
      for (const entry of await this.entries(level, start)) {
        if (entry.kind === "folder") folders.push(await this.enter(level, entry));
        else yield entry;
      }
      for (const folder of folders.toReversed()) open.push(folder);
    }
  }

  async *#read(real: string): AsyncGenerator<Dirent, void> {
    const shown = this.#workspace.toDisplayPath(real);
    const folder = await openFolder(real, shown);
    let exactNames: Set<string> | undefined;
    try {
      for await (const dirent of await opendir(folder.path, { bufferSize: ENTRIES_PER_TURN })) {
        if (this.#entriesLeft-- <= 0) {
          this.stopped = true;
          return;
        }
        if (dirent.name.includes(REPLACEMENT)) {
          exactNames ??= await readExactNames(folder.path);
          if (!exactNames.delete(dirent.name)) {
            this.unnamedCount++;
            continue;
          }
        }
        yield dirent;
      }
    } catch (thrown: unknown) {
      throw fileError(thrown, { verb: "list", shown });
    } finally {
      await folder.handle.close();
    }
  }

  async #gitignore(folder: string): Promise<string> {
    const real = join(folder, ".gitignore");
    try {
      const file = await openFile({ real, shown: this.#workspace.toDisplayPath(real), existing: real, missing: [] });
      try {
        return (await readWhole(file, { maxBytes: MAX_IGNORE_BYTES, signal: this.#signal }))?.toString("utf8") ?? "";
      } finally {
        await file.handle.close();
      }
    } catch {
      this.#signal.throwIfAborted();
      return ""; // there is none, or git would not use it either: a link, a folder, unreadable
    }
  }
}

/** Returns the names in a folder that contain the replacement character themselves, instead of bytes that are shown as it. */
async function readExactNames(folder: string): Promise<Set<string>> {
  const names = new Set<string>();
  for (const bytes of await readdir(folder, { encoding: "buffer" })) {
    const name = bytes.toString();
    if (name.includes(REPLACEMENT) && Buffer.from(name).equals(bytes)) names.add(name);
  }
  return names;
}

function kindOf(dirent: Dirent): Entry["kind"] | undefined {
  if (dirent.isFile()) return "file";
  if (dirent.isDirectory()) return "folder";
  return dirent.isSymbolicLink() ? "link" : undefined;
}
