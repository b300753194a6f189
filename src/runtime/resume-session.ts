/** Ends what a crash interrupted: each call that had begun gets its one result. */
import type { ToolCall } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { isJsonObject } from "../core/base/json.ts";
import { isReal, type AnswerSource } from "../core/answer-source.ts";
import { resumeCalls } from "../call/batch.ts";
import { CallRun, type CallOptions } from "../call/call-run.ts";
import { visibilityOf, type VisibilityRules } from "../policy/visibility.ts";
import { CallFaults } from "../call/faults.ts";
import type { Answerer } from "../call/route.ts";
import { outcomeUnknown } from "../call/reconcile-call.ts";
import type { OpenCall, OpenRound, SessionFold } from "./fold-events.ts";
import { partsOf, type RuntimeSession } from "./runtime-session.ts";
import { Turn, makeAgain, takeBack } from "../session/turn.ts";

/** How a stored session is resumed. */
export interface ResumeOptions {
  /**
   * What becomes of calls that had begun and not ended. `run`: those that may be run again, or were never started, are run, answered by
   * the sources that their caller or a rule of `answers` named when they began, else as the rules are now; of the others the tool's `reconcile` is asked. `settle`: none is run, each ends with what is known of it. @default "run"
   */
  readonly interrupted?: "run" | "settle";
  /** Begin the session when the store has none of this id. @default false */
  readonly create?: boolean;
  /** Take the session from the process that has it open, which can write no more. @default false */
  readonly takeOver?: boolean;
  /** What handlers find in `context.data`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Which tools those calls may still be of; as in `ExecuteOptions`. @default all */
  readonly allow?: VisibilityRules;
}

/** @throws ToolError `invalid_argument` for an option that is none */
export function checkResumeOptions(options: ResumeOptions): void {
  if (typeof options !== "object" || options === null) throw new ToolError("invalid_argument", "The options of resume() are an object.");
  const { interrupted } = options;
  if (interrupted === undefined || interrupted === "run" || interrupted === "settle") return;
  throw new ToolError("invalid_argument", `The option "interrupted" of resume() is "run" or "settle", not ${String(interrupted)}.`);
}

/** @throws ToolError `store_failed` or `conflict` when the results could not be made durable; by rejecting */
export async function resumeSession(
  session: RuntimeSession,
  { open, openChanges, openRounds }: Pick<SessionFold, "open" | "openChanges" | "openRounds">,
  options: ResumeOptions & { readonly callOptions: CallOptions },
): Promise<void> {
  if (open.length === 0 && openRounds.length === 0 && openChanges.length === 0) return;
  await session.turns.run(async (running) => {
    // A call that did not end has changed nothing: if it is run again, it finds what it found the first time. Nor has one that no model saw.
    const changes = Map.groupBy(openChanges, (change) => change.callId);
    for (const of of changes.values()) takeBack(session, of[0]?.turnId ?? "", of);
    for (const [turnId, calls] of byTurn(open)) {
      const turn = new Turn(session, session.ports.ids, { id: turnId, startsAt: startOf(session, turnId) });
      turn.running = running;
      if (running !== undefined) running.held = turn; // what handlers call joins it
      const runs = calls.map((call) => takeUp(session, turn, call, options));
      for (const run of runs) run.keepChanges = () => makeAgain(session, turnId, changes.get(run.callId) ?? []);
      await resumeCalls(runs);
    }
    for (const round of openRounds) voidRound(session, round);
  });
  await session.eventLog?.whenDurable();
  if (session.broken !== undefined) throw session.broken;
}

/** A message of a model that a crash cut off was never said. */
function voidRound(session: RuntimeSession, { turnId, callIds }: OpenRound): void {
  session.recordAndTell({
    type: "round-end",
    sessionId: session.id,
    turnId,
    at: session.ports.clock.wallTime(),
    callIds,
    message: { role: "assistant", content: "" },
    finish: "truncated",
    usage: { inputTokens: 0, outputTokens: 0 },
    voided: CUT_OFF,
  });
}

const CUT_OFF = "the process ended before the model's message was whole";

