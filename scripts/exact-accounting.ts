/**
 * Counts calls with faults in them exactly: nothing lost, nothing doubled, every fault found as often as it was planned.
 *
 * `node --conditions=haft-source scripts/exact-accounting.ts [calls] [folder]`; with a folder, sessions are kept in a SQLite file
 * there, every result is durable before it is counted, and all is counted again from the file.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { ToolContext } from "../src/core/context.ts";
import type { RuntimeEvent } from "../src/core/event.ts";
import type { HistoryEntry } from "../src/core/history.ts";
import type { ToolResult } from "../src/core/result.ts";
import type { Store } from "../src/core/store/store.ts";
import type { Tool } from "../src/core/tool.ts";
import { createRuntime, type Runtime } from "../src/runtime/runtime.ts";
import type { RuntimeSession } from "../src/runtime/runtime-session.ts";
import { sqliteStore } from "../src/store/sqlite-store.ts";
import { fakePorts, seededRandom } from "../src/testing/fake-ports.ts";

export interface AccountingOptions {
  readonly calls: number;
  readonly sessions: number;
  /** Opens the store; called twice, the second time to count again. @default none */
  readonly openStore?: () => Store;
}

export interface Accounting {
  readonly accepted: number;
  readonly terminal: number;
  /** Different ids that calls were given. */
  readonly ids: number;
  readonly starts: number;
  readonly ends: number;
  readonly planned: Tally;
  readonly found: Tally;
  /** Calls in the histories of the sessions when these were closed. */
  readonly inHistory: number;
  /** Calls in their histories as the store has them; undefined without one. */
  readonly readBack: number | undefined;
  /** Most handlers that ran at a time. */
  readonly mostAtOnce: number;
  /** The first things that are wrong, in words. */
  readonly problems: readonly string[];
  readonly seconds: number;
  /** From `execute` to its results, in milliseconds. */
  readonly acknowledgeMs: { readonly p50: number; readonly p99: number };
}

const KINDS = ["ok", "throw", "timeout", "invalid", "cancel"] as const;
type Kind = (typeof KINDS)[number];
type Tally = Readonly<Record<Kind, number>>;

const TOOLS = 100;
const MAX_BATCH = 20;
export const CONCURRENCY = 64;
/** Sessions that are open at a time: the others are over, or have not begun. */
const OPEN_SESSIONS = 100;
/** Of so many calls, each fault befalls one. */
const PERIOD = 400;
const TIMEOUT_MS = 50;
const MAX_PROBLEMS = 20;

/** What becomes of a call: by its number alone. */
function kindOf(n: number): Kind {
  const place = n % PERIOD;
  return place % (PERIOD / 4) === 7 ? (KINDS[1 + Math.floor(place / (PERIOD / 4))] ?? "ok") : "ok";
}

/** What became of it, by its result. */
function kindIn({ status, error }: ToolResult): Kind | "something else" {
  if (status === "ok") return "ok";
  if (status === "cancelled") return "cancel";
  if (status === "partial" && error?.code === "invalid_output") return "invalid";
  if (error?.code === "timeout") return "timeout";
  return error?.code === "execution_failed" ? "throw" : "something else";
}

/** A session and the numbers of its calls, in the order in which they were made. */
interface Account {
  readonly sessionId: string;
  readonly numbers: number[];
}

interface Batch {
  readonly account: Account;
  readonly session: RuntimeSession;
  readonly numbers: readonly number[];
}

/** Makes the calls on a clock of its own, so that what is late is exactly that. */
export class Accountant {
  readonly #options: AccountingOptions;
  readonly #ports = fakePorts();
  readonly #random = seededRandom(64);
  readonly #runtime: Runtime;
  readonly #accounts: Account[] = [];
  readonly #ids = new Set<string>();
  readonly #aborts = new Map<number, AbortController>();
  readonly #waits: number[] = [];
  readonly #planned: Record<Kind, number> = { ok: 0, throw: 0, timeout: 0, invalid: 0, cancel: 0 };
  readonly #found: Record<Kind, number> = { ok: 0, throw: 0, timeout: 0, invalid: 0, cancel: 0 };
  readonly #problems: string[] = [];
  #accepted = 0;
  #terminal = 0;
  #starts = 0;
  #ends = 0;
  #inHistory = 0;
  #running = 0;
  #mostAtOnce = 0;
  #isOver = false;

