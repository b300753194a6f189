/** Resumes the calls of a session that a crash interrupted: each open call gets its one result. */
import type { EnclosingCall } from "../../core/store/approval-store.ts";
import type { Ask } from "../../core/approvals/ask.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { ToolCall } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { isRealSource, type AnswerSource } from "../../core/answers/answer-source.ts";
import { resumeCalls } from "../../call/batch.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { plural, quoteValue } from "../../core/base/wording.ts";
import { principalIdOf } from "../../core/principal-id.ts";
import { readProviderApproval } from "../../core/approvals/provider-approval.ts";
import { takeBackgroundFlag, type TakenFlag } from "../../call/jobs/background-flag.ts";
import { CallRun } from "../../call/call-run.ts";
import type { CallOptions } from "../../call/call-options.ts";
import type { EarlierCalls } from "../../call/admit/earlier-calls.ts";
import { visibilityOf, type Visibility, type VisibilityRules } from "../../policy/visibility.ts";
import { CallFaults } from "../../call/call-faults.ts";
import type { Answerer } from "../../call/route.ts";
import { mayHaveChangedSomething } from "../../call/attempt/nested-effects.ts";
import { CUT_OFF, findRefusal, mayHaveBegun } from "../not-run-errors.ts";
import type { OpenRound, SessionFold } from "./fold-events.ts";
import { redoChanges, undoChanges, type StateChange } from "./folded-state.ts";
import type { OpenCall } from "./open-call.ts";
import { restoreOncePerTurn, type ReadSessionsOf } from "../../call/admit/once-per-turn.ts";
import { findJobErrors, findNestedErrors, groupCallsByJob, noteNestedEffects, orderCalls } from "./resume-jobs.ts";
import { checkSessionSettings, type SessionStart } from "../session-start.ts";
import { servicesOf, type RuntimeSession } from "../runtime-session.ts";
import { Turn } from "../../session/turn.ts";
import type { RunningTurn } from "../../session/turn-queue.ts";

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
  /**
   * Which tools those calls may still use, besides the rules that each was made with; as in `ExecuteOptions`. A function is called once for each
   * principal that made one of them, with its id, and not for calls without a principal. @default all
   */
  readonly allow?: VisibilityRules | RulesOfPrincipal;
}

/** Finds the tools that a principal may use now; undefined for all. A rejection ends the resume with its error. */
export type RulesOfPrincipal = (principal: string) => VisibilityRules | undefined | Promise<VisibilityRules | undefined>;

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
  const { interrupted, allow } = options;
  checkAllow(allow);
  checkSessionSettings(options, "resume()");
  if (interrupted === undefined || interrupted === "run" || interrupted === "settle") return;
  throw new ToolError(
    "invalid_argument",
    `The option "interrupted" of resume() must be "run" or "settle", not ${quoteValue(interrupted)}.`,
  );
}

/** @throws ToolError `invalid_argument` for rules that cannot be read; those that a function finds are read when it has found them */
export function checkAllow(allow: ResumeOptions["allow"]): void {
  if (allow !== undefined && typeof allow !== "function") visibilityOf(allow);
}

export interface ResumeCallsOptions extends ResumeOptions {
  readonly callOptions: CallOptions;
  /** Why background jobs were cancelled meanwhile, by the id of their calls. */
  readonly cancelled: ReadonlyMap<string, string>;
  /** Reads the sessions that calls began. */
  readonly readSessionsOf: ReadSessionsOf;
  /** Called for each call when it has its result. */
  readonly onCallEnd: (call: CallRun) => void;
}

interface ResumeContext extends ResumeCallsOptions {
  /** Errors of calls that are not run again, by their ids. */
  readonly errors: ReadonlyMap<string, ToolError>;
  /** Errors of calls that the handlers around them make again. */
  readonly nestedErrors: ReadonlyMap<string, ToolError>;
  /** The calls that one was made in. */
  readonly within: (call: OpenCall) => readonly EnclosingCall[];
  readonly rulesFor: (call: OpenCall) => Visibility | undefined;
}

interface ResumeCallOptions extends ResumeContext {
  /** Repeats the state changes that the call made. */
  readonly redoChanges: () => void;
}

