/** Makes the store that a configuration names, and the place of its artifacts. */
import { resolve } from "node:path";
import type { ArtifactStore } from "../../core/artifact.ts";
import type { Store } from "../../core/store.ts";
import { postgresStore } from "../../store/postgres-store.ts";
import { sqliteStore } from "../../store/sqlite-store.ts";
import { folderArtifacts } from "../../store/folder-artifacts.ts";
import type { HaftConfig } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";

/**
 * The store of a configuration, not opened; undefined when it says nothing of one.
 *
 * @param readOnly reads, also from a file that is damaged, and changes nothing
 */
export function buildStore({ config: { store }, folder }: LoadedConfig, readOnly: boolean = false): Store | undefined {
  if (store === undefined) return undefined;
  if ("url" in store) return postgresStore({ ...store, readOnly });
  return sqliteStore({ ...store, path: resolve(folder, store.path), readOnly });
}

/**
 * The option `artifacts` of a runtime; undefined when the configuration says nothing of them, or nothing is kept in a store here.
 *
 * @param store that of the runtime
 */
export function buildArtifacts(
  { runtime: { artifacts } }: Pick<HaftConfig, "runtime">,
  store: Store | undefined,
): ArtifactStore | false | undefined {
  if (artifacts === undefined || artifacts === "none") return artifacts === undefined ? undefined : false;
  return artifacts === "store" ? store?.artifacts : folderArtifacts({ path: artifacts.folder });
}
