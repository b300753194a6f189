/** Detects that files have changed, however they were written: in place, by a new file under the old name, through a link. */
import { realpathSync, statSync, watch, type FSWatcher } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../core/ports.ts";

/** How long to wait after the first event of a change for the others that belong to it, in milliseconds. */
const SETTLE_MS = 100;

export interface WatchOptions {
  readonly clock: Clock;
}

/**
 * Calls `onChange` when one of the files has changed, by size, modification time or identity. Files that do not exist yet are watched too. Does
 * not keep the process alive.
 *
 * @param files called again after each change; of a folder, the names in it are watched
 * @returns a function that stops watching
 */
export function watchFiles(files: () => readonly string[], onChange: () => void, options: WatchOptions): () => void {
  const watcher = new FileWatcher(files, onChange, options);
  return () => watcher.stop();
}

class FileWatcher {
  readonly #files: () => readonly string[];
  readonly #onChange: () => void;
  readonly #clock: Clock;
  readonly #watchers = new Map<string, FSWatcher>();
  #signature: string;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(files: () => readonly string[], onChange: () => void, { clock }: WatchOptions) {
    this.#files = files;
    this.#onChange = onChange;
    this.#clock = clock;
    this.#signature = createSignature(files());
    this.#updateWatchers();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** Watches the folders: a watch on a file itself is lost when an editor replaces the file. */
  #updateWatchers(): void {
    const folders = new Set(this.#files().flatMap(listFolders));
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#watch(folder);
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#scheduleCompare());
      watcher.on("error", () => {
        watcher.close();
        this.#watchers.delete(folder);
      });
      this.#watchers.set(folder, watcher);
    } catch {
      // the folder does not exist, or the system has no watches left; a manual refresh still reads the file
    }
  }

  /** Starts the wait on the first event. Later ones do not extend it, so that a busy folder cannot delay it forever. */
  #scheduleCompare(): void {
    if (this.#isStopped || this.#cancel !== undefined) return;
    this.#cancel = this.#clock.timer(() => this.#compare(), SETTLE_MS, { background: true });
  }

  #compare(): void {
    this.#cancel = undefined;
    if (this.#isStopped) return;
    const signature = createSignature(this.#files());
    if (signature === this.#signature) return;
    this.#signature = signature;
    this.#updateWatchers();
    this.#onChange();
  }
}

function createSignature(files: readonly string[]): string {
  return files.map((file) => `${file}\0${readState(file)}`).join("\n");
}

function readState(file: string): string {
  try {
    const info = statSync(file, { throwIfNoEntry: false, bigint: true });
    return info === undefined ? "none" : `${info.ino} ${info.size} ${info.mtimeNs}`;
  } catch {
    return "none";
  }
}

/** Returns the folder of the file, and that of the file it links to. */
function listFolders(file: string): readonly string[] {
  const folder = dirname(file);
  try {
    const info = statSync(file);
    const real = realpathSync(file);
    return [folder, info.isDirectory() ? real : dirname(real)];
  } catch {
    return [folder];
  }
}
