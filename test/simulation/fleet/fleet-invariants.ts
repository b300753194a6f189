/** Looks at everything that is committed, and at every answer that is given, whichever node it comes from. */
import { wasBlockedByStore } from "../../../src/core/not-started-error.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { EVENT_LIMITS } from "../../../src/core/recording/read-event.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import { Broken } from "../broken.ts";
import type { DatabaseServer, Row } from "./database-server.ts";
import type { FleetRequest } from "./fleet-node.ts";
import { LEASE_MS } from "./node-database.ts";

/** One session as its rows were when they were last looked at. */
interface Line {
  length: number;
  owner: string | null;
  /** The owner that the last commit may be of: a claim may end with the events that it writes. */
  writer: string | null;
  epoch: number;
  readonly open: Set<string>;
  readonly ended: Map<string, string>;
  readonly jobs: Set<string>;
}

interface Lease {
  readonly owner: string;
  readonly isHeld: boolean;
  readonly writes: readonly string[];
}

export class FleetInvariants {
  readonly #server: DatabaseServer;
  readonly #now: () => number;
  readonly #seen: (point: string) => void;
  readonly #lines = new Map<string, Line>();
  /** When each owner last said that it lives. */
  readonly #seenAt = new Map<string, number>();
  #leases = new Map<string, Lease>();
  #sequence = 0;
  /** Sessions that an operator takes from living nodes, by the life of the node that may. */
  readonly #allowed = new Set<string>();
  /** The results of each request, and when the first whole answer was given. */
  readonly #answers = new Map<string, { readonly results: readonly ToolResult[]; readonly at: number }>();
  readonly #done = new Map<string, number>();

  constructor(parts: { readonly server: DatabaseServer; readonly now: () => number; readonly seen: (point: string) => void }) {
    this.#server = parts.server;
    this.#now = parts.now;
    this.#seen = parts.seen;
  }

  /** An operator takes the session from the node that has it. */
  allowTakeover(life: number, sessionId: string): void {
    this.#allowed.add(`${life} ${sessionId}`);
  }

  committed(life: number, changed: ReadonlySet<string>): readonly string[] {
    if (changed.has("haft_lease")) this.#checkLeases(life);
    if (changed.has("haft_session")) this.#checkSessions(life);
    const written = changed.has("haft_event") ? this.#checkEvents(life) : [];
    if (changed.has("haft_owner")) this.#noteOwners();
    return written;
  }

  /** A row says when its owner asked for the time, which may be a while before it was written. */
  #noteOwners(): void {
    this.#seenAt.clear();
    for (const { id, seen_at } of this.#server.rows("select id, seen_at from haft_owner"))
      this.#seenAt.set(String(id), Math.min(Number(seen_at), this.#now()));
  }

  /** Refuses that something is taken from an owner that was heard of within a lease. */
  #requireSilent(life: number, owner: string, what: string): void {
    const seenAt = this.#seenAt.get(owner);
    if (owner === this.#server.ownerOf.get(life) || seenAt === undefined) return;
    const silentMs = this.#now() - seenAt;
    if (silentMs <= LEASE_MS) throw new Broken(19, `node ${life} took ${what} from an owner that was heard of ${silentMs} ms before.`);
    this.#seen("something taken from a node that was silent for a lease");
  }

  #checkLeases(life: number): void {
    const leases = new Map<string, Lease>();
    for (const { ticket, owner, fence, request } of this.#server.rows("select ticket, owner, fence, request from haft_lease")) {
      const { writes } = parseJson(String(request), EVENT_LIMITS) as unknown as { readonly writes: readonly string[] }; // as the store wrote it
      leases.set(String(ticket), { owner: String(owner), isHeld: fence !== null, writes });
    }
    for (const [ticket, { owner }] of this.#leases) if (!leases.has(ticket)) this.#requireSilent(life, owner, `the lease ${ticket}`);
    const holders = new Map<string, string>();
    for (const [ticket, { isHeld, writes }] of leases) {
      for (const key of isHeld ? writes : []) {
        const other = holders.get(key);
        if (other !== undefined) throw new Broken(20, `${other} and ${ticket} hold ${key} at the same time.`);
        holders.set(key, ticket);
      }
    }
    if ([...leases.values()].some(({ isHeld }) => !isHeld)) this.#seen("lease waited for");
    this.#leases = leases;
  }