  constructor(options: AccountingOptions) {
    this.#options = options;
    this.#runtime = createRuntime({
      ports: this.#ports,
      tools: Array.from({ length: TOOLS }, (_, index) => this.#makeTool(index)),
      maxConcurrent: CONCURRENCY,
      timeoutMs: TIMEOUT_MS,
      maxAttempts: 1,
      onEvent: (event) => this.#count(event),
      ...(options.openStore === undefined ? {} : { store: options.openStore() }),
    });
  }

  async run(): Promise<Accounting> {
    const startedAt = performance.now();
    const time = this.#passTime();
    const { calls, sessions } = this.#options;
    for (let wave = 0; wave < sessions; wave += OPEN_SESSIONS) {
      const count = Math.min(OPEN_SESSIONS, sessions - wave);
      await this.#runWave(wave, count, [Math.floor((calls * wave) / sessions), Math.floor((calls * (wave + count)) / sessions)]);
    }
    this.#isOver = true;
    await time;
    await this.#ports.clock.advance(4 * TIMEOUT_MS);
    this.#checkQuiet();
    for (const error of await this.#runtime.close()) this.#tell(`closing failed: ${error.message}`);
    const seconds = (performance.now() - startedAt) / 1_000;
    const readBack = this.#options.openStore === undefined ? undefined : await this.#readBack(this.#options.openStore());
    const waits = this.#waits.toSorted((one, other) => one - other);
    return {
      accepted: this.#accepted,
      terminal: this.#terminal,
      ids: this.#ids.size,
      starts: this.#starts,
      ends: this.#ends,
      planned: this.#planned,
      found: this.#found,
      inHistory: this.#inHistory,
      readBack,
      mostAtOnce: this.#mostAtOnce,
      problems: this.#problems,
      seconds,
      acknowledgeMs: { p50: waits[Math.floor(waits.length * 0.5)] ?? 0, p99: waits[Math.floor(waits.length * 0.99)] ?? 0 },
    };
  }

  /** A millisecond of virtual time whenever the event loop comes round; with a store, which needs the processor too, every millisecond. */
  async #passTime(): Promise<void> {
    while (!this.#isOver) {
      await this.#ports.clock.advance(1);
      if (this.#options.openStore !== undefined) await setTimeout(1);
    }
  }

  /** Opens some sessions, makes calls `from` to `to` in them, and closes them. */
  async #runWave(first: number, count: number, [from, to]: readonly [number, number]): Promise<void> {
    const opened = Array.from({ length: count }, (_, index) => {
      const session = this.#runtime.session(`session-${first + index}`);
      return { session, account: { sessionId: session.id, numbers: [] } };
    });
    const batches = this.#batches(opened, from, to);
    const worker = async (): Promise<void> => {
      for (const batch of batches) await this.#execute(batch);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
    for (const { session, account } of opened) {
      this.#inHistory += this.#compare(account, session.history);
      this.#accounts.push(account);
    }
    await Promise.all(opened.map(({ session }) => session.close()));
  }

  *#batches(opened: readonly Omit<Batch, "numbers">[], from: number, to: number): Generator<Batch> {
    for (let n = from; n < to;) {
      const size = 1 + Math.floor(this.#random.next() * MAX_BATCH);
      const numbers = [n++];
      // A call that is cancelled is alone: the caller gives up all of a batch.
      while (kindOf(n - 1) !== "cancel" && numbers.length < size && n < to && kindOf(n) !== "cancel") numbers.push(n++);
      const chosen = opened[Math.floor(this.#random.next() * opened.length)];
      if (chosen !== undefined) yield { ...chosen, numbers };
    }
  }

  async #execute({ session, account, numbers }: Batch): Promise<void> {
    account.numbers.push(...numbers);
    this.#accepted += numbers.length;
    for (const n of numbers) this.#planned[kindOf(n)]++;
    const calls = numbers.map((n) => ({ id: `n${n}`, name: `tool${(n + Math.floor(n / TOOLS)) % TOOLS}`, input: { n } }));
    const signal = numbers.map((n) => this.#abortOf(n)).find((found) => found !== undefined);
    const startedAt = performance.now();
    const results = await session.execute(calls, signal === undefined ? {} : { signal });
    this.#waits.push(performance.now() - startedAt);
    if (results.length !== numbers.length) this.#tell(`${numbers.length} calls had ${results.length} results`);
    for (const [index, result] of results.entries()) this.#take(result, numbers[index] ?? -1);
  }

  /** One in three is given up before it begins, one by its own handler, one by the clock. */
  #abortOf(n: number): AbortSignal | undefined {
    if (kindOf(n) !== "cancel") return undefined;
    const controller = new AbortController();
    this.#aborts.set(n, controller);
    const way = Math.floor(n / PERIOD) % 3;
    if (way === 0) controller.abort();
    if (way === 2) this.#ports.clock.timer(() => controller.abort(), 2);
    return controller.signal;
  }

  #take(result: ToolResult, n: number): void {
    const kind = kindIn(result);
    this.#terminal++;
    this.#ids.add(result.callId);
    this.#aborts.delete(n);
    if (kind === "something else") return this.#tell(`call ${n} ended ${result.status}: ${result.error?.message}`);
    this.#found[kind]++;
    if (result.id !== `n${n}`) this.#tell(`call ${n} was given the result of ${result.id}`);
    if (kind !== kindOf(n)) this.#tell(`call ${n} was to end ${kindOf(n)} and ended ${kind}`);
    if (kind === "ok" && JSON.stringify(result.output) !== `{"n":${n}}`) this.#tell(`call ${n} answered ${JSON.stringify(result.output)}`);
  }

  /** Compares a history with the calls that were made; returns how many are right. Who gives up while waiting need not wait, and goes before others. */
  #compare({ sessionId, numbers }: Account, history: readonly HistoryEntry[]): number {
    const inOrder = numbers.filter((n) => kindOf(n) !== "cancel");
    const cancelled = new Set(numbers.filter((n) => kindOf(n) === "cancel"));
    let right = 0;
    let next = 0;
    for (const { call, result, callId } of history) {
      const n = Number(call.id?.slice(1));
      const isExpected = kindOf(n) === "cancel" ? cancelled.delete(n) : n === inOrder[next++];
      if (!isExpected) this.#tell(`${sessionId} has call ${n} where it does not belong`);
      else if (result === undefined || result.callId !== callId || kindIn(result) !== kindOf(n))
        this.#tell(`call ${n} ended ${result?.status}`);
      else right++;
    }
    if (right !== numbers.length) this.#tell(`${sessionId} has ${right} of ${numbers.length} calls as they were made`);
    return right;
  }

  #checkQuiet(): void {
    const { running, counters } = this.#runtime;
    if (running.length > 0) this.#tell(`${running.length} calls still run`);
    if (counters.calls !== this.#accepted) this.#tell(`the runtime counted ${counters.calls} calls`);
    if (counters.orphans !== 0) this.#tell(`${counters.orphans} handlers are still orphans`);
    if (this.#ports.clock.pending > 0) this.#tell(`${this.#ports.clock.pending} timers were left behind`);
  }

  async #readBack(store: Store): Promise<number> {
    const runtime = createRuntime({ store });
    let right = 0;
    for (const account of this.#accounts) {
      const session = await runtime.resume(account.sessionId);
      right += this.#compare(account, session.history);
      await session.close();
    }
    await runtime.close();
    return right;
  }

  #count(event: RuntimeEvent): void {
    if (event.type === "call-start") this.#starts++;
    else if (event.type === "call-end") this.#ends++;
  }

  #tell(problem: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }

  /** Every other tool writes something of its own, and may not be repeated. */
  #makeTool(index: number): Tool {
    return {
      name: `tool${index}`,
      description: "Does what is planned for its number.",
      inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      outputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      effects: index % 2 === 0 ? { reads: [] } : { writes: "cell:{n}" },
      execute: ({ n }: { readonly n: number }, context) => this.#handle(n, context),
    };
  }

  #handle(n: number, { signal }: ToolContext): unknown {
    this.#mostAtOnce = Math.max(this.#mostAtOnce, ++this.#running);
    const kind = kindOf(n);
    if (kind === "timeout" || kind === "cancel") return this.#overstay(n, signal);
    const answer = (): unknown => {
      this.#running--;
      if (kind === "throw") throw new Error("as planned");
      return { n: kind === "invalid" ? "no number" : n };
    };
    const way = n % 3;
    if (way === 0) return answer();
    return way === 1 ? Promise.resolve().then(answer) : this.#wait(1 + (n % 5)).then(answer);
  }

  /** Every other one ends when it is told to, the others when it is too late. */
  #overstay(n: number, signal: AbortSignal): Promise<unknown> {
    const told = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    void told.then(() => this.#running--);
    if (Math.floor(n / PERIOD) % 3 === 1) this.#aborts.get(n)?.abort();
    return n % 2 === 0 ? told.then(() => Promise.reject(new Error("told to end"))) : this.#wait(2 * TIMEOUT_MS).then(() => ({ n }));
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#ports.clock.timer(resolve, ms));
  }
}

