/** Resumes stored sessions: claims and reads their logs, and continues what had not ended. */
import { formatCancelReason } from "../../core/cancel-reason.ts";
import { ToolError } from "../../core/error.ts";
import type { CallPlace, SessionEvent } from "../../core/event.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { EventLog, Store } from "../../core/store/store.ts";
import type { SessionAttempt } from "../../call/context/execute-nested.ts";
import type { CallServices, CallRun } from "../../call/call-run.ts";
import { cancelSessionCalls } from "../../call/running-calls.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import type { Registry } from "../../registry/registry.ts";
import { readEventPages } from "../../session/read-events.ts";
import type { ReadSessionsOf } from "../../call/admit/once-per-turn.ts";
import { foldSessionsOf, noteAwaitsWithin } from "./awaiting-within.ts";
import { SessionFold } from "./fold-events.ts";
import { checkStartedBy, nestedSessionId, findCallsLeftOpen } from "../nested-session.ts";
import type { NewSessionOptions, NewSessions, SessionsOptions } from "../new-sessions.ts";
import type { PendingResume } from "./pending-resume.ts";
import { noteNestedSessions } from "./resume-jobs.ts";
import { ResumedQuestions } from "./resumed-questions.ts";
import { resumeSession, type ResumeOptions, type ResumeCallsOptions } from "./resume-session.ts";
import type { RuntimeSession } from "../runtime-session.ts";
import { requireStore } from "../session-errors.ts";
import type { Turn } from "../../session/turn.ts";
import { checkSessionSettings } from "../session-start.ts";
import { readCancelRequests } from "../stored-jobs.ts";

/** How a session is resumed, by a program or by the call that it belongs to. */
interface ResumeStoredOptions extends ResumeOptions {
  readonly parentCall?: CallPlace | undefined;
  /** The log of that call's session: if another process has claimed it, the session of the call belongs to that process. */
  readonly outerLog?: EventLog | undefined;
  /** The turn of that call, while its handler runs. */
  readonly callingTurn?: Turn | undefined;
  readonly resuming: PendingResume;
  /** Aborts when the call's attempt ends, which then no longer waits for the session. */
  readonly endSignal: AbortSignal | undefined;
  readonly onStarted: SessionAttempt["onStarted"] | undefined;
}

type ContinueCallsOptions = Omit<ResumeCallsOptions, "onCallEnd" | "readSessionsOf"> &
  Pick<ResumeStoredOptions, "endSignal"> & { readonly questions: ResumedQuestions };

type CallEnd = SessionEvent & { readonly type: "call-end" };

/** Errors that do not go away: a damaged session, or one that the call did not begin, cannot be settled later either. */
const PERMANENT_ERRORS: ReadonlySet<string> = new Set(["corrupt_record", "duplicate"]);

/** Maximum number of sessions that are settled concurrently. */
const MAX_CONCURRENT = 32;

export class ResumedSessions {
  readonly #options: SessionsOptions;
  readonly #services: CallServices;
  readonly #newSessions: NewSessions;
  readonly #settling = new Set<{ readonly sessionId: string; readonly whenSettled: Promise<void> }>();

  constructor(options: SessionsOptions, newSessions: NewSessions) {
    this.#options = options;
    this.#services = options.services;
    this.#newSessions = newSessions;
  }

