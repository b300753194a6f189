/** Building blocks for the cases of the engine contract: a runtime around one engine whose calls are watched. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { qualifiedName, type ToolCall } from "../core/call.ts";
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineRequest } from "../core/engine.ts";
import type { ToolResult } from "../core/result.ts";
import type { Tool } from "../core/tool.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../runtime/runtime.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { countingIds, seededRandom } from "./fake-ports.ts";
import { recordedAnswer, type RecordedAnswer } from "./recorded-toolset.ts";
import { PATIENCE_MS, assertSettlesWithin } from "./settles-within.ts";

/** The subject of a case. The case opens and closes the engines that it asks for. */
export interface EngineSubject {
  /** Makes a new engine. All engines that it makes answer the same calls in the same way. */
  engine(): Engine;
  /** Tools of the toolset besides those that the engine lists. @default none */
  readonly tools?: readonly Tool[];
  /** Calls that the engine answers without an error if they are made in this order, with names that have no namespace. At least one. */
  readonly calls: readonly ToolCall[];
  /** A call that runs until it is cancelled, if the engine has one. */
  readonly endless?: ToolCall;
  /** How long each expected step may take, in milliseconds of real time. @default 20_000 */
  readonly timeoutMs?: number;
}

/** One promise of every engine, for one test of any runner. */
export interface EngineCase {
  /** The promise that is checked: `a branch does not change its parent`. */
  readonly title: string;
  /** False if the engine does not make this promise: skip the case. */
  appliesTo(subject: EngineSubject): boolean;
  /** Rejects if the promise is broken; the error says how. */
  run(subject: EngineSubject): Promise<void>;
}

const NAMESPACE = "subject";

/** One engine in a runtime of its own. */
export class EngineBench {
  readonly engine: Engine;
  readonly runtime: Runtime;
  readonly #watch = new CallWatch();
  readonly #timeoutMs: number;

