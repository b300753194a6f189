/** Decides why calls that a crash interrupted are not run, or not run again. */
import { ToolError } from "../core/error.ts";
import { isRealSource } from "../core/answers/answer-source.ts";
import { isJsonObject } from "../core/base/json.ts";
import { outcomeUnknownError } from "../call/admit/reconcile-call.ts";
import type { Answerer } from "../call/route.ts";
import type { OpenCall } from "./resume/open-call.ts";
import { servicesOf, type RuntimeSession } from "./runtime-session.ts";

/** The reason given for a model's message that was cut off by the end of the process. */
export const CUT_OFF = "the process ended before the model's message was complete";

/** Facts about an open call that it does not hold itself. */
interface RefusalFacts {
  readonly answerers: readonly Answerer[] | ToolError | undefined;
  readonly wasReal: boolean;
  /** It may have been run. */
  readonly isInterrupted: boolean;
  readonly runsAgain: boolean;
  /** Why its job is not run again. */
  readonly jobError: ToolError | undefined;
  /** Set if the handler that had made it makes it again. */
  readonly nestedError: ToolError | undefined;
}

/** The error that an open call ends with instead of being run, or run again; undefined if it is run. */
export function findRefusal(session: RuntimeSession, open: OpenCall, facts: RefusalFacts): ToolError | undefined {
  if (facts.jobError !== undefined && !open.hasIncompleteMessage) return facts.jobError;
  const never = findNotRunError(session, open, facts);
  return never !== undefined && facts.isInterrupted && never !== facts.answerers ? outcomeUnknownError(open.call.name) : never;
}

/** Why an open call is not run, or not run again, provided that it has not run yet; undefined if it is run. */
function findNotRunError(session: RuntimeSession, open: OpenCall, facts: RefusalFacts): ToolError | undefined {
  if (open.hasIncompleteMessage) return incompleteMessageError(session, open, facts.wasReal); // its result is not shown
  if (!facts.runsAgain) return notRunAgainError(open);
  if (facts.answerers instanceof ToolError) return facts.answerers;
  if (open.isStrict && !passedStrictChecks(open)) return notRunAgainError(open);
  return open.isRewritten && open.intent === undefined ? notRewrittenError(session, open) : facts.nestedError;
}

/** Whether its batch is known to have passed its checks; a call of a strict batch is run only then. */
function passedStrictChecks({ intent, job, remoteId, reachedApproval, hasMadeCalls }: OpenCall): boolean {
  return intent !== undefined || job !== undefined || remoteId !== undefined || reachedApproval || hasMadeCalls;
}

/** Whether a call without an intent may have been run: it was not still queued, did not wait for its first approval, and no stand-in was to answer it. */
export function mayHaveBegun({ job, askedAt, hadBegun, answerFrom }: OpenCall): boolean {
  return job?.starts !== 0 && (askedAt === undefined || hadBegun) && answerFrom?.every(isRealSource) !== false;
}

/**
 * Whether a call without an intent may have written: it may have been run, and its writes may be repeated, so that it needs none, or its tool is
 * gone.
 */
export function mayHaveWritten(session: RuntimeSession, open: OpenCall): boolean {
  if (!mayHaveBegun(open)) return false;
  const { call } = open;
  const services = servicesOf(session);
  const tools = services.registry.overloads(call.name);
  const effects = tools.map((tool) => services.planOf(tool).effectsOf(isJsonObject(call.input) ? call.input : {}));
  return tools.length === 0 || effects.some(({ repeatable, writes }) => repeatable && writes.length > 0);
}

function notRewrittenError(session: RuntimeSession, open: OpenCall): ToolError {
  const mayHaveRun = mayHaveWritten(session, open);
  const why = mayHaveRun ? " again: its rewritten input is not recorded" : ": the process ended before its input was rewritten";
  return new ToolError("cancelled", `${open.call.name} was not run${why}.`, {
    outcome: mayHaveRun ? "unknown" : "not_started",
    hint: "Call it again with the values in place of its references.",
  });
}

/**
 * The error of a call whose message has no end in the store. A non-repeatable call starts only once its intent is durable, and the end of its message
 * before that. A read starts before the message ends, and a repeatable write before the end is durable.
 */
function incompleteMessageError(session: RuntimeSession, { call }: OpenCall, wasReal: boolean): ToolError {
  const input = isJsonObject(call.input) ? call.input : {};
  const services = servicesOf(session);
  const plans = services.registry.overloads(call.name).map((tool) => services.planOf(tool));
  const effects = plans.map((plan) => plan.effectsOf(input));
  if (!wasReal || (effects.length > 0 && effects.every(({ repeatable }) => !repeatable)))
    return new ToolError("cancelled", `${call.name} was not run: ${CUT_OFF}.`, { outcome: "not_started" });
  const mayWrite = effects.some(({ writes }) => writes.length > 0) || plans.some(({ tool }) => tool.composite === true);
  if (effects.length > 0 && !mayWrite)
    return new ToolError("cancelled", `${call.name}, which only reads, was cut off: ${CUT_OFF}.`, { outcome: "unknown" });
  const mayBeRepeated = effects.length > 0 && effects.every(({ repeatable }) => repeatable);
  return new ToolError(
    "outcome_unknown",
    `${call.name} may have been run: the process ended before the end of the model's message was stored.`,
    {
      hint: mayBeRepeated
        ? "Call it again if it is still needed: its tool says that it may be repeated."
        : "Check before calling it again.",
    },
  );
}

function notRunAgainError({ call }: OpenCall): ToolError {
  return new ToolError("cancelled", `${call.name} was interrupted by the end of its process and was not run again.`, {
    outcome: "unknown",
    hint: "Call it again: it was never started, or may be repeated.",
  });
}
