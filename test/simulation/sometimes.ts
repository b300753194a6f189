/** What must happen in some world, or the worlds prove nothing. */
import { FAULT_TYPES } from "../../src/core/fault.ts";

/**
 * Left out for want of the part: queues and their limits,
 * poison jobs, leases, slow clients, MCP servers, migrations and torn tails (the files of SQLite).
 */
export const SOMETIMES: readonly string[] = [
  "retry, then success",
  "retries exhausted",
  "circuit open",
  "circuit half-open",
  "circuit closed",
  "timeout with a late result",
  "operation: cancel before",
  "cancelled while it ran",
  "operation: cancel after",
  "single-flight join",
  "cache hit",
  "cache eviction by bytes",
  "operation: commit",
  "operation: commit, conflict",
  "operation: commit what was tried",
  "operation: simulate and throw, rolled back",
  "orphan",
  "outcome known later",
  "rollback of a batch",
  "round voided",
  "result: outcome_unknown",
  "interrupted call that may not be repeated",
  "interrupted call found to have happened",
  "interrupted call found not to have happened",
  "crash that loses what was not acknowledged",
  "store that fails and is tried again",
  "session taken over",
  "stale owner refused",
  "session restored from a snapshot",
  "submission sent again and answered as the first time",
  "limit reached",
  "job asked to end",
  "waited for a lock",
  "waited for a slot",
  ...FAULT_TYPES.map((type) => `fault: ${type}`),
];
