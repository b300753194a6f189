/** Looks at a run as it goes; each check throws `Broken` when a promise does not hold. */
import type { ToolCall } from "../../src/core/call.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { ERROR_CODES } from "../../src/core/error-codes.ts";
import type { RuntimeEvent, SessionEvent } from "../../src/core/event.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { Bank } from "./bank.ts";
import { Broken } from "./broken.ts";
import type { Disk } from "./disk.ts";
import type { SimulatedProcess } from "./process.ts";
import { checkState, checkVoided } from "./session-state.ts";
import { RULES, RUNTIME_LIMIT, TOOLSET_LIMITS, type Write } from "./tools.ts";

/** What a process is known to be doing. */
class Doings {
  readonly open = new Set<string>();
  readonly ended = new Map<string, ToolResult>();
  readonly startedAt = new Map<string, number>();
  /** For each call that has begun, the versions of everything that it must see if it reads. */
  readonly floors = new Map<string, ReadonlyMap<string, number>>();
  /** How many handlers run, by tool, toolset and `runtime`. */
  readonly running = new Map<string, number>();
  readonly attempts = new Map<string, number>();
  readonly requests = new Map<string, { requests: number; retries: number }>();
  /** Versions that writes which are over have left. */
  readonly settled = new Map<string, number>();
  /** Versions of writes that may not be over, by call. */
  readonly writing = new Map<string, Map<string, number>>();
  /** What a runtime-wide answer was last read at, and how many writes there had been. */
  readonly kept = new Map<string, { readonly writes: number; readonly endedAt: number }>();
  writes = 0;
}

interface Handler {
  readonly process: number;
  readonly toolName: string;
  readonly context: ToolContext;
  /** False for one that goes on after it was given up, and cannot say when that was. */
  readonly isCounted: boolean;
}

/** One call with what came of it. */
export interface Delivery {
  readonly process: SimulatedProcess;
  /** Undefined for a call without a session. */
  readonly session: RuntimeSession | undefined;
  readonly call: ToolCall;
  readonly result: ToolResult;
  readonly user: string;
}

export class Invariants {
  readonly #disk: Disk;
  readonly #bank: Bank;
  readonly #now: () => number;
  readonly #seen: (point: string) => void;
  readonly #doings = new Map<number, Doings>();
  /** By call id, what somebody was told, and where it must be found. */
  readonly #acknowledged = new Map<string, { readonly sessionId: string; readonly text: string }>();
  readonly #told = new Map<string, string>();
  /** By call id, how its caller was told that it goes on. */
  readonly #placeholders = new Map<string, string>();
  readonly #texts = new WeakMap<ToolResult, string>();
  /** Where branches were committed to. */
  readonly #homes = new Map<string, string>();
  /** Sessions that somebody had the store forget. */
  readonly #forgotten = new Set<string>();
  /** Calls that began in any process. */
  readonly #known = new Set<string>();
  /** By order that several calls carry out, how many. */
  readonly #ordered = new Map<string, number>();
  /** By order that may not be repeated, the keys under which it was done. */
  readonly #done = new Map<string, Set<string>>();
  /** Some process has had its clock on the wall put forward or back. */
  clocksWereSet = false;
  readonly #poisoned = new Map<string, number>();
  /** How much of each log has been looked at. */
  readonly #looked = new Map<string, { lines: number; token: number; open: Set<string>; ended: Set<string>; jobs: Set<string> }>();

  constructor(parts: { readonly disk: Disk; readonly bank: Bank; readonly now: () => number; readonly seen: (point: string) => void }) {
    this.#disk = parts.disk;
    this.#bank = parts.bank;
    this.#now = parts.now;
    this.#seen = parts.seen;
  }

