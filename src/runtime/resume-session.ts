/** Resumes the calls of a session that a crash interrupted: each open call gets its one result. */
import type { EnclosingCall } from "../core/approval-store.ts";
import type { Ask } from "../core/ask.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { ToolCall } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { isReal, type AnswerSource } from "../core/answer-source.ts";
import { resumeCalls } from "../call/batch.ts";
import { runsOnce } from "../call/admit/turn-rules.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { plural, quoted } from "../core/base/wording.ts";
import { principalIdOf } from "../core/principal-id.ts";
import { readProviderApproval } from "../core/provider-approval.ts";
import { takeBackgroundFlag } from "../call/jobs/background-flag.ts";
import { CallRun } from "../call/call-run.ts";
import type { CallOptions } from "../call/call-options.ts";
import type { EarlierCalls } from "../call/admit/earlier-calls.ts";
import { visibilityOf, type Visibility, type VisibilityRules } from "../policy/visibility.ts";
import { CallFaults } from "../call/attempt/faults.ts";
import type { Answerer } from "../call/route.ts";
import { outcomeUnknown } from "../call/admit/reconcile-call.ts";
import { CUT_OFF, whyNotRun } from "./why-not-run.ts";
import type { OpenRound, SessionFold, TurnChange } from "./fold-events.ts";
import type { OpenCall } from "./open-call.ts";
import { callsInJobs, endsOfJobs } from "./resume-jobs.ts";
import { surroundingsOf, type SessionStart } from "./session-start.ts";
import { partsOf, type RuntimeSession } from "./runtime-session.ts";
import { Turn, makeAgain, takeBack } from "../session/turn.ts";
import type { RunningTurn } from "../session/turn-queue.ts";

/** How a stored session is resumed. */
export interface ResumeOptions {
  /**
   * How open calls are treated. `run`: calls that may be repeated, or were never started, are run; they are answered by the sources that their caller
   * or a rule of `answers` named when they began, else by the current rules. For other calls the tool's `reconcile` is called. `settle`: no call is
   * run, and each ends with what is known of it. @default "run"
   */
  readonly interrupted?: "run" | "settle";
  /** Begin the session if the store has none with this id. @default false */
  readonly create?: boolean;
  /** Take the session from the process that has it open, which can then write no more. @default false */
  readonly takeOver?: boolean;
  /** Answers the questions of calls that are run again. @default the runtime's `ask` */
  readonly ask?: Ask;
  /** The value of `context.data` for handlers. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Data for its engines, as in `SessionStart`. */
  readonly setup?: SessionStart["setup"];
  /** As in `SessionStart`, for calls that are run again and for later ones. */
  readonly workingFolder?: string;
  /** As in `SessionStart`. */
  readonly environment?: SessionStart["environment"];
  /** Which tools those calls may still use; as in `ExecuteOptions`. @default all */
  readonly allow?: VisibilityRules;
}

const OPTIONS: OptionNames<ResumeOptions> = {
  interrupted: true,
  create: true,
  takeOver: true,
  ask: true,
  data: true,
  allow: true,
  setup: true,
  workingFolder: true,
  environment: true,
};

/** @throws ToolError `invalid_argument` for an unknown or invalid option */
export function checkResumeOptions(options: ResumeOptions): void {
  checkKnownKeys(options, OPTIONS, "resume()");
  const { interrupted } = options;
  surroundingsOf(options, "resume()");
  if (interrupted === undefined || interrupted === "run" || interrupted === "settle") return;
  throw new ToolError("invalid_argument", `The option "interrupted" of resume() must be "run" or "settle", not ${quoted(interrupted)}.`);
}

export interface ResumeParts extends ResumeOptions {
  readonly callOptions: CallOptions;
  /** Why background jobs were cancelled meanwhile, by the id of their calls. */
  readonly cancelled: ReadonlyMap<string, string>;
  /** Called for each call when it has its result. */
  readonly ended: (call: CallRun) => void;
}

interface TakeUpParts extends ResumeParts {
  /** Errors of calls that are not run again, by their ids. */
  readonly ends: ReadonlyMap<string, ToolError>;
  /** The calls that one was made in. */
  readonly within: (call: OpenCall) => readonly EnclosingCall[];
}