  /** Resumes a session that is open neither here nor in another process. @throws ToolError as `Runtime.resume`, as a rejection */
  async resume(
    id: string,
    options: Omit<ResumeStoredOptions, "resuming" | "endSignal" | "onStarted">,
    attempt?: SessionAttempt,
  ): Promise<RuntimeSession> {
    const resuming = this.#newSessions.open.reserve(id, {
      outerId: options.parentCall?.sessionId,
      getAbortError: attempt?.getAbortError,
      settles: options.interrupted === "settle" && options.parentCall !== undefined,
    });
    const { endSignal, onStarted } = attempt ?? {};
    try {
      const session = await this.#resumeStored(id, requireStore(id, this.#options.store), { ...options, resuming, endSignal, onStarted });
      if (resuming.reason === undefined) return session;
      await session.close().catch(() => {}); // the call that wanted the session did not get it
      this.#services.jobs.forget(id);
      throw resuming.reason;
    } finally {
      resuming.end();
    }
  }

  async #resumeStored(id: string, store: Store, options: ResumeStoredOptions): Promise<RuntimeSession> {
    const { parentCall, callingTurn, resuming } = options;
    const { faults, registry } = this.#services;
    await store.open();
    const eventLog = await claimLog(store, id, options);
    const settings = { parentCall, callingTurn, ...checkSessionSettings(options, "resume()") };
    if (eventLog === undefined) {
      resuming.check();
      return (await this.#startNew(id, settings)) ?? this.#resumeStored(id, store, { ...options, create: false });
    }
    let session: RuntimeSession | undefined;
    try {
      const fold = new SessionFold({ keep: this.#newSessions.keptEvents, sessionId: id, countsCalls: faults.mayInject(registry) });
      const leftOpen = await foldLog(eventLog, fold, { parentCall, registry });
      session = this.#newSessions.openSession({ id, ...settings, eventLog, ...fold.startOptions });
      options.onStarted?.(session);
      await this.#settleLeftOpen(session, leftOpen, store);
      resuming.check();
      if (options.interrupted === "settle") await this.#settleNested(session, fold);
      else await noteAwaitsWithin(fold, { store, sessionId: id, registry });
      const callOptions = this.#options.runner.callOptions({});
      const questions = new ResumedQuestions(session, fold.open, this.#services.approvals);
      await this.#continueCalls(session, fold, {
        ...options,
        questions,
        callOptions,
        cancelled: await readCancelRequests(store, id, fold),
      });
      await questions.withdrawStale();
      return session;
    } catch (thrown: unknown) {
      eventLog.leaveOpen?.(); // the next claim, by any process, finds the log as after a crash
      // its jobs are not cancelled: the next resume continues them, as after a crash
      session?.markLost(ToolError.fromUnknown(thrown, "store_failed"));
      await (session ?? eventLog).close().catch(() => {}); // the first error is reported
      if (session !== undefined) this.#services.jobs.forget(id);
      throw thrown;
    }
  }

  /**
   * Continues its calls. When a call has ended, the session that it had begun is settled, unless a handler resumed that session: none ran, or it
   * ended before it asked for its session.
   */
  async #continueCalls(
    session: RuntimeSession,
    fold: SessionFold,
    { endSignal, questions, ...options }: ContinueCallsOptions,
  ): Promise<void> {
    const { store } = this.#options;
    if (store !== undefined) await noteNestedSessions(session, fold.open, store);
    const runsAgain = options.interrupted !== "settle";
    const onCallEnd = (run: CallRun): void => {
      const { callId, attempts, plan } = run;
      questions.onCallEnd(run);
      if (runsAgain && session.broken === undefined && (attempts === 0 || plan?.tool.composite === true))
        this.#settleLater(session, callId);
    };
    const forget =
      endSignal === undefined
        ? undefined
        : onAbort(endSignal, () => {
            cancelSessionCalls(
              session,
              this.#services.running,
              formatCancelReason(endSignal, "the attempt that its session belongs to has ended"),
            );
          });
    try {
      const readSessionsOf: ReadSessionsOf = (sessionId, callIds) => foldSessionsOf(store, sessionId, callIds);
      await resumeSession(session, fold, { ...options, readSessionsOf, onCallEnd });
      await this.whenSettled(session.id);
    } finally {
      forget?.();
    }
  }

  /** Settles the sessions that interrupted calls began, before these calls end: none of the calls is run again and resumes its session. */
  async #settleNested(session: RuntimeSession, { open }: SessionFold): Promise<void> {
    for (const { callId } of open) await this.#settleSessionOf(session, callId);
  }

  /** Settles the sessions that a crash left open although the calls that began them have ended: no call resumes them. */
  async #settleLeftOpen(session: RuntimeSession, callIds: readonly string[], store: Store): Promise<void> {
    const left = await findCallsLeftOpen(store, session.id, callIds);
    const settle = (callId: string): Promise<void> => this.#settleSessionOf(session, callId, false); // another process may have been faster
    for (let at = 0; at < left.length; at += MAX_CONCURRENT) await Promise.all(left.slice(at, at + MAX_CONCURRENT).map(settle));
  }

  /** Resolves when everything that calls of a session left open is settled. */
  async whenSettled(sessionId: string): Promise<void> {
    await Promise.all([...this.#settling].flatMap((one) => (one.sessionId === sessionId ? [one.whenSettled] : [])));
  }

  /** Settles and closes the session that a call began, unless its handler has it open. */
  #settleLater(session: RuntimeSession, callId: string): void {
    const { open } = this.#newSessions;
    const { id: sessionId } = session;
    const inner = nestedSessionId(sessionId, callId);
    const settle = async (): Promise<void> => {
      await open.whenResumed(inner); // the attempt has ended, so a resume of it still in progress is aborted
      if (open.findById(inner) === undefined) await this.#settleSessionOf(session, callId);
    };
    const settling = { sessionId, whenSettled: settle().finally(() => this.#settling.delete(settling)) };
    this.#settling.add(settling);
  }

  /** Settles the session that a call began, if any. A failure, or a session that is open here, does not keep the call from being settled. */
  async #settleSessionOf({ id: sessionId, eventLog }: RuntimeSession, callId: string, takeOver: boolean = true): Promise<void> {
    const parentCall = { sessionId, callId };
    try {
      const options = { interrupted: "settle", takeOver, parentCall, outerLog: eventLog } as const;
      const inner = await this.resume(nestedSessionId(sessionId, callId), options);
      await inner.close();
    } catch (thrown: unknown) {
      const { code, message } = ToolError.fromUnknown(thrown, "store_failed");
      if (code === "not_found") return;
      if (!PERMANENT_ERRORS.has(code)) eventLog?.leaveOpen?.(); // the next resume of the session tries again
      this.#services.ports.log.warn(`A session that the call ${callId} has begun was not settled: ${message}`);
    }
  }

  /** Begins a new session once the store has accepted it; undefined if another process began it meanwhile. */
  async #startNew(id: string, options: NewSessionOptions): Promise<RuntimeSession | undefined> {
    const session = this.#newSessions.createWithId(id, options);
    try {
      return (await session.ready?.then(() => session)) ?? session;
    } catch (thrown: unknown) {
      await session.close().catch(() => {}); // the first error is reported
      if (ToolError.fromUnknown(thrown, "store_failed").code === "duplicate") return undefined;
      throw thrown;
    }
  }
}

