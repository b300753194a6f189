/** The options of `execute()`, besides the calls. */
import type { Ask } from "../core/approvals/ask.ts";
import type { ToolCall } from "../core/call.ts";
import type { ProgressUpdate } from "../core/context.ts";
import type { ModelMessage } from "../core/message.ts";
import { ToolError, describeThrown, isToolError } from "../core/error.ts";
import { wrongTypeError } from "../core/check-argument.ts";
import type { AnswerSources } from "../core/answers/answer-source.ts";
import type { Engine } from "../core/engine.ts";
import { visibilityOf, type VisibilityRules } from "../policy/visibility.ts";
import { findUnknownKeyError, type OptionNames } from "../core/known-keys.ts";
import { findPrincipalError } from "../core/sender.ts";
import { isOptionsObject, quoteValue, describeValueType } from "../core/base/wording.ts";

/** How calls are run. */
export interface ExecuteOptions {
  readonly signal?: AbortSignal;
  readonly data?: Readonly<Record<string, unknown>>;
  /**
   * The id of the principal that makes these calls, as an authenticator gave it: kept in their `call-start` events, for filters and the audit. Nested
   * calls of their handlers have it too, in any session. It grants and forbids nothing: rules are given as `allow`. 1 to 1,024 characters. @default
   * that of the call whose handler makes them
   */
  readonly principal?: string;
  /** Engines that invent answers, such as `exampleEngine`, answer equal calls with another variation differently. @default "" */
  readonly variation?: string;
  /**
   * `throw`: the first call that fails while it runs, or is denied something that it needs while it runs, cancels the batch, rolls back the session
   * and throws ToolExecutionError. Names, inputs and permissions that were refused beforehand, and timeouts, stay results. If earlier
   * results of a batch that is submitted again have such a failure, they are thrown too, and nothing is rolled back. @default "result"
   */
  readonly onError?: "result" | "throw";
  /**
   * Run nothing unless every call of the batch can run: all are looked up and checked before the first starts. If one cannot run, it ends with its
   * error and the others end as `skipped`. @default false: calls do not affect each other
   */
  readonly strict?: boolean;
  /** Check inputs and outputs against their schemas. @default true */
  readonly validate?: boolean;
  /** Keep the calls in the session's log and, with a store, in its stored log. If false, a crash loses the fact that they were made. @default true */
  readonly recordHistory?: boolean;
  /**
   * Identifies these calls in a session: if they are submitted again with the same key, they are not run again but answered with their first results,
   * also after a crash. Calls that did not start because the store was full are run then, except in a session of `sessionWithin`, and so are all
   * calls of a batch that was rolled back. 1 to 1,024 characters.
   */
  readonly idempotencyKey?: string;
  /**
   * In a session: do not wait for running turns that are `concurrent` too. The calls run in parallel like those of one batch, separated only by their
   * locks; a call of a sequential engine still waits. A branch that is made meanwhile begins before all of them. @default false
   */
  readonly concurrent?: boolean;
  /**
   * Which tools these calls may use: a set of rules, or several sets that must all agree, so that each only narrows the others. Calls of other tools
   * are refused, including nested calls of their handlers in the session, in a branch of it or in a session of `sessionWithin`.
   * @default all that the runtime allows
   */
  readonly allow?: VisibilityRules;
  /**
   * A person has approved these calls already, in the framework or on the page that makes them: the approver is not asked about them. All other
   * checks apply, and nested calls still need approval. @default false
   */
  readonly approved?: boolean;
  /**
   * In a session: each call is answered with `pending` as soon as it may run, and continues as a background job. A refused call has its result as
   * usual. `false`: the caller waits for each call, whatever the `mode` of its tool and `promoteAfterMs` say, unless the tool is `stateful`.
   * @default as the `mode` of its tool says
   */
  readonly background?: boolean;
  /** The caller knows the documentation of the tools, like a person or the program itself: `requiresReading` refuses no call. @default false */
  readonly knowsDocumentation?: boolean;
  /** The sources that answer these calls, instead of those of the runtime's `answers.rules`. @default those of the rules */
  readonly answerFrom?: AnswerSources;
  /** The engine for the source `replay` of `answerFrom`, such as a `replayEngine` of one session. @default that of the runtime's `answers.engines` */
  readonly replay?: Engine;
  /**
   * Returns the input to run a call with, made from the call's own input. Called when the call is admitted, before any hook sees it. If it throws,
   * the call ends. The log has the original call.
   */
  readonly rewriteInput?: (call: ToolCall) => unknown;
  /** Answers the questions of handlers to a person. @default the runtime's `ask` */
  readonly ask?: Ask;
  /**
   * The history that the model was given when it made these calls, as `session.messages()` returned it: a result that is not in it does not count as
   * shown, see `ToolContext.isShown`. Loops set it themselves. @default every result of the session counts as shown
   */
  readonly shown?: readonly ModelMessage[];
  /** Called with each progress update of a handler. If it throws, this is logged and has no other effect. */
  readonly onProgress?: ProgressListener;
}

