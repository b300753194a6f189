/** The options of a store's methods, checked and with their defaults. */
import { ToolError } from "../core/error.ts";
import type { ListOptions, LogOptions, ReadOptions } from "../core/store.ts";

const DEFAULT_EVENTS = 1_000;
const DEFAULT_SESSIONS = 100;

/** @throws ToolError `invalid_argument` */
export function checkReadOptions({ from = 1, limit = DEFAULT_EVENTS }: ReadOptions): Required<ReadOptions> {
  return { from: requireWhole("from", from, 1), limit: requireWhole("limit", limit, 1) };
}

/** @throws ToolError `invalid_argument` */
export function checkListOptions({ limit = DEFAULT_SESSIONS, offset = 0 }: ListOptions): Required<ListOptions> {
  return { limit: requireWhole("limit", limit, 1), offset: requireWhole("offset", offset, 0) };
}

/** A copy. @throws ToolError `invalid_argument` */
export function checkLogOptions({ at, durability, parent }: LogOptions): LogOptions {
  if (!Number.isFinite(at)) throw new ToolError("invalid_argument", `at is ${String(at)}; it must be a time in milliseconds.`);
  if (durability !== "sync" && durability !== "async") {
    throw new ToolError("invalid_argument", `durability is ${JSON.stringify(durability)}; it must be sync or async.`);
  }
  if (parent === undefined) return Object.freeze({ at, durability });
  const { sessionId, length } = parent;
  return Object.freeze({ at, durability, parent: Object.freeze({ sessionId, length: requireWhole("parent.length", length, 0) }) });
}

/** @throws ToolError `invalid_argument` */
export function requireWhole(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new ToolError("invalid_argument", `${name} is ${String(value)}; it must be an integer of at least ${min}.`);
}
