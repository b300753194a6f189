/** Plays random conversations on runtimes with fake ports, and checks what must be true of every combination of features. */
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/core/ask.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import type { RuntimeEvent } from "../../../src/core/event.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { ToolCall } from "../../../src/core/call.ts";
import { ToolExecutionError } from "../../../src/call/tool-execution-error.ts";
import { isToolError } from "../../../src/core/error.ts";
import { stubEngine } from "../../../src/engine/stub.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { FakeClock, MemoryLog, countingIds, seededRandom, settle } from "../../../src/testing/fake-ports.ts";
import { callOf, Tags, type Scenario, type Step } from "./feature-plan.ts";
import { toolsetsOf, type Host, type Input } from "./feature-tools.ts";

interface Entry {
  readonly name: string;
  readonly input: Input;
  readonly callId: string;
  readonly sessionId: string;
  readonly simulated: boolean;
  readonly step: number;
}

interface Allowed {
  readonly request: ApprovalRequest;
  readonly answer: ApprovalAnswer;
}

const QUALIFIED: Readonly<Record<string, string>> = {
  drop: "o::doc",
  text: "o::doc",
  look: "o::doc",
  wipe: "w::wipe",
  sub_drop: "s::sub_drop",
};
const DESTRUCTIVE = new Set(["drop", "wipe", "sub_drop"]);
const WRITERS = new Set(["put", "text", "pay", "add", "slow", "bg", "drop", "wipe", "once", "sub", "sub_drop"]);
const READERS = new Set(["w::get_turn", "w::get_session", "w::get_runtime", "w::get_stored", "w::sum", "w::big", "o::doc"]);
const WELL = { content: "Well.", finish: "calls", usage: { inputTokens: 1, outputTokens: 1 } } as const;

