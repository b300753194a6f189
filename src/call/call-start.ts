/** The record of a call that begins. */
import type { SessionEvent } from "../core/event.ts";
import { readTraceparent } from "../core/formats/traceparent.ts";
import { findOverloadFingerprint } from "./admit/admit-call.ts";
import { CallRun } from "./call-run.ts";
import { sessionApprovalReason } from "./approve/approval-reason.ts";
import { mayHaveFlag } from "./jobs/background-flag.ts";
import type { Answerer } from "./route.ts";

/** The event of a call that begins, including the options to resume it with after a crash. */
export function createCallStart(run: CallRun, inRound?: true): SessionEvent {
  const { answerers = findRuleAnswerers(run), rewriteInput, principal, strict, visibility } = run.options;
  const { parentCall } = run.turn;
  const { callId, turn, clock, call } = run;
  const start = { callId, sessionId: turn.session.id, turnId: turn.id, at: clock.wallTime(), type: "call-start", call } as const;
  const background = requestedBackground(run);
  const asks = sessionApprovalReason(run);
  const overload = findOverloadFingerprint(run);
  const traceparent = tracedIn(run);
  const isByItself =
    parentCall === undefined && inRound === undefined && principal === undefined && strict !== true && visibility === undefined;
  if (
    isByItself &&
    overload === undefined &&
    asks === undefined &&
    background === undefined &&
    answerers === undefined &&
    rewriteInput === undefined &&
    traceparent === undefined
  )
    return start;
  return {
    ...start,
    ...(parentCall === undefined ? {} : { parentCallId: parentCall.callId }),
    ...(parentCall instanceof CallRun && isInCompositeHandler(parentCall) ? { ofComposite: true as const } : {}),
    ...(inRound === undefined ? {} : { inRound }),
    ...(strict === true ? { strict } : {}),
    ...(answerers === undefined ? {} : { answerFrom: answerers.map(({ source }) => source) }),
    ...(rewriteInput === undefined ? {} : { rewritten: true }),
    ...(background === undefined ? {} : { background }),
    ...(inRound !== undefined && run.takesFlag === undefined && mayHaveFlag(call.input) ? { keepsFlag: true as const } : {}),
    ...(principal === undefined ? {} : { principal }),
    ...(visibility === undefined ? {} : { allow: visibility.rules }),
    ...(asks === undefined ? {} : { asks }),
    ...(overload === undefined ? {} : { overload }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

/** The span in which a stored call is made, for the process that may have to continue it. */
function tracedIn({ services: { tracing }, turn }: CallRun): string | undefined {
  return tracing === undefined || turn.session.eventLog === undefined
    ? undefined
    : readTraceparent(tracing.headersOf(turn.parentCall?.callId));
}

/**
 * Whether the calls made inside it now are those of a composite tool's handler, rather than those of a hook or an approver before the handler runs.
 */
function isInCompositeHandler({ plan, attempts }: CallRun): boolean {
  return plan?.tool.composite === true && attempts > 0;
}

/** In the form that the `options` of a resumed call have. */
function requestedBackground({ background, options }: CallRun): boolean | undefined {
  if (options.background === false) return false;
  return (background ?? options.background) === true ? true : undefined;
}

function findRuleAnswerers({ services, call }: CallRun): readonly Answerer[] | undefined {
  const tool = services.chains.hasRules ? services.registry.get(call.name) : undefined;
  try {
    return tool === undefined ? undefined : services.chains.answerersFor(tool, services.planOf(tool).engine);
  } catch {
    return undefined; // admission reports why the tool cannot be called
  }
}
