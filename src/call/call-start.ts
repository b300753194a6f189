/** What is recorded of a call that begins. */
import type { SessionEvent } from "../core/event.ts";
import type { CallRun } from "./call-run.ts";
import type { Answerer } from "./route.ts";

/** What is known of a call that begins, and of how it is to be run should the process end before it does. */
export function startOf(run: CallRun, inRound?: true): SessionEvent {
  const { answerers = answerersByRule(run), rewriteInput } = run.options;
  const { madeIn } = run.turn;
  const { callId, turn, clock, call } = run;
  const start = { callId, sessionId: turn.session.id, turnId: turn.id, at: clock.wallTime(), type: "call-start", call } as const;
  if (inRound === undefined && answerers === undefined && rewriteInput === undefined && madeIn === undefined) return start;
  return {
    ...start,
    ...(madeIn === undefined ? {} : { parentCallId: madeIn.callId }),
    ...(inRound === undefined ? {} : { inRound }),
    ...(answerers === undefined ? {} : { answerFrom: answerers.map(({ source }) => source) }),
    ...(rewriteInput === undefined ? {} : { rewritten: true }),
  };
}

function answerersByRule({ parts, call }: CallRun): readonly Answerer[] | undefined {
  const tool = parts.chains.hasRules ? parts.registry.get(call.name) : undefined;
  try {
    return tool === undefined ? undefined : parts.chains.answerersFor(tool, parts.planOf(tool).engine);
  } catch {
    return undefined; // the admission says why the tool cannot be called
  }
}