export class FeatureWorld implements Host {
  readonly broken: string[] = [];
  readonly seen = new Set<string>();
  clock = new FakeClock();
  readonly #scenario: Scenario;
  readonly #tags = new Tags();
  readonly #store = memoryStore();
  readonly #ids = countingIds();
  readonly #entries: Entry[] = [];
  readonly #allowed: Allowed[] = [];
  readonly #versions = new Map<string, number>();
  readonly #writtenBy = new Map<string, [key: string, version: number]>();
  readonly #settled = new Map<string, number>();
  readonly #onceKeys = new Map<string, number>();
  readonly #writes = new Map<string, Set<string>>();
  readonly #floors = new Map<string, ReadonlyMap<string, number>>();
  readonly #starts = new Map<string, string>();
  readonly #ends = new Set<string>();
  /** Had not ended when their process did: those that were not stored are gone. */
  readonly #interrupted = new Set<string>();
  #kind: Step["kind"] = "execute";
  #step = 0;
  #questions = 0;
  #runtime: Runtime;
  #session: RuntimeSession;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#runtime = this.#begin();
    this.#session = this.#runtime.session("s");
  }

  version(key: string): number {
    return this.#versions.get(key) ?? 0;
  }

  enter(name: string, input: Input, context: ToolContext): void {
    const { callId, sessionId, simulated } = context;
    this.seen.add(`entered ${name}`);
    if (input.key === "v" || input.key === "c") this.#break(`${name} entered although a hook had refused or changed ${input.key}`);
    if (name === "denied") this.#break("denied entered");
    if (name.startsWith("sub")) this.#break(`${name} entered although a stub answers it`);
    const isAllowed = this.#kind === "simulate for real" && ["put", "text", "drop"].includes(name);
    if (simulated && WRITERS.has(name) && !isAllowed) this.#break(`${name} entered in a simulation`);
    if (this.#kind === "stub") this.#break(`${name} entered although stubs answer`);
    if (DESTRUCTIVE.has(name)) this.#checkApproval(name, input, context);
    if (context.attempt === 1) this.#entries.push({ name, input, callId, sessionId, simulated, step: this.#step });
  }

  write(name: string, input: Input, context: ToolContext, onceFor?: string): number {
    const { key, tag } = input;
    const earlier = onceFor === undefined ? undefined : this.#onceKeys.get(onceFor);
    if (earlier !== undefined) return earlier;
    const version = this.version(key) + 1;
    this.#versions.set(key, version);
    this.#writtenBy.set(context.callId, [key, version]);
    if (onceFor !== undefined) this.#onceKeys.set(onceFor, version);
    if (tag !== undefined && onceFor === undefined) {
      const writes = this.#writes.get(`${name} ${tag}`) ?? new Set();
      if (writes.size > 0) this.#break(`${name} ${tag} was done twice: ${[...writes].join()}, ${context.callId}`);
      this.#writes.set(`${name} ${tag}`, writes.add(context.callId));
    }
    return version;
  }

  async play(): Promise<void> {
    for (const step of this.#scenario.steps) {
      this.#step++;
      this.#kind = step.kind;
      await this.#play(step);
      if (step.kind === "abort") await this.#advance(60); // handlers go on after they were given up
      await this.#untilQuiet();
      this.#checkSession();
      for (const [key, version] of this.#versions) this.#settled.set(key, version);
    }
    await this.#pump(this.#runtime.close());
  }

  #break(text: string): void {
    this.broken.push(`step ${this.#step} (${this.#kind}): ${text}`);
  }

  #begin(): Runtime {
    this.clock = new FakeClock({ wallTime: Date.UTC(2026, 0, 1) + this.clock.now() });
    const { clock } = this;
    /** Throws in a process that has ended: its programs go on, in their threads. */
    const living = (): this => {
      if (this.clock !== clock) throw new Error("The process has ended.");
      return this;
    };
    const host: Host = {
      clock,
      enter: (...of) => living().enter(...of),
      version: (key) => living().version(key),
      write: (...of) => living().write(...of),
    };
    return createRuntime({
      toolsets: toolsetsOf(host),
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
      onEvent: (event) => this.clock === clock && this.#hear(event),
    });
  }

  async #approve(request: ApprovalRequest, clock: FakeClock): Promise<ApprovalAnswer> {
    const { answers } = this.#scenario;
    const answer = answers[this.#questions++ % answers.length] ?? "deny";
    await new Promise<void>((resolve) => void clock.timer(resolve, 2));
    this.seen.add(`answer ${answer}${request.covers === undefined ? "" : " whole"}`);
    if (!request.signal.aborted) this.#allowed.push({ request, answer });
    return answer;
  }

  #checkApproval(name: string, input: Input, { callId, sessionId }: ToolContext): void {
    const qualified = QUALIFIED[name];
    const same = (one: object): boolean => canonical(one) === canonical(input);
    const fits = this.#allowed.some(({ request, answer }) => {
      if (answer === "deny") return false;
      if (request.callId === callId && request.toolName === qualified) return same(request.input);
      if ((request.covers ?? []).some((one) => one.toolName === qualified && same(one.input))) return true;
      if (answer === "allow-once" || request.sessionId !== sessionId || request.toolName !== qualified) return false;
      return answer === "allow-always" || same(request.input);
    });
    if (!fits) this.#break(`${name} ${JSON.stringify(input)} ${callId} of ${sessionId} ran without approval`);
    const denied = this.#allowed.some(({ request, answer }) => answer === "deny" && request.callId === callId);
    if (denied) this.#break(`${name} ${callId} ran although it was denied`);
  }

  #hear(event: RuntimeEvent): void {
    if (event.type === "call-start") {
      if (this.#starts.has(event.callId)) this.#break(`${event.callId} started twice`);
      this.#starts.set(event.callId, event.sessionId);
      this.#floors.set(event.callId, new Map(this.#settled));
    }
    if (event.type !== "call-end") return;
    if (!this.#starts.has(event.callId)) this.#break(`${event.callId} ended and never started`);
    if (this.#ends.has(event.callId)) this.#break(`${event.callId} ended twice`);
    this.#ends.add(event.callId);
    this.#checkResult(event.result, this.#floors.get(event.callId));
    const written = this.#writtenBy.get(event.callId);
    if (written !== undefined) this.#settled.set(written[0], Math.max(written[1], this.#settled.get(written[0]) ?? 0));
  }

  #checkResult(result: ToolResult, floor: ReadonlyMap<string, number> | undefined): void {
    const { name, status, origin, output, error } = result;
    this.seen.add(`${name} ${error?.code ?? status} ${origin}`);
    if (JSON.stringify(result).includes("hush")) this.#break(`the secret is in the result of ${name} (${origin})`);
    if (!READERS.has(name) || status !== "ok" || (origin !== "live" && origin !== "cache")) return;
    for (const [key, version] of Object.entries((output ?? {}) as object))
      // any object can be read so
      if ((key === "a" || key === "b") && version < (floor?.get(key) ?? 0))
        this.#break(
          `${name} (${origin}) ${result.callId} answered version ${version} of ${key}, and ${floor?.get(key)} was written before`,
        );
  }

  async #play(step: Step): Promise<void> {
    const calls = step.calls.map((node) => callOf(node, this.#tags));
    const before = this.#visible();
    const results = await this.#run(step, calls);
    const isUndone = ["simulate", "simulate for real", "fork and discard", "void round", "alone"].includes(step.kind);
    if (isUndone && this.#visible() !== before) this.#break(`left a trace: ${before} became ${this.#visible()}`);
    if (results !== undefined) this.#checkBatch(step, calls, results);
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
    await this.#crash(calls, ms);
    return undefined;
  }

  async #throwing(calls: readonly ToolCall[]): Promise<readonly ToolResult[]> {
    const before = JSON.stringify(this.#session.state("w", "notes"));
    try {
      return await this.#pump(this.#session.execute(calls, { onError: "throw" }));
    } catch (error: unknown) {
      if (!(error instanceof ToolExecutionError)) throw error;
      await this.#untilQuiet();
      if (JSON.stringify(this.#session.state("w", "notes")) !== before) this.#break("a batch was rolled back, and its notes stayed");
      return error.results;
    }
  }

  async #fork(commits: boolean, calls: readonly ToolCall[]): Promise<readonly ToolResult[]> {
    const branch = this.#session.fork();
    const results = await this.#pump(branch.execute(calls));
    await this.#untilQuiet();
    const notes = JSON.stringify(branch.state("w", "notes"));
    await this.#pump(commits ? branch.commit() : branch.discard());
    if (commits && JSON.stringify(this.#session.state("w", "notes")) !== notes) this.#break("a commit changed the notes");
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
    const started = new Set(this.#starts.keys());
    this.#runtime = this.#begin();
    for (const callId of started) if (!this.#ends.has(callId)) this.#interrupted.add(callId);
    this.#session = await this.#pump(this.#runtime.resume("s", { takeOver: true }));
    this.seen.add("resumed");
  }

  async #advance(ms: number): Promise<void> {
    for (let passed = 0; passed <= ms; passed++) {
      await realTime();
      await this.clock.advance(passed === 0 ? 0 : 1);
    }
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
      const { nextIn } = this.clock;
      if (nextIn !== undefined && (nextIn < 50 || idle > 60)) {
        await this.clock.advance(nextIn);
        idle = 0;
      } else if (++idle > 5_000) throw new Error(`step ${this.#step} (${this.#kind}) hangs: ${this.broken.join("; ")}`);
      else await realTime(idle > 3 ? 4 : 0);
    }
    return await work;
  }

  async #untilQuiet(): Promise<void> {
    for (let left = 10_000; left > 0 && this.#runtime.running.length > 0; left--) {
      await settle();
      const { nextIn } = this.clock;
      if (nextIn !== undefined && nextIn < 50) await this.clock.advance(nextIn);
      else await realTime(2);
    }
    await settle();
    if (this.#runtime.running.length > 0) this.#break(`never ends: ${JSON.stringify(this.#runtime.running)}`);
  }

  #checkBatch({ kind, calls: nodes }: Step, calls: readonly ToolCall[], results: readonly ToolResult[]): void {
    if (results.length !== calls.length) this.#break(`${calls.length} calls have ${results.length} results`);
    for (const result of results) this.#checkResult(result, undefined);
    const ender = nodes.findIndex((node, index) => "leaf" in node && node.leaf === "end" && results[index]?.status === "ok");
    if (
      ender >= 0 &&
      kind !== "in background" &&
      results.slice(ender + 1).some(({ status }) => !["skipped", "cancelled", "error"].includes(status))
    )
      this.#break(`a call ran after end: ${results.map(({ name, status }) => `${name} ${status}`).join()}`);
    const onces = this.#entries.filter((entry) => entry.step === this.#step && entry.name === "once");
    if (new Set(onces.map(({ sessionId }) => sessionId)).size < onces.length && kind !== "void round")
      this.#break(`once ran ${onces.map(({ callId, sessionId }) => `${callId} in ${sessionId}`).join()}`);
  }

  #checkSession(): void {
    const started = new Map<string, number>();
    for (const event of this.#session.log) {
      if (event.type === "call-start") started.set(event.callId, 0);
      if (event.type === "call-end") started.set(event.callId, (started.get(event.callId) ?? NaN) + 1);
    }
    for (const [callId, ends] of started) if (ends !== 1) this.#break(`${callId} has ${ends} ends in the log`);
    for (const callId of this.#starts.keys())
      if (!this.#ends.has(callId) && !this.#interrupted.has(callId)) this.#break(`${callId} started and did not end`);
    const notes = (this.#session.state("w", "notes") ?? []) as readonly string[]; // as the tool wrote it
    if (new Set(notes).size !== notes.length) this.#break(`noted twice: ${notes.join()}`);
  }
}

function redact(result: ToolResult): ToolResult | undefined {
  const { output } = result;
  if (typeof output !== "object" || output === null || !("secret" in output)) return undefined;
  return { ...result, output: { ...output, secret: "***" } };
}

function canonical(input: object): string {
  return JSON.stringify(Object.entries(input).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

const realTime = (ms = 0): Promise<void> => (ms === 0 ? settle() : new Promise((resolve) => setTimeout(resolve, ms)));

export async function play(scenario: Scenario): Promise<FeatureWorld> {
  const world = new FeatureWorld(scenario);
  try {
    await world.play();
  } catch (error: unknown) {
    world.broken.push(isToolError(error) ? `${error.code}: ${error.message}\n${error.stack}` : String((error as Error).stack));
  }
  return world;
}
