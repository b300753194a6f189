/** A chain: tools that are called one after the other, each with the outputs of the previous ones. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ToolError } from "../../core/error.ts";
import { isOptionsObject } from "../../core/base/wording.ts";
import { checkArgument } from "../../core/check-argument.ts";
import { ONE_COPY_HINT } from "../../core/system/duplicate-package.ts";
import type { ToolContext } from "../../core/context.ts";
import { checkKnownKeys, checkOptionTypes, type OptionNames } from "../../core/known-keys.ts";
import { NotStartedError, toNotStartedError, markOnlyMakesCalls, wasBlockedByStore } from "../../core/not-started-error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";
import { Registry } from "../../registry/registry.ts";
import { Runtime } from "../../runtime/runtime.ts";
import { RuntimeSession } from "../../runtime/runtime-session.ts";
import { wholeResult } from "../sequence/whole-result.ts";
import type { SequenceTool } from "../sequence/sequence-tools.ts";
import { copyAsJson, readStep, type ChainStep, type ReadStep } from "./chain-step.ts";
import { registryOf } from "../../call/context/tool-context.ts";
import { markAsChain } from "./chain-circle.ts";
import { findChainProblems, type ChainCheck, type ChainProblem } from "./check-chain.ts";
import { runSteps, type ChainResult } from "./run-steps.ts";

/** Options of running a chain. */
export interface RunChainOptions {
  /** Whether a failed step ends the chain. If false, the context lacks its output, later steps run, and `success` is false. @default true */
  readonly stopOnFailure?: boolean;
  /** Whether to run nothing unless every step names an existing tool, with its required arguments, from paths that may exist. @default true */
  readonly validateTools?: boolean;
  /** Cancels the running step, which ends the chain. */
  readonly signal?: AbortSignal;
  /**
   * The idempotency key of this run, in a session. A chain that is run again with the same key, for example after a crash, reuses the results of the
   * steps that were called before and continues after them. If a full store keeps a step from starting, the chain ends there, whatever
   * `stopOnFailure` says, and the repetition continues with that step. 1 to 1,000 characters.
   */
  readonly idempotencyKey?: string;
}

const OPTIONS: OptionNames<RunChainOptions> = {
  stopOnFailure: "boolean",
  validateTools: "boolean",
  signal: "AbortSignal",
  idempotencyKey: "string",
};
const MAX_STEPS = 1_000;
/** Shorter than the keys of `execute()`, because the number of the step is appended. */
const MAX_KEY_LENGTH = 1_000;

/** Options of `Chain.toTool`: how a chain is offered as a tool. */
export interface ChainToolOptions extends Omit<Tool, "execute" | "composite" | "effects" | "cache" | "mode" | "reducer" | "inputSchema"> {
  /** The schema of the initial context. @default any object */
  readonly inputSchema?: Tool["inputSchema"];
  /** Whether a failed step ends the chain. @default true */
  readonly stopOnFailure?: boolean;
  /** The key of the context whose value is the answer. @default all keys that the steps have added */
  readonly answerKey?: string;
}

/** The tools that a chain is checked against. */
export type ChainTools = Runtime | RuntimeSession | Registry | readonly SequenceTool[];

/** Makes a chain of these steps, to which `addStep` can add. At most 1,000 steps. @throws ToolError `invalid_argument` naming the step */
export function createChain(steps: Iterable<ChainStep> = []): Chain {
  const fits = typeof steps === "object" && steps !== null && Symbol.iterator in steps;
  checkArgument(
    fits,
    "createChain()",
    "an array of steps",
    steps,
    'For example [{ tool: "files::read", inputMapping: { path: "file" } }].',
  );
  const chain = new Chain();
  for (const step of steps) chain.addStep(step);
  return chain;
}

/** A chain of steps. It keeps no state of its runs, so it may be run many times, also concurrently. */
export class Chain {
  readonly #steps: ReadStep[] = [];

  /** A copy of the steps, in order. */
  get steps(): readonly ChainStep[] {
    return this.#steps.map(({ step }) => step);
  }

  get length(): number {
    return this.#steps.length;
  }

