/** Plays random conversations on runtimes with fake ports, and checks what must be true of every combination of features. */
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/core/approvals/ask.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { ToolCall } from "../../../src/core/call.ts";
import { ToolExecutionError } from "../../../src/call/tool-execution-error.ts";
import { isToolError } from "../../../src/core/error.ts";
import { stubEngine } from "../../../src/engine/stub.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { FakeClock, MemoryLog, countingIds, seededRandom, settle } from "../../../src/testing/fake-ports.ts";
import { FeatureChecks } from "./feature-checks.ts";
import { callOf, Tags, type Scenario, type Step } from "./feature-plan.ts";
import { changed, toolsetsOf, type Host, type Input } from "./feature-tools.ts";

const WELL = { content: "Well.", finish: "calls", usage: { inputTokens: 1, outputTokens: 1 } } as const;

class FeatureWorld {
  readonly checks = new FeatureChecks();
  clock = new FakeClock();
  readonly #scenario: Scenario;
  readonly #tags = new Tags();
  readonly #store = keptOpen(memoryStore());
  readonly #ids = countingIds();
  #generation = 0;
  #questions = 0;
  #runtime: Runtime;
  #session: RuntimeSession;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#runtime = this.#begin();
    this.#session = this.#runtime.session("s");
  }

  async inOther(calls: readonly ToolCall[], context: ToolContext): Promise<unknown> {
    await using session = this.#runtime.session(`other ${context.callId}`);
    return await session.execute(calls, { signal: context.signal });
  }

  async play(): Promise<void> {
    for (const step of this.#scenario.steps) {
      this.checks.step++;
      this.checks.kind = step.kind;
      await this.#play(step);
      if (step.kind === "abort") await this.#advance(60); // handlers go on after they were given up
      await this.#untilQuiet();
      this.checks.checkSession(this.#session);
      this.checks.settle();
    }
    await this.#closeRuntime();
  }

  async #closeRuntime(): Promise<void> {
    const errors = await this.#pump(this.#runtime.close());
    if (errors.length > 0) this.checks.break(`closed with ${errors.map(({ message }) => message).join()}`);
    if (this.#runtime.running.length > 0) this.checks.break(`runs after close: ${JSON.stringify(this.#runtime.running)}`);
    const { calls, succeeded, orphans } = this.#runtime.counters;
    if (!Number.isNaN(this.checks.counted.calls) && (calls !== this.checks.counted.calls || succeeded !== this.checks.counted.ok))
      this.checks.break(`counted ${calls} calls, ${succeeded} ok; events tell of ${this.checks.counted.calls}, ${this.checks.counted.ok}`);
    await this.#advance(60);
    await this.clock.advance(1_500); // questions of other processes are looked for twice a second
    for (let left = 500; left > 0 && this.#runtime.counters.orphans > 0; left--) await realTime(2); // of programs, in their threads
    if (this.#runtime.counters.orphans > 0) this.checks.break(`${orphans} orphans stay`);
    if (this.clock.pending > 0) this.checks.break(`${this.clock.pending} timers stay, the next in ${this.clock.nextIn} ms`);
  }

  #begin(changes = false, sameClock?: FakeClock): Runtime {
    this.checks.beginProcess();
    const generation = ++this.#generation;
    this.clock = sameClock ?? new FakeClock({ wallTime: Date.UTC(2026, 0, 1) + this.clock.now() });
    const { clock } = this;
    /** Throws in a process that has ended: its programs go on, in their threads. */
    const living = (): this => {
      if (this.clock !== clock) throw new Error("The process has ended.");
      return this;
    };
    const host: Host = {
      clock,
      enter: (...of) => living().checks.enter(...of),
      inOther: (...of) => living().inOther(...of),
      occupy: (...of) => this.clock === clock && this.checks.occupy(...of),
      version: (key) => living().checks.version(key),
      write: (...of) => living().checks.write(...of),
    };
    return createRuntime({
      toolsets: changes ? changed(toolsetsOf(host)) : toolsetsOf(host),
      artifacts: this.#store.artifacts,
      ask: async ({ signal }) => {
        if (["simulate", "simulate for real", "commit simulation"].includes(this.checks.kind)) this.checks.break("asked in a simulation");
        await new Promise<void>((resolve) => void clock.timer(resolve, 3));
        return signal.aborted ? { action: "cancel" } : { action: this.#questions++ % 2 === 0 ? "accept" : "decline" };
      },
      store: this.#store,
      ports: { clock, ids: this.#ids, log: new MemoryLog(), random: seededRandom(1) },
      standIn: { kind: "pretend", call: () => ({ pretended: true }) },
      durability: this.#scenario.isAsync ? "async" : "sync",
      permission: { deny: ["x::*"] },
      circuit: false,
      retry: { delayMs: 1, maxDelayMs: 2 },
      hooks: [
        {
          name: "guard",
          inSimulation: "run",
          onFailure: "stop",
          beforeCall: (call) => {
            const input = call.input as Partial<Input>; // feature-plan wrote it
            if (input.key === "v") return { veto: "no" };
            return input.key === "c" ? { ...call, input: { ...input, key: "a" } } : undefined;
          },
          afterCall: (result) => redact(result),
        },
      ],
      approval: { approve: (request) => this.#approve(request, clock) },
      answers: {
        engines: {
          stub: stubEngine([
            { tool: "s::sub", input: { key: "a" }, output: "stubbed" },
            { tool: "s::sub_drop", output: "stubbed" },
          ]),
        },
        rules: [{ tools: "s::*", from: "stub" }],
      },
      onEvent: (event) => generation === this.#generation && this.checks.hear(event),
    });
  }

  async #approve(request: ApprovalRequest, clock: FakeClock): Promise<ApprovalAnswer> {
    const { answers } = this.#scenario;
    const answer = answers[this.#questions++ % answers.length] ?? "deny";
    await new Promise<void>((resolve) => void clock.timer(resolve, 2));
    this.checks.seen.add(`answer ${answer}${request.covers === undefined ? "" : " whole"}`);
    if (!request.signal.aborted) this.checks.allowed.push({ request, answer });
    return answer;
  }

  async #play(step: Step): Promise<void> {
    const calls = step.calls.map((node) => callOf(node, this.#tags));
    const before = this.#visible();
    const results = await this.#run(step, calls);
    const isUndone = ["simulate", "simulate for real", "fork and discard", "void round", "alone"].includes(step.kind);
    if (isUndone && this.#visible() !== before) this.checks.break(`left a trace: ${before} became ${this.#visible()}`);
    if (results !== undefined) this.checks.checkBatch(step, calls, results);
    this.checks.checkOnce(step.kind);
  }

  #visible(): string {
    return JSON.stringify([
      this.#session.state("w", "notes"),
      this.#session.messages({ maxTurns: 0 }).filter(({ role }) => role !== "job"),
    ]);
  }

  async #run(step: Step, calls: readonly ToolCall[]): Promise<readonly ToolResult[] | undefined> {
    const session = this.#session;
    const { kind, ms } = step;
    if (kind === "execute") return await this.#pump(session.execute(calls));
    if (kind === "stub") return await this.#pump(session.execute(calls, { answerFrom: "stub" }));
    if (kind === "in background") return await this.#pump(session.execute(calls, { background: true }));
    if (kind === "alone") return await this.#pump(this.#runtime.execute(calls));
    if (kind === "throw") return await this.#throwing(calls);
    if (kind === "abort") {
      const stop = new AbortController();
      const running = session.execute(calls, { signal: stop.signal });
      await this.#advance(ms);
      stop.abort();
      return await this.#pump(running);
    }
    if (kind === "simulate") return (await this.#pump(session.simulate(calls))).results;
    if (kind === "simulate for real") return (await this.#pump(session.simulate(calls, { allowSideEffects: ["w::put", "o::*"] }))).results;
    if (kind === "fork and commit" || kind === "fork and discard") return await this.#fork(kind === "fork and commit", calls);
    if (kind === "round" || kind === "void round") return await this.#round(kind === "round", calls, ms);
    if (kind === "close") return await this.#close(calls, ms);
    if (kind === "cancel one") return await this.#cancelOne(calls, ms);
    if (kind === "at once") return await this.#atOnce(calls, ms);
    if (kind === "fork meanwhile") return await this.#forkMeanwhile(calls, ms);
    if (kind === "simulate meanwhile") return await this.#simulateMeanwhile(calls, ms);
    if (kind === "commit simulation") return await this.#commitSimulation(calls);
    await this.#crash(calls, ms);
    return undefined;
  }

  async #close(calls: readonly ToolCall[], ms: number): Promise<readonly ToolResult[]> {
    const running = this.#session.execute(calls);
    await this.#advance(ms);
    await this.#closeRuntime();
    const results = await this.#pump(running);
    this.#runtime = this.#begin();
    this.#session = await this.#pump(this.#runtime.resume("s"));
    return results;
  }

  async #cancelOne(calls: readonly ToolCall[], ms: number): Promise<readonly ToolResult[]> {
    const running = this.#session.execute(calls);
    await this.#advance(ms);
    const all = this.#runtime.running;
    const one = all[ms % Math.max(1, all.length)];
    if (one !== undefined) this.#runtime.cancel(one.callId);
    if (one !== undefined) this.checks.seen.add("cancelled one");
    const results = await this.#pump(running);
    await this.#advance(60);
    return results;
  }

  async #atOnce(calls: readonly ToolCall[], ms: number): Promise<readonly ToolResult[]> {
    const [first, ...more] = calls;
    const one = this.#session.execute(first === undefined ? [] : [first], { concurrent: true });
    await this.#advance(ms);
    const other = this.#session.execute(more, { concurrent: true });
    return [...(await this.#pump(one)), ...(await this.#pump(other))];
  }

  async #forkMeanwhile(calls: readonly ToolCall[], ms: number): Promise<readonly ToolResult[]> {
    const [first, ...more] = calls;
    const one = this.#session.execute(first === undefined ? [] : [first]);
    await this.#advance(ms);
    const branch = this.#session.fork();
    const other = branch.execute(more);
    const results = [...(await this.#pump(one)), ...(await this.#pump(other))];
    await this.#untilQuiet();
    const committed = await this.#pump(
      branch.commit().then(
        () => true,
        (error: unknown) => (isToolError(error) && error.code === "conflict" ? false : Promise.reject(error as Error)),
      ),
    );
    this.checks.seen.add(`committed ${committed}`);
    if (!committed) await this.#pump(branch.discard());
    return results;
  }

  async #simulateMeanwhile(calls: readonly ToolCall[], ms: number): Promise<readonly ToolResult[]> {
    const [first, ...more] = calls;
    const one = this.#session.execute(first === undefined ? [] : [first]);
    await this.#advance(ms);
    const { results, commit } = await this.#pump(this.#session.simulate(more));
    const real = await this.#pump(one);
    await this.#untilQuiet();
    const code = await this.#pump(
      commit().then(
        () => {
          this.checks.counted.calls = NaN;
          return "committed";
        },
        (error: unknown) => (isToolError(error) ? error.code : "other"),
      ),
    );
    this.checks.seen.add(`simulation ${code}`);
    return [...real, ...results];
  }

  async #commitSimulation(calls: readonly ToolCall[]): Promise<readonly ToolResult[]> {
    const { results, commit } = await this.#pump(this.#session.simulate(calls));
    await this.#pump(commit());
    this.checks.counted.calls = NaN; // those of the simulation are told now, and were not counted
    return results;
  }

  async #throwing(calls: readonly ToolCall[]): Promise<readonly ToolResult[]> {
    const before = JSON.stringify(this.#session.state("w", "notes"));
    try {
      return await this.#pump(this.#session.execute(calls, { onError: "throw" }));
    } catch (error: unknown) {
      if (!(error instanceof ToolExecutionError)) throw error;
      await this.#untilQuiet();
      if (JSON.stringify(this.#session.state("w", "notes")) !== before) this.checks.break("a batch was rolled back, and its notes stayed");
      return error.results;
    }
  }

  async #fork(commits: boolean, calls: readonly ToolCall[]): Promise<readonly ToolResult[]> {
    const branch = this.#session.fork();
    const results = await this.#pump(branch.execute(calls));
    await this.#untilQuiet();
    const notes = JSON.stringify(branch.state("w", "notes"));
    await this.#pump(commits ? branch.commit() : branch.discard());
    if (commits && JSON.stringify(this.#session.state("w", "notes")) !== notes) this.checks.break("a commit changed the notes");
    return results;
  }

  async #round(endsWell: boolean, calls: readonly ToolCall[], ms: number): Promise<readonly ToolResult[] | undefined> {
    const turning = this.#session.turn(async (turn) => {
      const round = turn.round();
      for (const call of calls) {
        round.add(call);
        await settle();
      }
      if (!endsWell && ms > 0) await new Promise<void>((resolve) => void this.clock.timer(resolve, ms));
      if (endsWell) return await round.end(WELL);
      await round.void("taken back");
      return undefined;
    });
    return await this.#pump(turning);
  }

  async #crash(calls: readonly ToolCall[], ms: number): Promise<void> {
    void this.#session.execute(calls).catch(() => {});
    await this.#advance(ms);
    const started = new Set(this.checks.starts.keys());
    const old = this.checks.kind === "take over" ? this.#runtime : undefined;
    this.#runtime = this.#begin(this.checks.kind === "changed", old === undefined ? undefined : this.clock);
    for (const callId of started) if (!this.checks.ends.has(callId)) this.checks.interrupted.add(callId);
    this.#session = await this.#pump(this.#runtime.resume("s", { takeOver: true }));
    this.checks.seen.add("resumed");
    if (old === undefined) return;
    await this.#pump(old.close());
    await this.#advance(100);
    if (old.running.length > 0) this.checks.break(`the old process still runs ${JSON.stringify(old.running)}`);
    this.checks.seen.add("taken over");
  }

  async #advance(ms: number): Promise<void> {
    for (let passed = 0; passed <= ms; passed++) {
      await realTime();
      await this.clock.advance(passed === 0 ? 0 : 1);
    }
  }

  #answerJobs(): void {
    for (const { id, question } of this.#runtime.jobs.list({ states: ["waiting"] }))
      if (question !== undefined) this.#runtime.jobs.send(id, "more");
  }

  /** Advances the clock whenever nothing else happens; programs run in a thread, in real time. */
  async #pump<T>(work: Promise<T>): Promise<T> {
    const end: { is: boolean } = { is: false };
    work.then(
      () => (end.is = true),
      () => (end.is = true),
    );
    for (let idle = 0; !end.is;) {
      await settle();
      if (end.is) break;
      this.#answerJobs();
      const { nextIn } = this.clock;
      if (nextIn !== undefined && (nextIn < 50 || idle > 60)) {
        await this.clock.advance(nextIn);
        idle = 0;
      } else if (++idle > 5_000) throw new Error(`step ${this.checks.step} (${this.checks.kind}) hangs: ${this.checks.broken.join("; ")}`);
      else await realTime(idle > 3 ? 4 : 0);
    }
    return await work;
  }

  async #untilQuiet(): Promise<void> {
    for (let left = 10_000; left > 0 && this.#runtime.running.length > 0; left--) {
      this.#answerJobs();
      await settle();
      const { nextIn } = this.clock;
      if (nextIn !== undefined && nextIn < 50) await this.clock.advance(nextIn);
      else await realTime(2);
    }
    await settle();
    if (this.#runtime.counters.orphans > 0) await this.#advance(60);
    if (this.#runtime.running.length > 0) this.checks.break(`never ends: ${JSON.stringify(this.#runtime.running)}`);
  }
}

/** A store that several runtimes use, one after another or at the same time. */
function keptOpen<T extends { close(): Promise<void> }>(store: T): T {
  return new Proxy(store, {
    get: (of, name) => {
      if (name === "close") return () => Promise.resolve();
      const value: unknown = Reflect.get(of, name, of);
      return typeof value === "function" ? (value.bind(of) as unknown) : value;
    },
  });
}

function redact(result: ToolResult): ToolResult | undefined {
  const { output } = result;
  if (typeof output !== "object" || output === null || !("secret" in output)) return undefined;
  return { ...result, output: { ...output, secret: "***" } };
}

const realTime = (ms = 0): Promise<void> => (ms === 0 ? settle() : new Promise((resolve) => setTimeout(resolve, ms)));

export async function play(scenario: Scenario): Promise<FeatureChecks> {
  const world = new FeatureWorld(scenario);
  try {
    await world.play();
  } catch (error: unknown) {
    world.checks.broken.push(isToolError(error) ? `${error.code}: ${error.message}\n${error.stack}` : String((error as Error).stack));
  }
  return world.checks;
}
