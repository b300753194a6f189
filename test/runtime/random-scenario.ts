/** Random mixes of tools, calls, cancels, deadlines, limits and closings, played on a runtime with fake ports. */
import * as fc from "fast-check";
import { expect } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import { isSameOrInside } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import type { Hook } from "../../src/core/hook.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { ToolExecutionError } from "../../src/call/tool-execution-error.ts";
import { fakePorts, type FakePorts } from "../../src/testing/fake-ports.ts";

const KEYS = ["file:/a", "file:/a/b", "file:/c"];
const DOINGS = ["return", "return", "return", "now", "throw", "retry", "once", "obey", "deaf", "late", "odd", "boom", "bigint"] as const;
/** Long after everything else: a deaf handler ends here. */
export const END_OF_TIME_MS = 500_000;

/** Undefined four times out of five. */
function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

const toolArbitrary = fc.record({
  effects: fc.option(
    fc.record({
      reads: fc.subarray(KEYS),
      writes: fc.subarray(KEYS),
      idempotent: fc.boolean(),
      commutative: fc.boolean(),
      destructive: fc.integer({ min: 0, max: 5 }).map((one) => one === 0),
    }),
    { nil: undefined, freq: 6 },
  ),
  maxConcurrent: rarely(fc.integer({ min: 1, max: 2 })),
  timeoutMs: fc.constantFrom(30, 100, 1_000),
  deadlineMs: fc.constantFrom(0, 0, 60, 300, 5_000),
  maxAttempts: fc.constantFrom(1, 2, 4),
  oncePerTurn: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
  parsesInput: fc.constantFrom("no", "no", "no", "now", "later", "later", "never"),
  parsesOutput: fc.constantFrom("no", "no", "no", "now", "later", "later", "never"),
});

const callArbitrary = fc.record({
  tool: fc.constantFrom(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4), // there are four: the fifth is unknown
  ms: fc.integer({ min: 0, max: 80 }),
  doing: fc.constantFrom(...DOINGS),
});

const batchArbitrary = fc.record({
  at: fc.integer({ min: 0, max: 200 }),
  calls: fc.array(callArbitrary, { maxLength: 6, size: "max" }),
  single: fc.boolean(),
  session: fc.option(fc.integer({ min: 0, max: 1 }), { nil: undefined }),
  abortAt: rarely(fc.integer({ min: 0, max: 250 })),
  throwOnError: fc.integer({ min: 0, max: 5 }).map((one) => one === 0),
});

export const scenarioArbitrary = fc.record({
  tools: fc.array(toolArbitrary, { minLength: 4, maxLength: 4 }),
  batches: fc.array(batchArbitrary, { minLength: 1, maxLength: 8, size: "max" }),
  maxConcurrent: rarely(fc.integer({ min: 1, max: 3 })),
  toolsetMaxConcurrent: rarely(fc.integer({ min: 1, max: 3 })),
  sequential: fc.boolean(),
  circuit: fc.boolean(),
  hooks: rarely(fc.array(fc.constantFrom("quick", "slow", "deaf", "null", "throws", "nonsense"), { maxLength: 2 })),
  approveMs: fc.constantFrom(0, 40, 400),
  closeAt: rarely(fc.integer({ min: 0, max: 300 })),
  closeSessionAt: rarely(fc.integer({ min: 0, max: 300 })),
  orphanHoldMs: fc.constantFrom(0, 100, 10_000),
});

type ToolPlan = typeof toolArbitrary extends fc.Arbitrary<infer Plan> ? Plan : never;
type BatchPlan = typeof batchArbitrary extends fc.Arbitrary<infer Plan> ? Plan : never;
export type Scenario = typeof scenarioArbitrary extends fc.Arbitrary<infer Plan> ? Plan : never;

interface Running {
  readonly tool: number;
  readonly plan: ToolPlan;
  /** When what it still holds is free, once its handler was given up; undefined before. */
  heldUntil?: number;
}

/** What is running, as the handlers themselves see it, and whether it may. */
export class Watch {
  readonly broken: string[] = [];
  /** Handlers that were started, by turn. */
  readonly starts = new Map<string, number>();
  readonly #active = new Map<string, Running>();
  readonly #scenario: Scenario;
  readonly #ports: FakePorts;

  constructor(scenario: Scenario, ports: FakePorts) {
    this.#scenario = scenario;
    this.#ports = ports;
  }