/** Whether this is the end of a call of the session that may have begun a session: one of a composite tool, or of a tool that no longer exists. */
function mayHaveLeftSessionOpen(sessionId: string, registry: Registry, event: SessionEvent): event is CallEnd {
  if (event.type !== "call-end" || event.sessionId !== sessionId) return false;
  const overloads = registry.overloads(event.result.name);
  return overloads.length === 0 || overloads.some(({ tool }) => tool.composite === true);
}

/** Claims the log of a session. Undefined if there is none and `create` is set. @throws ToolError as `Store.claim`, as a rejection */
function claimLog(
  store: Store,
  id: string,
  { takeOver, create, outerLog: outer }: Pick<ResumeStoredOptions, "takeOver" | "create" | "outerLog">,
): Promise<EventLog | undefined> {
  return store.claim(id, omitUndefined({ takeOver, outer })).catch((thrown: unknown) => {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.code !== "not_found") throw error;
    if (create === true) return undefined;
    const operatorHint = `To begin it if there is none: runtime.resume(${JSON.stringify(id)}, { create: true }).`;
    throw new ToolError("not_found", error.message, { operatorHint, cause: error });
  });
}

/**
 * Reads the log of a session that is resumed. A call may only resume a session that it began itself. Resolves to the ids of the calls that may have
 * left a session open; none if the log itself was not left open.
 *
 * @throws ToolError `duplicate` if the call did not begin it; `corrupt_record`, and as the store; as a rejection
 */
async function foldLog(
  log: EventLog,
  fold: SessionFold,
  { parentCall, registry }: { readonly parentCall: CallPlace | undefined; readonly registry: Registry },
): Promise<readonly string[]> {
  const { sessionId, wasLeftOpen } = log;
  const leftOpen: string[] = [];
  for await (const events of readEventPages(log))
    for (const event of events) {
      if (fold.head.length === 0 && parentCall !== undefined) checkStartedBy(parentCall, event, sessionId);
      fold.apply(event);
      if (wasLeftOpen && mayHaveLeftSessionOpen(sessionId, registry, event)) leftOpen.push(event.callId);
    }
  return leftOpen;
}
