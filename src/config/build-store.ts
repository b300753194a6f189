/** Makes the store that a configuration names. */
import { resolve } from "node:path";
import type { Store } from "../core/store.ts";
import { postgresStore } from "../store/postgres-store.ts";
import { sqliteStore } from "../store/sqlite-store.ts";
import type { LoadedConfig } from "./load-config.ts";

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
