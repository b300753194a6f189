/** `haft keys`: the keys with which programs authenticate to a server over the store. */
import type { GroupBody } from "../command.ts";
import { addKey } from "./keys/add-key.ts";
import { listKeys } from "./keys/list-keys.ts";
import { revokeKey } from "./keys/revoke-key.ts";

export const keysCommand: GroupBody = {
  details: [
    "A key says which program sends a request, and what it may do. The store keeps a",
    "hash of it, from which it cannot be recovered; the store is the one that",
    "--store names, or that the configuration names in a [store] table.",
  ],
  commands: [addKey, listKeys, revokeKey],
};