/** Where a turn began, or its round: its calls see again what they saw the first time. */
function startOf(session: RuntimeSession, turnId: string): number {
  const { log, firstKept } = session;
  const rounds = log.findLastIndex((event) => event.type === "round-end" && event.turnId === turnId);
  const first = log.findIndex((event) => "turnId" in event && event.turnId === turnId);
  return firstKept + Math.max(first, rounds + 1);
}

function byTurn(open: readonly OpenCall[]): ReadonlyMap<string, readonly OpenCall[]> {
  return Map.groupBy(open, (call) => call.turnId);
}

function takeUp(
  session: RuntimeSession,
  turn: Turn,
  open: OpenCall,
  options: ResumeOptions & { readonly callOptions: CallOptions },
): CallRun {
  const answerers = open.answerFrom === undefined ? undefined : answerersOf(session, open.call, open.answerFrom);
  const callOptions = {
    ...options.callOptions,
    ...(answerers instanceof ToolError ? {} : { answerers }),
    ...(options.data === undefined ? {} : { data: options.data }),
    ...(options.allow === undefined ? {} : { visibility: visibilityOf(options.allow) }),
  };
  const { intendedInput } = open;
  const call = open.isRewritten && intendedInput !== undefined ? { ...open.call, input: intendedInput } : open.call;
  const run = new CallRun(partsOf(session), turn, callOptions, call, { callId: open.callId, idempotencyKey: open.intent });
  if (open.sample !== undefined) run.faults = new CallFaults(open.sample);
  const wasReal = open.answerFrom?.every(isReal) ?? true;
  const mayHaveRun = open.intent !== undefined || (wasReal && session.eventLog?.options.durability === "async");
  run.isInterrupted = mayHaveRun;
  // Its result is shown to nobody: it is not run, nor run again.
  if (open.wasNeverWhole) run.unreadable = mayHaveRun ? outcomeUnknown(open.call.name) : neverWhole(session, open, wasReal);
  else if (options.interrupted === "settle") run.unreadable = mayHaveRun ? outcomeUnknown(open.call.name) : neverRun(open);
  else if (answerers instanceof ToolError) run.unreadable = answerers;
  else if (open.isRewritten && intendedInput === undefined) run.unreadable = mayHaveRun ? outcomeUnknown(open.call.name) : neverMade(open);
  return run;
}

/** The sources that were to answer it, or why they cannot: what was to be pretended is not done for real after a crash. */
function answerersOf(session: RuntimeSession, { name }: ToolCall, answerFrom: readonly AnswerSource[]): readonly Answerer[] | ToolError {
  try {
    return partsOf(session).chains.answerersOf(answerFrom);
  } catch (thrown: unknown) {
    return new ToolError(
      "cancelled",
      `${name} was interrupted by the end of its process and was not run again: answers.engines has none for ${answerFrom.join(", ")}.`,
      {
        outcome: "not_started",
        operatorHint: "Resume it in a runtime with that engine, or call it again.",
        cause: thrown,
      },
    );
  }
}

function neverMade({ call }: OpenCall): ToolError {
  return new ToolError("cancelled", `${call.name} was not run: the process ended before its input was made of what it was called with.`, {
    outcome: "not_started",
    hint: "Call it again with the values in the place of its references.",
  });
}

/**
 * The end of a call whose message is not whole in the store. A call that must not be repeated is started once its intent is durable, and the
 * end of its message before that; a read starts before the message ends, a write that may be repeated before its end is durable.
 */
function neverWhole(session: RuntimeSession, { call }: OpenCall, wasReal: boolean): ToolError {
  const input = isJsonObject(call.input) ? call.input : {};
  const parts = partsOf(session);
  const effects = parts.registry.overloads(call.name).map((tool) => parts.planOf(tool).effectsOf(input));
  if (!wasReal || (effects.length > 0 && effects.every(({ repeatable }) => !repeatable)))
    return new ToolError("cancelled", `${call.name} was not run: ${CUT_OFF}.`, { outcome: "not_started" });
  if (effects.length > 0 && effects.every(({ writes }) => writes.length === 0))
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

function neverRun({ call }: OpenCall): ToolError {
  return new ToolError("cancelled", `${call.name} was interrupted by the end of its process and was not run again.`, {
    outcome: "unknown",
    hint: "Call it again: it was never started, or may be repeated.",
  });
}
