/** The keys, refusals, audited calls and keyed requests of a database that may live in another thread: each method is one message. */
import type { AccessStore, AuditedCallQuery, KeyQuery, RefusalQuery, StoredKey } from "../../core/access-store.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { requireWhole } from "./store-options.ts";

/** A method of the access part of a store, and its argument. Plain data. */
export interface AccessOperation {
  readonly method: keyof AccessStore;
  readonly argument: unknown;
}

interface AccessGuard {
  /** Runs one where the database is. */
  run(operation: AccessOperation): Promise<unknown>;
  /** Opens the store, and rejects when that cannot be done. */
  open(): Promise<void>;
  /** Throws when the store cannot be written. */
  requireWritable(): void;
}

const KEY_QUERY: OptionNames<KeyQuery> = { sessionKeys: true, sessionId: true, limit: true };
const REFUSAL_QUERY: OptionNames<RefusalQuery> = { since: true, principal: true, limit: true };
const CALL_QUERY: OptionNames<AuditedCallQuery> = { since: true, until: true, principal: true, after: true, limit: true };
/** Longest id, name or path of a row. */
const MAX_TEXT = 4_096;

/** Checks what it is called with and sends it through the guard. */
export function guardAccess(guard: AccessGuard): AccessStore {
  const send = async <Method extends keyof AccessStore>(
    method: Method,
    argument: Parameters<AccessStore[Method]>[0],
  ): Promise<Awaited<ReturnType<AccessStore[Method]>>> => {
    if (WRITES.has(method)) guard.requireWritable();
    await guard.open();
    return (await guard.run({ method, argument })) as Awaited<ReturnType<AccessStore[Method]>>; // what the method of that name answers
  };
  return {
    addKey: async (key) => send("addKey", checkedKey(key)),
    key: (id) => send("key", id),
    keys: async (query = {}) => {
      checkKnownKeys(query, KEY_QUERY, "keys() of a store");
      if (query.limit !== undefined) requireWhole("limit", query.limit, 1);
      return send("keys", query);
    },
    revokeKey: (request) => send("revokeKey", request),
    addRefusals: (refusals) => send("addRefusals", refusals),
    refusals: async (query = {}) => {
      checkKnownKeys(query, REFUSAL_QUERY, "refusals() of a store");
      if (query.limit !== undefined) requireWhole("limit", query.limit, 1);
      return send("refusals", query);
    },
    addCalls: async (added) => {
      requireWhole("keep", added.keep, 1);
      return send("addCalls", added);
    },
    calls: async (query = {}) => {
      checkKnownKeys(query, CALL_QUERY, "calls() of a store");
      if (query.limit !== undefined) requireWhole("limit", query.limit, 1);
      return send("calls", query);
    },
    beginRequest: (request) => send("beginRequest", request),
    holdRequest: (request) => send("holdRequest", request),
    releaseRequest: (request) => send("releaseRequest", request),
    answerRequest: (request) => send("answerRequest", request),
    forgetRequests: (before) => send("forgetRequests", before),
  };
}

const WRITES: ReadonlySet<keyof AccessStore> = new Set([
  "addKey",
  "revokeKey",
  "addRefusals",
  "addCalls",
  "beginRequest",
  "holdRequest",
  "releaseRequest",
  "answerRequest",
  "forgetRequests",
]);

/** Runs an operation on the access part itself. */
export function runAccessOperation(access: AccessStore, { method, argument }: AccessOperation): Promise<unknown> {
  const run = access[method] as (argument: unknown) => Promise<unknown>; // `guardAccess` pairs method and argument
  return Reflect.apply(run, access, [argument]);
}

/** @throws ToolError `invalid_argument` for a key that could not be found, or not be told from another */
function checkedKey(key: StoredKey): StoredKey {
  const { id, name, salt, hash } = key;
  for (const [field, value] of Object.entries({ id, name, salt, hash }))
    if (typeof value !== "string" || value === "" || value.length > MAX_TEXT)
      throw new ToolError("invalid_argument", `${field} of a key is a string of 1 to ${MAX_TEXT} characters.`);
  return key;
}
