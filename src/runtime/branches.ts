/** The branches of sessions: how they begin, from the current head or an earlier point, and how they end. */
import { quoteValue } from "../core/base/wording.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { SessionEvent } from "../core/event.ts";
import type { CallServices } from "../call/call-run.ts";
import { cancelSessionCalls } from "../call/running-calls.ts";
import type { CommitOptions } from "../session/commit-options.ts";
import { checkForkOptions, type ForkOptions } from "../session/fork-options.ts";
import { takeFirst } from "../session/read-events.ts";
import type { Session, SessionHead } from "../session/session.ts";
import { SimulationMode } from "../session/simulation-mode.ts";
import { commitBranch } from "./commit-branch.ts";
import { SessionFold } from "./resume/fold-events.ts";
import type { NewSessions, SessionsOptions } from "./new-sessions.ts";
import { readOwnEvents, readSessionEvents } from "./recorded-events.ts";
import type { RuntimeSession, RuntimeSessionOptions } from "./runtime-session.ts";
import { closedSessionError } from "./session-errors.ts";
import { recordSessionStart } from "./session-start.ts";
import { branchName, toSideEffects, createSimulationServices } from "./simulation-services.ts";
import { whenStored } from "./when-stored.ts";

type BranchBase = Required<Pick<RuntimeSessionOptions, "head" | "parent">>;

interface ForgetOptions {
  /** Whether to end the open calls in sessions that the branch's calls began. */
  readonly endsNested: boolean;
  /** Error codes with which the store may refuse the removal; it then keeps the branch. */
  readonly ignoredCodes: readonly ErrorCode[];
}

export class Branches {
  readonly #services: CallServices;
  readonly #newSessions: NewSessions;

  constructor({ services }: Pick<SessionsOptions, "services">, newSessions: NewSessions) {
    this.#services = services;
    this.#newSessions = newSessions;
  }

  /** Begins a branch at the current head of the session. @throws ToolError as `RuntimeSession.fork` */
  branch(session: RuntimeSession, options: ForkOptions): RuntimeSession {
    checkForkOptions(options, session.simulation !== undefined);
    if (session.broken !== undefined) throw session.broken;
    return this.#branchFrom(session, session.head, options);
  }

  /** Begins a branch of the session as it was after its first `length` events. @throws ToolError as `RuntimeSession.forkAt`, as a rejection */
  async branchAt(session: RuntimeSession, length: number, options: ForkOptions): Promise<RuntimeSession> {
    if (session.closed) throw closedSessionError(session);
    checkForkOptions(options, session.simulation !== undefined);
    if (session.ready !== undefined) await session.ready;
    if (length === session.length && !session.turns.busy) return this.branch(session, options);
    const head = await readHeadAt(session, readSessionEvents(session), {
      length,
      countsCalls: this.#services.faults.mayInject(this.#services.registry),
    });
    if (session.broken !== undefined) throw session.broken;
    return this.#branchFrom(session, head, options);
  }

  /** Makes what a branch did part of its session, and removes the branch. @throws ToolError as `RuntimeSession.commit`, as a rejection */
  async commit(branch: RuntimeSession, parent: RuntimeSession, options: CommitOptions): Promise<void> {
    const { open } = this.#newSessions;
    await open.markIfRemoved(branch);
    await commitBranch(branch, parent, {
      ...options,
      eventsFrom: (from) => readOwnEvents(branch, from),
      onCommit: () => {
        if ((open.findById(branch.id) ?? branch) !== branch) return; // another session has taken its id since
        this.#services.largeResults.adopt(branch.id, parent.id);
        open.moveNestedSessions(branch, parent);
      },
    });
    try {
      await whenStored(parent);
    } catch (thrown: unknown) {
      await branch.close().catch(() => {}); // the store still has the branch, which may be resumed; the first error is reported
      throw thrown;
    }
    // the branch is committed, whether or not another process has it open
    await this.#forget(branch, { endsNested: false, ignoredCodes: ["conflict", "resource_busy"] });
  }

