/** Runs the steps of a chain one after the other, adding their outputs to a context. */
import { pushAll } from "../../core/collections/push-all.ts";
import type { ToolCall } from "../../core/call.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { wasBlockedByStore } from "../../core/not-started-error.ts";
import { followSteps, describeOutline } from "../../core/base/json-steps.ts";
import { modelDetails, type ToolResult } from "../../core/result.ts";
import { roundMs } from "../../core/system/system-ports.ts";
import type { WholeResult } from "../../policy/results/large-result-store.ts";
import { answerOf } from "../sequence/whole-result.ts";
import { describeMissingPath } from "./known-context.ts";
import type { ArgumentSource, ChainStep, ReadStep } from "./chain-step.ts";

/** The result of a chain. It is JSON. */
export interface ChainResult {
  /** Whether every step ran and succeeded. */
  readonly success: boolean;
  /** The input, and the outputs of the steps that succeeded. Frozen. */
  readonly context: JsonObject;
  /** One result for each step that was called, in order. */
  readonly stepResults: readonly ToolResult[];
  /** For each step that failed: the details of its error, then `Step 1 (flights::book) failed: …`. Steps count from 0. */
  readonly errors: readonly string[];
  /** Describes outputs that could not be added to the context. */
  readonly warnings: readonly string[];
  /** The sum of the durations of its calls, in milliseconds. */
  readonly durationMs: number;
}

/** How the steps of a chain are called. */
export interface StepRunner {
  /** Resolves to the result of one call, not to a placeholder. @param index the number of the step */
  call(call: ToolCall, index: number): Promise<ToolResult>;
  /** Returns the whole answer, even if the model is shown less of it; or why the rest is not available. */
  getWholeResult(result: ToolResult): WholeResult | string;
  readonly signal: AbortSignal | undefined;
  /** Whether a repetition reruns a step that a full store kept from starting. If so, the chain ends there: later steps may depend on it. */
  readonly isKeyed?: boolean;
  /** Whether no more calls can be made. The chain then ends with the results that it has. */
  readonly isClosed?: boolean;
  /** Called with the keys of the context that a step has set, even if their values have not changed. */
  onKeysSet?(keys: readonly string[]): void;
}

/** @param context frozen */
export async function runSteps(
  steps: readonly ReadStep[],
  context: JsonObject,
  runner: StepRunner,
  stopOnFailure: boolean,
): Promise<ChainResult> {
  const run = new ChainRun(context, runner);
  for (const [index, read] of steps.entries()) {
    const succeeded = await run.runStep(read, index);
    if (!succeeded && (stopOnFailure || run.isOver)) break;
  }
  return run.result();
}

class ChainRun {
  readonly #runner: StepRunner;
  readonly #stepResults: ToolResult[] = [];
  readonly #errors: string[] = [];
  readonly #warnings: string[] = [];
  #context: JsonObject;

  constructor(context: JsonObject, runner: StepRunner) {
    this.#context = context;
    this.#runner = runner;
  }

  /** Runs a step and resolves to whether it succeeded. */
  async runStep({ step, sources }: ReadStep, index: number): Promise<boolean> {
    const name = `Step ${index} (${step.tool})`;
    try {
      if (this.#runner.isClosed === true && this.#stepResults.length > 0) throw new StepFailure("the session was closed before it");
      const input = sources === undefined ? this.#context : buildInput(sources, this.#context);
      const result = await this.#runner.call({ name: step.tool, input }, index);
      this.#stepResults.push(result);
      const output = this.#outputOf(result);
      if (output !== undefined) this.#addOutput(output, step, name);
      return true;
    } catch (thrown: unknown) {
      if (!(thrown instanceof StepFailure)) throw thrown;
      pushAll(this.#errors, [...thrown.details, `${name} failed: ${thrown.message}`]);
      return false;
    }
  }

  /** Whether no further step may run after a failed one, whatever the caller of the chain wants. */
  get isOver(): boolean {
    const { signal, isClosed } = this.#runner;
    return signal?.aborted === true || isClosed === true || this.#isBlockedByFullStore;
  }

  /** Whether the last step is to be run in a repetition. */
  get #isBlockedByFullStore(): boolean {
    const last = this.#stepResults.at(-1);
    return this.#runner.isKeyed === true && last !== undefined && wasBlockedByStore(last);
  }

  result(): ChainResult {
    return Object.freeze({
      success: this.#errors.length === 0,
      context: this.#context,
      stepResults: Object.freeze(this.#stepResults),
      errors: Object.freeze(this.#errors),
      warnings: Object.freeze(this.#warnings),
      durationMs: roundMs(this.#stepResults.reduce((sum, { durationMs }) => sum + durationMs, 0)),
    });
  }

  /** @throws StepFailure if there is no usable output */
  #outputOf(result: ToolResult): JsonValue | undefined {
    const { status, error } = result;
    if (status === "pending") throw new StepFailure("it takes messages while it runs, and continues in the background");
    if (status !== "ok") throw new StepFailure(error.message, modelDetails(error));
    const whole = this.#runner.getWholeResult(result);
    if (typeof whole === "string") throw new StepFailure(`${whole}: raise its maxResultBytes`);
    return answerOf(whole);
  }

  #addOutput(output: JsonValue, { outputKey = "" }: ChainStep, name: string): void {
    const entries: readonly (readonly [string, JsonValue])[] | undefined =
      outputKey !== "" ? [[outputKey, output]] : isJsonObject(output) ? Object.entries(output) : undefined;
    if (entries !== undefined) {
      this.#context = withKeys(this.#context, entries);
      this.#runner.onKeysSet?.(entries.map(([key]) => key));
    } else if (output !== null)
      this.#warnings.push(
        `${name} returned ${describeOutline(output)}, which has no keys for the context: give the step an outputKey to keep it.`,
      );
  }
}

/** Why a step has no output. Its message becomes part of the chain's error. */
class StepFailure extends Error {
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = []) {
    super(message);
    this.details = details;
  }
}

/** `Object.fromEntries` sets `__proto__` like any other key. */
function withKeys(context: JsonObject, entries: Iterable<readonly [string, JsonValue]>): JsonObject {
  return Object.freeze(Object.fromEntries([...Object.entries(context), ...entries]));
}

/** @throws StepFailure naming a path without a value */
function buildInput(sources: readonly ArgumentSource[], context: JsonObject): JsonObject {
  return Object.freeze(Object.fromEntries(sources.map((source) => [source.argument, resolveSource(source, context)])));
}

function resolveSource(source: ArgumentSource, context: JsonObject): JsonValue {
  const { path, steps, value } = source;
  if (path === undefined) return value ?? null;
  const followed = followSteps(context, steps);
  if ("value" in followed) return followed.value;
  if (value !== undefined) return value;
  throw new StepFailure(describeMissingPath(source, followed, followed.in === context ? context : undefined));
}
