/** The sessions of a runtime: begins, branches, resumes and closes them. */
import { pushAll } from "../core/collections/push-all.ts";
import { notStartedError } from "../call/attempt/not-started-errors.ts";
import { rejectOnAbort } from "../core/base/reject-on-abort.ts";
import type { ToolCall } from "../core/call.ts";
import type { Engine } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import type { JsonValue } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { ToolResult } from "../core/result.ts";
import type { SessionAttempt } from "../call/context/execute-nested.ts";
import type { AdmittedCall, CallServices } from "../call/call-run.ts";
import { cancelSessionCalls } from "../call/running-calls.ts";
import { onAbort } from "../core/base/on-abort.ts";
import type { VisibilityRules } from "../policy/visibility.ts";
import { checkSessionId } from "../session/session-id.ts";
import { Branches } from "./branches.ts";
import { SessionFold } from "./resume/fold-events.ts";
import { nestedSessionId } from "./nested-session.ts";
import { NewSessions, type SessionsOptions } from "./new-sessions.ts";
import type { OpenSessions } from "./open-sessions.ts";
import { readOwnEvents, readRecordedEvents, readSessionEvents } from "./recorded-events.ts";
import { checkResumeOptions, type ResumeOptions } from "./resume/resume-session.ts";
import type { CallRunner } from "./run-calls.ts";
import { ResumedSessions } from "./resume/resumed-sessions.ts";
import { RuntimeSession, type SessionHost } from "./runtime-session.ts";
import { recordSessionStart, type SessionStart } from "./session-start.ts";
import { createSimulationServices } from "./simulation-services.ts";
import { mapToToolsets, createSnapshot, type SessionSnapshot } from "./snapshot.ts";
import type { KeyedOptions } from "./submissions.ts";
import { submitCalls } from "./submit-calls.ts";

export class Sessions implements SessionHost {
  readonly runner: CallRunner;
  readonly branches: Branches;
  readonly #options: SessionsOptions;
  readonly #services: CallServices;
  readonly #newSessions: NewSessions;
  readonly #resumedSessions: ResumedSessions;

  constructor(options: SessionsOptions) {
    this.runner = options.runner;
    this.#options = options;
    this.#services = options.services;
    this.#newSessions = new NewSessions(options, this);
    this.#resumedSessions = new ResumedSessions(options, this.#newSessions);
    this.branches = new Branches(options, this.#newSessions);
  }

  get open(): OpenSessions {
    return this.#newSessions.open;
  }

  /** Begins a session, from a snapshot if one is given. @throws ToolError `duplicate`, `corrupt_record` */
  create(id: string | undefined, start?: SessionStart): RuntimeSession {
    return this.#newSessions.create(id, start);
  }

  /** Resumes a stored session; see `Runtime.resume`. */
  async resume(id: string, options: ResumeOptions): Promise<RuntimeSession> {
    checkSessionId(id);
    checkResumeOptions(options);
    return await this.#resumedSessions.resume(id, options);
  }

  /** Begins a session for the handler of a call, or resumes it after a crash; see `sessionWithin`. */
  async startNested(
    run: AdmittedCall,
    { allow, attempt }: { readonly allow: VisibilityRules | undefined; readonly attempt: SessionAttempt },
  ): Promise<RuntimeSession> {
    const { callId, turn, isLogged, options } = run;
    const { session } = turn;
    const { simulation, setup, workingFolder, environment, seedName, eventLog } = session;
    const settings = omitUndefined({ setup, workingFolder, environment });
    const resumeOptions = omitUndefined({ ...settings, data: options.data, allow });
    const id = nestedSessionId(session.id, callId);
    await this.open.whenIdFree(id, () => (session.isHandedOver ? session.broken : attempt.getAbortError()));
    if (session instanceof RuntimeSession && simulation !== undefined) {
      const services = createSimulationServices(this.#services, id, simulation);
      const head = new SessionFold().head;
      const inner = this.#newSessions.openSession({
        id: this.#newSessions.newId(id),
        head,
        parent: session,
        simulation,
        services,
        callingTurn: turn,
      });
      this.#closeWith(session, inner);
      return inner;
    }
    const parentCall = { sessionId: session.id, callId };
    if (isLogged && eventLog !== undefined) {
      if (eventLog.options.durability !== "async") await whenCallIsStored(run, attempt.endSignal);
      return await this.#resumedSessions.resume(
        id,
        { create: true, takeOver: true, ...resumeOptions, parentCall, outerLog: eventLog, callingTurn: turn },
        attempt,
      );
    }
    const inner = this.#newSessions.openSession({ id: this.#newSessions.newId(id), seedName, parentCall, callingTurn: turn, ...settings });
    recordSessionStart(inner, { parentCall }, this.#services);
    return inner;
  }

