/** Wraps the keys, refusals and audited calls of a store so that their arguments are checked. */
import type { AccessStore, AuditedCallQuery, KeyQuery, RefusalQuery, StoredKey } from "../../core/store/access-store.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { requireInteger } from "./store-options.ts";

const KEY_QUERY: OptionNames<KeyQuery> = { sessionKeys: true, sessionId: true, limit: true };
const REFUSAL_QUERY: OptionNames<RefusalQuery> = { since: true, principal: true, limit: true };
const CALL_QUERY: OptionNames<AuditedCallQuery> = { since: true, until: true, principal: true, after: true, limit: true };
/** Maximum length of an id, name or path in a row. */
const MAX_TEXT = 4_096;

export function withCheckedAccess(access: AccessStore): AccessStore {
  return {
    ...access,
    addKey: async (key) => access.addKey(checkKey(key)),
    keys: async (query = {}) => access.keys(checkQuery(query, KEY_QUERY, "keys() of a store")),
    refusals: async (query = {}) => access.refusals(checkQuery(query, REFUSAL_QUERY, "refusals() of a store")),
    addCalls: async (added) => {
      requireInteger("keep", added.keep, 1);
      return access.addCalls(added);
    },
    calls: async (query = {}) => access.calls(checkQuery(query, CALL_QUERY, "calls() of a store")),
  };
}

function checkQuery<Query extends { readonly limit?: number }>(query: Query, names: OptionNames<Query>, owner: string): Query {
  checkKnownKeys(query, names, owner);
  if (query.limit !== undefined) requireInteger("limit", query.limit, 1);
  return query;
}

/** @throws ToolError `invalid_argument` for a key that could not be found again, or not be told apart from another */
function checkKey(key: StoredKey): StoredKey {
  const { id, name, salt, hash } = key;
  for (const [field, value] of Object.entries({ id, name, salt, hash }))
    if (typeof value !== "string" || value === "" || value.length > MAX_TEXT)
      throw new ToolError("invalid_argument", `${field} of a key must be a string of 1 to ${MAX_TEXT} characters.`);
  return key;
}