/** Bytes of the heap that are in use after a garbage collection. */
export function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") for (let times = 0; times < 3; times++) collect();
  return process.memoryUsage().heapUsed;
}

async function main(calls: number, folder: string | undefined): Promise<void> {
  const place = folder === undefined ? undefined : mkdtempSync(join(folder, "accounting-"));
  const openStore = place === undefined ? undefined : (): Store => sqliteStore({ path: join(place, "sessions.db") });
  await new Accountant({ calls: 20_000, sessions: 100 }).run();
  const before = heapBytes();
  const accounting = await new Accountant({ calls, sessions: 1_000, ...(openStore === undefined ? {} : { openStore }) }).run();
  const heapGrowthMiB = (heapBytes() - before) / 2 ** 20;
  const { accepted, terminal, ids, starts, ends, planned, found, inHistory, readBack = accepted, problems, seconds } = accounting;
  const isExact =
    [terminal, ids, starts, ends, inHistory, readBack].every((count) => count === accepted) &&
    accepted === calls &&
    JSON.stringify(planned) === JSON.stringify(found) &&
    problems.length === 0;
  const rssMiB = process.resourceUsage().maxRSS / 1024;
  const verdict = isExact && heapGrowthMiB <= 20 ? "exact" : "wrong";
  console.log(JSON.stringify({ verdict, ...accounting, callsPerSecond: Math.round(accepted / seconds), heapGrowthMiB, rssMiB }, null, 2));
  if (place !== undefined) rmSync(place, { recursive: true });
  if (verdict === "wrong") process.exitCode = 1;
}

if (import.meta.main) await main(Number(process.argv[2] ?? 1_000_000), process.argv[3]);
