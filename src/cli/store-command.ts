/** `haft store`: looks after the place in which sessions are kept. */
import type { CommandGroup } from "./command.ts";
import { checkStoreCommand } from "./store/check-store.ts";
import { copyStoreCommand } from "./store/copy-store.ts";
import { migrateStoreCommand } from "./store/migrate-store.ts";
import { pruneStoreCommand } from "./store/prune-store.ts";

export const storeCommand: CommandGroup = {
  name: "store",
  summary: "Migrate, check, prune and copy the store.",
  details: ["Each works on the store that --store names, a SQLite file or a postgres://", "address, or on that of the configuration."],
  commands: [migrateStoreCommand, checkStoreCommand, pruneStoreCommand, copyStoreCommand],
};
