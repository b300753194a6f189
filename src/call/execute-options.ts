/** The options of a caller besides its calls. */
import type { Ask } from "../core/ask.ts";
import type { ToolCall } from "../core/call.ts";
import type { ProgressUpdate } from "../core/context.ts";
import type { ModelMessage } from "../core/message.ts";
import { ToolError, describeThrown, isToolError } from "../core/error.ts";
import { wrongKind } from "../core/check-argument.ts";
import type { AnswerSources } from "../core/answer-source.ts";
import type { Engine } from "../core/engine.ts";
import { visibilityOf, type VisibilityRules } from "../policy/visibility.ts";
import { unknownKey, type OptionNames } from "../core/known-keys.ts";
import { wrongPrincipal } from "../core/sent-by.ts";
import { isOptionsObject, quoted, typeInWords } from "../core/base/wording.ts";

/** How calls are run. */
export interface ExecuteOptions {
  readonly signal?: AbortSignal;
  readonly data?: Readonly<Record<string, unknown>>;
  /**
   * The id of the principal that makes these calls, as an authenticator gave it: kept in their `call-start` events, for filters and the
   * audit. Calls that their handlers make have it too, in whichever session. It decides nothing: rules are given as `allow`. 1 to 1,024
   * characters. @default that of the call whose handler makes them
   */
  readonly principal?: string;
  /** Calls with another variation are given other made-up answers by engines that invent them, such as `exampleEngine`. @default "" */
  readonly variation?: string;
  /**
   * `throw`: the first call that fails while it runs, or is denied there what it needs, cancels the batch, takes the session back and throws
   * ToolExecutionError. Names, inputs and permissions that were refused beforehand, and timeouts, stay results. @default "result"
   */
  readonly onError?: "result" | "throw";
  /**
   * Run nothing unless every call of the batch can be: all are looked up and checked before the first starts. Where one cannot be run,
   * it has its error and the others end as `skipped`. @default false: calls do not affect each other
   */
  readonly strict?: boolean;
  /** Check inputs and outputs against their schemas. @default true */
  readonly validate?: boolean;
  /** Keep the calls in the session's log, and with a store in its ledger: left out, a crash forgets that they were made. @default true */
  readonly recordHistory?: boolean;
  /**
   * Names these calls, in a session: submitted again with the same key, they are not run again but answered with their first
   * results, after a crash as well. Calls that a full store kept from starting are run then, except in a session of `sessionWithin`. 1 to 1,024 characters.
   */
  readonly idempotencyKey?: string;
  /**
   * In a session: do not wait for turns that run if those are `concurrent` as well. The calls run in parallel as those of one
   * batch do, kept apart by their locks alone; a call of an engine that answers in sequence waits all the same. A branch that is taken
   * meanwhile begins before all of them. @default false
   */
  readonly concurrent?: boolean;
  /**
   * Which of the tools these calls may use: a set of rules, or several of which each must agree, so that one only ever narrows the
   * others. Calls of all other tools are refused, also those that handlers of these calls make themselves in the session or a branch of
   * it. @default all that the runtime allows
   */
  readonly allow?: VisibilityRules;
  /**
   * A person has allowed these calls already, in the framework or on the page that makes them: the approver is not asked about them. All
   * other checks hold, and calls that their handlers make are asked about. @default false
   */
  readonly approved?: boolean;
  /**
   * In a session: each call is answered `pending` as soon as it may run, and continues as a background job. One that is refused has its result as usual.
   * `false`: each is waited for, whatever the mode of its tool and `promoteAfterMs` say, unless it is `stateful`.
   * @default as the `mode` of its tool says
   */
  readonly background?: boolean;
  /**
   * The caller knows the documentation of the tools, as a person or the program itself does: `requiresReading` refuses none of these
   * calls. @default false
   */
  readonly knowsDocumentation?: boolean;
  /** The sources that answer these calls, in place of those of the runtime's `answers.rules`. @default those of the rules */
  readonly answerFrom?: AnswerSources;
  /** The engine for the source `replay` of `answerFrom`, such as a `replayEngine` of one session. @default that of the runtime's `answers.engines` */
  readonly replay?: Engine;
  /**
   * Makes the input that a call is run with of the one it came with, when its turn to be admitted has come and before any hook sees it.
   * Throwing ends the call. The log has the call as it came.
   */
  readonly rewriteInput?: (call: ToolCall) => unknown;
  /** Answers the questions that handlers put to a person. @default what the runtime was given */
  readonly ask?: Ask;
  /**
   * The history that the model answered when it made these calls, as `session.messages()` gave it: a result that is not in it does not
   * count as shown, see `ToolContext.isShown`. A loop gives it itself. @default every result of the session counts as shown
   */
  readonly shown?: readonly ModelMessage[];
  /** Called with the progress of each call, as its handler reports it. Throwing is logged and changes nothing. */
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

/** Called with each progress of a call. */
export type ProgressListener = (update: ProgressUpdate, call: ProgressingCall) => void;

/** The call whose progress is reported. */
export interface ProgressingCall {
  readonly callId: string;
  /** The provider's id, as the call brought it. */
  readonly id: string | undefined;
  readonly toolName: string;
}

/** Returns the error of invalid options; undefined when they are valid. */
export function wrongOptions(options: ExecuteOptions): ToolError | undefined {
  if (!isOptionsObject(options)) return wrongKind("The options of execute() are an object", options);
  const unknown = unknownKey(options, EXECUTE_OPTIONS, "execute()");
  if (unknown !== undefined) return unknown;
  const { signal, onError, allow, shown, strict } = options;
  if (signal !== undefined && !(typeof signal?.aborted === "boolean" && typeof signal.addEventListener === "function")) {
    const hint = signal instanceof AbortController ? "Give controller.signal." : undefined;
    return wrongKind('The option "signal" of execute() is an AbortSignal', signal, hint);
  }
  if (shown !== undefined && !Array.isArray(shown))
    return new ToolError("invalid_argument", 'The option "shown" of execute() is an array of messages, as session.messages() gives it.');
  if (strict !== undefined && typeof strict !== "boolean")
    return new ToolError("invalid_argument", `The option "strict" of execute() is a boolean, not ${typeInWords(strict)}.`);
  const notPrincipal = wrongPrincipal(options.principal, "execute()");
  if (notPrincipal !== undefined) return notPrincipal;
  const wrongRules = allow === undefined ? undefined : unusable(allow);
  if (wrongRules !== undefined) return wrongRules;
  if (onError === undefined || onError === "result" || onError === "throw") return undefined;
  return new ToolError("invalid_argument", `The option "onError" of execute() is "result" or "throw", not ${quoted(onError)}.`);
}

function unusable(allow: VisibilityRules): ToolError | undefined {
  try {
    visibilityOf(allow);
    return undefined;
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown, "invalid_argument");
  }
}

/** A method that was taken off its object: `const { execute } = session`. */
function detached(method: string, owner: string): ToolError {
  return new ToolError("invalid_argument", `${method}() was called without its ${owner}: it was taken off the object.`, {
    hint: `Call ${owner}.${method}(…), or keep (call) => ${owner}.${method}(call).`,
  });
}

/** Why options that threw when they were looked at are refused. @param lost the object that `execute` was called without */
export function unreadableOptions(thrown: unknown, lost: string | undefined): ToolError {
  if (isToolError(thrown)) return thrown;
  if (lost !== undefined) return detached("execute", lost);
  return new ToolError("invalid_argument", `The options of execute() cannot be read: ${describeThrown(thrown)}`, { cause: thrown });
}
