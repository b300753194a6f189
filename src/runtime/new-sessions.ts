/** Begins sessions, new ones and those from a snapshot, with the steps that resumed sessions and branches share with them. */
import type { CallPlace, BranchPoint, SessionEvent } from "../core/event.ts";
import type { EventLog, Store } from "../core/store/store.ts";
import type { CallServices } from "../call/call-run.ts";
import { NO_CALLS } from "../policy/faults/fault-tally.ts";
import type { SessionSettings } from "../session/session.ts";
import { checkSessionId } from "../session/session-id.ts";
import { SessionFold } from "./resume/fold-events.ts";
import { OpenSessions } from "./open-sessions.ts";
import type { CallRunner } from "./run-calls.ts";
import { RuntimeSession, type RuntimeSessionOptions, type SessionHost } from "./runtime-session.ts";
import { recordSessionStart, checkSessionSettings, type SessionStart } from "./session-start.ts";
import { mapToEngines, copiedEvents, readSnapshot, type SnapshotContent, type ToolsetEngines } from "./snapshot.ts";

export interface SessionsOptions extends ToolsetEngines {
  readonly services: CallServices;
  readonly runner: CallRunner;
  readonly store: Store | undefined;
  readonly durability: "sync" | "async";
  /** Minimum number of events of a stored session that stay in memory. */
  readonly keepEvents: number;
}

/** The options of a new session. */
export interface NewSessionOptions extends SessionSettings, Pick<RuntimeSessionOptions, "seedName" | "callingTurn"> {
  readonly read?: SnapshotContent | undefined;
  readonly parentCall?: CallPlace | undefined;
}

export class NewSessions {
  readonly open: OpenSessions;
  readonly #options: SessionsOptions;
  readonly #services: CallServices;
  readonly #host: SessionHost;
  #ephemeral = 0;
  #unnamedCount = 0;

  constructor(options: SessionsOptions, host: SessionHost) {
    this.#options = options;
    this.#services = options.services;
    this.#host = host;
    this.open = new OpenSessions(options);
  }

  /** Begins a session, from a snapshot if one is given. @throws ToolError `duplicate`, `corrupt_record` */
  create(id: string | undefined, { from, ...settings }: SessionStart = {}): RuntimeSession {
    const read = from === undefined ? undefined : readSnapshot(from);
    // A generated id differs in every run, so seeds could not refer to it.
    const seedName = id === undefined ? `#${++this.#unnamedCount}` : undefined;
    return this.createWithId(this.newId(id), { read, seedName, ...checkSessionSettings(settings, "session()") });
  }

  /** Begins a session under an id that is free. */
  createWithId(sessionId: string, { read, parentCall, ...own }: NewSessionOptions): RuntimeSession {
    const submissions = read?.sessionId === sessionId ? { submissions: read.submissions } : {};
    const head = this.keptEvents === undefined ? {} : { head: new SessionFold({ keep: this.keptEvents }).head }; // older events are only in the store
    const session = this.openSession({ id: sessionId, parentCall, ...own, ...head, ...submissions, ...this.createLog(sessionId) });
    if (read === undefined) recordSessionStart(session, { parentCall }, this.#services);
    else this.#continueFrom(read, session);
    this.holdUntilStored(session);
    return session;
  }

  #continueFrom(read: SnapshotContent, session: RuntimeSession): void {
    const copied = copiedEvents({ id: session.id, isStored: session.eventLog !== undefined }, read, this.#services.ports.clock);
    session.copiedLength = copied.length;
    if (this.#services.faults.mayInject(this.#services.registry)) session.tally = NO_CALLS;
    session.recordTogether(() => {
      recordSessionStart(session, { copied: copied.length }, this.#services); // recorded together: alone in the store, it would count events that do not exist
      session.adopt(copied, read.head.state);
    });
    session.engines.restore(mapToEngines(read.engines, this.#options));
  }

  /** A session whose only purpose is to be the parent of simulations. */
  createEphemeral(): RuntimeSession {
    const session = this.openSession({ id: this.open.unusedId(() => `simulation${++this.#ephemeral}`), seedName: "", isEphemeral: true });
    session.tally = this.#services.faults.ephemeralCalls; // as if its calls belonged to no session
    return session;
  }

  /** Creates the session, which is open from now on. */
  openSession(options: Partial<RuntimeSessionOptions> & { readonly id: string }): RuntimeSession {
    const services = options.services ?? this.#services;
    const notify = (event: SessionEvent): void => services.emit(event);
    const session = new RuntimeSession({ ...options, services, notify, ports: this.#services.ports, recorded: true }, this.#host);
    this.#services.largeResults.forget(options.id); // results of a dropped simulation with this id are not this session's
    this.open.add(session);
    return session;
  }

  /** Creates a log in the store, if there is one. */
  createLog(sessionId: string, parent?: BranchPoint): { readonly eventLog?: EventLog } {
    const { store, durability } = this.#options;
    if (store === undefined) return {};
    const at = this.#services.ports.clock.wallTime();
    return { eventLog: store.create(sessionId, { at, durability, ...(parent === undefined ? {} : { parent }) }) };
  }

  /** Holds back calls of a stored session until the store has accepted it: another session may have the id. */
  holdUntilStored(session: RuntimeSession, parent?: EventLog): void {
    const { store } = this.#options;
    const { eventLog } = session;
    if (store !== undefined && eventLog !== undefined && store.outlivesProcess)
      session.holdCallsUntil(async () => {
        await store.open();
        await parent?.whenDurable();
        await eventLog.whenDurable();
      });
  }

  /** Minimum number of events of a session that stay in memory; undefined if all do. */
  get keptEvents(): number | undefined {
    return this.#options.store?.outlivesProcess === true ? this.#options.keepEvents : undefined;
  }

  /** The requested id, which must be free, or a new one. @throws ToolError `duplicate`, `invalid_argument` */
  newId(id: string | undefined): string {
    if (id === undefined) return this.#services.ports.ids.next("session");
    checkSessionId(id);
    this.open.checkFree(id);
    return id;
  }
}
