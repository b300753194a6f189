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
import { PATIENCE_MS, within } from "./within.ts";

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
  readonly patienceMs?: number;
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
  readonly #patienceMs: number;

  constructor(subject: EngineSubject, options: Partial<RuntimeOptions>) {
    this.engine = subject.engine();
    this.#patienceMs = subject.patienceMs ?? PATIENCE_MS;
    this.runtime = createRuntime({
      toolsets: [
        {
          name: NAMESPACE,
          description: "",
          engine: this.#watch.over(this.engine),
          tools: (subject.tools ?? []).map((tool) => this.#watch.within(tool)),
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
    const { failed } = await this.soon(this.runtime.open(), "the engine opens");
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
    return await this.soon(session.execute(called(call), options), `a call of ${call.name} ends`);
  }

  async results(session: RuntimeSession, calls: readonly ToolCall[]): Promise<readonly ToolResult[]> {
    return await this.soon(session.execute(calls.map(called)), "the calls of a batch end");
  }

  /** Resolves when the engine has a call that it has not answered. */
  async begun(): Promise<void> {
    await this.soon(this.#watch.begun(), "the call reaches the engine");
  }

  /** Resolves when the engine has no unanswered call. */
  async idle(): Promise<void> {
    await this.soon(this.#watch.idle(), "the engine stops");
  }

  soon<T>(work: PromiseLike<T>, what: string): Promise<T> {
    return within(work, this.#patienceMs, what);
  }
}

/** Returns the call with the namespace of the subject. */
export function called(call: ToolCall): ToolCall {
  return { ...call, name: qualifiedName(NAMESPACE, call.name) };
}

/** Makes a case whose engine is opened before it and closed after it. */
export function caseOfEngine(
  title: string,
  run: (bench: EngineBench, subject: EngineSubject) => Promise<void>,
  { appliesTo = () => true, options = {} }: Partial<Pick<EngineCase, "appliesTo">> & { readonly options?: Partial<RuntimeOptions> } = {},
): EngineCase {
  return { title, appliesTo, run: (subject) => onBench(subject, (bench) => run(bench, subject), options) };
}

export async function onBench<T>(
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
    deepEqual(await bench.soon(bench.runtime.close(), "the engine closes"), []);
  }
}

/** Returns the answers of a new engine to the calls in one session, with nothing else running. */
export function answersAlone(subject: EngineSubject, sessionId: string): Promise<readonly RecordedAnswer[]> {
  return onBench(subject, async (bench) => {
    const answers = await bench.answers(bench.runtime.session(sessionId), subject.calls);
    for (const [index, { error }] of answers.entries()) equal(error, undefined, `call ${index + 1} of the subject is not answered`);
    return answers;
  });
}

/** Counts the calls that an engine has not answered. */
class CallWatch {
  #underWay = 0;
  #waiting: { readonly when: (underWay: number) => boolean; readonly resolve: () => void }[] = [];

  over(engine: Engine): Engine {
    const answers: Pick<Engine, "call" | "simulate"> = {
      call: (request, context) => this.#counted(() => engine.call(request, context)),
      ...(engine.simulate === undefined
        ? {}
        : { simulate: (request: EngineRequest, context: ToolContext) => this.#counted(() => engine.simulate?.(request, context)) }),
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
  within(tool: Tool): Tool {
    const { execute } = tool;
    if (execute === undefined) return tool;
    return { ...tool, execute: (input: never, context: ToolContext) => this.#counted(() => execute.call(tool, input, context)) };
  }

  begun(): Promise<void> {
    return this.#when((underWay) => underWay > 0);
  }

  idle(): Promise<void> {
    return this.#when((underWay) => underWay === 0);
  }

  #when(when: (underWay: number) => boolean): Promise<void> {
    if (when(this.#underWay)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ when, resolve }));
  }

  #counted(answer: () => unknown): unknown {
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
    this.#underWay += change;
    const due = this.#waiting.filter(({ when }) => when(this.#underWay));
    this.#waiting = this.#waiting.filter((one) => !due.includes(one));
    for (const { resolve } of due) resolve();
  }
}
