/** `haft store`: maintains the store of sessions. */
import type { GroupBody } from "../command.ts";
import { checkStoreCommand } from "./store/check-store.ts";
import { copyStoreCommand } from "./store/copy-store.ts";
import { migrateStoreCommand } from "./store/migrate-store.ts";
import { pruneStoreCommand } from "./store/prune-store.ts";

export const storeCommand: GroupBody = {
  details: ["Each works on the store that --store names, a SQLite file or a postgres://", "address, or on that of the configuration."],
  commands: [migrateStoreCommand, checkStoreCommand, pruneStoreCommand, copyStoreCommand],
};
