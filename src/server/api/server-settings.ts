/** The limits of a server, and their defaults. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { COUNT, SIZE, checkNumber } from "../../core/base/number-bounds.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";

/** Limits on the size of requests, and on what one principal may have in progress. */
export interface ServerLimits {
  /** Maximum size of a request body, in bytes. @default 4_194_304 */
  readonly maxBodyBytes?: number;
  /** Maximum size of an imported recording, in bytes. @default 268_435_456 */
  readonly maxRecordingBytes?: number;
  /** Maximum requests of one principal per minute. @default 6_000 */
  readonly maxRequestsPerMinute?: number;
  /** Maximum bytes of one principal's requests and their responses per minute, event streams included. @default 1_073_741_824 */
  readonly maxBytesPerMinute?: number;
  /** Maximum concurrent requests of one principal, streams not counted. @default 256 */
  readonly maxConcurrentRequests?: number;
  /** Maximum concurrent calls of one principal. A background job counts until its request is answered, then only for the runtime's `jobs`. @default 1_000 */
  readonly maxConcurrentCalls?: number;
  /** Maximum open event streams of one principal. @default 100 */
  readonly maxStreams?: number;
  /**
   * Maximum number of sessions that the server has open; the ones idle longest are closed. Sessions that only clients can end (branches, and without
   * a store all) are not closed: if they reach the limit, no more are begun.
   * @default 1_000
   */
  readonly maxOpenSessions?: number;
  /** How long a stored session may be idle before it is closed, in milliseconds. @default 600_000 */
  readonly sessionIdleMs?: number;
  /** How long `close` waits for running calls before it cancels those that change nothing, in milliseconds. @default 10_000 */
  readonly graceMs?: number;
}

/** `ServerLimits` with all defaults applied. */
export type ServerSettings = Required<ServerLimits>;

const DEFAULTS: ServerSettings = {
  maxBodyBytes: 4_194_304,
  maxRecordingBytes: 268_435_456,
  maxRequestsPerMinute: 6_000,
  maxBytesPerMinute: 1_073_741_824,
  maxConcurrentRequests: 256,
  maxConcurrentCalls: 1_000,
  maxStreams: 100,
  maxOpenSessions: 1_000,
  sessionIdleMs: 600_000,
  graceMs: 10_000,
};

/** Applies the defaults. @throws ToolError `invalid_argument` for an invalid limit */
export function serverSettings(limits: ServerLimits = {}): ServerSettings {
  checkKnownKeys(limits, DEFAULTS satisfies OptionNames<ServerLimits>, "The option limits of createServer()");
  for (const [name, value] of Object.entries<number | undefined>({ ...limits }))
    checkNumber(value, `The limit ${name} of a server`, name === "graceMs" ? SIZE : COUNT);
  return { ...DEFAULTS, ...omitUndefined(limits) };
}
