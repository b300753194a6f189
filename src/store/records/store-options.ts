/** Checks the options of a store's methods and fills in their defaults. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { checkJobStates } from "../../core/jobs/job-status.ts";
import type { CancelRequest, ListStoredJobsOptions, ListUnattendedOptions, PruneJobsOptions } from "../../core/store/job-store.ts";
import type { ReadFeedOptions } from "../../core/store/store-feed.ts";
import type { ListOptions, LogOptions, ReadOptions } from "../../core/store/store.ts";

/** Default maximum size of the persistent result cache, in bytes. */
export const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;
/** Default maximum size of the write buffer, in bytes: room for several outputs of the maximum size. */
export const DEFAULT_BUFFERED_BYTES = 4 * DEFAULT_CACHE_BYTES;
/** How often an owner renews its lease, in milliseconds. */
export const HEARTBEAT_MS = 5_000;
/** Number of heartbeats in a lease. */
export const HEARTBEATS_IN_LEASE = 3;
/** How long an owner may be silent before it is considered gone, in milliseconds. */
export const LEASE_MS = HEARTBEATS_IN_LEASE * HEARTBEAT_MS;
const DEFAULT_EVENTS = 1_000;
const DEFAULT_SESSIONS = 100;
/** Maximum number of sessions that one `list` may name. */
const MAX_NAMED = 500;
const DEFAULT_UNATTENDED = 1_000;

/** Options of a list of jobs, with their defaults. */
export type CheckedJobList = ListStoredJobsOptions & CheckedListOptions;
/** Options of a list of sessions, with their defaults. */
export type CheckedListOptions = Required<Pick<ListOptions, "limit" | "offset">> &
  Pick<ListOptions, "sessionId" | "sessionIds" | "parentId">;

/** @throws ToolError `invalid_argument` */
export function checkReadOptions({ from = 1, limit = DEFAULT_EVENTS }: ReadOptions): Required<ReadOptions> {
  return { from: requireInteger("from", from, 1), limit: requireInteger("limit", limit, 1) };
}

/** @throws ToolError `invalid_argument` */
export function checkFeedOptions({ after, limit = DEFAULT_EVENTS }: ReadFeedOptions): Required<ReadFeedOptions> {
  return { after, limit: requireInteger("limit", limit, 1) };
}

/** @throws ToolError `invalid_argument` */
export function checkListOptions({
  limit = DEFAULT_SESSIONS,
  offset = 0,
  sessionId,
  sessionIds,
  parentId,
}: ListOptions): CheckedListOptions {
  if (sessionIds !== undefined && sessionIds.length > MAX_NAMED)
    throw new ToolError("invalid_argument", `A list of sessions can name at most ${MAX_NAMED} sessions, not ${sessionIds.length}.`);
  return {
    ...omitUndefined({ sessionId, sessionIds: sessionIds && [...sessionIds], parentId }),
    limit: requireInteger("limit", limit, 1),
    offset: requireInteger("offset", offset, 0),
  };
}

const JOB_LIST: OptionNames<ListStoredJobsOptions> = { sessionId: "string", id: true, states: true, limit: true, offset: true };
const UNATTENDED: OptionNames<ListUnattendedOptions> = { limit: true };
const JOB_PRUNE: OptionNames<PruneJobsOptions> = { keep: true, endedBefore: true };

/** @throws ToolError `invalid_argument` */
export function checkJobList(options: ListStoredJobsOptions): CheckedJobList {
  checkKnownKeys(options, JOB_LIST, "the list of stored jobs");
  checkJobStates(options.states, "the list of stored jobs");
  return { ...options, ...checkListOptions(options) };
}

/** @throws ToolError `invalid_argument` */
export function checkUnattended(options: ListUnattendedOptions): Required<ListUnattendedOptions> {
  checkKnownKeys(options, UNATTENDED, "unattended() of stored jobs");
  const { limit = DEFAULT_UNATTENDED } = options;
  return { limit: requireInteger("limit", limit, 1) };
}

/** Returns a copy, because it may be sent to another thread. @throws ToolError `invalid_argument` */
export function checkCancelRequest({ sessionId, id, reason }: CancelRequest): CancelRequest {
  for (const [name, value] of Object.entries({ sessionId, id, reason }))
    if (typeof value !== "string")
      throw new ToolError("invalid_argument", `${name} of requestCancel() is ${String(value)}; it must be a string.`);
  return { sessionId, id, reason };
}

/** @throws ToolError `invalid_argument` */
export function checkJobPrune(options: PruneJobsOptions): PruneJobsOptions {
  checkKnownKeys(options, JOB_PRUNE, "prune() of stored jobs");
  requireInteger("keep", options.keep, 0);
  const { endedBefore } = options;
  if (endedBefore === undefined || Number.isFinite(endedBefore)) return options;
  throw new ToolError("invalid_argument", `endedBefore is ${String(endedBefore)}; it must be a time in milliseconds.`);
}

/** Returns a copy. @throws ToolError `invalid_argument` */
export function checkLogOptions({ at, durability, parent }: LogOptions): LogOptions {
  if (!Number.isFinite(at)) throw new ToolError("invalid_argument", `at is ${String(at)}; it must be a time in milliseconds.`);
  if (durability !== "sync" && durability !== "async") {
    throw new ToolError("invalid_argument", `durability is ${JSON.stringify(durability)}; it must be sync or async.`);
  }
  if (parent === undefined) return Object.freeze({ at, durability });
  const { sessionId, length } = parent;
  return Object.freeze({ at, durability, parent: Object.freeze({ sessionId, length: requireInteger("parent.length", length, 0) }) });
}

/** @throws ToolError `invalid_argument` */
export function requireInteger(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new ToolError("invalid_argument", `${name} is ${quoteValue(value)}; it must be an integer of at least ${min}.`);
}
