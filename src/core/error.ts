/** The error that all of Haft throws and reports. */
import { shareClass } from "./base/share-class.ts";
import { ERROR_CODES, type ErrorCode, type ErrorCodeInfo, type Outcome } from "./error-codes.ts";
import { describeValueType, withArticle } from "./base/wording.ts";
import { omitUndefined } from "./base/omit-undefined.ts";
import { findNodeVersionProblem } from "./system/node-version.ts";
import { truncateText } from "./base/truncate-text.ts";

// Every entry point imports this file, so an import on too old a Node fails at once, not in the first call. The check has no file of its own,
// imported for its side effect, because bundlers drop those.
const nodeVersionProblem = typeof process === "undefined" ? undefined : findNodeVersionProblem(process.versions);
if (nodeVersionProblem !== undefined) throw new Error(nodeVersionProblem);

/** An error as data, as it is in results, events and on the wire. */
export interface ErrorInfo {
  readonly code: ErrorCode;
  /** A description of what happened, and with what; at most 4,096 characters. */
  readonly message: string;
  readonly retryable: boolean;
  readonly outcome: Outcome;
  /** A hint at what would work, for the model; at most 4,096 characters. It names no setting of the program, and no way round a gate. */
  readonly hint?: string;
  /** A remedy for the operator of the program; at most 4,096 characters. Never shown to a model. */
  readonly operatorHint?: string;
  /** One line for each problem, such as a schema violation with its `$` path; at most 20 are kept. @default none */
  readonly details?: readonly string[];
  /** Qualified names that appear in these texts. A model sees the names under which it was given the tools instead. */
  readonly toolNames?: readonly string[];
  /** The shortest wait before another attempt, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** The fields of an error besides its code and message. */
export interface ToolErrorOptions {
  /** A hint for the model, shown to it with the message; cut to 4,096 characters, like the message. */
  readonly hint?: string;
  /** A hint for the operator of the program: settings, commands, options; cut to 4,096 characters. Never shown to a model. */
  readonly operatorHint?: string;
  readonly details?: readonly string[];
  /** Qualified names of tools in message, hint and details, other than the tool that was called. */
  readonly toolNames?: readonly string[];
  /** Whether the same call may succeed later unchanged. @default that of the code in the table of errors */
  readonly retryable?: boolean;
  /** Whether the effect of the call has happened. @default that of the code */
  readonly outcome?: Outcome;
  /** The shortest wait before another attempt, in milliseconds. @default none */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export const MAX_MESSAGE_LENGTH = 4096;
const MAX_DETAILS = 20;
/** Maximum length of a tool's name; a record with a longer one could not be read. */
const MAX_TOOL_NAME_LENGTH = 1_024;
const NO_NAMES: readonly string[] = Object.freeze([]);

/** The one error class. Handlers throw it to choose code, retryability, outcome and hint; the API throws it when misused, at once, before any I/O. */
export class ToolError extends Error {
  static {
    shareClass(this, "ToolError");
  }

  override readonly name = "ToolError";
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly outcome: Outcome;
  readonly hint: string | undefined;
  readonly operatorHint: string | undefined;
  readonly details: readonly string[];
  readonly toolNames: readonly string[];
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: ToolErrorOptions = {}) {
    if (!Object.hasOwn(ERROR_CODES, code) || typeof message !== "string") throw unusableError(code, message);
    super(truncateMessage(message), options.cause === undefined ? undefined : { cause: options.cause });
    const info: ErrorCodeInfo = ERROR_CODES[code];
    this.code = code;
    this.retryable = options.retryable ?? info.retryable;
    this.outcome = options.outcome ?? info.outcome;
    this.hint = truncateHint(options.hint);
    this.operatorHint = truncateHint(options.operatorHint);
    this.details = Object.freeze((options.details ?? []).slice(0, MAX_DETAILS).map(truncateMessage));
    this.toolNames =
      options.toolNames === undefined ? NO_NAMES : Object.freeze(options.toolNames.filter(isRecordable).slice(0, MAX_DETAILS));
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Returns the error as plain data, without stack or cause. */
  toJSON(): ErrorInfo {
    return errorInfo(this);
  }

  /**
   * Converts anything that can be thrown to a ToolError, whatever its getters do.
   *
   * A ToolError is returned unchanged. Anything else becomes an error with the given code and the thrown value as its cause.
   */
  static fromUnknown(thrown: unknown, code: ErrorCode = "execution_failed"): ToolError {
    if (isToolError(thrown)) return thrown;
    return new ToolError(code, describeThrown(thrown), { cause: thrown });
  }
}

/** Returns the error for an untyped program that passes an unknown code or no message, which would otherwise look like a failure of this class. */
function unusableError(code: unknown, message: unknown): TypeError {
  const given = typeof code === "string" ? JSON.stringify(code.slice(0, 100)) : describeValueType(code);
  if (typeof message === "string")
    return new TypeError(
      `ToolError has no code ${given}. Use "execution_failed" for a handler that failed. Known codes: ${Object.keys(ERROR_CODES).join(", ")}.`,
    );
  return new TypeError(
    `new ToolError(code, message) takes a message as a string, not ${describeValueType(message)}; its code is ${given}.`,
  );
}

/**
 * Returns the value of `toJSON`, even if a subclass overrides it. For mistakes in the program, its configuration or its store, the `hint` becomes an
 * `operatorHint`: results show `hint` to a model.
 */
export function errorInfo(error: ToolError): ErrorInfo {
  return {
    code: error.code,
    message: error.message,
    retryable: error.retryable,
    outcome: error.outcome,
    ...(NOT_FOR_MODELS.has(error.code) ? pickHints({ operatorHint: joinHints(error), toolNames: error.toolNames }) : pickHints(error)),
    ...(error.details.length === 0 ? {} : { details: error.details }),
    ...(error.retryAfterMs === undefined || !Number.isFinite(error.retryAfterMs) ? {} : { retryAfterMs: error.retryAfterMs }),
  };
}

/** Returns the hints of an error, as options for another error that passes them on. */
export function pickHints({ hint, operatorHint, toolNames = NO_NAMES }: Hints): Pick<ErrorInfo, "hint" | "operatorHint" | "toolNames"> {
  return {
    ...omitUndefined({ hint, operatorHint }),
    ...(toolNames.length === 0 ? {} : { toolNames }),
  };
}

/**
 * Codes of mistakes in the program, its files and its store: their hints are for people only. `conflict` and `duplicate` are not among them: tools
 * also answer with these, and then the model has to act.
 */
const NOT_FOR_MODELS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_argument",
  "invalid_config",
  "invalid_schema",
  "store_failed",
  "corrupt_record",
]);

