/** What others know of a call that begins: its event, and the turn whose handler makes it. */
import type { SessionEvent } from "../core/event.ts";
import type { Turn } from "../session/turn.ts";
import type { CallRun } from "./call-run.ts";
import type { Answerer } from "./route.ts";

/** What is known of a call that begins, and of how it is to be run should the process end before it does. */
export function startOf(run: CallRun, inRound?: true): SessionEvent {
  const { answerers = answerersByRule(run), rewriteInput } = run.options;
  const start = { ...run.eventBase, type: "call-start", call: run.call } as const;
  if (inRound === undefined && answerers === undefined && rewriteInput === undefined) return start;
  return {
    ...start,
    ...(inRound === undefined ? {} : { inRound }),
    ...(answerers === undefined ? {} : { answerFrom: answerers.map(({ rung }) => rung) }),
    ...(rewriteInput === undefined ? {} : { rewritten: true }),
  };
}

function answerersByRule({ parts, call }: CallRun): readonly Answerer[] | undefined {
  const tool = parts.ladder.hasRules ? parts.registry.get(call.name) : undefined;
  return tool === undefined ? undefined : parts.ladder.answerersFor(tool, parts.planOf(tool).engine);
}

/** The calls that handlers of a turn made themselves, in the order they began: they end before their handlers do. */
export function joinedRuns(turn: Turn): CallRun[] {
  let runs = JOINED.get(turn);
  if (runs === undefined) JOINED.set(turn, (runs = []));
  return runs;
}

const JOINED = new WeakMap<Turn, CallRun[]>();
