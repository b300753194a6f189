/** Artifacts as files in a folder, for programs whose sessions are in no store, or whose files other programs read. */
import { readFile, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Artifact, ArtifactStore } from "../core/artifact.ts";
import { systemErrorCode } from "../core/base/system-error-code.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { makeFolder } from "../core/system/make-folder.ts";
import { renameFile } from "../core/system/rename-file.ts";
import { checkArtifact } from "./records/check-artifact.ts";

/** Options of `folderArtifacts`. */
export interface FolderArtifactsOptions {
  /** Path of the folder. It is created when the first artifact is stored. */
  readonly path: string;
}

const NAME = /^[0-9a-f]{64}$/u;
const MAX_TYPE_LENGTH = 200;
const MAX_TYPE_BYTES = 4_096;

/**
 * Keeps each artifact as two files: its bytes under its id, and its media type in `<id>.type`. Several processes may share the folder.
 *
 * @throws ToolError `invalid_argument` if the path is not a non-empty string
 */
export function folderArtifacts(options: FolderArtifactsOptions): ArtifactStore {
  checkKnownKeys(options, { path: true }, "folderArtifacts()");
  if (typeof options.path !== "string" || options.path === "")
    throw new ToolError("invalid_argument", "path of folderArtifacts() must be the path of a folder.");
  return new FolderArtifacts(resolve(options.path));
}

class FolderArtifacts implements ArtifactStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put({ artifact: { id, mediaType, data }, at }: { readonly artifact: Artifact; readonly at: number }): Promise<void> {
    const path = this.#pathOf(id);
    if (path === undefined) throw new ToolError("invalid_argument", `${JSON.stringify(id.slice(0, 80))} is not the id of an artifact.`);
    await this.#withStoreErrors("be written", async () => {
      await makeFolder(this.#folder);
      if ((await sizeOf(path)) === undefined) {
        await writeAtomically(`${path}.type`, mediaType);
        await writeAtomically(path, Buffer.from(data, "base64")); // last, so that an artifact whose bytes exist is complete
      }
      await utimes(path, at / 1_000, at / 1_000);
    });
  }

  async get(id: string): Promise<Artifact | undefined> {
    const path = this.#pathOf(id);
    if (path === undefined || (await sizeOf(path)) === undefined) return undefined;
    return this.#withStoreErrors("be read", async () => {
      const [bytes, type] = await Promise.all([readFile(path), readMediaType(`${path}.type`)]);
      const mediaType = type.trim().slice(0, MAX_TYPE_LENGTH);
      return checkArtifact(
        { id, mediaType: mediaType === "" ? "application/octet-stream" : mediaType, data: bytes.toString("base64") },
        this.#folder,
      );
    });
  }

  prune({ before }: { readonly before: number }): Promise<number> {
    return this.#withStoreErrors("be pruned", async () => {
      let removed = 0;
      for (const name of await readdir(this.#folder).catch(emptyIfMissing)) {
        const path = join(this.#folder, name);
        if (!NAME.test(name) || (await readModifiedTime(path)) >= before) continue;
        await rm(path, { force: true });
        await rm(`${path}.type`, { force: true });
        removed++;
      }
      return removed;
    });
  }

  /** The path of an artifact; undefined for an invalid id, which might be a path to another place. */
  #pathOf(id: string): string | undefined {
    return NAME.test(id) ? join(this.#folder, id) : undefined;
  }

  async #withStoreErrors<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (thrown: unknown) {
      if (thrown instanceof ToolError) throw thrown;
      throw new ToolError("store_failed", `The artifacts in ${this.#folder} cannot ${what}: ${describeThrown(thrown)}`, { cause: thrown });
    }
  }
}

let writes = 0;

/** Writes a file atomically: a reader sees the whole file or none, even if it is written several times at once. */
async function writeAtomically(path: string, content: string | Uint8Array): Promise<void> {
  const written = `${path}.${process.pid}.${++writes}.new`;
  await writeFile(written, content, { flush: true });
  await renameFile(written, path);
}

/** The size of a regular file; undefined for anything else, because a pipe or device could be read without end. */
async function sizeOf(path: string): Promise<number | undefined> {
  const info = await stat(path).catch(() => undefined);
  return info?.isFile() === true ? info.size : undefined;
}

async function readMediaType(path: string): Promise<string> {
  const size = await sizeOf(path);
  return size === undefined || size > MAX_TYPE_BYTES ? "" : await readFile(path, "utf8").catch(() => "");
}

/** When the artifact was stored; Infinity if another process has removed it meanwhile. */
async function readModifiedTime(path: string): Promise<number> {
  const found = await stat(path).catch(emptyIfMissing);
  return "mtimeMs" in found ? found.mtimeMs : Infinity;
}

function emptyIfMissing(thrown: unknown): readonly string[] {
  if (systemErrorCode(thrown) === "ENOENT") return [];
  throw thrown;
}