  /** Ends a branch and removes it from the store, unless other sessions branch off it. */
  discard(branch: RuntimeSession): Promise<void> {
    return discardBranch(branch, this.#services.running, () => this.#forget(branch, { endsNested: true, ignoredCodes: ["conflict"] }));
  }

  /** Closes a branch and removes it from the store. */
  async #forget(branch: RuntimeSession, { endsNested, ignoredCodes }: ForgetOptions): Promise<void> {
    try {
      await this.#newSessions.open.removeOnce(branch, { endsNested });
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "store_failed");
      if (!ignoredCodes.includes(error.code)) throw error;
    }
  }

  #branchFrom(session: RuntimeSession, head: SessionHead, options: ForkOptions): RuntimeSession {
    const simulated = session.simulation !== undefined || options.simulated === true;
    // The events of a simulation exist only in memory, so none of them may be dropped.
    const log = head.log.branch(head.length, simulated || session.eventLog === undefined ? undefined : this.#newSessions.keptEvents);
    const base: BranchBase = { head: { ...head, log }, parent: session };
    const branch = simulated ? this.#createSimulation(session, options, base) : this.#createLiveBranch(session, options, base);
    session.enginesIfUsed?.fork(branch.engines);
    this.#services.largeResults.share(session.id, branch.id);
    return branch;
  }

  #createLiveBranch(session: RuntimeSession, options: ForkOptions, base: BranchBase): RuntimeSession {
    const id = this.#newSessions.newId(options.id);
    const parent = { sessionId: session.id, length: base.head.length };
    const branch = this.#newSessions.openSession({
      id,
      ...base,
      callingTurn: session.callingTurn,
      ...(session.eventLog === undefined ? {} : this.#newSessions.createLog(id, parent)),
    });
    recordSessionStart(branch, { parent }, this.#services);
    this.#newSessions.holdUntilStored(branch, session.eventLog);
    return branch;
  }

  #createSimulation(session: RuntimeSession, options: ForkOptions, base: BranchBase): RuntimeSession {
    const id =
      options.id === undefined ? this.#newSessions.open.unusedId(() => session.nextSimulationId()) : this.#newSessions.newId(options.id);
    const allows = options.allowSideEffects === undefined ? undefined : toSideEffects(options.allowSideEffects);
    const simulation = session.simulation?.branch(allows) ?? new SimulationMode(allows);
    return this.#newSessions.openSession({
      id,
      ...base,
      simulation,
      services: createSimulationServices(this.#services, branchName(session, id, options), simulation),
    });
  }
}

interface HeadAtOptions {
  readonly length: number;
  /** Whether to count calls, which faults need. */
  readonly countsCalls: boolean;
}

/** Reads a session up to `length` events. @throws ToolError `invalid_argument`, `not_forkable`, `conflict` within a turn, as a rejection */
async function readHeadAt(
  session: Session,
  events: AsyncIterable<SessionEvent>,
  { length, countsCalls }: HeadAtOptions,
): Promise<SessionHead> {
  checkBranchPoint(session, length);
  const fold = new SessionFold({ sessionId: session.id, countsCalls });
  let last: SessionEvent | undefined;
  for await (const event of takeFirst(events, length)) fold.apply((last = event));
  if (last?.type === "batch-start" || fold.openInTurn !== undefined || fold.openRounds.length > 0) throw turnRunningError(session, length);
  return fold.head;
}

/** @throws ToolError `invalid_argument`, `not_forkable` */
function checkBranchPoint({ id, length: whole, enginesIfUsed, eventLog }: Session, length: number): void {
  const least = eventLog === undefined ? 0 : 1; // a stored log begins with the session's own `session-start`
  if (!Number.isInteger(length) || length < least || length > whole)
    throw new ToolError(
      "invalid_argument",
      `The session ${quoteValue(id)} has ${whole} events: no branch can begin after ${quoteValue(length)}.`,
      {
        hint: `Give a number from ${least} to ${whole}.`,
      },
    );
  const remote = length === whole ? undefined : enginesIfUsed?.remote;
  if (remote === undefined) return;
  throw new ToolError("not_forkable", `The engine "${remote}" keeps its state of the session elsewhere, and cannot go back.`, {
    hint: "Fork the session as it is now.",
  });
}

function turnRunningError({ id }: Session, length: number): ToolError {
  return new ToolError("conflict", `A turn of the session ${JSON.stringify(id)} was under way after ${length} events.`, {
    hint: "Fork before its first call, or after its end.",
  });
}

/**
 * Ends a branch that is no longer wanted: cancels the calls that run in it, or wait for a person there. If one of these calls requests this, none is
 * cancelled, and the branch is removed when they have ended.
 */
async function discardBranch(branch: RuntimeSession, running: CallServices["running"], forget: () => Promise<void>): Promise<void> {
  branch.dropped = true; // refuses a commit that waits for its calls
  branch.markClosed(); // first, so that no call begins after the cancellation
  const forgotten = branch.turns.isInside ? branch.turns.whenIdle().then(forget) : undefined;
  if (forgotten === undefined) {
    cancelSessionCalls(branch, running, "the branch was dropped");
    return await forget();
  }
  forgotten.catch((thrown: unknown) =>
    branch.ports.log.warn(`The branch ${JSON.stringify(branch.id)} could not be removed: ${describeThrown(thrown)}`),
  );
}
