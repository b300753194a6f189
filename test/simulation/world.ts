/** One world from one seed: processes over a disk, one virtual clock, and a scheduler that decides what goes next. */
import type { RuntimeEvent } from "../../src/core/event.ts";
import { FAULT_TYPES, type FaultPlan } from "../../src/core/answers/fault.ts";
import { ToolError } from "../../src/core/error.ts";
import { ToolExecutionError } from "../../src/call/tool-execution-error.ts";
import { FakeClock, countingIds } from "../../src/testing/fake-ports.ts";
import { Bank } from "./bank.ts";
import { Dice } from "./dice.ts";
import { Disk } from "./disk.ts";
import { Broken } from "./broken.ts";
import { cancelJobs, runningJobs } from "./job-operations.ts";
import { Invariants } from "./invariants.ts";
import { SimulatedProcess, type Surroundings } from "./process.ts";
import type { Sabotage } from "./sabotage.ts";
import { TriggerInvariants } from "./trigger-invariants.ts";
import { stopTriggers } from "./trigger-operations.ts";
import { Trace } from "./trace.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly sabotage?: Sabotage | undefined;
  /** Told every line of the trace. */
  readonly onLine?: ((line: string) => void) | undefined;
}

/** Longest that anything may take to end by itself, on the virtual clock. */
const PATIENCE_MS = 120_000;
/** Jobs have no time limit of their own, and are ended after so long. */
const JOB_PATIENCE_MS = 400;

export class World implements Surroundings {
  readonly seed: number;
  readonly clock = new FakeClock();
  readonly dice: Dice;
  readonly disk = new Disk();
  readonly bank: Bank;
  readonly invariants: Invariants;
  readonly triggerInvariants: TriggerInvariants;
  readonly trace: Trace;
  readonly sabotage: Sabotage | undefined;
  readonly faults: FaultPlan | undefined;
  /** How often each operation, fault and rare point came. */
  readonly counts = new Map<string, number>();
  processes: SimulatedProcess[] = [];
  /** How many operations were begun. */
  steps = 0;
  /** How many ids were minted. */
  idsUsed = 0;
  /** What is under way, by process. */
  readonly #pending = new Map<number, number>();
  /** The first thing found wrong outside the scheduler's own steps. */
  #broken: unknown;
  /** The calls of each key, as it was begun last; those that the store kept from starting. */
  readonly #batches = new Map<string, readonly string[]>();
  readonly #refused = new Set<string>();
  readonly #ids = countingIds();
  #numbers = 0;

  constructor({ seed, sabotage, onLine }: WorldOptions) {
    this.seed = seed;
    this.sabotage = sabotage;
    this.faults = seed % 3 === 0 ? faultsOf(seed) : undefined;
    this.dice = new Dice(`operations ${seed}`);
    this.bank = new Bank(sabotage);
    this.trace = new Trace(onLine);
    const parts = { disk: this.disk, bank: this.bank, now: () => this.clock.now(), seen: (point: string) => this.seen(point) };
    this.invariants = new Invariants(parts);
    this.triggerInvariants = new TriggerInvariants(this.disk, parts.seen);
    this.startProcess();
    this.startProcess();
  }

  nextId(prefix: string): string {
    this.idsUsed++;
    return this.#ids.next(prefix);
  }

  seen(point: string): void {
    this.counts.set(point, (this.counts.get(point) ?? 0) + 1);
  }

