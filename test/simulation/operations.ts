/** What is asked of a world, drawn from its seed: many things at once, of many sessions. */
import type { ToolCall } from "../../src/core/call.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { ExecuteOptions } from "../../src/call/execute-options.ts";
import type { RuntimeSession, SessionTurn } from "../../src/runtime/runtime-session.ts";
import type { Simulation } from "../../src/runtime/session-options.ts";
import type { SessionSnapshot } from "../../src/runtime/snapshot.ts";
import { Broken } from "./broken.ts";
import { JOB_WEIGHTS, promoteOne, steerOne, talkCall, waitForOne } from "./job-operations.ts";
import { Orders } from "./orders.ts";
import { checkSnapshot, fingerprintOf } from "./session-state.ts";
import type { SimulatedProcess } from "./process.ts";
import { TRIGGER_WEIGHTS, askTriggers, isTriggerOperation } from "./trigger-operations.ts";
import type { World } from "./world.ts";

const USERS = ["ann", "bob"] as const;
const MAX_SESSIONS = 8;

const WEIGHTS = {
  execute: 24,
  "execute one": 8,
  "execute without a session": 4,
  "execute and throw": 5,
  "execute twice": 6,
  "fill the store": 3,
  "read again": 16,
  "cancel before": 2,
  "cancel during": 5,
  "cancel after": 2,
  simulate: 6,
  "simulate alone": 2,
  "simulate and commit": 4,
  fork: 4,
  commit: 3,
  discard: 2,
  "add message": 2,
  snapshot: 3,
  turn: 6,
  begin: 3,
  close: 3,
  crash: 2,
  "take over": 2,
  "fail often": 2,
  "set the clock": 1,
  ...JOB_WEIGHTS,
  ...TRIGGER_WEIGHTS,
} as const;
type Operation = keyof typeof WEIGHTS;

/** Sent once, to be sent again. */
interface Submission {
  readonly sessionId: string;
  readonly calls: readonly ToolCall[];
  readonly idempotencyKey: string;
  readonly user: string;
}

/** Asks one thing after the other, lets time pass between them or not, and sees all of it to its end. */
export async function operate(world: World, operations: number): Promise<void> {
  const operator = new Operator(world);
  operator.begin();
  for (let step = 1; step <= operations; step++) {
    world.steps = step;
    await operator.step();
    if (step % 50 === 0) await world.drain();
  }
  await world.end();
}

class Operator {
  readonly #world: World;
  readonly #branches = new Map<RuntimeSession, RuntimeSession>();
  #submissions: Submission[] = [];
  #snapshots: SessionSnapshot[] = [];
  readonly #orders: Orders;
  /** Of the sabotage that swaps results. */
  #swapped: ToolResult | undefined;

  constructor(world: World) {
    this.#world = world;
    this.#orders = new Orders(world);
  }