export const EXECUTE_OPTIONS: OptionNames<ExecuteOptions> = {
  signal: true,
  data: true,
  principal: true,
  variation: true,
  onError: true,
  strict: true,
  validate: true,
  recordHistory: true,
  idempotencyKey: true,
  concurrent: true,
  allow: true,
  approved: true,
  background: true,
  knowsDocumentation: true,
  answerFrom: true,
  replay: true,
  rewriteInput: true,
  ask: true,
  shown: true,
  onProgress: true,
};

/** Called with each progress update of a call. */
export type ProgressListener = (update: ProgressUpdate, call: ProgressingCall) => void;

/** The call whose progress is reported. */
export interface ProgressingCall {
  readonly callId: string;
  /** The provider's id, as given in the call. */
  readonly id: string | undefined;
  readonly toolName: string;
}

/** Returns the error of invalid options; undefined if they are valid. @param calls the argument before them */
export function findOptionsError(options: ExecuteOptions, calls: unknown): ToolError | undefined {
  if (!isOptionsObject(options)) return wrongTypeError("The options of execute() must be an object", options);
  const unknown = findUnknownKeyError(options, EXECUTE_OPTIONS, "execute()");
  if (unknown !== undefined) return typeof calls === "string" ? twoArgumentsError(calls) : unknown;
  const { signal, onError, allow, shown, strict } = options;
  if (signal !== undefined && !(typeof signal?.aborted === "boolean" && typeof signal.addEventListener === "function")) {
    const hint = signal instanceof AbortController ? "Give controller.signal." : undefined;
    return wrongTypeError('The option "signal" of execute() must be an AbortSignal', signal, hint);
  }
  if (shown !== undefined && !Array.isArray(shown))
    return new ToolError(
      "invalid_argument",
      'The option "shown" of execute() must be an array of messages, as session.messages() returns them.',
    );
  if (strict !== undefined && typeof strict !== "boolean")
    return new ToolError("invalid_argument", `The option "strict" of execute() must be a boolean, not ${describeValueType(strict)}.`);
  const notPrincipal = findPrincipalError(options.principal, "execute()");
  if (notPrincipal !== undefined) return notPrincipal;
  const wrongRules = allow === undefined ? undefined : findRulesError(allow);
  if (wrongRules !== undefined) return wrongRules;
  if (onError === undefined || onError === "result" || onError === "throw") return undefined;
  return new ToolError("invalid_argument", `The option "onError" of execute() must be "result" or "throw", not ${quoteValue(onError)}.`);
}

/** For `execute("weather", { city: "Oslo" })`. */
function twoArgumentsError(name: string): ToolError {
  return new ToolError("invalid_argument", "execute() takes a call as one argument, not the name of a tool and its input as two.", {
    hint: `Write execute({ name: ${JSON.stringify(name.slice(0, 100))}, input: { … } }).`,
  });
}

function findRulesError(allow: VisibilityRules): ToolError | undefined {
  try {
    visibilityOf(allow);
    return undefined;
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown, "invalid_argument");
  }
}

/** The error of a method that was called without its object: `const { execute } = session`. */
function detachedMethodError(method: string, owner: string): ToolError {
  return new ToolError("invalid_argument", `${method}() was called without its ${owner}: the method was detached from its object.`, {
    hint: `Call ${owner}.${method}(…), or keep (call) => ${owner}.${method}(call).`,
  });
}

/** The error of options that threw while they were read. @param lost the object that is missing, if `execute` was called without it */
export function unreadableOptionsError(thrown: unknown, lost: string | undefined): ToolError {
  if (isToolError(thrown)) return thrown;
  if (lost !== undefined) return detachedMethodError("execute", lost);
  return new ToolError("invalid_argument", `The options of execute() cannot be read: ${describeThrown(thrown)}`, { cause: thrown });
}
