/** The one closed table of error codes, and the error every room throws or reports. */

/** Who can do something about an error. */
export type Actor = "model" | "user" | "programmer" | "operator";

/** Whether the tool's effect happened: not begun, ended as a failure, or nobody can tell. */
export type Outcome = "not_started" | "failed" | "unknown";

export interface ErrorCodeInfo {
  /** One sentence: when a call ends with this code. */
  readonly when: string;
  readonly actor: Actor;
  /** The coarse category of seed 004 (schema validation, execution, timeout, permission, network). */
  readonly category: "validation" | "execution" | "timeout" | "permission" | "network" | "lookup" | "limit" | "setup";
  /** Whether the same call may succeed later without a change, unless the thrower says otherwise. */
  readonly retryable: boolean;
  readonly outcome: Outcome;
  readonly http: number;
  readonly jsonRpc: number;
  readonly exit: number;
}

/** Why a call failed; the table in `docs/reference/errors.md` is generated from this list. */
export const ERROR_CODES = {
  invalid_call: { when: "The call itself is malformed: not an object, no name, a bad id.", actor: "model", category: "validation", retryable: false, outcome: "not_started", http: 400, jsonRpc: -32600, exit: 5 },
  invalid_input: { when: "The input does not fit the tool's schema, even after repair.", actor: "model", category: "validation", retryable: false, outcome: "not_started", http: 422, jsonRpc: -32602, exit: 5 },
  too_large: { when: "The input or the output is deeper or larger than the limits allow.", actor: "model", category: "validation", retryable: false, outcome: "not_started", http: 413, jsonRpc: -32602, exit: 5 },
  not_found: { when: "No tool, toolset or result has this name.", actor: "model", category: "lookup", retryable: false, outcome: "not_started", http: 404, jsonRpc: -32601, exit: 4 },
  ambiguous: { when: "A bare name fits tools of several toolsets.", actor: "model", category: "lookup", retryable: false, outcome: "not_started", http: 409, jsonRpc: -32602, exit: 4 },
  not_executable: { when: "The tool is only described here: its provider runs it, or it has no handler.", actor: "programmer", category: "lookup", retryable: false, outcome: "not_started", http: 501, jsonRpc: -32601, exit: 4 },
  unavailable: { when: "The tool or its toolset is disabled, not open, failed to open, or quarantined for a bad schema.", actor: "operator", category: "setup", retryable: false, outcome: "not_started", http: 503, jsonRpc: -32000, exit: 6 },
  permission_denied: { when: "The permission rules do not allow this tool.", actor: "user", category: "permission", retryable: false, outcome: "not_started", http: 403, jsonRpc: -32001, exit: 6 },
  approval_required: { when: "The call must be approved and nobody is there to ask.", actor: "user", category: "permission", retryable: false, outcome: "not_started", http: 403, jsonRpc: -32001, exit: 6 },
  approval_denied: { when: "The call was put to a person or rule and refused, or the answer did not come in time.", actor: "user", category: "permission", retryable: false, outcome: "not_started", http: 403, jsonRpc: -32001, exit: 6 },
  vetoed: { when: "A hook stopped the call.", actor: "programmer", category: "permission", retryable: false, outcome: "not_started", http: 403, jsonRpc: -32001, exit: 6 },
  limit_exceeded: { when: "The tool was already used as often as this turn allows.", actor: "model", category: "limit", retryable: false, outcome: "not_started", http: 429, jsonRpc: -32002, exit: 6 },
  circuit_open: { when: "The tool failed so often of late that calls are refused for a while.", actor: "operator", category: "limit", retryable: true, outcome: "not_started", http: 503, jsonRpc: -32000, exit: 7 },
  resource_busy: { when: "The call waited for a resource that another call still holds.", actor: "model", category: "limit", retryable: true, outcome: "not_started", http: 409, jsonRpc: -32002, exit: 7 },
  timeout: { when: "The tool did not answer within its time; what it did is not known.", actor: "operator", category: "timeout", retryable: true, outcome: "unknown", http: 504, jsonRpc: -32003, exit: 7 },
  cancelled: { when: "The caller cancelled the call.", actor: "user", category: "execution", retryable: false, outcome: "unknown", http: 499, jsonRpc: -32800, exit: 130 },
  network_error: { when: "The connection to the tool failed.", actor: "operator", category: "network", retryable: true, outcome: "unknown", http: 502, jsonRpc: -32000, exit: 7 },
  rate_limited: { when: "The service behind the tool asked to slow down.", actor: "operator", category: "network", retryable: true, outcome: "not_started", http: 429, jsonRpc: -32002, exit: 7 },
  execution_failed: { when: "The tool ran and failed.", actor: "model", category: "execution", retryable: false, outcome: "unknown", http: 500, jsonRpc: -32000, exit: 1 },
  invalid_output: { when: "The tool ran, but its answer breaks its output schema.", actor: "operator", category: "execution", retryable: false, outcome: "unknown", http: 502, jsonRpc: -32000, exit: 1 },
  not_json: { when: "A value cannot be written as JSON: bigint, cycle, function, NaN, Map and the like.", actor: "programmer", category: "execution", retryable: false, outcome: "unknown", http: 500, jsonRpc: -32000, exit: 1 },
  invalid_schema: { when: "A tool's schema is not a usable JSON Schema.", actor: "programmer", category: "setup", retryable: false, outcome: "not_started", http: 500, jsonRpc: -32000, exit: 3 },
  invalid_config: { when: "A configuration file has a wrong key, type or value, or cannot be read.", actor: "operator", category: "setup", retryable: false, outcome: "not_started", http: 500, jsonRpc: -32000, exit: 3 },
  invalid_argument: { when: "A function of Haft was called with a wrong argument.", actor: "programmer", category: "setup", retryable: false, outcome: "not_started", http: 500, jsonRpc: -32602, exit: 2 },
  duplicate: { when: "A name was registered twice.", actor: "programmer", category: "setup", retryable: false, outcome: "not_started", http: 409, jsonRpc: -32602, exit: 3 },
} as const satisfies Record<string, ErrorCodeInfo>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** An error as data: what a result, an event and the wire carry. */
export interface ErrorInfo {
  readonly code: ErrorCode;
  /** What happened, with what; at most 4,096 characters. */
  readonly message: string;
  readonly retryable: boolean;
  readonly outcome: Outcome;
  /** What would work instead. */
  readonly hint?: string;
  /** One line per problem, e.g. each schema violation with its `$` path; at most 20. */
  readonly details?: readonly string[];
  /** Wait at least this long before trying again. */
  readonly retryAfterMs?: number;
}

