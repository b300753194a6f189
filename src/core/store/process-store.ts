/** The processes that use a store, as they describe themselves. */
import { ToolError } from "../error.ts";
import { checkKnownKeys, type OptionNames } from "../known-keys.ts";

/** A process's description of itself, for others that use the same store. */
export interface ProcessDescription {
  /** A name for people, such as `web-1:7420`. */
  readonly name?: string;
  /** The kind of program: `serve`, `worker`, `cli`, or a word of your own. */
  readonly role?: string;
  /**
   * The HTTP address, such as `http://10.0.0.3:7420`, to which requests for the process's open sessions are forwarded. An empty string removes it.
   */
  readonly address?: string;
  /** The version of the program. */
  readonly version?: string;
  /** A digest of the definitions of each toolset, by name. All processes of a fleet should have the same digests. */
  readonly definitions?: Readonly<Record<string, string>>;
  /** The places that the process has, as in `Toolset.place`. */
  readonly places?: readonly string[];
}

/** A process that uses a store. */
export interface StoredProcess extends ProcessDescription {
  /** Unique among all processes, past ones included. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Whether this is the process of the store object that made the list. */
  readonly own: boolean;
  /** False if the process was silent for longer than its lease, or is known to be gone: others may claim its sessions. */
  readonly alive: boolean;
  /** When the process first announced itself, in milliseconds since the epoch by the database's clock; undefined if it did not. */
  readonly startedAt?: number;
  /** When the process last sent a heartbeat, by the same clock. */
  readonly seenAt: number;
  /** How long ago the last heartbeat was when the list was made, in milliseconds. Processes send one every 5 seconds. */
  readonly silentMs: number;
  /** How many sessions the process has open. */
  readonly sessions: number;
  /** The open sessions that were used last, at most 20. */
  readonly sessionIds: readonly string[];
  /** How many events of the store the process had not read when last seen; undefined if it follows none. */
  readonly eventsBehind?: number;
}

/** Maximum number of sessions listed by id for a process. */
export const MAX_NAMED_SESSIONS = 20;

const FIELDS: OptionNames<ProcessDescription> = {
  name: true,
  role: true,
  address: true,
  version: true,
  definitions: true,
  places: true,
};
const MAX_TEXT = 500;
const MAX_NAMES = 1_000;

/** @throws ToolError `invalid_argument` */
export function checkProcessDescription(given: ProcessDescription): ProcessDescription {
  checkKnownKeys(given, FIELDS, "announce()");
  const { definitions = {}, places = [], ...texts } = given;
  for (const [name, value] of Object.entries({ ...texts }))
    if (value !== undefined && !isText(value)) throw fieldError(name, `a string of at most ${MAX_TEXT} characters`);
  const named = Object.entries(definitions);
  if (named.length > MAX_NAMES || !named.flat().every(isText)) throw fieldError("definitions", "an object of strings");
  if (!Array.isArray(places) || places.length > MAX_NAMES || !places.every(isText)) throw fieldError("places", "an array of strings");
  return given;
}

/** Merges what a process adds into its description. */
export function mergeDescription(before: ProcessDescription, added: ProcessDescription): ProcessDescription {
  const { address, ...rest } = { ...before, ...added };
  return address === undefined || address === "" ? rest : { ...rest, address };
}

/** Returns the valid fields of a description that another process wrote, possibly one of another version. */
export function readProcessDescription(value: unknown): ProcessDescription {
  if (typeof value !== "object" || value === null) return {};
  const { name, role, address, version, definitions, places } = value as Readonly<Record<string, unknown>>; // each is checked below
  const texts = Object.entries({ name, role, address, version }).filter(([, text]) => isText(text));
  const digests = typeof definitions === "object" && definitions !== null ? Object.entries(definitions) : [];
  return {
    ...Object.fromEntries(texts),
    ...(digests.length > 0 && digests.flat().every(isText) ? { definitions: Object.fromEntries(digests) } : {}),
    ...(Array.isArray(places) && places.every(isText) ? { places } : {}),
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT;
}

function fieldError(name: string, needed: string): ToolError {
  return new ToolError("invalid_argument", `${name} of announce() must be ${needed}.`);
}
