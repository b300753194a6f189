/** Takes a call in: from here on it has an id, is recorded, and will have a result. */
import type { SessionEvent } from "../core/event.ts";
import type { Turn } from "../session/turn.ts";
import { CallRun } from "./call-run.ts";
import type { CallOptions, CallParts } from "./call-run.ts";
import { readCall } from "./read-call.ts";
import type { Answerer } from "./route.ts";

export interface BeginOptions extends CallOptions {
  readonly inRound?: true;
  /** It is recorded with the others of its batch, all of them or none. */
  readonly isSubmitted?: boolean;
}

export function beginCall(parts: CallParts, turn: Turn, raw: unknown, options: BeginOptions): CallRun {
  const read = readCall(raw, parts.inputLimits);
  const run = new CallRun(parts, turn, options, read.call);
  if (parts.faults.any) run.faults = parts.faults.begin(turn.session, read.call);
  run.unreadable = read.error;
  run.repairs = read.repairs;
  run.warnings = read.warnings;
  parts.running.set(run.callId, run);
  if (turn.joins !== undefined) joinedRuns(turn.joins).push(run);
  if (options.isSubmitted !== true && run.noticed) run.record(startOf(run, options.inRound));
  return run;
}

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
