/** Makes the store that a configuration names, and the store of its artifacts. */
import { resolve } from "node:path";
import type { ArtifactStore } from "../../core/artifact.ts";
import type { Store } from "../../core/store/store.ts";
import { postgresStore } from "../../store/postgres-store.ts";
import { sqliteStore } from "../../store/sqlite-store.ts";
import { folderArtifacts } from "../../store/folder-artifacts.ts";
import type { HaftConfig } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";

/** Makes the store of a configuration, not yet opened; undefined if it has none. @param readOnly only read, even from a damaged file */
export function buildStore({ config: { store }, folder }: LoadedConfig, readOnly: boolean = false): Store | undefined {
  if (store === undefined) return undefined;
  if ("url" in store) return postgresStore({ ...store, readOnly });
  return sqliteStore({ ...store, path: resolve(folder, store.path), readOnly });
}

/**
 * Returns the option `artifacts` of a runtime; undefined if the configuration does not set it, or names the store and there is none.
 *
 * @param store the store of the runtime
 */
export function buildArtifacts(
  { runtime: { artifacts } }: Pick<HaftConfig, "runtime">,
  store: Store | undefined,
): ArtifactStore | false | undefined {
  if (artifacts === undefined || artifacts === "none") return artifacts === undefined ? undefined : false;
  return artifacts === "store" ? store?.artifacts : folderArtifacts({ path: artifacts.folder });
}
