/** What a configuration is made of: a model that could change it would give itself rights. */
import { basename, resolve } from "node:path";
import { routedOf } from "./haft-config.ts";
import type { LoadedConfig } from "./load-config.ts";

/** What SQLite keeps beside its file. */
const STORE_ENDINGS = ["", "-wal", "-shm", "-journal"];

/** The absolute paths of its file, of its lock and its store, and of the code and documents that it names, whether they exist or not. */
export function ownPaths(loaded: LoadedConfig): readonly string[] {
  const { config, folder, path } = loaded;
  const named: string[] = [basename(path), "haft.lock", ...config.extensions];
  for (const ending of config.store === undefined ? [] : STORE_ENDINGS) named.push(`${config.store?.path}${ending}`);
  for (const { toolset } of routedOf(config)) {
    if ("path" in toolset && typeof toolset.path === "string") named.push(toolset.path);
    if ("document" in toolset && typeof toolset.document === "string") named.push(toolset.document);
  }
  return named.filter((text) => !/^[a-z][a-z0-9+.-]+:/iu.test(text)).map((text) => resolve(folder, text));
}
