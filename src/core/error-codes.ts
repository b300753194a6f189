/** The table of all error codes: when each occurs, who can act on it, and its code in HTTP, JSON-RPC and the shell. */

/** The party that can do something about an error. */
export type Actor = "model" | "user" | "programmer" | "operator";

/** Whether the tool's effect happened: not started, failed, or unknown. */
export type Outcome = "not_started" | "failed" | "unknown";

/** The meaning of an error code, and the defaults of its errors. */
export interface ErrorCodeInfo {
  /** One sentence that says when a call ends with this code. */
  readonly when: string;
  readonly actor: Actor;
  /** The coarse category, for counting and grouping errors. */
  readonly category: "validation" | "execution" | "timeout" | "permission" | "network" | "lookup" | "limit" | "setup";
  /** Whether the same call may succeed later unchanged, unless the thrower says otherwise. */
  readonly retryable: boolean;
  readonly outcome: Outcome;
  readonly http: number;
  readonly jsonRpc: number;
  readonly exit: number;
}

// Defaults of each category; a row below says what differs.
const VALIDATION = { actor: "model", category: "validation", retryable: false, outcome: "not_started", jsonRpc: -32602, exit: 5 } as const;
const LOOKUP = { actor: "model", category: "lookup", retryable: false, outcome: "not_started", jsonRpc: -32601, exit: 4 } as const;
const PERMISSION = {
  actor: "user",
  category: "permission",
  retryable: false,
  outcome: "not_started",
  http: 403,
  jsonRpc: -32001,
  exit: 6,
} as const;
const LIMIT = { actor: "model", category: "limit", retryable: true, outcome: "not_started", jsonRpc: -32002, exit: 7 } as const;
const NETWORK = {
  actor: "operator",
  category: "network",
  retryable: true,
  outcome: "unknown",
  http: 502,
  jsonRpc: -32000,
  exit: 7,
} as const;
const EXECUTION = {
  actor: "operator",
  category: "execution",
  retryable: false,
  outcome: "unknown",
  http: 500,
  jsonRpc: -32000,
  exit: 1,
} as const;
const SETUP = {
  actor: "operator",
  category: "setup",
  retryable: false,
  outcome: "not_started",
  http: 500,
  jsonRpc: -32000,
  exit: 3,
} as const;

/** Why a call failed; the table in `docs/reference/errors.md` is generated from this list. */
export const ERROR_CODES = {
  invalid_call: { ...VALIDATION, when: "The call itself is malformed: not an object, no name, a bad id.", http: 400, jsonRpc: -32600 },
  invalid_input: { ...VALIDATION, when: "The input does not fit the tool's schema, even after repair.", http: 422 },
  too_large: { ...VALIDATION, when: "The input or the output is deeper or larger than the limits allow.", http: 413 },
  not_found: { ...LOOKUP, when: "No tool, toolset or result has this name.", http: 404 },
  ambiguous: { ...LOOKUP, when: "A bare name matches tools of several toolsets.", http: 409, jsonRpc: -32602 },
  gone: {
    ...LOOKUP,
    when: "Events were to be read from a position that is not known, or no longer known.",
    actor: "programmer",
    http: 410,
    jsonRpc: -32602,
  },
  not_executable: {
    ...LOOKUP,
    when: "The tool is only described here: its provider runs it, or it has no handler.",
    actor: "programmer",
    http: 501,
  },
  unavailable: {
    ...SETUP,
    when: "The tool or its toolset is disabled, not open, failed to open, or quarantined for a bad schema.",
    http: 503,
    exit: 6,
  },
  permission_denied: { ...PERMISSION, when: "The permission rules do not allow this tool, or the tool itself was denied access." },
  definition_changed: {
    ...PERMISSION,
    when: "The tool's definition is not the one that was pinned, so its calls are blocked until a person approves it; or it changed while the call waited.",
  },
  approval_required: { ...PERMISSION, when: "The call needs approval and no approver is configured." },
  approval_denied: { ...PERMISSION, when: "The call was put to a person or rule and refused, or the answer did not come in time." },
  vetoed: { ...PERMISSION, when: "A hook stopped the call.", actor: "programmer" },
  limit_exceeded: { ...LIMIT, when: "The tool was already used as often as this turn allows.", retryable: false, http: 429, exit: 6 },
  not_simulatable: {
    ...PERMISSION,
    when: "The call belongs to a simulation, would write, and has no stand-in.",
    actor: "programmer",
    http: 409,
  },
  not_forkable: {
    ...PERMISSION,
    when: "The call belongs to a branch, would write, and its engine cannot give the branch a state of its own.",
    actor: "programmer",
    http: 409,
  },
  circuit_open: {
    ...LIMIT,
    when: "The tool has failed repeatedly, and calls are refused for a while.",
    actor: "operator",
    http: 503,
    jsonRpc: -32000,
  },
  resource_busy: { ...LIMIT, when: "The call waited for a resource that another call still holds.", http: 409 },
  timeout: {
    ...NETWORK,
    when: "The tool did not answer within its time; what it did is not known.",
    category: "timeout",
    http: 504,
    jsonRpc: -32003,
  },
  cancelled: { ...EXECUTION, when: "The caller cancelled the call.", actor: "user", http: 499, jsonRpc: -32800, exit: 130 },
  outcome_unknown: { ...EXECUTION, when: "The process ended while the call ran; it is not known whether it took effect.", actor: "user" },
  job_parked: {
    ...EXECUTION,
    when: "A background job was running each time its process ended, too often to be run again.",
    outcome: "unknown",
  },
  network_error: { ...NETWORK, when: "The connection to the tool failed." },
  rate_limited: { ...NETWORK, when: "The service behind the tool asked to slow down.", outcome: "not_started", http: 429, jsonRpc: -32002 },
  model_failed: {
    ...EXECUTION,
    when: "The model's provider refused the request, failed in the middle of its answer, or gave an answer that cannot be read.",
    outcome: "failed",
    http: 502,
    jsonRpc: -32603,
  },
  execution_failed: { ...EXECUTION, when: "The tool ran and failed.", actor: "model" },
  invalid_output: { ...EXECUTION, when: "The tool ran, but its answer breaks its output schema.", http: 502 },
  not_json: {
    ...EXECUTION,
    when: "A value cannot be written as JSON: bigint, cycle, function, NaN, Map and the like.",
    actor: "programmer",
  },
  invalid_schema: { ...SETUP, when: "A tool's schema is not a usable JSON Schema.", actor: "programmer" },
  invalid_config: { ...SETUP, when: "A configuration file has a wrong key, type or value, or cannot be read." },
  conflict: {
    ...SETUP,
    when: "The session has moved on since a branch left it, another process has taken it over, it was removed, or a key was used for other calls.",
    actor: "programmer",
    http: 409,
    jsonRpc: -32002,
    exit: 7,
  },
  store_failed: {
    ...SETUP,
    when: "The store cannot be read or written: a full disk, a read-only file, an I/O error.",
    retryable: true,
    http: 503,
    exit: 7,
  },
  corrupt_record: { ...SETUP, when: "A stored session, a snapshot or a recording is damaged, cut short or of a newer version." },
  invalid_argument: {
    ...SETUP,
    when: "A function of Haft was called with a wrong argument.",
    actor: "programmer",
    jsonRpc: -32602,
    exit: 2,
  },
  duplicate: { ...SETUP, when: "A name was registered twice.", actor: "programmer", http: 409, jsonRpc: -32602 },
} as const satisfies Record<string, ErrorCodeInfo>;

/** The code of an error: a row of `ERROR_CODES`. */
export type ErrorCode = keyof typeof ERROR_CODES;