/** Returns the text of an error for people: its message and all hints. A model gets only the message and `hint`. */
export function formatForOperator(thrown: unknown): string {
  const error = ToolError.fromUnknown(thrown);
  const hint = joinHints(error);
  return hint === undefined ? error.message : `${error.message} ${hint}`;
}

function joinHints({ hint, operatorHint }: ToolError): string | undefined {
  return hint === undefined || operatorHint === undefined ? (hint ?? operatorHint) : `${hint} ${operatorHint}`;
}

/** Whether a record with this name could be read. A value that is not a string is left to the check of thrown errors. */
function isRecordable(toolName: string): boolean {
  return typeof toolName !== "string" || toolName.length <= MAX_TOOL_NAME_LENGTH;
}

interface Hints {
  readonly hint?: string | undefined;
  readonly operatorHint?: string | undefined;
  readonly toolNames?: readonly string[];
}

/** Whether a value is a ToolError with readable and valid fields: not a proxy with traps, not a bare prototype. Never throws. */
export function isToolError(thrown: unknown): thrown is ToolError {
  try {
    return thrown instanceof ToolError && isValidError(thrown);
  } catch {
    return false;
  }
}

function isValidError({ code, message, retryable, outcome, hint, operatorHint, details, toolNames, retryAfterMs }: ToolError): boolean {
  return (
    Object.hasOwn(ERROR_CODES, code) &&
    typeof message === "string" &&
    message.length <= MAX_MESSAGE_LENGTH &&
    typeof retryable === "boolean" &&
    OUTCOMES.has(outcome) &&
    isValidHint(hint) &&
    isValidHint(operatorHint) &&
    Array.isArray(toolNames) &&
    toolNames.every((name) => typeof name === "string") &&
    Array.isArray(details) &&
    details.every((detail) => typeof detail === "string") &&
    (retryAfterMs === undefined || typeof retryAfterMs === "number")
  );
}

function isValidHint(hint: unknown): boolean {
  return hint === undefined || (typeof hint === "string" && hint.length <= MAX_MESSAGE_LENGTH);
}

const OUTCOMES: ReadonlySet<unknown> = new Set<Outcome>(["not_started", "failed", "unknown"]);

/**
 * Returns a short text for anything that can be thrown; never throws itself. An AggregateError without a message is described by its first 20 errors,
 * as for a host with several addresses that all refuse.
 */
export function describeThrown(thrown: unknown): string {
  return describeDirectly(thrown, describeErrors);
}

/** @param ofErrors describes the errors of an AggregateError without a message */
function describeDirectly(thrown: unknown, ofErrors: (errors: readonly unknown[]) => string | undefined): string {
  try {
    if (typeof thrown === "string") return thrown === "" ? "threw an empty string" : thrown;
    if (thrown === null || thrown === undefined) return `threw ${String(thrown)}`;
    if (typeof thrown !== "object" && typeof thrown !== "function") return `threw ${String(thrown)}`;
    const message: unknown = Reflect.get(thrown, "message");
    if (typeof message === "string" && message !== "") return message;
    const name: unknown = Reflect.get(thrown, "name");
    const errors: unknown = name === "AggregateError" ? Reflect.get(thrown, "errors") : undefined;
    const text = Array.isArray(errors) ? ofErrors(errors) : undefined;
    return text ?? (typeof name === "string" && name !== "" ? `threw ${withArticle(name)}` : "threw an object without a message");
  } catch {
    return "threw a value that cannot be read";
  }
}

function describeErrors(errors: readonly unknown[]): string | undefined {
  // errors of these errors are left out: they may be a cycle
  const texts = errors.slice(0, MAX_DETAILS).map((error) => describeDirectly(error, () => undefined));
  return texts.length === 0 ? undefined : truncateMessage(texts.join("; "));
}

/** Leaves what is not a string, which an untyped program may give, to the check of thrown errors. */
function truncateHint(hint: string | undefined): string | undefined {
  return typeof hint === "string" ? truncateMessage(hint) : hint;
}

function truncateMessage(text: string): string {
  return truncateText(text, MAX_MESSAGE_LENGTH);
}