  begin(): void {
    for (const process of this.#world.processes) this.#keep(process, process.runtime.session());
  }

  async step(): Promise<void> {
    const { dice, trace, clock } = this.#world;
    const operation = dice.weighted(WEIGHTS);
    const process = dice.of(this.#world.processes);
    trace.add(clock.now(), `ask ${process.number}`, operation);
    await this.#ask(operation, process);
    for (let promises = dice.of([0, 0, 1, 3, 8]); promises > 0; promises--) await Promise.resolve();
    if (dice.chance(0.5)) await this.#world.advance(dice.of([0, 1, 1, 3, 10, 40, 150]));
    else this.#world.look();
    for (const one of this.#world.processes.filter(({ isPoisoned }) => isPoisoned)) await this.#crash(one);
  }

  async #ask(operation: Operation, process: SimulatedProcess): Promise<void> {
    const session = this.#sessionOf(process);
    const { dice } = this.#world;
    if (isTriggerOperation(operation)) return askTriggers(this.#world, process, session, operation);
    switch (operation) {
      case "execute":
        return this.#execute(process, session, this.#orders.batch(), { concurrent: dice.chance(0.4) });
      case "execute one":
        return this.#executeOne(process, session);
      case "execute without a session":
        return this.#execute(process, undefined, this.#orders.batch());
      case "execute and throw":
        return this.#execute(process, session, this.#orders.batch(), { onError: "throw" });
      case "execute twice":
        return this.#submit(process, session);
      case "fill the store":
        return this.#fillStore(process, session);
      case "read again":
        return this.#execute(process, session, [this.#orders.cachedCall("wait"), this.#orders.cachedCall("wait")], { concurrent: true });
      case "fail often":
        return this.#execute(
          process,
          session,
          Array.from({ length: 4 }, () => this.#orders.call("net::ping", "flaky")),
          { concurrent: true },
        );
      case "cancel before":
      case "cancel during":
      case "cancel after":
        return this.#cancel(process, session, operation);
      case "simulate":
        return this.#simulate(process, session, () => {});
      case "execute in background":
        return this.#execute(process, session, this.#orders.batch(), { background: true, onError: dice.chance(0.2) ? "throw" : "result" });
      case "talk":
        return this.#execute(process, session, [talkCall(this.#orders.call("notes::recall", "wait"))]);
      case "poison":
        return this.#execute(process, session, [{ id: `poison ${++this.#orders.calls}`, name: "parts::poison", input: {} }]);
      case "set the clock":
        this.#world.invariants.clocksWereSet = true;
        process.clock.aheadMs = dice.of([-3_600_000, -1_000, 0, 1_000, 3_600_000]);
        return;
      case "promote":
        return promoteOne(this.#world, process);
      case "steer a job":
        return steerOne(this.#world, process);
      case "wait for a job":
        return waitForOne(this.#world, process);
      case "simulate alone":
        return this.#simulateAlone(process, session);
      case "simulate and commit":
        return this.#simulate(process, session, (simulation) => this.#commitTried(process, session, simulation));
      default:
        return this.#askSession(operation, process, session);
    }
  }

  async #askSession(
    operation: "fork" | "commit" | "discard" | "add message" | "snapshot" | "turn" | "begin" | "close" | "crash" | "take over",
    process: SimulatedProcess,
    session: RuntimeSession,
  ): Promise<void> {
    const world = this.#world;
    switch (operation) {
      case "fork":
        return this.#fork(process, session);
      case "commit":
        return this.#commit(process, this.#branchOf(process));
      case "discard":
        return this.#discard(process);
      case "add message":
        return world.expect(process, operation, session.addMessage({ role: "user", content: `message ${this.#orders.calls}` }), () => {});
      case "snapshot":
        return this.#snapshot(process, session);
      case "turn":
        return this.#turn(process, session);
      case "begin":
        return this.#keep(process, process.runtime.session());
      case "close":
        return this.#close(process, session);
      case "crash":
        return this.#crash(process);
      case "take over":
        return this.#takeOver(process);
    }
  }

  #sessionOf(process: SimulatedProcess): RuntimeSession {
    const open = [...process.sessions.values()].filter((session) => !session.closed);
    if (open.length > 0) return this.#world.dice.of(open);
    const session = process.runtime.session();
    this.#keep(process, session);
    return session;
  }

  #branchOf(process: SimulatedProcess): RuntimeSession {
    const branches = [...this.#branches.keys()].filter((branch) => process.sessions.get(branch.id) === branch && !branch.closed);
    return branches.length === 0 ? this.#sessionOf(process) : this.#world.dice.of(branches);
  }

  #keep(process: SimulatedProcess, session: RuntimeSession): void {
    process.sessions.set(session.id, session);
    const open = [...process.sessions.values()].filter((other) => !other.closed);
    const [oldest] = open;
    if (open.length > MAX_SESSIONS && oldest !== undefined) this.#close(process, oldest);
  }

  #execute(process: SimulatedProcess, session: RuntimeSession | undefined, calls: readonly ToolCall[], options: ExecuteOptions = {}): void {
    const user = this.#world.dice.of(USERS);
    const work = (session ?? process.runtime).execute(calls, { ...options, data: { user, session } });
    this.#world.expect(process, "execute", work, (results) => this.#deliver({ process, session, user }, calls, results));
  }

  #executeOne(process: SimulatedProcess, session: RuntimeSession): void {
    const user = this.#world.dice.of(USERS);
    const call = this.#orders.call();
    this.#world.expect(process, "execute one", session.execute(call, { data: { user, session } }), (result) =>
      this.#deliver({ process, session, user }, [call], [result]),
    );
  }

