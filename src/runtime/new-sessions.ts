/** Begins sessions, new ones and those from a snapshot, with the steps that resumed sessions and branches share with them. */
import type { CallPlace, BranchPoint, SessionEvent } from "../core/event.ts";
import type { EventLog, Store } from "../core/store.ts";
import type { CallParts } from "../call/call-run.ts";
import { NO_CALLS } from "../policy/faults/fault-tally.ts";
import type { Surroundings } from "../session/session.ts";
import { checkSessionId } from "../session/session-id.ts";
import { SessionFold } from "./fold-events.ts";
import { OpenSessions } from "./open-sessions.ts";
import type { CallRunner } from "./run-calls.ts";
import { RuntimeSession, type RuntimeSessionOptions, type SessionHost } from "./runtime-session.ts";
import { recordStart, surroundingsOf, type SessionStart } from "./session-start.ts";
import { byEngine, copiedEvents, readSnapshot, type ReadSnapshot, type ToolsetEngines } from "./snapshot.ts";

export interface SessionsOptions extends ToolsetEngines {
  readonly parts: CallParts;
  readonly runner: CallRunner;
  readonly store: Store | undefined;
  readonly durability: "sync" | "async";
  /** Minimum number of events of a stored session that stay in memory. */
  readonly keepEvents: number;
}

/** The options of a new session. */
export interface Beginning extends Surroundings, Pick<RuntimeSessionOptions, "seedName"> {
  readonly read?: ReadSnapshot | undefined;
  readonly parentCall?: CallPlace | undefined;
}

export class NewSessions {
  readonly open: OpenSessions;
  readonly #options: SessionsOptions;
  readonly #parts: CallParts;
  readonly #host: SessionHost;
  #ephemeral = 0;
  #begunWithoutId = 0;

  constructor(options: SessionsOptions, host: SessionHost) {
    this.#options = options;
    this.#parts = options.parts;
    this.#host = host;
    this.open = new OpenSessions(options);
  }

  /** Begins a session, from a snapshot if one is given. @throws ToolError `duplicate`, `corrupt_record` */
  create(id: string | undefined, { from, ...around }: SessionStart = {}): RuntimeSession {
    const read = from === undefined ? undefined : readSnapshot(from);
    // A generated id differs in every run, so seeds could not refer to it.
    const seedName = id === undefined ? `#${++this.#begunWithoutId}` : undefined;
    return this.createAs(this.newId(id), { read, seedName, ...surroundingsOf(around, "session()") });
  }

  /** Begins a session under an id that is free. */
  createAs(sessionId: string, { read, parentCall, ...own }: Beginning): RuntimeSession {
    const submissions = read?.sessionId === sessionId ? { submissions: read.submissions } : {};
    const head = this.keep === undefined ? {} : { head: new SessionFold(this.keep).head }; // older events are only in the store
    const session = this.begin({ id: sessionId, parentCall, ...own, ...head, ...submissions, ...this.newLog(sessionId) });
    if (read === undefined) recordStart(session, { parentCall }, this.#parts);
    else this.#continueFrom(read, session);
    this.makeReady(session);
    return session;
  }

  #continueFrom(read: ReadSnapshot, session: RuntimeSession): void {
    const copied = copiedEvents({ id: session.id, isStored: session.eventLog !== undefined }, read, this.#parts.ports.clock);
    session.broughtLength = copied.length;
    if (this.#parts.faults.mayHit(this.#parts.registry)) session.tally = NO_CALLS;
    session.together(() => {
      recordStart(session, { copied: copied.length }, this.#parts); // recorded together: alone in the store, it would count events that do not exist
      session.adopt(copied, read.head.state);
    });
    session.engines.restore(byEngine(read.engines, this.#options));
  }

  /** A session whose only purpose is to be the parent of simulations. */
  ephemeral(): RuntimeSession {
    const session = this.begin({ id: this.open.unusedId(() => `simulation${++this.#ephemeral}`), seedName: "", isEphemeral: true });
    session.tally = this.#parts.faults.ephemeralCalls; // as if its calls belonged to no session
    return session;
  }

  /** Creates the session, which is open from now on. */
  begin(options: Partial<RuntimeSessionOptions> & { readonly id: string }): RuntimeSession {
    const parts = options.parts ?? this.#parts;
    const tell = (event: SessionEvent): void => parts.emit(event);
    const session = new RuntimeSession({ ...options, parts, tell, ports: this.#parts.ports, recorded: true }, this.#host);
    this.#parts.largeResults.forget(options.id); // results of a dropped simulation with this id are not this session's
    this.open.add(session);
    return session;
  }

  /** Creates a log in the store, if there is one. */
  newLog(sessionId: string, parent?: BranchPoint): { readonly eventLog?: EventLog } {
    const { store, durability } = this.#options;
    if (store === undefined) return {};
    const at = this.#parts.ports.clock.wallTime();
    return { eventLog: store.create(sessionId, { at, durability, ...(parent === undefined ? {} : { parent }) }) };
  }

  /** Holds back calls of a stored session until the store has accepted it: another session may have the id. */
  makeReady(session: RuntimeSession, parent?: EventLog): void {
    const { store } = this.#options;
    const { eventLog } = session;
    if (store !== undefined && eventLog !== undefined && store.outlivesProcess)
      session.waitFor(async () => {
        await store.open();
        await parent?.whenDurable();
        await eventLog.whenDurable();
      });
  }

  /** Minimum number of events of a session that stay in memory; undefined if all do. */
  get keep(): number | undefined {
    return this.#options.store?.outlivesProcess === true ? this.#options.keepEvents : undefined;
  }

  /** The requested id, which must be free, or a new one. @throws ToolError `duplicate`, `invalid_argument` */
  newId(id: string | undefined): string {
    if (id === undefined) return this.#parts.ports.ids.next("session");
    checkSessionId(id);
    this.open.checkFree(id);
    return id;
  }
}