  startProcess(): SimulatedProcess {
    const process = new SimulatedProcess(this, ++this.#numbers);
    this.processes.push(process);
    return process;
  }

  crash(process: SimulatedProcess): void {
    this.#pending.delete(process.number);
    this.processes = this.processes.filter((other) => other !== process);
    process.die(this.dice.share());
  }

  onEvent(process: SimulatedProcess, event: RuntimeEvent): void {
    if (process.isDead) return;
    this.trace.add(this.clock.now(), `event ${process.number}`, event);
    this.check(() => {
      this.invariants.event(process, event);
      if (this.sabotage === "end twice" && event.type === "call-end") this.invariants.event(process, event);
    });
    this.#notice(event);
  }

  /** Waits for what an operation comes to; a refusal of a kind that any may meet is no fault. */
  expect<T>(process: SimulatedProcess, name: string, work: Promise<T>, take: (value: T) => void): void {
    const { number } = process;
    this.#pending.set(number, (this.#pending.get(number) ?? 0) + 1);
    const settle = (what: string, then: () => void): void => {
      if (process.isDead) return;
      this.#pending.set(number, (this.#pending.get(number) ?? 1) - 1);
      this.trace.add(this.clock.now(), `${name} ${number}`, what);
      this.seen(`operation: ${what === "done" ? name : `${name}, ${what}`}`);
      this.check(then);
    };
    work.then(
      (value) => settle("done", () => take(value)),
      (thrown: unknown) => settle(wordFor(thrown), () => this.#checkThrown(thrown)),
    );
  }

  #checkThrown(thrown: unknown): void {
    if (thrown instanceof Broken) throw thrown;
    if (thrown instanceof ToolError || thrown instanceof ToolExecutionError) return;
    throw new Broken(15, `an operation was refused with ${String(thrown)}.`);
  }

  isQuiet(process: SimulatedProcess): boolean {
    return (this.#pending.get(process.number) ?? 0) === 0;
  }

  /** Lets virtual time pass, then looks at everything. */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    this.look();
  }

  look(): void {
    if (this.#broken !== undefined) throw this.#broken;
    this.invariants.checkStep(this.processes);
    this.triggerInvariants.checkStep();
  }

  /** Time goes on until nothing is under way. */
  async drain(): Promise<void> {
    const begun = this.clock.now();
    const end = begun + PATIENCE_MS;
    await this.clock.advance(0);
    while (this.processes.some((process) => !this.isQuiet(process) || runningJobs(process).length > 0)) {
      if (this.#broken !== undefined) throw this.#broken;
      const next = this.clock.nextIn;
      const areJobs = this.processes.some((process) => runningJobs(process).length > 0);
      if (areJobs && (next === undefined || this.clock.now() > begun + JOB_PATIENCE_MS)) {
        this.processes.forEach(cancelJobs);
        await this.clock.advance(0);
        continue;
      }
      if (next === undefined || this.clock.now() > end) throw new Broken(1, `after ${this.clock.now()} ms something never ends.`);
      await this.clock.advance(next);
    }
    await this.clock.advance(0);
    this.look();
    this.invariants.checkQuiet(this.processes);
  }

  /** As `drain`, until what was given up has ended too. */
  async rest(): Promise<void> {
    stopTriggers(this);
    await this.drain();
    for (let step = 0; step < 1_000 && this.clock.pending > 0; step++) await this.clock.advance(this.clock.nextIn ?? 0);
    this.look();
    this.invariants.checkQuiet(this.processes);
  }

  /** Everything is closed, and nothing is left. */
  async end(): Promise<void> {
    await this.drain();
    for (const process of this.processes) this.expect(process, "close runtime", process.runtime.close(), () => {});
    await this.rest();
    this.invariants.checkEnd();
    if (this.clock.pending > 0) throw new Broken(14, `${this.clock.pending} timers wait.`);
  }

  #noticeBatch({ sessionId, idempotencyKey, callIds }: RuntimeEvent & { readonly type: "batch-start" }): void {
    const key = `${sessionId} ${idempotencyKey}`;
    const before = this.#batches.get(key) ?? [];
    this.#batches.set(key, callIds);
    if (before.some((callId) => this.#refused.has(callId))) this.seen("calls that a full store refused run under their key");
  }

  /** Looks where nobody would hear of it: in handlers and listeners. */
  check(check: () => void): void {
    try {
      check();
    } catch (thrown: unknown) {
      this.#broken ??= thrown;
    }
  }

  #notice(event: RuntimeEvent): void {
    if (event.type === "circuit-change") this.seen(`circuit ${event.state}`);
    if (event.type === "call-orphan") this.seen("orphan");
    if (event.type === "call-late") this.seen("timeout with a late result");
    if (event.type === "call-wait") this.seen(`waited for a ${event.reason}`);
    if (event.type === "call-retry") this.seen("retry");
    if (event.type === "outcome-resolve") this.seen("outcome known later");
    if (event.type === "batch-rollback") this.seen("rollback of a batch");
    if (event.type === "round-end" && event.voided !== undefined) this.seen("round voided");
    if (event.type === "job-start" && event.queued === true) this.seen("job queued");
    if (event.type === "job-end") this.seen(`job: ${event.status}`);
    if (event.type === "job-output" && event.asks === true) this.seen("job that asks");
    if (event.type === "batch-start") this.#noticeBatch(event);
    if (event.type !== "call-end") return;
    const { result } = event;
    if (result.error?.code === "store_failed" && result.attempts === 0) this.#refused.add(event.callId);
    this.seen(`result: ${result.error?.code ?? result.status}`);
    if (result.status === "ok" && result.attempts > 1) this.seen("retry, then success");
    if (result.error?.retryable === true && result.attempts > 1) this.seen("retries exhausted");
    if (result.fault !== undefined) this.seen(`fault: ${result.fault}`);
  }
}

/** A little of everything that can be put into calls on purpose. */
function faultsOf(seed: number): FaultPlan {
  const delayMs = [1, 90] as const;
  return { seed, rules: FAULT_TYPES.map((type) => ({ type, probability: 0.015, attempts: 1 + (seed % 2), delayMs, retryAfterMs: 10 })) };
}

function wordFor(thrown: unknown): string {
  if (thrown instanceof ToolExecutionError) return "rolled back";
  return thrown instanceof ToolError ? thrown.code : "thrown";
}