  #deliver(
    place: { readonly process: SimulatedProcess; readonly session: RuntimeSession | undefined; readonly user: string },
    calls: readonly ToolCall[],
    results: readonly ToolResult[],
  ): void {
    const { invariants, sabotage } = this.#world;
    if (results.length !== calls.length) throw new Broken(1, `${calls.length} calls came to ${results.length} results.`);
    for (const [index, call] of calls.entries()) {
      let result = results[index];
      if (result === undefined) continue;
      if (sabotage === "swap results" && result.status === "ok") [result, this.#swapped] = [this.#swapped ?? result, result];
      if (sabotage === "change a result" && this.#orders.calls % 9 === 0) result = { ...result, durationMs: result.durationMs + 1 };
      invariants.delivered({ ...place, call, result });
    }
  }

  /** The same calls under one key: at once, or again what was sent long ago. */
  #submit(process: SimulatedProcess, session: RuntimeSession): void {
    const { dice } = this.#world;
    const known = this.#submissions.filter((one) => process.sessions.get(one.sessionId)?.closed === false);
    if (known.length > 0 && dice.chance(0.6)) return this.#send(process, dice.of(known));
    const submission = this.#newSubmission(session);
    this.#send(process, submission);
    if (dice.chance(0.3)) this.#send(process, submission);
  }

  #newSubmission({ id: sessionId }: RuntimeSession): Submission {
    const calls = this.#orders.batch();
    const submission = { sessionId, calls, idempotencyKey: `key ${this.#orders.calls}`, user: this.#world.dice.of(USERS) };
    this.#submissions = [...this.#submissions.slice(-9), submission];
    return submission;
  }

  /** A process can write nothing for a while. A batch is sent before or in that time, again and again until it is over, and then once more. */
  #fillStore(process: SimulatedProcess, session: RuntimeSession): void {
    const { dice } = this.#world;
    const { clock, store } = process;
    const submission = this.#newSubmission(session);
    const fill = (): void => void (store.isFull = true);
    const [fullAfterMs, freeAfterMs, everyMs] = [dice.of([0, 0, 3, 10]), dice.between(15, 120), dice.of([1, 5, 20])];
    if (fullAfterMs === 0) fill();
    else clock.timer(fill, fullAfterMs);
    this.#send(process, submission);
    for (let afterMs = everyMs; afterMs < freeAfterMs; afterMs += everyMs) clock.timer(() => this.#send(process, submission), afterMs);
    clock.timer(() => {
      store.isFull = false;
      this.#send(process, submission);
    }, freeAfterMs);
  }

  #send(process: SimulatedProcess, { sessionId, calls, user, ...submission }: Submission): void {
    const isAnother = this.#world.sabotage === "send under another key";
    const idempotencyKey = isAnother ? `key ${++this.#orders.calls}` : submission.idempotencyKey;
    const session = process.sessions.get(sessionId);
    if (session === undefined) return;
    const work = session.execute(calls, { idempotencyKey, data: { user, session } });
    this.#world.expect(process, "submit", work, (results) => this.#deliver({ process, session, user }, calls, results));
  }

  #cancel(process: SimulatedProcess, session: RuntimeSession, when: "cancel before" | "cancel during" | "cancel after"): void {
    const controller = new AbortController();
    const world = this.#world;
    const calls = this.#orders.batch();
    if (when === "cancel before") controller.abort();
    if (when === "cancel during") process.clock.timer(() => controller.abort(), world.dice.between(0, 30));
    const user = world.dice.of(USERS);
    const work = session.execute(calls, { signal: controller.signal, data: { user, session } });
    world.expect(process, when, work, (results) => {
      if (when === "cancel after") controller.abort();
      const started = results.some((result) => result.error?.code === "cancelled" && result.attempts > 0);
      if (when === "cancel during" && started) world.seen("cancelled while it ran");
      this.#deliver({ process, session, user }, calls, results);
    });
  }

  #simulate(process: SimulatedProcess, session: RuntimeSession, then: (simulation: Simulation) => void): void {
    const calls = this.#orders.batch();
    const onError = this.#world.dice.chance(0.25) ? "throw" : "result";
    const work = session.simulate(calls, { onError, data: { user: "ann", session: undefined } });
    this.#world.expect(process, onError === "throw" ? "simulate and throw" : "simulate", work, then);
  }

  #commitTried(process: SimulatedProcess, session: RuntimeSession, simulation: Simulation): void {
    this.#world.expect(process, "commit what was tried", simulation.commit(), () => {
      for (const result of simulation.results) this.#world.invariants.acknowledged(session, result);
    });
  }

  /** With nothing else under way: all is afterwards as it was before. */
  async #simulateAlone(process: SimulatedProcess, session: RuntimeSession): Promise<void> {
    const world = this.#world;
    await world.rest();
    if (session.closed) return;
    // What the cache is only now told of writes that were before is no trace of the simulation.
    const look = (): string => {
      const { drawn, runtime, store } = process;
      const { orphans } = runtime.counters;
      return JSON.stringify([
        fingerprintOf(session),
        drawn,
        orphans,
        store.resultsPut,
        world.bank.commits,
        world.disk.length,
        world.idsUsed,
      ]);
    };
    const before = look();
    const calls = this.#orders.batch();
    const isReal = world.sabotage === "simulate for real";
    const work = isReal ? session.execute(calls) : session.simulate(calls, { data: { user: "ann", session: undefined } });
    world.expect<unknown>(process, "simulate alone", work, () => {});
    await world.rest();
    const after = look();
    if (before !== after) throw new Broken(6, `${before} became ${after}.`);
  }

  #fork(process: SimulatedProcess, session: RuntimeSession): void {
    const simulated = this.#world.dice.chance(0.3);
    const work = new Promise<RuntimeSession>((resolve) => resolve(session.fork({ simulated })));
    this.#world.expect(process, "fork", work, (branch) => {
      this.#branches.set(branch, session);
      this.#keep(process, branch);
    });
  }

  #commit(process: SimulatedProcess, branch: RuntimeSession): void {
    const parent = this.#branches.get(branch);
    if (parent !== undefined) this.#world.invariants.movesTo(branch.id, parent.id);
    this.#world.expect(process, "commit", branch.commit(), () => {});
  }

  #discard(process: SimulatedProcess): void {
    const branch = this.#branchOf(process);
    if (this.#branches.has(branch)) this.#world.invariants.forget(branch.id);
    this.#world.expect(process, "discard", branch.discard(), () => {});
  }

  #snapshot(process: SimulatedProcess, session: RuntimeSession): void {
    const [oldest] = this.#snapshots;
    if (oldest !== undefined && this.#world.dice.chance(0.5)) {
      this.#snapshots = this.#snapshots.slice(1);
      this.#world.seen("session restored from a snapshot");
      return this.#keep(process, restored(process, oldest));
    }
    this.#world.expect(process, "snapshot", session.snapshot(), (snapshot) => {
      checkSnapshot(snapshot);
      this.#snapshots.push(snapshot);
    });
  }

  /** A turn of rounds, as a loop makes them: calls come one by one, and the message ends well or not. */
  #turn(process: SimulatedProcess, session: RuntimeSession): void {
    const { dice } = this.#world;
    const rounds = Array.from({ length: dice.between(1, 3) }, () => ({
      calls: this.#orders.batch(),
      pauseMs: dice.of([0, 0, 2, 15]),
      end: dice.of(["calls", "calls", "truncated", "void"] as const),
      inBackground: dice.chance(0.2),
    }));
    const user = dice.of(USERS);
    const work = session.turn(async (turn) => {
      for (const round of rounds) await this.#round(process, { session, turn, user }, round);
    });
    this.#world.expect(process, "turn", work, () => {});
  }

  async #round(
    process: SimulatedProcess,
    { session, turn, user }: { readonly session: RuntimeSession; readonly turn: SessionTurn; readonly user: string },
    {
      calls,
      pauseMs,
      end,
      inBackground,
    }: {
      readonly calls: readonly ToolCall[];
      readonly pauseMs: number;
      readonly end: "calls" | "truncated" | "void";
      readonly inBackground: boolean;
    },
  ): Promise<void> {
    const round = turn.round({ data: { user, session }, ...(inBackground ? { background: true } : {}) });
    for (const call of calls) {
      round.add(call);
      if (pauseMs > 0) await new Promise<void>((resolve) => process.clock.timer(resolve, pauseMs));
    }
    if (end === "void") {
      await round.void("the model changed its mind");
      return;
    }
    const results = await round.end({ content: "", finish: end, usage: { inputTokens: 1, outputTokens: 1 } });
    this.#deliver({ process, session, user }, calls, results);
  }

  #close(process: SimulatedProcess, session: RuntimeSession): void {
    this.#world.expect(process, "close", session.close(), () => {});
  }

  /** The process ends between two steps of the scheduler; another takes up what the disk has of its sessions. */
  async #crash(process: SimulatedProcess): Promise<void> {
    const world = this.#world;
    await world.clock.advance(0);
    const ids = [...process.sessions].filter(([, session]) => session.simulation === undefined).map(([id]) => id);
    world.crash(process);
    world.seen("operation: crash");
    const next = world.startProcess();
    for (const id of ids) if (world.dice.chance(0.8)) this.#resume(next, id, false);
    this.begin();
  }

  /** Another process goes on with a session whose owner lives. */
  #takeOver(process: SimulatedProcess): void {
    const { dice, processes } = this.#world;
    const session = this.#sessionOf(process);
    const taker = dice.of(processes.filter((other) => other !== process));
    if (session.simulation !== undefined || taker.sessions.get(session.id)?.closed === false) return;
    this.#resume(taker, session.id, true);
  }

  #resume(process: SimulatedProcess, id: string, takeOver: boolean): void {
    const world = this.#world;
    const interrupted = world.dice.of(["run", "run", "settle"] as const);
    world.invariants.takesUp(process.number, id);
    const work = process.runtime.resume(id, { takeOver, interrupted, data: { user: "ann" } });
    world.expect(process, takeOver ? "take over" : "resume", work, (session) => {
      if (session.history.some((entry) => entry.result?.error?.code === "outcome_unknown"))
        world.seen("interrupted call that may not be repeated");
      if (session.log.some((event) => event.type === "job-start" && event.sessionId === id)) world.seen("interrupted job taken up");
      world.triggerInvariants.checkTakenUp(session);
      if (world.dice.chance(0.8)) process.triggers.of(session).start(() => {});
      this.#keep(process, session);
    });
  }
}

/** A session that goes on from a snapshot as it comes back from a file. */
function restored(process: SimulatedProcess, snapshot: SessionSnapshot): RuntimeSession {
  try {
    return process.runtime.session(undefined, { from: parseJson(JSON.stringify(snapshot)) });
  } catch (thrown: unknown) {
    throw new Broken(5, `a snapshot of ${snapshot.sessionId} is refused: ${String(thrown)}`);
  }
}