  #of(process: number): Doings {
    let doings = this.#doings.get(process);
    if (doings === undefined) this.#doings.set(process, (doings = new Doings()));
    return doings;
  }

  processDied(process: number): void {
    this.#doings.delete(process);
    for (const [callId, { sessionId, text }] of this.#acknowledged) this.#requireDurable(callId, sessionId, text);
  }

  handlerStarts({ process, toolName, context, isCounted }: Handler): () => void {
    const doings = this.#of(process);
    const { callId, simulated } = context;
    const rules = RULES[toolName];
    if (simulated && (rules?.writes !== undefined || rules?.undeclared === true)) throw new Broken(6, `${toolName} was run for ${callId}.`);
    // The ids of what is only tried may come again, so those attempts are counted by the runtime alone.
    const attempts = simulated ? context.attempt : (doings.attempts.get(callId) ?? 0) + 1;
    doings.attempts.set(callId, attempts);
    if (rules !== undefined && attempts > rules.maxAttempts)
      throw new Broken(9, `${toolName} was attempted ${attempts} times for ${callId}.`);
    if (!simulated) this.#countRequest(doings, toolName, attempts);
    if (!isCounted) return () => {};
    const toolset = toolName.split("::")[0] ?? "";
    const places: readonly (readonly [string, number | undefined])[] = [
      [toolName, rules?.maxConcurrent],
      [toolset, TOOLSET_LIMITS[toolset]],
      ["runtime", RUNTIME_LIMIT],
    ];
    for (const [place, limit] of places) {
      const running = (doings.running.get(place) ?? 0) + 1;
      doings.running.set(place, running);
      if (limit !== undefined && running > limit) throw new Broken(8, `${running} of ${place} run, and ${limit} may.`);
      if (limit !== undefined && running === limit) this.#seen("limit reached");
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      for (const [place] of places) doings.running.set(place, (doings.running.get(place) ?? 0) - 1);
    };
  }

  /** The budget fades with time, and both counts alike: what was ever retried is within what was ever asked and the reserve of each window. */
  #countRequest(doings: Doings, toolName: string, attempts: number): void {
    const count = doings.requests.get(toolName) ?? { requests: 0, retries: 0 };
    doings.requests.set(toolName, count);
    if (attempts === 1) count.requests++;
    else count.retries++;
    const reserve = RETRY_RESERVE * (2 + this.#now() / RETRY_WINDOW_MS);
    if (count.retries > reserve + count.requests * RETRY_RATIO)
      throw new Broken(9, `${toolName} was tried again ${count.retries} times for ${count.requests} calls.`);
  }

  /** So many calls of one batch carry out the same order. */
  ordered(tag: string, calls: number): void {
    this.#ordered.set(tag, calls);
  }

  wrote({ process, callId, resource, version, tag, key, idempotent }: Write & { readonly process: number }): void {
    if (!idempotent) this.#checkOnce(tag, key);
    const doings = this.#of(process);
    let writing = doings.writing.get(callId);
    if (writing === undefined) doings.writing.set(callId, (writing = new Map()));
    writing.set(resource, Math.max(version, writing.get(resource) ?? 0));
    doings.writes++;
  }

  /** However often a batch is sent under its key, and whatever was refused and run again under another call. */
  #checkOnce(tag: string, key: string): void {
    const keys = this.#done.get(tag) ?? new Set();
    this.#done.set(tag, keys.add(key));
    if (keys.size > (this.#ordered.get(tag) ?? 1)) throw new Broken(11, `${tag} was done under the keys ${[...keys].join(", ")}.`);
  }

  event(process: SimulatedProcess, event: RuntimeEvent): void {
    const doings = this.#of(process.number);
    if (event.type === "call-start") this.#started(doings, event.callId);
    if (event.type === "call-end") this.#ended(doings, event.callId, event.result);
    if (event.type === "call-end" || event.type === "call-late") this.#settle(doings, event.callId);
  }

  /**
   * A process takes up a session that it may have had before and lost: what it then told of calls whose end was never stored counts for
   * nothing, as whoever waited for them has heard.
   */
  takesUp(process: number, sessionId: string): void {
    const open = new Set<string>();
    for (const { event } of this.#disk.logs.get(sessionId)?.lines ?? []) {
      if (event.type === "call-start") open.add(event.callId);
      if (event.type === "call-end") open.delete(event.callId);
    }
    const { ended, attempts } = this.#of(process);
    for (const callId of open) {
      ended.delete(callId);
      attempts.delete(callId);
    }
  }

  #started(doings: Doings, callId: string): void {
    if (doings.open.has(callId) || doings.ended.has(callId)) throw new Broken(2, `${callId} began twice.`);
    doings.open.add(callId);
    doings.startedAt.set(callId, this.#now());
    doings.floors.set(callId, new Map(doings.settled));
    this.#known.add(callId);
  }

  #ended(doings: Doings, callId: string, result: ToolResult): void {
    if (doings.ended.has(callId)) throw new Broken(2, `${callId} ended twice.`);
    if (!this.#known.has(callId)) throw new Broken(1, `${callId} ended and never began.`);
    doings.open.delete(callId);
    doings.ended.set(callId, result);
  }

  #settle(doings: Doings, callId: string): void {
    for (const [resource, version] of doings.writing.get(callId) ?? [])
      doings.settled.set(resource, Math.max(version, doings.settled.get(resource) ?? 0));
  }

  /** A result has reached whoever waits for it. */
  delivered(delivery: Delivery): void {
    const { call, result, session } = delivery;
    this.#checkResult(delivery);
    if (session?.simulation !== undefined) return; // the ids of what was only tried may come again
    if (result.status === "pending") return this.#begun(delivery);
    const text = this.#textOf(result);
    const before = this.#told.get(result.callId);
    if (before !== undefined && before !== text) throw new Broken(3, `${result.callId} was ${before}, and is ${text} now.`);
    if (before !== undefined) this.#seen("submission sent again and answered as the first time");
    this.#told.set(result.callId, text);
    // Of a stored session, what its log has counts: an owner that lost it may have ended the call otherwise, and could tell nobody.
    const ended = session === undefined ? this.#of(delivery.process.number).ended.get(result.callId) : undefined;
    if (ended !== undefined && this.#textOf(ended) !== text)
      throw new Broken(3, `${result.callId} ended otherwise than it was told to ${call.name}.`);
    if (session !== undefined) this.acknowledged(session, result);
  }

  /** Somebody was told that a job goes on: that it began is durable, and it is told the same way each time. */
  #begun({ session, result }: Delivery): void {
    const text = this.#textOf(result);
    const before = this.#placeholders.get(result.callId);
    if (before !== undefined && before !== text) throw new Broken(3, `${result.callId} was ${before}, and is ${text} now.`);
    if (before !== undefined) this.#seen("job that is answered again as it was begun");
    this.#placeholders.set(result.callId, text);
    if (session === undefined) throw new Broken(17, `${result.callId} of no session is a job.`);
    for (let id: string | undefined = session.id; id !== undefined; id = this.#homes.get(id)) {
      if (this.#forgotten.has(id) || this.#looked.get(id)?.jobs.has(result.callId) === true) return;
      const lines = this.#disk.logs.get(id)?.lines ?? [];
      if (lines.some(({ event }) => event.type === "job-start" && event.callId === result.callId)) return;
    }
    throw new Broken(4, `the disk does not know that ${result.callId} is a job, which was told.`);
  }

  /** A job has ended its process. The first start of one that was queued may be lost with it, and is not counted. */
  poisoned(callId: string): void {
    const starts = (this.#poisoned.get(callId) ?? 0) + 1;
    this.#poisoned.set(callId, starts);
    if (starts > 4) throw new Broken(17, `${callId} has ended ${starts} processes.`);
  }

  /** Somebody was told that the session has this result. */
  acknowledged(session: RuntimeSession, result: ToolResult): void {
    if (session.simulation !== undefined) return;
    const text = this.#textOf(result);
    this.#acknowledged.set(result.callId, { sessionId: session.id, text });
    this.#requireDurable(result.callId, session.id, text);
  }

  #checkResult({ call, result, session, process, user }: Delivery): void {
    const { output, error } = result;
    const input = asObject(call.input);
    const asked = result.id !== call.id ? `its id is ${String(result.id)}` : undefined;
    if (asked !== undefined) throw new Broken(7, `${call.name} (${String(call.id)}) was given another call's result: ${asked}.`);
    if (error !== undefined && !Object.hasOwn(ERROR_CODES, error.code)) throw new Broken(15, `${result.callId} ended ${error.code}.`);
    const rules = RULES[result.name];
    if (rules !== undefined && result.attempts > rules.maxAttempts)
      throw new Broken(9, `${result.callId} was attempted ${result.attempts} times.`);
    if (output === undefined || result.status !== "ok" || result.origin === "simulated" || result.fault !== undefined) return;
    const answer = asObject(output);
    if (answer["tag"] !== input["tag"] || answer["key"] !== input["key"])
      throw new Broken(7, `${result.callId} asked as ${String(input["tag"])}, and was answered as ${String(answer["tag"])}.`);
    if (rules?.cache !== undefined && result.origin === "cache") this.#checkHit({ call, result, session, process, user }, answer);
    if (rules?.cache?.scope === "runtime" && result.origin === "live") this.#noteLive(process.number, user, result, String(input["key"]));
  }

  #checkHit({ result, session, process, user }: Delivery, answer: Readonly<Record<string, unknown>>): void {
    const doings = this.#of(process.number);
    if (!doings.ended.has(result.callId)) return; // told again what ended in an earlier process
    const cache = RULES[result.name]?.cache;
    const floor = doings.floors.get(result.callId)?.get(`doc:${String(answer["key"])}`) ?? 0;
    const { version, at } = answer;
    if (Number(version) < floor)
      throw new Broken(10, `${result.callId} read version ${String(version)} of ${floor}, which was settled before it began.`);
    const startedAt = doings.startedAt.get(result.callId) ?? 0;
    if (Number(at) > startedAt) this.#seen("single-flight join");
    this.#seen("cache hit");
    const isTimed = cache?.scope !== "persistent" || !this.clocksWereSet; // that one goes by the clock on the wall
    if (cache?.ttlMs !== undefined && isTimed && Number(at) + cache.ttlMs < startedAt)
      throw new Broken(10, `${result.callId} is out of date since ${String(at)}.`);
    // What was taken up after a crash ran for whoever took it up.
    if (cache?.scope === "runtime" && doings.startedAt.has(result.callId) && answer["user"] !== user)
      throw new Broken(7, `${result.callId} has the answer of another user.`);
    if (cache?.scope !== "persistent" && answer["process"] !== process.number)
      throw new Broken(10, `${result.callId} has the answer of another process.`);
    const isOwn = session !== undefined && answer["session"] === session.id;
    if (cache?.scope === "session" && session !== undefined && !isOwn && session.parent === undefined)
      throw new Broken(7, `${result.callId} has the answer of another session.`);
  }

  /** Two equal reads with no write between, the second of them live: the first answer had to make room. */
  #noteLive(process: number, user: string, result: ToolResult, key: string): void {
    const doings = this.#of(process);
    const place = `${user} ${key}`;
    const before = doings.kept.get(place);
    const startedAt = doings.startedAt.get(result.callId) ?? 0;
    if (before !== undefined && before.writes === doings.writes && before.endedAt < startedAt) this.#seen("cache eviction by bytes");
    doings.kept.set(place, { writes: doings.writes, endedAt: this.#now() });
  }

  /** A session is dropped, and what was acknowledged of it may go. */
  forget(sessionId: string): void {
    this.#forgotten.add(sessionId);
  }

  /** What a branch did may be found in the session it came from. */
  movesTo(branchId: string, sessionId: string): void {
    this.#homes.set(branchId, sessionId);
  }

  #requireDurable(callId: string, sessionId: string, text: string): void {
    let result: ToolResult | undefined;
    for (let id: string | undefined = sessionId; id !== undefined && result === undefined; id = this.#homes.get(id)) {
      if (this.#forgotten.has(id)) return;
      result = this.#disk.logs.get(id)?.results.get(callId);
    }
    if (result === undefined) throw new Broken(4, `the disk has no result of ${callId}, which was told.`);
    if (this.#textOf(result) !== text) throw new Broken(3, `the disk has another result of ${callId}.`);
  }

  /** Results are frozen, so each has one text for ever. */
  #textOf(result: ToolResult): string {
    let text = this.#texts.get(result);
    if (text === undefined) this.#texts.set(result, (text = JSON.stringify(result)));
    return text;
  }

  /** After every step. */
  checkStep(processes: readonly SimulatedProcess[]): void {
    for (const { number, runtime } of processes) {
      const { open } = this.#of(number);
      const running = new Set(runtime.running.map((run) => run.callId));
      for (const callId of open) if (!running.has(callId)) throw new Broken(1, `${callId} is neither running nor has it ended.`);
    }
    for (const [key, { tool, commits }] of this.#bank.effects)
      if (commits > 1) throw new Broken(11, `${tool} was done ${commits} times for ${key}.`);
    this.#checkDisk();
  }

  /** Looks at what was written since the last time. */
  #checkDisk(): void {
    for (const [sessionId, { lines }] of this.#disk.logs) {
      const looked = this.#looked.get(sessionId) ?? { lines: 0, token: 0, open: new Set(), ended: new Set(), jobs: new Set() };
      this.#looked.set(sessionId, looked);
      for (const [index, { event, token }] of lines.entries().drop(looked.lines)) {
        if (token < looked.token) throw new Broken(12, `${sessionId} was written to by owner ${token} after owner ${looked.token}.`);
        looked.token = token;
        if (event.type === "call-start") looked.open.add(event.callId);
        if (event.type === "job-start" || event.type === "job-end") this.#checkJob(looked.jobs, event, lines[index - 1]?.event);
        if (event.type !== "call-end") continue;
        const next = lines[index + 1]?.event;
        if (looked.jobs.has(event.callId) && !(next?.type === "job-end" && next.callId === event.callId))
          throw new Broken(17, `${event.callId} ended, and its job did not.`);
        if (looked.ended.has(event.callId)) throw new Broken(2, `${event.callId} ended twice in the log of ${sessionId}.`);
        if (!looked.open.has(event.callId)) throw new Broken(1, `${event.callId} ended in the log of ${sessionId} and never began.`);
        looked.ended.add(event.callId);
      }
      looked.lines = lines.length;
    }
  }

  /** @param jobs those that have begun and not ended */
  #checkJob(jobs: Set<string>, event: SessionEvent & { readonly type: "job-start" | "job-end" }, before: SessionEvent | undefined): void {
    const { callId } = event;
    if (event.type === "job-start" && jobs.has(callId)) throw new Broken(17, `${callId} began twice as a job.`);
    if (event.type === "job-start") jobs.add(callId);
    else if (!jobs.delete(callId)) throw new Broken(17, `${callId} ended as a job, and was none.`);
    else if (before?.type !== "call-end" || before.callId !== callId || before.result.status !== event.status)
      throw new Broken(17, `${callId} ended as a job, and its call had not ended so right before.`);
  }

  /** While nothing is under way. */
  checkQuiet(processes: readonly SimulatedProcess[]): void {
    this.checkStep(processes);
    for (const { number, runtime, sessions, store } of processes) {
      const { open } = this.#of(number);
      if (open.size > 0 || runtime.running.length > 0) throw new Broken(1, `${[...open].join()} of process ${number} never ended.`);
      for (const session of sessions.values()) {
        checkState(session);
        if (checkVoided(session) > 0) this.#seen("call made in a call of a voided message");
        if (this.#disk.logs.get(session.id)?.owner === store) this.#checkLog(session);
        this.#checkEnds(session);
      }
    }
  }

  /** No job of the session is without an end, and a model is told of each as often as it should be. */
  #checkEnds(session: RuntimeSession): void {
    if (session.broken !== undefined) return;
    const jobs = new Set<string>();
    for (const event of session.log) {
      if (event.type === "job-start" && event.sessionId === session.id) jobs.add(event.callId);
      if (event.type === "job-end") jobs.delete(event.callId);
    }
    const [open] = jobs;
    if (open !== undefined) throw new Broken(17, `the job ${open} of ${session.id} never ended.`);
    const ended = new Set<string>();
    for (const message of session.messages({ maxTurns: 0 })) {
      if (message.role !== "job" || message.result === undefined) continue;
      if (ended.has(message.callId)) throw new Broken(17, `a model is told twice that ${message.callId} has ended.`);
      ended.add(message.callId);
    }
  }

  /** What the disk has is what the session's owner has, up to where it was written. */
  #checkLog(session: RuntimeSession): void {
    if (session.broken !== undefined || session.closed) return;
    const { log } = session;
    for (const [index, event] of (this.#disk.events(session.id) ?? []).entries())
      if (log[index] !== event && JSON.stringify(log[index]) !== JSON.stringify(event))
        throw new Broken(5, `event ${index} of ${session.id} is ${JSON.stringify(log[index])}, and on the disk ${JSON.stringify(event)}.`);
  }

  /** All acknowledged results are durable still. */
  checkEnd(): void {
    for (const [callId, { sessionId, text }] of this.#acknowledged) this.#requireDurable(callId, sessionId, text);
  }
}

const RETRY_RATIO = 0.1;
const RETRY_RESERVE = 10;
const RETRY_WINDOW_MS = 30_000;

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {}; // any object can be read so
}