  /** Appends a step and returns the chain. @throws ToolError `invalid_argument` */
  addStep(step: ChainStep): this {
    if (this.#steps.length >= MAX_STEPS) throw new ToolError("invalid_argument", `A chain has at most ${MAX_STEPS} steps.`);
    this.#steps.push(readStep(step, this.#steps.length));
    return this;
  }

  clear(): void {
    this.#steps.length = 0;
  }

  /**
   * Returns the problems of the chain that are known before it runs. Several steps may use the same tool.
   *
   * @param input the initial context; if given, paths without a value in it are reported too
   */
  validate(tools: ChainTools, input?: JsonObject): ChainCheck {
    const context = input === undefined ? undefined : readContext(input);
    const problems = findChainProblems(
      this.#steps,
      tools instanceof Runtime || tools instanceof RuntimeSession ? tools.registry : tools,
      context,
    );
    return problems.length === 0 ? { valid: true } : { valid: false, problems };
  }

  /**
   * Runs the steps in one turn of a session. With a runtime, a session is begun for the run and then closed. Each step is a normal call: checked,
   * approved, retried, cached and recorded. Tools of the mode `background` are waited for.
   *
   * If the session is closed while a step runs, the chain ends with the results that it has.
   *
   * @param input the initial context: a JSON object, which is copied
   * @throws ToolError `invalid_argument` for invalid options or input and for a session that is closed before the first step; `cancelled` if the signal aborts before the turn
   * begins; `conflict` if another chain or input was run with the key; `store_failed`. All by rejecting
   */
  async run(target: Runtime | RuntimeSession, input: JsonObject = {}, options: RunChainOptions = {}): Promise<ChainResult> {
    checkKnownKeys(options, OPTIONS, "The run of a chain");
    checkKey(options.idempotencyKey);
    const context = readContext(input);
    if (target instanceof RuntimeSession) return await this.#runIn(target, context, options);
    if (!(target instanceof Runtime))
      throw new ToolError("invalid_argument", "A chain runs in a runtime or in a session of a runtime.", { operatorHint: ONE_COPY_HINT });
    if (options.idempotencyKey !== undefined)
      throw new ToolError(
        "invalid_argument",
        'The option "idempotencyKey" of a chain needs a session: without one, no earlier results are kept.',
      );
    const session = target.session();
    try {
      return await this.#runIn(session, context, options);
    } finally {
      await session.close();
    }
  }

  /**
   * Returns the chain as one tool; steps added later are not part of it. Its calls are made in the session of the call: with the rights of the
   * caller, each approved separately, simulated in a simulation. After a crash it continues after the steps that had ended. If a step fails, the call
   * ends `execution_failed`; its details list the outcome of every step.
   *
   * Without `timeoutMs` and `maxAttempts` it has no timeout and is not retried, because its steps have their own.
   *
   * @throws ToolError `invalid_argument` for options of the wrong type
   */
  toTool(options: ChainToolOptions): Tool {
    const hint = 'For example { name: "publish", description: "Publishes notes." }.';
    checkArgument(isOptionsObject(options), "toTool() of a chain", "the name and description of a tool", options, hint);
    checkOptionTypes(options, { stopOnFailure: "boolean", answerKey: "string" }, "toTool() of a chain");
    const { stopOnFailure = true, answerKey, ...tool } = options;
    const steps = [...this.#steps];
    return {
      inputSchema: { type: "object" },
      timeoutMs: 0,
      maxAttempts: 1,
      ...tool,
      composite: true,
      execute: markAsChain(
        markOnlyMakesCalls((input: JsonObject, context: ToolContext) => executeChain(steps, { input, context, stopOnFailure, answerKey })),
        steps,
      ),
    };
  }

  toString(): string {
    return `Chain(${this.#steps.map(({ step }) => step.tool).join(" → ")})`;
  }

  async #runIn(session: RuntimeSession, context: JsonObject, options: RunChainOptions): Promise<ChainResult> {
    const { stopOnFailure = true, validateTools = true, signal, idempotencyKey } = options;
    const steps = [...this.#steps];
    const problems = validateTools ? findChainProblems(steps, session.registry, context) : [];
    if (problems.length > 0)
      return refusedResult(
        context,
        problems.map(({ message }) => message),
      );
    const common = signal === undefined ? {} : { signal };
    return await session.turn(
      () =>
        runSteps(
          steps,
          context,
          {
            call: (call, index) =>
              session.execute(call, {
                ...common,
                background: false,
                ...(idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}:${index}` }),
              }),
            getWholeResult: (result) => wholeResult(session, result),
            signal,
            isKeyed: idempotencyKey !== undefined,
            get isClosed(): boolean {
              return session.closed;
            },
          },
          stopOnFailure,
        ),
      common,
    );
  }
}

interface ChainCall {
  readonly input: JsonObject;
  readonly context: ToolContext;
  readonly stopOnFailure: boolean;
  readonly answerKey: string | undefined;
}

/** @throws ToolError `invalid_input` for an invalid chain, before any step; `execution_failed` if a step fails; `cancelled` with the call */
async function executeChain(steps: readonly ReadStep[], { input, context, stopOnFailure, answerKey }: ChainCall): Promise<JsonValue> {
  const { execute, signal, progress } = context;
  const problems = findChainProblems(steps, registryOf(context), input);
  if (problems.length > 0) throw invalidChainError(problems);
  const added = new Set<string>();
  let hasStarted = false;
  const result = await runSteps(
    steps,
    input,
    {
      onKeysSet: (keys) => keys.forEach((key) => added.add(key)),
      call: (call, index) => {
        progress({ message: call.name, done: index, total: steps.length });
        return execute(call, { background: false }).then(
          (ended) => {
            if (!hasStarted && ended.error !== undefined && wasBlockedByStore(ended)) throw new NotStartedError(ended.error);
            hasStarted = true;
            return ended;
          },
          (thrown: unknown) => {
            throw hasStarted ? thrown : toNotStartedError(thrown);
          },
        );
      },
      getWholeResult: (result) => wholeResult(undefined, result),
      signal,
    },
    stopOnFailure,
  );
  signal.throwIfAborted();
  if (result.success) return answerKey === undefined ? pickKeys(added, result.context) : (getOwn(result.context, answerKey) ?? null);
  const done = result.stepResults.map(({ name, status }, index) => `Step ${index}: ${name} ended with the status ${status}.`);
  throw new ToolError("execution_failed", result.errors.at(-1) ?? "A step failed.", {
    outcome: result.stepResults.some(mayHaveActed) ? "unknown" : "failed",
    details: [...done, ...result.errors.slice(0, -1)],
  });
}

/** Whether the call may have had an effect. A failed one may too: a chain whose first steps ran, or a call cut off by a crash or timeout. */
function mayHaveActed({ status, error }: ToolResult): boolean {
  return status === "ok" || status === "partial" || status === "pending" || error?.outcome === "unknown";
}

function invalidChainError(problems: readonly ChainProblem[]): ToolError {
  const messages = problems.map(({ message }) => message);
  return new ToolError("invalid_input", messages[0] ?? "The chain cannot be run.", {
    outcome: "not_started",
    details: messages.slice(1),
  });
}

/** @throws ToolError `invalid_argument` */
function checkKey(key: string | undefined): void {
  if (key === undefined || (key !== "" && key.length <= MAX_KEY_LENGTH)) return;
  throw new ToolError(
    "invalid_argument",
    `The option "idempotencyKey" of the run of a chain must have 1 to ${MAX_KEY_LENGTH} characters, not ${key.length}.`,
  );
}

/** Returns the context with only these keys. */
function pickKeys(keys: ReadonlySet<string>, context: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(context).filter(([key]) => keys.has(key)));
}

function refusedResult(context: JsonObject, errors: readonly string[]): ChainResult {
  return Object.freeze({ success: false, context, stepResults: [], errors, warnings: [], durationMs: 0 });
}

function readContext(input: unknown): JsonObject {
  const value = copyAsJson(input, "The input of the chain");
  if (!isJsonObject(value)) throw new ToolError("invalid_argument", "The input of a chain must be an object: its context starts with it.");
  return value;
}