  constructor(subject: EngineSubject, options: Partial<RuntimeOptions>) {
    this.engine = subject.engine();
    this.#timeoutMs = subject.timeoutMs ?? PATIENCE_MS;
    this.runtime = createRuntime({
      toolsets: [
        {
          name: NAMESPACE,
          description: "",
          engine: this.#watch.wrapEngine(this.engine),
          tools: (subject.tools ?? []).map((tool) => this.#watch.wrapTool(tool)),
        },
      ],
      ports: { ids: countingIds(), random: seededRandom(1) },
      approval: { never: ["*"] },
      circuit: false,
      maxAttempts: 1,
      ...options,
    });
  }

  async open(): Promise<void> {
    const { failed } = await this.withinPatience(this.runtime.open(), "the engine opens");
    deepEqual(failed, []);
    deepEqual(this.runtime.registry.check(), []);
  }

  /** Makes each call in a message of its own, and returns their answers. */
  async answers(session: RuntimeSession, calls: readonly ToolCall[]): Promise<readonly RecordedAnswer[]> {
    const answers: RecordedAnswer[] = [];
    for (const call of calls) answers.push(recordedAnswer(await this.result(session, call)));
    return answers;
  }

  async result(session: RuntimeSession, call: ToolCall, options: { readonly signal?: AbortSignal } = {}): Promise<ToolResult> {
    return await this.withinPatience(session.execute(withNamespace(call), options), `a call of ${call.name} ends`);
  }

  async results(session: RuntimeSession, calls: readonly ToolCall[]): Promise<readonly ToolResult[]> {
    return await this.withinPatience(session.execute(calls.map(withNamespace)), "the calls of a batch end");
  }

  /** Resolves when the engine has a call that it has not answered. */
  async whenStarted(): Promise<void> {
    await this.withinPatience(this.#watch.whenStarted(), "the call reaches the engine");
  }

  /** Resolves when the engine has no unanswered call. */
  async whenIdle(): Promise<void> {
    await this.withinPatience(this.#watch.whenIdle(), "the engine stops");
  }

  withinPatience<T>(work: PromiseLike<T>, what: string): Promise<T> {
    return assertSettlesWithin(work, this.#timeoutMs, what);
  }
}

/** Returns the call with the namespace of the subject. */
export function withNamespace(call: ToolCall): ToolCall {
  return { ...call, name: qualifiedName(NAMESPACE, call.name) };
}

/** Makes a case whose engine is opened before it and closed after it. */
export function engineCase(
  title: string,
  run: (bench: EngineBench, subject: EngineSubject) => Promise<void>,
  { appliesTo = () => true, options = {} }: Partial<Pick<EngineCase, "appliesTo">> & { readonly options?: Partial<RuntimeOptions> } = {},
): EngineCase {
  return { title, appliesTo, run: (subject) => withBench(subject, (bench) => run(bench, subject), options) };
}

export async function withBench<T>(
  subject: EngineSubject,
  work: (bench: EngineBench) => Promise<T>,
  options: Partial<RuntimeOptions> = {},
): Promise<T> {
  ok(subject.calls.length > 0, "The contract needs at least one call that the engine answers well.");
  const bench = new EngineBench(subject, options);
  try {
    await bench.open();
    return await work(bench);
  } finally {
    deepEqual(await bench.withinPatience(bench.runtime.close(), "the engine closes"), []);
  }
}

/** Returns the answers of a new engine to the calls in one session, with nothing else running. */
export function getIsolatedAnswers(subject: EngineSubject, sessionId: string): Promise<readonly RecordedAnswer[]> {
  return withBench(subject, async (bench) => {
    const answers = await bench.answers(bench.runtime.session(sessionId), subject.calls);
    for (const [index, { error }] of answers.entries()) equal(error, undefined, `call ${index + 1} of the subject is not answered`);
    return answers;
  });
}

/** Counts the calls that an engine has not answered. */
class CallWatch {
  #active = 0;
  #waiting: { readonly when: (underWay: number) => boolean; readonly resolve: () => void }[] = [];

  wrapEngine(engine: Engine): Engine {
    const answers: Pick<Engine, "call" | "simulate"> = {
      call: (request, context) => this.#track(() => engine.call(request, context)),
      ...(engine.simulate === undefined
        ? {}
        : { simulate: (request: EngineRequest, context: ToolContext) => this.#track(() => engine.simulate?.(request, context)) }),
    };
    return new Proxy<Engine>(
      { kind: engine.kind, ...answers },
      {
        get(own, key) {
          if (Object.hasOwn(own, key)) return Reflect.get(own, key);
          const value: unknown = Reflect.get(engine, key, engine);
          return typeof value === "function" ? value.bind(engine) : value;
        },
      },
    );
  }

  /** Wraps a tool's own handler, which the runtime runs without the engine. */
  wrapTool(tool: Tool): Tool {
    const { execute } = tool;
    if (execute === undefined) return tool;
    return { ...tool, execute: (input: never, context: ToolContext) => this.#track(() => execute.call(tool, input, context)) };
  }

  whenStarted(): Promise<void> {
    return this.#waitUntil((underWay) => underWay > 0);
  }

  whenIdle(): Promise<void> {
    return this.#waitUntil((underWay) => underWay === 0);
  }

  #waitUntil(when: (underWay: number) => boolean): Promise<void> {
    if (when(this.#active)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ when, resolve }));
  }

  #track(answer: () => unknown): unknown {
    this.#count(1);
    const end = (): void => this.#count(-1);
    try {
      const value = answer();
      Promise.resolve(value).then(end, end);
      return value;
    } catch (thrown: unknown) {
      end();
      throw thrown;
    }
  }

  #count(change: number): void {
    this.#active += change;
    const due = this.#waiting.filter(({ when }) => when(this.#active));
    this.#waiting = this.#waiting.filter((one) => !due.includes(one));
    for (const { resolve } of due) resolve();
  }
}
