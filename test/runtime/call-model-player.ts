/** Plays commands on a runtime and on the reference model, and compares all that can be observed after each. */
import * as fc from "fast-check";
import { expect } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { omitUndefined } from "../../src/core/base/omit-undefined.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { CallModel, ITEMS, NAMES, RETRY_MS, SESSIONS, type CallPlan, type Command, type ModelResult, type ToolPlan } from "./call-model.ts";

/** As many retries as every tool is granted without asking how many calls it had. */
const MAX_FAILS = 8;

const name = fc.constantFrom(...NAMES);
const tool: fc.Arbitrary<ToolPlan> = fc.record({
  name,
  writes: fc.constantFrom(false, false, true),
  scope: fc.constantFrom<ToolPlan["scope"][]>("turn", "session", "runtime", undefined),
  ttlMs: fc.constantFrom(undefined, 25),
  maxAttempts: fc.constantFrom(1, 2, 4),
});
const call: fc.Arbitrary<CallPlan> = fc.record({
  name,
  item: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(0, 0, 1) }, { weight: 1, arbitrary: fc.constantFrom("x", "toString") }),
  fails: fc.constantFrom(0, 0, 0, 1, 2, 4),
});
const session = fc.nat(SESSIONS - 1);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("register" as const), tool }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("unregister" as const), name }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("execute" as const), session, calls: fc.tuple(call) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("execute" as const), session, calls: fc.array(call, { minLength: 2, maxLength: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(10, 20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("renew" as const), session }) },
);

/** Sequences that begin with a few tools. */
export const sequences: fc.Arbitrary<readonly Command[]> = fc
  .tuple(fc.array(tool, { maxLength: 4 }), fc.array(command, { minLength: 1, maxLength: 40, size: "max" }))
  .map(([tools, commands]) => [...tools.map((one) => ({ kind: "register" as const, tool: one })), ...commands]);

class Player {
  readonly #ports = fakePorts();
  readonly #startedAt = this.#ports.clock.now();
  readonly #model = new CallModel();
  readonly #runtime = createRuntime({
    ports: { ...this.#ports, log: { debug() {}, warn() {} } },
    circuit: false,
    retry: { delayMs: RETRY_MS, factor: 1, jitter: false },
  });
  readonly #items: number[] = Array.from({ length: ITEMS }, () => 0);
  readonly #sessions: RuntimeSession[] = Array.from({ length: SESSIONS }, () => this.#runtime.session());
  #attempts = 0;
  #fails = 0;
  /** How many of the next attempts fail. */
  #failsLeft = 0;

  async play(command: Command): Promise<readonly ModelResult[]> {
    const results = await this.#do(command);
    expect(this.#items).toEqual(this.#model.items);
    expect([this.#attempts, this.#ports.clock.now() - this.#startedAt]).toEqual([this.#model.attempts, this.#model.now]);
    expect(this.#runtime.registry.list("default").map((one) => one.tool.name)).toEqual([...this.#model.tools.keys()].sort());
    for (const [index, one] of this.#sessions.entries()) expect(historyOf(one)).toEqual(this.#model.histories[index]?.map(remembered));
    return results;
  }

  async close(): Promise<void> {
    expect([this.#runtime.running, this.#ports.clock.pending]).toEqual([[], 0]);
    await this.#runtime.close();
  }

  async #do(command: Command): Promise<readonly ModelResult[]> {
    if (command.kind === "register") this.#register(command.tool);
    else if (command.kind === "unregister")
      expect(this.#runtime.registry.unregister(command.name)).toBe(this.#model.unregister(command.name));
    else if (command.kind === "execute") return this.#execute(command.session, command.calls);
    else if (command.kind === "renew") await this.#renew(command.session);
    else {
      this.#model.advance(command.ms);
      await this.#ports.clock.advance(command.ms);
    }
    return [];
  }

  async #execute(index: number, calls: readonly CallPlan[]): Promise<readonly ModelResult[]> {
    // The calls of a batch wait for their retries at the same time, which the model does not.
    const planned = calls.map((one) => ({ ...one, fails: calls.length === 1 && this.#fails + one.fails <= MAX_FAILS ? one.fails : 0 }));
    this.#failsLeft = planned[0]?.fails ?? 0;
    this.#fails += this.#failsLeft;
    const results = await this.#ports.clock.run(
      this.#sessionAt(index).execute(planned.map(({ name: called, item }) => ({ name: called, input: { item } }))),
    );
    expect(results.map(readResult)).toEqual(this.#model.execute(index, planned));
    return results.map(readResult);
  }

  async #renew(index: number): Promise<void> {
    await this.#sessionAt(index).close();
    this.#sessions[index] = this.#runtime.session();
    this.#model.renew(index);
  }

  #sessionAt(index: number): RuntimeSession {
    return this.#sessions[index] ?? expect.fail("there is no such session");
  }

  #register(plan: ToolPlan): void {
    const made = this.#createTool(plan, this.#model.nextVersion);
    if (this.#model.register(plan) === undefined) expect(() => this.#runtime.registry.register(made)).toThrow(ToolError);
    else this.#runtime.registry.register(made);
  }

  #createTool({ name: toolName, writes, scope, ttlMs, maxAttempts }: ToolPlan, version: number): Tool {
    const at = ["item:{item}"];
    return {
      name: toolName,
      description: "For the model.",
      maxAttempts,
      inputSchema: { type: "object", properties: { item: { type: "integer" } }, required: ["item"] },
      effects: writes ? { reads: [], writes: at } : { reads: at, writes: [] },
      ...(scope === undefined ? {} : { cache: { scope, ...omitUndefined({ ttlMs }) } }),
      execute: ({ item }: { readonly item: number }) => {
        this.#attempts++;
        if (this.#failsLeft-- > 0) throw new ToolError("unavailable", "It is down.", { retryable: true, outcome: "not_started" });
        if (writes) this.#items[item] = (this.#items[item] ?? 0) + 1;
        return { version, value: this.#items[item] };
      },
    };
  }
}

function readResult({ status, error, origin, attempts, output }: ToolResult): ModelResult {
  return { status, code: error?.code, origin, attempts, output } as ModelResult; // any other status differs from the model's
}

/** The results that a model is shown, in the order of their calls. */
function historyOf(one: RuntimeSession): readonly unknown[] {
  return one.messages().flatMap((message) => (message.role === "result" ? [remembered(readResult(message.result))] : []));
}

function remembered({ status, code, output }: ModelResult): readonly unknown[] {
  return [status, code, output];
}

/** Plays a sequence. Returns words for what happened. */
export async function playSequence(commands: readonly Command[]): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  const player = new Player();
  for (const command of commands)
    for (const { status, code = status, origin, attempts } of await player.play(command)) seen.add(`${code} ${origin} ${attempts}`);
  await player.close();
  return seen;
}