  #checkSessions(life: number): void {
    for (const { id, owner, epoch } of this.#server.rows("select id, owner, epoch from haft_session")) {
      const sessionId = String(id);
      const line = this.#lineOf(sessionId);
      const [now, before] = [owner === null ? null : String(owner), line.owner];
      if (Number(epoch) < line.epoch) throw new Broken(12, `the epoch of ${sessionId} was ${line.epoch}, and is ${String(epoch)}.`);
      if (Number(epoch) > line.epoch && line.epoch > 0) this.#seen("session claimed again");
      if (before !== null && now !== null && now !== before) this.#checkTakeover(life, sessionId, before);
      const wasBegun = line.epoch === 0 ? (this.#server.ownerOf.get(life) ?? null) : null;
      line.writer = now ?? (Number(epoch) === line.epoch ? before : wasBegun);
      line.owner = now;
      line.epoch = Number(epoch);
    }
  }

  #checkTakeover(life: number, sessionId: string, before: string): void {
    const isAllowed = this.#allowed.has(`${life} ${JSON.parse(sessionId)}`);
    if (!isAllowed) return this.#requireSilent(life, before, `the session ${sessionId}`);
    this.#seen("session taken from a living node");
  }

  #checkEvents(life: number): readonly string[] {
    const rows = this.#server.rows(
      "select sequence, session, position, type, call_id, body from haft_event where sequence > ? order by sequence",
      this.#sequence,
    );
    const written: string[] = [];
    for (const row of rows) {
      this.#sequence = Number(row["sequence"]);
      const line = this.#lineOf(String(row["session"]));
      const place = `event ${String(row["position"])} of ${String(row["session"])}`;
      if (line.writer !== this.#server.ownerOf.get(life)) throw new Broken(12, `${place} was written by node ${life}, which has no claim.`);
      if (Number(row["position"]) !== line.length + 1) throw new Broken(5, `${place} was written behind event ${line.length}.`);
      line.length++;
      this.#checkCall(line, row, place);
      written.push(`${place}: ${String(row["type"])}`);
    }
    return written;
  }

  #checkCall(line: Line, { type, call_id, body }: Row, place: string): void {
    const callId = call_id === null ? "" : String(JSON.parse(String(call_id)));
    if (type === "call-start") {
      if (line.open.has(callId)) throw new Broken(2, `${place} begins ${callId} again.`);
      line.open.add(callId);
    }
    if (type === "job-start") {
      if (line.jobs.has(callId)) throw new Broken(17, `${place} makes ${callId} a job again.`);
      line.jobs.add(callId);
    }
    if (type === "job-end" && !line.jobs.delete(callId)) throw new Broken(17, `${place} ends ${callId}, which is not a job.`);
    if (type !== "call-end") return;
    if (!line.open.has(callId)) throw new Broken(1, `${place} ends ${callId}, which never began.`);
    if (line.ended.has(callId)) throw new Broken(2, `${place} ends ${callId} a second time.`);
    const { result } = JSON.parse(String(body)) as { readonly result: ToolResult };
    line.ended.set(callId, JSON.stringify(result));
    if (result.error?.code === "outcome_unknown") this.#seen("interrupted call that may not be repeated");
  }

  #lineOf(sessionId: string): Line {
    let line = this.#lines.get(sessionId);
    if (line === undefined)
      this.#lines.set(
        sessionId,
        (line = { length: 0, owner: null, writer: null, epoch: 0, open: new Set(), ended: new Map(), jobs: new Set() }),
      );
    return line;
  }

  /** A node answered a request that was sent then. */
  answered({ idempotencyKey, sessionId, calls }: FleetRequest, results: readonly ToolResult[], sentAt: number): void {
    if (results.length !== calls.length)
      throw new Broken(1, `${calls.length} calls of ${idempotencyKey} came to ${results.length} results.`);
    const before = this.#answers.get(idempotencyKey);
    const line = this.#lineOf(JSON.stringify(sessionId));
    for (const [index, result] of results.entries()) {
      const { callId, output } = result;
      const tag = calls[index]?.input === undefined ? undefined : (calls[index].input as { readonly tag?: unknown }).tag; // as the world made it
      const answer = typeof output === "object" && output !== null && "tag" in output ? output.tag : tag;
      if (answer !== tag) throw new Broken(7, `${callId} was asked as ${String(tag)} and answered as ${String(answer)}.`);
      const earlier = before?.results[index];
      const first = earlier === undefined || wasBlockedByStore(earlier) ? undefined : earlier; // what the store refused runs when it is sent again
      const isLate = result.status === "pending" && before !== undefined && sentAt <= before.at;
      if (first !== undefined && first.status !== "pending" && !isLate && JSON.stringify(first) !== JSON.stringify(result))
        throw new Broken(3, `${idempotencyKey} was ${JSON.stringify(first)} first, and then ${JSON.stringify(result)}.`);
      if (first !== undefined && first.callId !== callId) throw new Broken(3, `${idempotencyKey} was ${first.callId}, and then ${callId}.`);
      this.#requireStored(line, result);
    }
    if (before !== undefined) this.#seen("request sent again and answered as the first time");
    if (before === undefined || before.results.some(({ status }) => status === "pending"))
      this.#answers.set(idempotencyKey, { results, at: this.#now() });
  }

  #requireStored(line: Line, result: ToolResult): void {
    const { callId, status } = result;
    if (status === "pending") {
      if (!line.jobs.has(callId) && !line.ended.has(callId))
        throw new Broken(4, `the database does not have the job ${callId}, which was acknowledged.`);
      return;
    }
    const stored = line.ended.get(callId);
    if (stored === undefined) throw new Broken(4, `the database has no result of ${callId}, which was acknowledged.`);
    if (stored !== JSON.stringify(result)) throw new Broken(3, `the database has another result of ${callId}.`);
  }

  /** A call did what may be done only once. */
  done(tag: string, tool: string): void {
    const times = (this.#done.get(tag) ?? 0) + 1;
    this.#done.set(tag, times);
    if (times > 1) throw new Broken(11, `${tool} was done ${times} times for ${tag}.`);
  }

  /** When all nodes live and nothing is under way. */
  checkQuiet(): void {
    for (const [sessionId, { open, ended, jobs }] of this.#lines) {
      const [job] = jobs;
      if (job !== undefined) throw new Broken(17, `the job ${job} of ${sessionId} never ended.`);
      const call = [...open].find((callId) => !ended.has(callId));
      if (call !== undefined) throw new Broken(1, `${call} of ${sessionId} never ended.`);
    }
  }

  /** When all nodes have closed: what was acknowledged is there, nothing is held, and what a result says was done was done. */
  checkEnd(requests: readonly FleetRequest[]): void {
    for (const request of requests) {
      const results = this.#answers.get(request.idempotencyKey)?.results;
      if (results === undefined) throw new Broken(1, `${request.idempotencyKey} was never answered.`);
      for (const [index, result] of results.entries()) {
        const final = this.#lineOf(JSON.stringify(request.sessionId)).ended.get(result.callId);
        if (final === undefined) throw new Broken(4, `the database has no result of ${result.callId}, which was acknowledged.`);
        const { status } = JSON.parse(final) as ToolResult;
        const call = request.calls[index];
        const { tag = "" } = (call?.input ?? {}) as { readonly tag?: string }; // as the world made it
        if (status === "ok" && ONCE.has(call?.name ?? "") && !this.#done.has(tag))
          throw new Broken(11, `${tag} is said to be done, and was not.`);
      }
    }
    // Those of a node that was killed do not block; a call that wants the same, or a process that starts a day later, removes them.
    const [lease] = this.#server.rows("select ticket from haft_lease where owner not in (select id from haft_owner)");
    if (lease !== undefined) throw new Broken(14, `the lease ${String(lease["ticket"])} is left.`);
    const [owner] = this.#server.rows("select id from haft_session where owner in (select id from haft_owner)");
    if (owner !== undefined) throw new Broken(14, `${String(owner["id"])} is still claimed.`);
  }
}

const ONCE: ReadonlySet<string> = new Set(["bank::pay", "bank::wire", "counters::bump"]);