  enter(key: string, tool: number, turnId: string): void {
    this.starts.set(turnId, (this.starts.get(turnId) ?? 0) + 1);
    const plan = this.#scenario.tools[tool];
    if (plan === undefined) return;
    const others = [...this.#active.values()].filter((other) => this.#holds(other));
    for (const other of others)
      if (conflict(plan, other.plan) && (other.heldUntil === undefined || writes(other.plan)))
        this.broken.push(`${key} runs beside a conflicting call`);
    if (others.filter((other) => other.tool === tool).length >= (plan.maxConcurrent ?? Infinity))
      this.broken.push(`${key} is one too many of its tool`);
    if (others.length >= (this.#scenario.toolsetMaxConcurrent ?? Infinity)) this.broken.push(`${key} is one too many of the toolset`);
    if (others.filter((other) => other.heldUntil === undefined).length >= (this.#scenario.maxConcurrent ?? Infinity))
      this.broken.push(`${key} is one too many of the runtime`);
    this.#active.set(key, { tool, plan });
  }

  leave(key: string): void {
    this.#active.delete(key);
  }

  /** Its handler was given up: it keeps what it writes, and the slots of its tool and toolset, for a while. */
  abandon(key: string): void {
    const running = this.#active.get(key);
    if (running !== undefined) running.heldUntil = this.#ports.clock.now() + this.#scenario.orphanHoldMs;
  }

  get attempts(): number {
    return [...this.starts.values()].reduce((sum, count) => sum + count, 0);
  }

  #holds({ heldUntil }: Running): boolean {
    return heldUntil === undefined || this.#ports.clock.now() < heldUntil;
  }
}

function writes({ effects }: ToolPlan): boolean {
  return effects === undefined || effects.writes.length > 0;
}

export function conflict(one: ToolPlan, other: ToolPlan): boolean {
  if (one.effects === undefined && other.effects === undefined) return true;
  const [left, right] = [one.effects, other.effects];
  if (left === undefined || right === undefined) return (left ?? right)?.reads.length !== 0 || (left ?? right)?.writes.length !== 0;
  const meet = (keys: readonly string[], others: readonly string[]): boolean =>
    keys.some((key) => others.some((item) => isSameOrInside(key, item) || isSameOrInside(item, key)));
  const shared = left.commutative && right.commutative;
  return meet(left.writes, right.reads) || meet(left.reads, right.writes) || (!shared && meet(left.writes, right.writes));
}

function makeTool(plan: ToolPlan, index: number, world: { readonly ports: FakePorts; readonly watch: Watch }): Tool {
  const { clock } = world.ports;
  const wait = (ms: number): Promise<void> => new Promise((resolve) => clock.timer(resolve, ms));
  const parse = (how: string) => (value: unknown) => {
    if (how === "never") return new Promise<never>(() => {});
    return how === "later" ? wait(15).then(() => ({ value })) : { value };
  };
  const { effects, maxConcurrent, parsesInput, parsesOutput, ...settings } = plan;
  return {
    name: `t${index}`,
    description: "Does what its input says.",
    inputSchema: { type: "object" },
    ...settings,
    ...(effects === undefined ? {} : { effects }),
    ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
    ...(parsesInput === "no" ? {} : { parseInput: parse(parsesInput) }),
    ...(parsesOutput === "no" ? {} : { parseOutput: parse(parsesOutput) }),
    execute: (input: { readonly ms: number; readonly doing: (typeof DOINGS)[number] }, context: ToolContext) => {
      const key = `${context.callId} ${context.attempt}`;
      world.watch.enter(key, index, context.turnId);
      context.signal.addEventListener("abort", () => world.watch.abandon(key));
      context.state.update(context.turnId, (before) => Number(before ?? 0) + 1);
      return act(input, context, wait, () => leave(world.watch, key, context));
    },
  };
}

/** The handler is at its end. If it was given up before, it may not change state any more. */
function leave(watch: Watch, key: string, context: ToolContext): void {
  watch.leave(key);
  if (!context.signal.aborted) return;
  expect(() => context.state.update(context.turnId, () => "late")).toThrow(/too late/u);
}

function act(
  { ms, doing }: { readonly ms: number; readonly doing: (typeof DOINGS)[number] },
  context: ToolContext,
  wait: (ms: number) => Promise<void>,
  leave: () => void,
): unknown {
  const after = async (time: number, end: () => unknown): Promise<unknown> => {
    await wait(time);
    leave();
    return end();
  };
  const reset = (): never => {
    throw new ToolError("network_error", "reset", { outcome: context.attempt === 1 ? "not_started" : "unknown" });
  };
  if (doing === "now" || doing === "boom" || doing === "bigint") leave();
  switch (doing) {
    case "now":
      return context.callId;
    case "boom":
      throw new Error("boom");
    case "bigint":
      return 1n;
    case "return":
      return after(ms, () => context.callId);
    case "throw":
      return after(ms, () => Promise.reject(new Error("no")));
    case "retry":
      return after(ms, reset);
    case "once":
      return after(ms, () => (context.attempt === 1 ? reset() : context.callId));
    case "deaf":
      return after(END_OF_TIME_MS, () => "far too late");
    case "late":
      return after(ms + 1_500, () => "late");
    case "odd":
      return {
        then: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) =>
          void after(ms, () => (resolve("odd"), resolve("twice"), reject("and more"))),
      };
    case "obey":
      return new Promise((_resolve, reject) => context.signal.addEventListener("abort", () => (leave(), reject(context.signal.reason))));
  }
}

function makeHook(how: string, index: number, ports: FakePorts): Hook {
  const answer = (): unknown => {
    if (how === "slow") return new Promise((resolve) => ports.clock.timer(() => resolve(undefined), 60));
    if (how === "deaf") return new Promise(() => {});
    if (how === "throws") throw new Error("a hook's own fault");
    return how === "nonsense" ? { output: 1n } : how === "null" ? null : undefined;
  };
  const before = how === "nonsense" ? () => undefined : answer;
  return {
    name: `${how}${index}`,
    beforeCall: before as NonNullable<Hook["beforeCall"]>,
    afterCall: answer as NonNullable<Hook["afterCall"]>,
  }; // nonsense is the point
}

export interface Outcome {
  readonly names: readonly string[];
  results: readonly ToolResult[] | undefined;
  thrown: unknown;
}

export interface Played {
  readonly runtime: Runtime;
  readonly ports: FakePorts;
  readonly events: readonly RuntimeEvent[];
  readonly watch: Watch;
  readonly outcomes: readonly Outcome[];
  readonly sessions: readonly RuntimeSession[];
}

export async function play(scenario: Scenario): Promise<Played> {
  const ports = fakePorts();
  const watch = new Watch(scenario, ports);
  const events: RuntimeEvent[] = [];
  const tools = scenario.tools.map((plan, index) => makeTool(plan, index, { ports, watch }));
  const runtime = createRuntime({
    ports,
    orphanHoldMs: scenario.orphanHoldMs,
    ...(scenario.maxConcurrent === undefined ? {} : { maxConcurrent: scenario.maxConcurrent }),
    ...(scenario.circuit ? { circuit: { failures: 2, openMs: 100, minimumRate: 0.2 } } : { circuit: false }),
    hooks: (scenario.hooks ?? []).map((how, index) => makeHook(how, index, ports)),
    approval: {
      approve: () =>
        new Promise((resolve) => ports.clock.timer(() => resolve(scenario.approveMs === 40 ? "deny" : "allow-once"), scenario.approveMs)),
    },
    onEvent: (event) => events.push(event),
    toolsets: [
      {
        name: "set",
        ...(scenario.toolsetMaxConcurrent === undefined ? {} : { maxConcurrent: scenario.toolsetMaxConcurrent }),
        engine: {
          kind: "test",
          order: scenario.sequential ? "sequential" : "parallel",
          call: ({ tool, parsed }, context) => handlers.get(tool.name)?.(parsed as never, context),
        },
        tools: tools.map(({ execute: _execute, ...rest }) => rest),
      },
    ],
  });
  const handlers = new Map(tools.map((tool) => [tool.name, tool.execute]));
  const sessions = [runtime.session(), runtime.session()];
  const outcomes: Outcome[] = [];
  for (const plan of scenario.batches) ports.clock.timer(() => outcomes.push(start(plan, { runtime, ports, sessions })), plan.at);
  if (scenario.closeAt !== undefined) ports.clock.timer(() => void runtime.close(), scenario.closeAt);
  if (scenario.closeSessionAt !== undefined) ports.clock.timer(() => void sessions[0]?.close(), scenario.closeSessionAt);
  await ports.clock.advance(2 * END_OF_TIME_MS);
  return { runtime, ports, events, watch, outcomes, sessions };
}

function start(
  plan: BatchPlan,
  world: { readonly runtime: Runtime; readonly ports: FakePorts; readonly sessions: readonly RuntimeSession[] },
): Outcome {
  const calls = plan.calls.map(({ tool, ...input }, index) => ({ id: `id${index}`, name: `set::t${tool}`, input }));
  const [first] = calls;
  const target = world.sessions[plan.session ?? -1] ?? world.runtime;
  const controller = new AbortController();
  if (plan.abortAt !== undefined) world.ports.clock.timer(() => controller.abort(), Math.max(0, plan.abortAt - plan.at));
  const options = {
    ...(plan.abortAt === undefined ? {} : { signal: controller.signal }),
    ...(plan.throwOnError ? { onError: "throw" as const } : {}),
  };
  const outcome: Outcome = {
    names: plan.single && first !== undefined ? [first.name] : calls.map((call) => call.name),
    results: undefined,
    thrown: undefined,
  };
  const work =
    plan.single && first !== undefined ? target.execute(first, options).then((result) => [result]) : target.execute(calls, options);
  work.then(
    (results) => (outcome.results = results),
    (thrown: unknown) => {
      outcome.thrown = thrown;
      if (thrown instanceof ToolExecutionError) outcome.results = thrown.results;
    },
  );
  return outcome;
}