interface TakeUpOptions extends TakeUpParts {
  /** Repeats the state changes that the call made. */
  repeatChanges(): void;
}

/** @throws ToolError `store_failed` or `conflict` if the results could not be made durable, as a rejection */
export async function resumeSession(
  session: RuntimeSession,
  { open, openChanges, openRounds }: Pick<SessionFold, "open" | "openChanges" | "openRounds">,
  options: ResumeParts,
): Promise<void> {
  if (open.length === 0 && openRounds.length === 0 && openChanges.length === 0) return;
  const runsAgain = options.interrupted !== "settle";
  const ends = endsOfJobs(open, { cancelled: options.cancelled, runsAgain });
  const inJobs = runsAgain ? callsInJobs(open, ends) : new Map<string, readonly OpenCall[]>();
  const ofJobs = new Set([...inJobs.values()].flat());
  // Open calls, and calls that no model saw, have changed nothing: their changes are undone, so that a call that is run again finds the same state as
  // before.
  const changes = Map.groupBy(openChanges, (change) => change.callId);
  const taking = new TakingUp(session, changes, { ...options, ends, within: enclosingCalls(session, open) });
  const stop = session.ports.clock.timer(() => sayThatItAwaits(session), SAY_AFTER_MS, { background: true });
  try {
    await session.turns.run(async (running) => {
      for (const of of changes.values()) takeBack(session, of[0]?.turnId ?? "", of);
      const groups = inOrder(
        session,
        open.filter((call) => !ofJobs.has(call)),
      );
      for (const calls of groups) {
        if (session.broken !== undefined) return; // the remaining calls are left too
        const runs = taking.begin(calls, running);
        for (const run of runs) if (run.resumed !== undefined) run.resumed.calls = taking.inJob(run, inJobs.get(run.callId));
        await resumeCalls(runs); // resolves to placeholders for background jobs
        for (const { result, resumed } of runs) if (result !== undefined) await resumed?.calls?.end(`${result.name} has ended`);
      }
      for (const round of openRounds) voidRound(session, round);
    });
  } finally {
    stop();
  }
  await session.eventLog?.whenDurable();
  if (session.broken !== undefined) throw session.broken;
}

const SAY_AFTER_MS = 1_000;

/** Warns that `resume` waits for approval: a program that listens only after it would wait forever. */
function sayThatItAwaits({ awaitingApproval, id, ports: { log } }: RuntimeSession): void {
  if (awaitingApproval === 0) return;
  log.warn(
    `resume(${JSON.stringify(id)}) waits: ${plural(awaitingApproval, "interrupted call")} ${awaitingApproval === 1 ? "waits" : "wait"} for approval. Answer with runtime.approvals.answer(), or through a running server.`,
  );
}

class TakingUp {
  readonly #session: RuntimeSession;
  readonly #changes: ReadonlyMap<string, readonly TurnChange[]>;
  readonly #options: TakeUpParts;

  constructor(session: RuntimeSession, changes: ReadonlyMap<string, readonly TurnChange[]>, options: TakeUpParts) {
    this.#session = session;
    this.#changes = changes;
    this.#options = options;
  }