  /** Closes a session that a call of a simulation began when the simulation ends: no other code can find it. */
  #closeWith(simulated: RuntimeSession, inner: RuntimeSession): void {
    const forget = onAbort(simulated.whenClosed, () => {
      inner.markClosed();
      cancelSessionCalls(inner, this.#services.running, "the simulation that its session belongs to has ended");
      void inner.close().catch(() => {}); // it is in no store
    });
    onAbort(inner.whenClosed, forget);
  }

  submit(session: RuntimeSession, calls: readonly ToolCall[], options: KeyedOptions): Promise<readonly ToolResult[]> {
    return submitCalls(session, calls, options, { runner: this.runner, events: readOwnEvents });
  }

  /** Takes a snapshot in its own turn, so that nothing happens meanwhile; for a handler of the running turn, as of before that turn. */
  async snapshot(session: RuntimeSession): Promise<SessionSnapshot> {
    if (session.ready !== undefined) await session.ready;
    return session.turns.run(async () => {
      const { length, state } = session.head;
      const { clock } = this.#services.ports;
      const recorded = readRecordedEvents(session, length);
      recorded.catch(() => {}); // awaited after the engines
      const engines = (await session.enginesIfUsed?.snapshot(clock)) ?? new Map<Engine, JsonValue>();
      return createSnapshot({
        sessionId: session.id,
        at: clock.wallTime(),
        events: await recorded,
        state,
        engines: mapToToolsets(engines, this.#options),
      });
    });
  }

  events(session: RuntimeSession): AsyncGenerator<SessionEvent> {
    return readSessionEvents(session);
  }

  async close(session: RuntimeSession): Promise<void> {
    this.#forgetApprovals(session.id);
    if (session.simulation === undefined) this.#services.largeResults.close(session.id);
    else this.#services.largeResults.unshare(session.id);
    this.#services.cache.forget(session);
    const { clock, log } = this.#services.ports;
    try {
      await this.#services.jobs.cancelIn(session.id); // a turn may wait for them
      await session.turns.whenIdle();
      await this.#services.jobs.cancelIn(session.id); // those that its last turns began
      await this.#resumedSessions.whenSettled(session.id);
      await session.enginesIfUsed?.close(clock, log);
      await session.eventLog?.close();
    } finally {
      this.open.remove(session);
    }
  }

  /** A program's own approvals may throw: the session is closed nevertheless. */
  #forgetApprovals(sessionId: string): void {
    try {
      this.#services.approvals.forget(sessionId);
    } catch (thrown: unknown) {
      this.#services.ports.log.warn(`What was approved in the session ${sessionId} could not be forgotten: ${describeThrown(thrown)}`);
    }
  }

  /** A session whose only purpose is to be the parent of simulations. */
  createEphemeral(): RuntimeSession {
    return this.#newSessions.createEphemeral();
  }

  async #whenApprovalsSettled(): Promise<void> {
    await this.#services.approvals.whenSettled();
  }

  /** Closes every session and the store; resolves to the errors. */
  async closeAll(): Promise<readonly ToolError[]> {
    const ends = await Promise.allSettled([...this.open.all()].map((session) => session.close()));
    await this.#services.cache.stored?.whenSettled();
    // approvals of a program that fail must not keep the store open, whose last writes would be lost
    pushAll(ends, await Promise.allSettled([this.#whenApprovalsSettled()]));
    pushAll(ends, await Promise.allSettled([this.#options.store?.close()]));
    return ends.flatMap((end) => (end.status === "rejected" ? [ToolError.fromUnknown(end.reason, "store_failed")] : []));
  }
}

/**
 * Resolves when the call that starts a session is stored. That session has a log and a claim of its own, so its calls would run even if another
 * process has taken over the session of this call, where the call may be made again.
 *
 * @throws ToolError why the call is not stored, as a rejection
 */
async function whenCallIsStored(run: AdmittedCall, endSignal: AbortSignal): Promise<void> {
  const durable = run.turn.session.eventLog?.whenDurable();
  try {
    if (durable !== undefined) await rejectOnAbort(durable, endSignal);
  } catch (thrown: unknown) {
    throw notStartedError(run, ToolError.fromUnknown(thrown, "store_failed"));
  }
}