export interface ToolErrorOptions {
  readonly hint?: string;
  readonly details?: readonly string[];
  readonly retryable?: boolean;
  readonly outcome?: Outcome;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export const MAX_MESSAGE_LENGTH = 4096;
const MAX_DETAILS = 20;

/**
 * The one error class. Handlers throw it to choose code, retryability, outcome and hint;
 * the API throws it at once, before any I/O, when it is misused.
 */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly outcome: Outcome;
  readonly hint: string | undefined;
  readonly details: readonly string[];
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: ToolErrorOptions = {}) {
    super(cut(message), options.cause === undefined ? undefined : { cause: options.cause });
    const info: ErrorCodeInfo = ERROR_CODES[code];
    this.code = code;
    this.retryable = options.retryable ?? info.retryable;
    this.outcome = options.outcome ?? info.outcome;
    this.hint = options.hint;
    this.details = Object.freeze((options.details ?? []).slice(0, MAX_DETAILS).map(cut));
    this.retryAfterMs = options.retryAfterMs;
  }

  /** The error as plain data, without stack or cause. */
  toJSON(): ErrorInfo {
    return errorInfo(this);
  }

  /**
   * Makes a ToolError of anything that can be thrown, whatever its getters do.
   *
   * A ToolError comes back unchanged. Anything else becomes `execution_failed` with the thrown value as
   * cause, or the `code` given.
   */
  static fromUnknown(thrown: unknown, code: ErrorCode = "execution_failed"): ToolError {
    if (isToolError(thrown)) return thrown;
    return new ToolError(code, describeThrown(thrown), { cause: thrown });
  }
}

/** What `toJSON` gives, whatever a subclass makes of that. */
export function errorInfo(error: ToolError): ErrorInfo {
  return {
    code: error.code,
    message: error.message,
    retryable: error.retryable,
    outcome: error.outcome,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.details.length === 0 ? {} : { details: error.details }),
    ...(error.retryAfterMs === undefined || !Number.isFinite(error.retryAfterMs) ? {} : { retryAfterMs: error.retryAfterMs }),
  };
}

/** A ToolError whose fields can be read and are what they should be: not a proxy with traps, not a bare prototype. Never throws. */
export function isToolError(thrown: unknown): thrown is ToolError {
  try {
    return thrown instanceof ToolError && isSound(thrown);
  } catch {
    return false;
  }
}

function isSound({ code, message, retryable, outcome, hint, details, retryAfterMs }: ToolError): boolean {
  return (
    Object.hasOwn(ERROR_CODES, code) &&
    typeof message === "string" &&
    message.length <= MAX_MESSAGE_LENGTH &&
    typeof retryable === "boolean" &&
    OUTCOMES.has(outcome) &&
    (hint === undefined || typeof hint === "string") &&
    Array.isArray(details) &&
    details.every((detail) => typeof detail === "string") &&
    (retryAfterMs === undefined || typeof retryAfterMs === "number")
  );
}

const OUTCOMES: ReadonlySet<unknown> = new Set<Outcome>(["not_started", "failed", "unknown"]);

/** A short text for anything that can be thrown; never throws itself. */
export function describeThrown(thrown: unknown): string {
  try {
    if (typeof thrown === "string") return thrown === "" ? "threw an empty string" : thrown;
    if (thrown === null || thrown === undefined) return `threw ${String(thrown)}`;
    if (typeof thrown !== "object" && typeof thrown !== "function") return `threw ${String(thrown)}`;
    const message: unknown = Reflect.get(thrown, "message");
    if (typeof message === "string" && message !== "") return message;
    const name: unknown = Reflect.get(thrown, "name");
    return typeof name === "string" && name !== "" ? `threw a ${name}` : "threw an object without a message";
  } catch {
    return "threw a value that cannot be read";
  }
}

function cut(text: string): string {
  return text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}
