/** What sessions must come to: a plain and slow copy of their rules, in virtual time, against which the real ones are held. */
import type { JsonValue } from "../../src/core/base/json.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { ModelSession, Refusal, restartCalls, beginCall, stateOf, unfinishedChanges } from "./session-log-model.ts";
import type { Batch, Beginning, Call, Entry, Keeping, ModelResult, State } from "./session-log-model.ts";
import { KEYS, RETRY_MS, RULES, TIMEOUT_MS, applyOp, type Op } from "./session-plan.ts";

const IDLE = Promise.resolve();
const NEVER = new Promise<never>(() => {});
const FAILING = new Set<string | undefined>(["execution_failed", "network_error"]);

export class Model {
  readonly #keeping: Keeping;
  readonly #standIn: boolean;
  #clock = new FakeClock();
  #flushed = Promise.withResolvers<void>();
  #sessions: ModelSession[] = [];
  counters = { calls: 0, attempts: 0 };
  /** Ids of calls and random numbers that were used up. */
  readonly used = { callIds: 0, random: 0 };

  constructor(keeping: Keeping, standIn: boolean) {
    this.#keeping = keeping;
    this.#standIn = standIn;
  }

  advance(ms: number): Promise<void> {
    return this.#clock.advance(ms);
  }

  flush(): void {
    for (const session of this.#sessions) session.durable = session.removed ? 0 : session.log.length;
    this.#flushed.resolve();
    this.#flushed = Promise.withResolvers<void>();
  }

  /** Whatever is under way stays so for ever. @param kept how much of a session's log was written all the same */
  crash(kept: (name: string) => number | undefined): void {
    for (const session of this.#sessions) session.durable = Math.max(session.durable, kept(session.name) ?? 0);
    this.#clock = new FakeClock();
    this.#flushed = Promise.withResolvers<void>();
    this.#sessions = [];
    this.counters = { calls: 0, attempts: 0 };
  }

  /** Begins a session, from a snapshot where there is one. */
  begin(name: string, from?: { readonly log: readonly Entry[]; readonly state: State }): ModelSession {
    const session = this.#add({ name, stored: this.#keeping !== "none", log: [], state: from?.state ?? {} });
    for (const entry of from?.log ?? []) this.#push(session, entry);
    return session;
  }

  fork(parent: ModelSession, name: string, options: { readonly simulated: boolean; readonly allow?: boolean }): ModelSession {
    if (parent.closed) throw new Refusal("invalid_argument");
    const { length, state } = parent.head ?? { length: parent.log.length, state: parent.state };
    const simulated = parent.simulated || options.simulated;
    // What was not allowed in a simulation is not allowed in a branch of it either.
    const allow = parent.simulated ? parent.allow && options.allow !== false : simulated && options.allow === true;
    const log = parent.log.slice(0, length);
    return this.#add({ name, stored: parent.stored && !simulated, parent, simulated, allow, log, state });
  }

  async execute(session: ModelSession, batch: Batch): Promise<readonly ModelResult[]> {
    const { key } = batch;
    if (session.closed) throw new Refusal("invalid_argument");
    const known = key === undefined ? undefined : session.keys.get(key);
    const digest = JSON.stringify(batch.plans);
    if (known !== undefined && known.digest !== digest) throw new Refusal("conflict");
    if (known?.isOver === true) await this.#whenDurable(session);
    if (known !== undefined) return known.results;
    const results = session.ready.then(() => this.#runInTurn(session, batch));
    if (key === undefined) return results;
    const submitted = { digest, results, isOver: false };
    session.keys.set(key, submitted);
    const forget = (): unknown => session.keys.delete(key);
    results.then(() => (submitted.isOver = true), forget);
    return results;
  }

  /** The caller gives the batch up after so long. */
  abortAfter({ aborted }: Batch, ms: number): void {
    this.#clock.timer(() => {
      aborted.yes = true;
      aborted.resolve();
    }, ms);
  }

  async commit(branch: ModelSession): Promise<void> {
    const { parent } = branch;
    if (parent === undefined || branch.committed) throw new Refusal("invalid_argument");
    // at once: these reasons stay, so that waiting would be in vain
    if (parent.closed || parent.log.length !== branch.base) throw new Refusal("conflict");
    await branch.ready;
    await this.#whenIdle(branch);
    const { length, state } = branch.head ?? { length: branch.log.length, state: branch.state };
    await this.#whenDurable(branch);
    await parent.ready;
    await this.#turn(parent, NEVER, async () => {
      if (branch.log.length !== length) throw new Refusal("conflict");
      if (branch.committed) throw new Refusal("invalid_argument");
      if (parent.closed || parent.log.length !== branch.base) throw new Refusal("conflict");
      branch.committed = true;
      branch.closed = true;
      this.#push(parent, { type: "commit" });
      for (const entry of branch.log.slice(branch.base)) if (entry.type !== "start") this.#push(parent, entry);
      parent.state = state;
    });
    await this.#whenDurable(parent);
    await this.close(branch);
    // All of it is its parent's now; it is only kept for the sake of its own branches.
    branch.removed = !this.#sessions.some((other) => other.parent === branch && other.stored && !other.removed);
    if (branch.removed) branch.durable = 0;
  }

  async snapshot(session: ModelSession): Promise<{ readonly log: readonly Entry[]; readonly state: State }> {
    await session.ready;
    return this.#turn(session, NEVER, async () => {
      const taken = { log: [...session.log], state: session.state };
      await this.#whenDurable(session);
      return taken;
    });
  }

  async close(session: ModelSession): Promise<void> {
    session.closed = true;
    await this.#whenIdle(session);
    await this.#whenDurable(session);
  }

  /** Takes a session up from what is durable of it: what unfinished calls changed is taken back, then each of them is finished. */
  async resume(slot: { model: ModelSession }): Promise<void> {
    const old = slot.model;
    if (this.#keeping === "none") throw new Refusal("invalid_argument");
    if (old.durable <= old.base) throw new Refusal("not_found");
    const { log, open } = restartCalls(old.log.slice(0, old.durable));
    const session = this.#add({ name: old.name, stored: true, log, base: old.base, state: stateOf(log) });
    slot.model = session; // should there be a crash before it is ready
    if (open.length > 0) {
      await this.#turn(session, NEVER, async () => {
        for (const { call, key, before } of unfinishedChanges(log, open)) this.#change(session, call, key, before);
        for (const calls of Map.groupBy(open, (call) => call.batch).values()) await this.#finishAll(session, calls);
      });
    }
    session.rememberSubmissions();
    await this.#whenDurable(session);
  }

  #add(beginning: Beginning): ModelSession {
    const session = new ModelSession(beginning);
    this.#sessions.push(session);
    if (session.stored && beginning.base === undefined) this.#push(session, { type: "start" });
    session.ready = this.#whenDurable(session) ?? IDLE;
    return session;
  }

  #push(session: ModelSession, entry: Entry): void {
    session.log.push(entry);
    if (this.#keeping === "memory" && session.stored) session.durable = session.log.length;
  }

  async #whenIdle(session: ModelSession): Promise<void> {
    for (let seen; seen !== session.turns; await seen) seen = session.turns;
  }

  /** Undefined when there is nothing to wait for. */
  #whenDurable(session: ModelSession): Promise<void> | undefined {
    return this.#keeping === "disk" && session.stored && session.durable < session.log.length ? this.#flushed.promise : undefined;
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => ms !== Infinity && this.#clock.timer(resolve, ms));
  }

  async #turn<T>(session: ModelSession, leave: Promise<void>, work: () => Promise<T>): Promise<T> {
    const over = Promise.withResolvers<void>();
    const before = session.turns;
    session.turns = Promise.all([before, over.promise]);
    const inTurn = await Promise.race([before.then(() => true), leave.then(() => false)]);
    if (inTurn) session.head = { length: session.log.length, state: session.state };
    try {
      return await work();
    } finally {
      if (inTurn) session.head = undefined;
      over.resolve();
    }
  }

  async #runInTurn(session: ModelSession, batch: Batch): Promise<readonly ModelResult[]> {
    if (session.closed) throw new Refusal("invalid_argument");
    // A batch whose caller aborts while it waits starts nothing, so it need not wait.
    const run = await this.#turn(session, batch.aborted.promise, async () => (session.closed ? undefined : this.#run(session, batch)));
    await this.#whenDurable(session);
    if (run === undefined) throw new Refusal("invalid_argument");
    if (run.failed) throw new Refusal("rolled back", run.results);
    return run.results;
  }

  async #run(session: ModelSession, batch: Batch): Promise<{ readonly results: readonly ModelResult[]; readonly failed: boolean }> {
    const { state } = session;
    const calls = batch.plans.map((plan) => beginCall(plan, batch));
    batch.calls = calls;
    if (batch.key !== undefined) this.#push(session, { type: "batch", owner: session.name, batch, calls });
    for (const call of calls) this.#push(session, { type: "call", call });
    if (!session.simulated || session.allow) this.used.callIds += calls.length;
    void batch.aborted.promise.then(() => this.#cancel(session, calls));
    const results = await this.#finishAll(session, calls);
    const failed = batch.throwOnError && results.some((result) => FAILING.has(result.code));
    if (failed) {
      const [call] = calls;
      for (const key of KEYS) if (call !== undefined) this.#change(session, call, key, state[key]);
      this.#push(session, { type: "rollback", calls });
    }
    return { results, failed };
  }

  /** Runs the calls side by side until each has its result. */
  async #finishAll(session: ModelSession, calls: readonly Call[]): Promise<readonly ModelResult[]> {
    for (const call of calls) {
      const pretended = session.pretends(call.plan) && !this.#standIn;
      const origin = session.simulated ? "simulated" : "live";
      if (call.batch.aborted.yes) this.#end(session, call, { status: "cancelled", code: "cancelled", origin });
      else if (call.plan.tool === "gone") this.#end(session, call, { status: "error", code: "not_found", origin });
      else if (pretended) this.#end(session, call, { status: "error", code: "not_simulatable", origin });
    }
    for (const call of calls) void this.#start(session, call);
    await Promise.all(calls.map((call) => call.ended.promise));
    return calls.flatMap((call) => call.result ?? []);
  }

  async #start(session: ModelSession, call: Call): Promise<void> {
    if (call.result !== undefined) return;
    if (session.pretends(call.plan)) {
      call.attempts++;
      return this.#end(session, call, { status: "ok", output: "pretended", origin: "simulated" });
    }
    if (session.stored && !RULES[call.plan.tool].repeatable) {
      if (session.log.some((entry) => entry.type === "intent" && entry.call === call))
        return this.#end(session, call, { status: "error", code: "outcome_unknown" });
      this.#push(session, { type: "intent", call });
      const written = this.#whenDurable(session);
      if (written !== undefined) await written;
    }
    if (call.result !== undefined) return;
    for (let flaps = call.plan.tool === "flap"; ; flaps = false) {
      const handler = this.#attempt(session, call);
      if (handler !== undefined) await handler;
      if (!flaps) return this.#answer(session, call);
      if (call.result !== undefined) return;
      if (!session.simulated) this.used.random++;
      await this.#wait(RETRY_MS);
      if (call.result !== undefined) return;
    }
  }

  /** Starts the handler; undefined when it has answered at once. */
  #attempt(session: ModelSession, call: Call): Promise<void> | undefined {
    const { first, ms } = call.plan;
    call.attempts++;
    call.seen = [];
    if (!session.simulated) this.counters.attempts++;
    this.#perform(session, call, first);
    if (ms > TIMEOUT_MS) void this.#wait(TIMEOUT_MS).then(() => this.#end(session, call, { status: "error", code: "timeout" }));
    return ms === 0 ? undefined : this.#wait(ms);
  }

  /** The handler is at its end; it may have been given up before. */
  #answer(session: ModelSession, call: Call): void {
    const { end, last, tool } = call.plan;
    if (call.result === undefined) {
      this.#perform(session, call, last);
      if (end === "throw") this.#end(session, call, { status: "error", code: "execution_failed" });
      else this.#end(session, call, { status: "ok", output: call.seen });
    } else if (end === "return" && last.every((op) => op.op === "read") && !RULES[tool].repeatable && !session.closed) {
      this.#push(session, { type: "resolve", call });
    }
  }

  #perform(session: ModelSession, call: Call, ops: readonly Op[]): void {
    for (const op of ops) {
      call.seen.push(session.state[op.key] ?? null);
      this.#change(session, call, op.key, applyOp(session.state[op.key], op));
    }
  }

  #change(session: ModelSession, call: Call, key: string, after: JsonValue | undefined): void {
    const before = session.state[key];
    if (JSON.stringify(before) === JSON.stringify(after)) return;
    session.state = { ...session.state, [key]: after };
    this.#push(session, { type: "change", call, key, before, after });
  }

  #cancel(session: ModelSession, calls: readonly Call[]): void {
    for (const call of calls) this.#end(session, call, { status: "cancelled", code: "cancelled" });
  }

  /** The first end of a call is its end. */
  #end(session: ModelSession, call: Call, result: Partial<ModelResult> & Pick<ModelResult, "status">): void {
    if (call.result !== undefined) return;
    call.result = { origin: "live", code: undefined, output: undefined, ...result, attempts: call.attempts };
    this.#push(session, { type: "end", call, result: call.result });
    if (!session.simulated) this.counters.calls++;
    call.ended.resolve();
    if (call.batch.throwOnError && FAILING.has(result.code)) this.#cancel(session, call.batch.calls);
  }
}
