/** The limits of a server, and their defaults. */
import { COUNT, SIZE, checkNumber } from "../../core/base/number-bounds.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";

/** How much a request may hold, and how much one principal may have under way. */
export interface ServerLimits {
  /** Largest body of a request, in bytes. @default 4_194_304 */
  readonly maxBodyBytes?: number;
  /** Largest recording that is imported, in bytes. @default 268_435_456 */
  readonly maxRecordingBytes?: number;
  /** Requests of one principal in a minute. @default 6_000 */
  readonly maxRequestsPerMinute?: number;
  /** Bytes of the requests of one principal and of the answers to them, event streams included, in a minute. @default 1_073_741_824 */
  readonly maxBytesPerMinute?: number;
  /** Requests of one principal that are being answered at a time, streams not counted. @default 256 */
  readonly maxConcurrentRequests?: number;
  /** Calls of one principal that run at a time. @default 1_000 */
  readonly maxConcurrentCalls?: number;
  /** Event streams of one principal. @default 100 */
  readonly maxStreams?: number;
  /**
   * Most sessions that the server has open; those that have been idle longest are closed. Where only clients can end them (branches, and without a
   * store all), no more are begun. @default 1_000
   */
  readonly maxOpenSessions?: number;
  /** How long a session that a store keeps may be idle before it is closed, in milliseconds. @default 600_000 */
  readonly sessionIdleMs?: number;
  /** How long `close` waits for calls under way before it cancels those that change nothing, in milliseconds. @default 10_000 */
  readonly graceMs?: number;
}

/** The same with nothing left open. */
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

/** @throws ToolError `invalid_argument` for what cannot work */
export function serverSettings(limits: ServerLimits = {}): ServerSettings {
  checkKnownKeys(limits, DEFAULTS satisfies OptionNames<ServerLimits>, "The option limits of createServer()");
  for (const [name, value] of Object.entries<number | undefined>({ ...limits }))
    checkNumber(value, `The limit ${name} of a server`, name === "graceMs" ? SIZE : COUNT);
  return { ...DEFAULTS, ...limits };
}