/** @throws ToolError `store_failed` or `conflict` if the results could not be made durable, as a rejection */
export async function resumeSession(
  session: RuntimeSession,
  { open, openChanges, openRounds }: Pick<SessionFold, "open" | "openChanges" | "openRounds">,
  options: ResumeCallsOptions,
): Promise<void> {
  if (open.length === 0 && openRounds.length === 0 && openChanges.length === 0) return;
  const runsAgain = options.interrupted !== "settle";
  const errors = findJobErrors(open, { cancelled: options.cancelled, runsAgain });
  const inJobs = runsAgain ? groupCallsByJob(open, errors) : new Map<string, readonly OpenCall[]>();
  const callsInJobs = new Set([...inJobs.values()].flat());
  // Open calls, and calls that no model saw, have changed nothing: their changes are undone, so that a call that is run again finds the same state as
  // before.
  const changes = Map.groupBy(openChanges, (change) => change.callId);
  noteNestedEffects(session, open);
  const nestedErrors = findNestedErrors(session, open);
  const rulesFor = await readRules(open, runsAgain ? options.allow : undefined);
  const resumer = new CallResumer(session, changes, { ...options, errors, nestedErrors, within: enclosingCalls(session, open), rulesFor });
  const stop = session.ports.clock.timer(() => warnOfApprovalWait(session), WARN_AFTER_MS, { background: true });
  try {
    await session.turns.run(async (running) => {
      for (const callChanges of changes.values()) undoChanges(session, callChanges);
      const groups = orderCalls(
        session,
        open.filter((call) => !callsInJobs.has(call)),
      );
      for (const calls of groups) {
        if (session.broken !== undefined) return; // the remaining calls are left too
        const runs = await resumer.createRuns(calls, running);
        for (const run of runs)
          if (run.resumed !== undefined) run.resumed.nestedCalls = resumer.createEarlierCalls(run, inJobs.get(run.callId));
        await resumeCalls(runs); // resolves to placeholders for background jobs
        resumer.noteEffects(runs);
        for (const { result, resumed } of runs) if (result !== undefined) await resumed?.nestedCalls?.end(`${result.name} has ended`);
      }
      for (const round of openRounds) voidRound(session, round);
    });
  } finally {
    stop();
  }
  await session.eventLog?.whenDurable();
  if (session.broken !== undefined) throw session.broken;
}

const WARN_AFTER_MS = 1_000;

/** Warns that `resume` waits for approval: a program that listens only after it would wait forever. */
function warnOfApprovalWait({ awaitingApproval, id, ports: { log } }: RuntimeSession): void {
  if (awaitingApproval === 0) return;
  log.warn(
    `resume(${JSON.stringify(id)}) waits: ${plural(awaitingApproval, "interrupted call")} ${awaitingApproval === 1 ? "waits" : "wait"} for approval. Answer with runtime.approvals.answer(), or through a running server.`,
  );
}

class CallResumer {
  readonly #session: RuntimeSession;
  readonly #changes: ReadonlyMap<string, readonly StateChange[]>;
  readonly #options: ResumeContext;
  /** The ids of calls in which a call was made that may have had an effect since the crash. */
  readonly #withNestedEffect = new Set<string>();

  constructor(session: RuntimeSession, changes: ReadonlyMap<string, readonly StateChange[]>, options: ResumeContext) {
    this.#session = session;
    this.#changes = changes;
    this.#options = options;
  }

