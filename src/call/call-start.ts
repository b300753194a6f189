/** The record of a call that begins. */
import type { SessionEvent } from "../core/event.ts";
import { spanOf } from "../core/traceparent.ts";
import { calledOverload } from "./admit/admit-call.ts";
import { CallRun } from "./call-run.ts";
import { sessionNeed } from "./context/composite.ts";
import type { Answerer } from "./route.ts";

/** The event of a call that begins, including the options to resume it with after a crash. */
export function startOf(run: CallRun, inRound?: true): SessionEvent {
  const { answerers = answerersByRule(run), rewriteInput, principal, strict, visibility } = run.options;
  const { madeIn } = run.turn;
  const { callId, turn, clock, call } = run;
  const start = { callId, sessionId: turn.session.id, turnId: turn.id, at: clock.wallTime(), type: "call-start", call } as const;
  const background = askedBackground(run);
  const asks = sessionNeed(run);
  const overload = calledOverload(run);
  const traceparent = tracedIn(run);
  const isByItself =
    madeIn === undefined && inRound === undefined && principal === undefined && strict !== true && visibility === undefined;
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
    ...(madeIn === undefined ? {} : { parentCallId: madeIn.callId }),
    ...(madeIn instanceof CallRun && isOfHandler(madeIn) ? { ofComposite: true as const } : {}),
    ...(inRound === undefined ? {} : { inRound }),
    ...(strict === true ? { strict } : {}),
    ...(answerers === undefined ? {} : { answerFrom: answerers.map(({ source }) => source) }),
    ...(rewriteInput === undefined ? {} : { rewritten: true }),
    ...(background === undefined ? {} : { background }),
    ...(principal === undefined ? {} : { principal }),
    ...(visibility === undefined ? {} : { allow: visibility.rules }),
    ...(asks === undefined ? {} : { asks }),
    ...(overload === undefined ? {} : { overload }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

/** The span in which a stored call is made, for the process that may have to continue it. */
function tracedIn({ parts: { tracing }, turn }: CallRun): string | undefined {
  return tracing === undefined || turn.session.eventLog === undefined ? undefined : spanOf(tracing.headersOf(turn.madeIn?.callId));
}

/**
 * Whether the calls made inside it now are those of a composite tool's handler, rather than those of a hook or an approver before the handler runs.
 */
function isOfHandler({ plan, attempts }: CallRun): boolean {
  return plan?.tool.composite === true && attempts > 0;
}

/** In the form that the `options` of a resumed call have. */
function askedBackground({ background, options }: CallRun): boolean | undefined {
  if (options.background === false) return false;
  return (background ?? options.background) === true ? true : undefined;
}

function answerersByRule({ parts, call }: CallRun): readonly Answerer[] | undefined {
  const tool = parts.chains.hasRules ? parts.registry.get(call.name) : undefined;
  try {
    return tool === undefined ? undefined : parts.chains.answerersFor(tool, parts.planOf(tool).engine);
  } catch {
    return undefined; // admission reports why the tool cannot be called
  }
}