  /** @param running the place in the turn queue for calls of their handlers. @param job the job that made them */
  begin(calls: readonly OpenCall[], running: RunningTurn | undefined, job?: CallRun): readonly CallRun[] {
    const session = this.#session;
    const turnId = calls[0]?.turnId ?? "";
    const turn = new Turn(session, session.ports.ids, { id: turnId, startsAt: startOf(session, turnId), madeIn: job });
    turn.running = running;
    if (running !== undefined) running.held = turn; // nested calls join it
    enterAgain(session, turn, calls[0]?.callId ?? "");
    return calls.map((call) => {
      continueTrace(session, call);
      return takeUp(session, turn, call, {
        ...this.#options,
        repeatChanges: () => makeAgain(session, turnId, this.#changes.get(call.callId) ?? []),
      });
    });
  }

  /** The nested calls of a job, one turn after the other, outside the turns of the session. */
  inJob(job: CallRun, calls: readonly OpenCall[] | undefined): EarlierCalls | undefined {
    if (calls === undefined) return undefined;
    let reason: string | undefined;
    let runs: readonly CallRun[] = [];
    const cancel = (why: string): void => {
      reason ??= why;
      for (const run of runs) run.cancel(reason);
    };
    const run = async (): Promise<void> => {
      for (const group of inOrder(this.#session, calls)) {
        runs = this.begin(group, job.beside, job);
        if (reason !== undefined) cancel(reason);
        await resumeCalls(runs);
      }
      if (job.resumed !== undefined) job.resumed.calls = undefined;
      if (job.beside !== undefined) job.beside.held = job.turn;
    };
    return {
      run,
      cancel,
      end(why) {
        cancel(why);
        return run();
      },
    };
  }
}

/**
 * Restores the once-per-turn rule after a crash: notes the uses of such tools in the outermost turn of a call without a result, with all nested
 * calls. Calls that were not started, or were taken back, do not count. A tool that ends the turn needs no note: calls after it were skipped when
 * they arrived.
 */
function enterAgain(session: RuntimeSession, turn: Turn, callId: string): void {
  const { log } = session.head;
  const events = session.log;
  const roots = outermostTurns(events);
  const root = roots.get(callId);
  for (const event of events) {
    if (event.type !== "call-end" || roots.get(event.callId) !== root || log.wasTakenBack(event.callId)) continue;
    const { name, error } = event.result;
    const tool = error?.outcome === "not_started" ? undefined : session.registry.get(name)?.tool;
    if (tool !== undefined && runsOnce(tool)) turn.useOnce(name);
  }
}

/** The turn of the outermost call around each call, by the id of the call. */
function outermostTurns(events: readonly SessionEvent[]): ReadonlyMap<string, string> {
  const turns = new Map<string, string>();
  for (const event of events) if (event.type === "call-start") turns.set(event.callId, turns.get(event.parentCallId ?? "") ?? event.turnId);
  return turns;
}

/** Voids a message of a model that a crash cut off. */
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

/** The position where a turn, or its latest round, began: its calls see the same history as the first time. */
function startOf(session: RuntimeSession, turnId: string): number {
  const { log, firstKept } = session;
  const rounds = log.findLastIndex((event) => event.type === "round-end" && event.turnId === turnId);
  const first = log.findIndex((event) => "turnId" in event && event.turnId === turnId);
  return firstKept + Math.max(first, rounds + 1);
}

/** The order to resume calls in: those of each turn together, then composite ones, innermost first, as each needs its nested calls' results. */
function inOrder({ registry }: RuntimeSession, open: readonly OpenCall[]): readonly (readonly OpenCall[])[] {
  const isComposite = ({ call }: OpenCall): boolean => registry.overloads(call.name).some(({ tool }) => tool.composite === true);
  const ofTurns = Map.groupBy(
    open.filter((call) => !isComposite(call)),
    ({ turnId }) => turnId,
  );
  return [
    ...ofTurns.values(),
    ...open
      .filter(isComposite)
      .toReversed()
      .map((call) => [call]),
  ];
}

/** The data given to `resume`, with the principal for which the call was made. */
function dataOf({ principal: id }: OpenCall, data: ResumeParts["data"]): ResumeParts["data"] {
  return id === undefined || (data !== undefined && principalIdOf(data) === id) ? data : { ...data, principal: { id } };
}

/** The rules with which the call was made, combined with those given to `resume`. */
function visibilityIn({ allow }: OpenCall, rules: VisibilityRules | undefined): Visibility | undefined {
  const own = allow === undefined ? undefined : visibilityOf(allow);
  return rules === undefined ? own : visibilityOf([own, visibilityOf(rules)]);
}

function takeUp(session: RuntimeSession, turn: Turn, open: OpenCall, options: TakeUpOptions): CallRun {
  const answerers = open.answerFrom === undefined ? undefined : answerersOf(session, open.call, open.answerFrom);
  const flag = open.isOfModel ? takeBackgroundFlag(open.call, session.registry) : undefined;
  const background = open.background ?? (flag?.background === true ? true : undefined);
  const callOptions = {
    ...options.callOptions,
    ...(answerers instanceof ToolError ? {} : { answerers }),
    ...omitUndefined({ data: dataOf(open, options.data), background, principal: open.principal, ask: options.ask }),
    ...omitUndefined({ visibility: visibilityIn(open, options.allow) }),
    ...(open.hasMadeCalls ? { approved: true } : {}),
  };
  const { callId, intent, job, remoteId, askedFor, allowed } = open;
  const call = intent === undefined ? (flag?.call ?? open.call) : { ...open.call, ...intent.call };
  const run = new CallRun(partsOf(session), turn, callOptions, call, { callId, idempotencyKey: intent?.idempotencyKey });
  const isDecided = intent !== undefined;
  const wasReal = open.answerFrom?.every(isReal) ?? true;
  const isInterrupted = isDecided || (wasReal && session.eventLog?.options.durability === "async");
  run.resumed = {
    isDecided,
    isInterrupted,
    isAnswered: false,
    job,
    within: options.within(open),
    calls: undefined,
    remoteId,
    askedFor,
    allowed,
    mayHaveRun: false,
    repeatChanges: () => options.repeatChanges(),
    ended: () => options.ended(run),
  };
  if (job !== undefined) run.job = run.parts.jobs.adopt(run, job); // however it ends now, it ends as a job
  if (open.sample !== undefined) run.faults = new CallFaults(open.sample);
  if (asksForProvider(session, call)) run.isProviderQuestion = true;
  const ended = open.wasNeverWhole ? undefined : options.ends.get(callId);
  const never =
    ended === undefined ? whyNotRun(session, open, { answerers, wasReal, runsAgain: options.interrupted !== "settle" }) : undefined;
  run.refusal = ended ?? (never !== undefined && isInterrupted && never !== answerers ? outcomeUnknown(open.call.name) : never);
  return run;
}

/** Links the call to the trace in which it began. */
function continueTrace({ tracing }: RuntimeSession, { callId, job, traceparent }: OpenCall): void {
  const span = job?.traceparent ?? traceparent;
  if (span !== undefined) tracing?.resumeCall?.(callId, span);
}

/** Maps each call that had begun to the unfinished calls around it, the innermost first. */
function enclosingCalls({ registry }: RuntimeSession, open: readonly OpenCall[]): (call: OpenCall) => readonly EnclosingCall[] {
  const byId = new Map(open.map((call) => [call.callId, call]));
  return ({ parentCallId }) => {
    const within: EnclosingCall[] = [];
    let outer = byId.get(parentCallId ?? "");
    // A log that is damaged may say that calls were made in one another.
    for (; outer !== undefined && within.length < open.length; outer = byId.get(outer.parentCallId ?? "")) {
      const { name, input } = outer.intent?.call ?? outer.call;
      const toolName = outer.job?.toolName ?? registry.get(name)?.qualifiedName ?? name;
      within.push(Object.freeze({ callId: outer.callId, toolName, input: isJsonObject(input) ? input : {} }));
    }
    return within;
  };
}

/** Whether the call is a question of the model's provider: other calls of such a tool neither wait nor run. */
function asksForProvider({ registry }: RuntimeSession, { name, input }: ToolCall): boolean {
  return readProviderApproval(input) !== undefined && registry.overloads(name).some(({ tool }) => tool.providerExecuted === true);
}

/** The sources that were to answer the call, or the error if they cannot: a simulated call is not run for real after a crash. */
function answerersOf(session: RuntimeSession, { name }: ToolCall, answerFrom: readonly AnswerSource[]): readonly Answerer[] | ToolError {
  try {
    return partsOf(session).chains.answerersOf(answerFrom);
  } catch (thrown: unknown) {
    return new ToolError(
      "cancelled",
      `${name} was interrupted by the end of its process and was not run again: answers.engines has no engine for ${answerFrom.join(", ")}.`,
      {
        outcome: "not_started",
        operatorHint: "Resume it in a runtime with that engine, or call it again.",
        cause: thrown,
      },
    );
  }
}