  /** @param running the place in the turn queue for calls of their handlers. @param job the job that made them */
  async createRuns(calls: readonly OpenCall[], running: RunningTurn | undefined, job?: CallRun): Promise<readonly CallRun[]> {
    const session = this.#session;
    const turnId = calls[0]?.turnId ?? "";
    const { callingTurn } = session;
    const startsAt = findTurnStart(session, turnId);
    const turn = new Turn(session, session.ports.ids, { id: turnId, startsAt, parentCall: job, callingTurn });
    turn.running = running;
    if (running !== undefined) running.runnerData = turn; // nested calls join it
    await restoreOncePerTurn(session, turn, calls[0]?.callId ?? "", this.#options.readSessionsOf);
    return calls.map((call) => {
      continueTrace(session, call);
      if (this.#withNestedEffect.has(call.callId)) call.hasNestedIntent = true;
      return createResumedRun(session, turn, call, {
        ...this.#options,
        redoChanges: () => redoChanges(session, this.#changes.get(call.callId) ?? []),
      });
    });
  }

  /** Notes which calls must not be run again, because calls that were made in them have been run now. */
  noteEffects(runs: readonly CallRun[]): void {
    for (const run of runs)
      if (mayHaveChangedSomething(run)) for (const { callId } of run.resumed?.within ?? []) this.#withNestedEffect.add(callId);
  }

  /** The nested calls of a job, one turn after the other, outside the turns of the session. */
  createEarlierCalls(job: CallRun, calls: readonly OpenCall[] | undefined): EarlierCalls | undefined {
    if (calls === undefined) return undefined;
    let reason: string | undefined;
    let runs: readonly CallRun[] = [];
    const cancel = (why: string): void => {
      reason ??= why;
      for (const run of runs) run.cancel(reason);
    };
    const run = async (): Promise<void> => {
      for (const group of orderCalls(this.#session, calls)) {
        runs = await this.createRuns(group, job.detachedTurn, job);
        if (reason !== undefined) cancel(reason);
        await resumeCalls(runs);
        this.noteEffects(runs);
      }
      if (job.resumed !== undefined) {
        job.resumed.nestedCalls = undefined;
        if (this.#withNestedEffect.has(job.callId)) job.resumed.hasNestedIntent = job.resumed.isInterrupted = true;
      }
      if (job.detachedTurn !== undefined) job.detachedTurn.runnerData = job.turn;
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

/** Voids a message of a model that a crash cut off. */
function voidRound(session: RuntimeSession, { turnId, callIds }: OpenRound): void {
  session.recordAndNotify({
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
function findTurnStart(session: RuntimeSession, turnId: string): number {
  const { log, firstKept } = session;
  const rounds = log.findLastIndex((event) => event.type === "round-end" && event.turnId === turnId);
  const first = log.findIndex((event) => "turnId" in event && event.turnId === turnId);
  return firstKept + Math.max(first, rounds + 1);
}

/** The data given to `resume`, with the principal for which the call was made. */
function dataOf({ principal: id }: OpenCall, data: ResumeCallsOptions["data"]): ResumeCallsOptions["data"] {
  return id === undefined || (data !== undefined && principalIdOf(data) === id) ? data : { ...data, principal: { id } };
}

/** Returns the rules of each call: those with which it was made, combined with those given to `resume`. */
async function readRules(open: readonly OpenCall[], given: ResumeOptions["allow"]): Promise<ResumeContext["rulesFor"]> {
  const byPrincipal = new Map<string | undefined, Visibility | undefined>();
  const read = async (principal: string | undefined): Promise<Visibility | undefined> => {
    const rules = typeof given !== "function" ? given : principal === undefined ? undefined : await given(principal);
    return rules === undefined ? undefined : visibilityOf(rules);
  };
  for (const principal of new Set(open.map((call) => call.principal))) byPrincipal.set(principal, await read(principal));
  return ({ allow, principal }) => {
    const own = allow === undefined ? undefined : visibilityOf(allow);
    const rules = byPrincipal.get(principal);
    return rules === undefined ? own : visibilityOf([own, rules]);
  };
}

function createResumedRun(session: RuntimeSession, turn: Turn, open: OpenCall, options: ResumeCallOptions): CallRun {
  const answerers = open.answerFrom === undefined ? undefined : resolveAnswerers(session, open.call, open.answerFrom);
  const flag = open.takesFlag ? takeBackgroundFlag(open.call, session.registry) : undefined;
  const background = open.background ?? (flag?.background === true ? true : undefined);
  const callOptions = {
    ...options.callOptions,
    ...(answerers instanceof ToolError ? {} : { answerers }),
    ...omitUndefined({ data: dataOf(open, options.data), background, principal: open.principal, ask: options.ask }),
    ...omitUndefined({ visibility: options.rulesFor(open) }),
    ...(open.hasMadeCalls ? { approved: true } : {}),
  };
  const { callId, intent, job, remoteId, askedReason, approvedDigest } = open;
  const call = callToResume(open, flag);
  const run = new CallRun(servicesOf(session), turn, callOptions, call, { callId, idempotencyKey: intent?.idempotencyKey });
  const wasReal = open.answerFrom?.every(isRealSource) ?? true;
  const isInterrupted = intent !== undefined || open.hasNestedIntent || (wasReal && session.eventLog?.options.durability === "async");
  run.resumed = {
    hasIntent: intent !== undefined,
    isInterrupted,
    hasNestedIntent: open.hasNestedIntent,
    isAnswered: false,
    job,
    within: options.within(open),
    nestedCalls: undefined,
    remoteId,
    askedReason,
    approvedDigest,
    mayHaveBegun: mayHaveBegun(open),
    mayHaveRun: false,
    redoChanges: options.redoChanges,
    onEnd: () => options.onCallEnd(run),
  };
  if (job !== undefined) run.job = run.services.jobs.adopt(run, job); // however it ends now, it ends as a job
  if (open.sample !== undefined) run.faults = new CallFaults(open.sample);
  setOrigin(session, run, open);
  const runsAgain = options.interrupted !== "settle";
  const [jobError, nestedError] = [options.errors.get(callId), options.nestedErrors.get(callId)];
  run.refusal = findRefusal(session, open, { answerers, wasReal, isInterrupted, runsAgain, jobError, nestedError });
  return run;
}

/** The call as it was recorded before it was to run, else as its caller made it, without the flag `run_in_background`. */
function callToResume({ call, intent }: OpenCall, flag: TakenFlag | undefined): ToolCall {
  if (intent !== undefined) return { ...call, ...intent.call };
  return flag === undefined ? call : { ...call, input: flag.input };
}

/** Notes what follows from the model having made the call. */
function setOrigin(session: RuntimeSession, run: CallRun, { takesFlag, intent }: OpenCall): void {
  if (isQuestionOfProvider(session, run.call)) run.isProviderQuestion = true;
  if (takesFlag && intent === undefined) run.takesFlag = true; // what was recorded as its intent has no flag
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
function isQuestionOfProvider({ registry }: RuntimeSession, { name, input }: ToolCall): boolean {
  return readProviderApproval(input) !== undefined && registry.overloads(name).some(({ tool }) => tool.providerExecuted === true);
}

/** The sources that were to answer the call, or the error if they cannot: a simulated call is not run for real after a crash. */
function resolveAnswerers(
  session: RuntimeSession,
  { name }: ToolCall,
  answerFrom: readonly AnswerSource[],
): readonly Answerer[] | ToolError {
  try {
    return servicesOf(session).chains.answerersOf(answerFrom);
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
