import { getOrAdd } from "../../core/base/get-or-add.ts";
import { COUNT, FRACTION, checkNumber } from "../../core/base/number-bounds.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";
import type { Ports } from "../../core/ports.ts";
import { roundMs, systemPorts } from "../../core/system/system-ports.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import { Limit } from "../../policy/locks/limit.ts";
import type { VisibilityRules } from "../../policy/visibility.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { ConversationKeys } from "./conversation-keys.ts";
import { DatasetWriter } from "./dataset-writer.ts";
import { ConversationMaker } from "./conversation-maker.ts";
import { checkPlan, type ConversationPlan } from "./conversation-plan.ts";
import type { WritingReport } from "./conversation-writer.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { GenerationCounts, type GenerationProgress, type GenerationSummary } from "./generation-summary.ts";
import type { LineSink } from "./trajectory-file.ts";
import { trajectoryWriter, type TrajectoryFormat, type TrajectoryWriter } from "./trajectory-formats.ts";
import type { Trajectory } from "./trajectory.ts";

/** Options for generating conversations. */
export interface GenerateOptions {
  /** An open runtime without a store. Conversations call every offered tool, so set its `answers` such that no unwanted real effects happen. */
  readonly runtime: Runtime;
  readonly plan: ConversationPlan;
  /** The path of a file, which is continued if the same plan created it; or an object with `write`, which receives the lines. */
  readonly out: string | LineSink;
  /** @default "neutral" */
  readonly format?: TrajectoryFormat;
  /** Seed of the tools, inputs and ids that are drawn. @default 0 */
  readonly seed?: number | string;
  /** Maximum number of concurrent conversations. Integer ≥ 1. @default 8 */
  readonly concurrency?: number;
  /** The tools that are offered and may be called. @default all */
  readonly allow?: VisibilityRules;
  /** Maximum number of tools offered in a conversation: those it needs, and others drawn at random. Integer ≥ 1. @default 32 */
  readonly maxTools?: number;
  /**
   * Whether a message may have several calls, which some chat templates drop or refuse. With `false`, calls that a template, a recording or a sampled
   * plan has in one message are split into one message each. A model is asked for one call at a time; if its message has several nevertheless, only
   * the first is used, and the model is asked again with its result.
   *
   * @default true
   */
  readonly parallelCalls?: boolean;
  /**
   * Whether each message of the assistant has a `weight`: 0, so that a trainer ignores it, if a call in it was refused because of its name or input,
   * or if an input had to be repaired; 1 otherwise. For the formats `openai` and `huggingface`.
   *
   * @default false
   */
  readonly weights?: boolean;
  /** Number of consecutive failed conversations after which the generation stops; those are not written. Integer ≥ 1. @default 10 */
  readonly maxFailures?: number;
  /** Anything else that the conversations depend on, such as the answer sources: a file with another label is not continued. */
  readonly label?: string;
  /**
   * The share of conversations written to a second file for tests, `train.test.jsonl` next to `train.jsonl`. Conversations of one template, or
   * without templates those that call the same tools in the same order, are all in the same file. From 0 to 1; requires a path as `out`.
   *
   * @default 0, no second file
   */
  readonly split?: number;
  /** Whether an existing file is replaced. @default false */
  readonly overwrite?: boolean;
  readonly signal?: AbortSignal;
  /** Called after each conversation is written. */
  readonly onProgress?: (progress: GenerationProgress) => void;
  /** The clock for `durationMs`. @default the system clock */
  readonly clock?: Ports["clock"];
}

/** The seeds of the running generations by runtime: the same seed would create sessions with the same ids. */
const runningSeeds = new WeakMap<Runtime, Set<string>>();

/** Registers a generation. @returns a function that unregisters it. @throws ToolError `conflict` if a generation with this seed is running */
function registerGeneration(runtime: Runtime, seed: string): () => void {
  const seeds = getOrAdd(runningSeeds, runtime, () => new Set());
  if (seeds.has(seed))
    throw new ToolError("conflict", `Conversations of the seed ${JSON.stringify(seed)} are being generated with this runtime already.`, {
      hint: "Wait until that is done, or give each another seed or a runtime of its own.",
    });
  seeds.add(seed);
  return () => void seeds.delete(seed);
}

const DEFAULT_CONCURRENCY = 8;
const DEFAULT_MAX_TOOLS = 32;
const DEFAULT_MAX_FAILURES = 10;
/** How many conversations may be generated ahead of a slow one, per concurrent conversation. */
const AHEAD_FACTOR = 4;
/** Maximum number of redraws of a duplicate, as long as they give different conversations. */
const MAX_REDRAWS = 10;
/** Number of redraws that may repeat an earlier redraw; after that, draws are assumed to make no difference. */
const MAX_REPEATED_REDRAWS = 2;

/**
 * Generates the conversations of a plan, each in a session of its own, and writes each as one line of JSON, in the order of their indices.
 *
 * The same seed gives the same lines whatever the concurrency, if the answers depend only on session and call: lines have no times and no ids of the
 * runtime. An unfinished file is continued: a truncated last line is generated again, and no conversation is repeated or missing. More conversations
 * of the same plan are added in the same way.
 *
 * No two conversations have the same messages: a duplicate is generated again with other draws. If those do not change it, or if a model plays the
 * plan, it is written, marked and counted as a duplicate.
 *
 * If a server changes its tools meanwhile, the conversations still have those that it had at the beginning.
 *
 * A conversation that ends with an error is written with its `error`. If the generation is stopped, it resolves as well: see `stopped` of the
 * summary. It rejects if it is stopped before the first conversation, while recordings are read and tools compared.
 *
 * @throws ToolError `invalid_argument` for invalid options, and for a file with other content; `conflict` if another writer changes the file
 * meanwhile, or while the runtime generates others with the same seed; `store_failed` if the file cannot be written; `cancelled` if the signal
 * aborts before the first conversation; as a rejection
 */
export async function generateConversations(options: GenerateOptions): Promise<GenerationSummary> {
  if (typeof options?.runtime?.session !== "function")
    throw new ToolError("invalid_argument", "generateConversations() needs a runtime, whose tools it calls.", {
      hint: "Give one that is open: generateConversations({ runtime, plan, out }).",
    });
  const planned = checkOptions(options);
  const end = registerGeneration(options.runtime, String(options.seed ?? 0));
  const { runtime, signal } = options;
  const holding = runtime.holdTools(); // waits for a list that has begun, which a server may answer late
  try {
    await (signal === undefined ? holding : rejectOnAbort(holding, signal, () => stoppedError(signal)));
    return await runGeneration(options, planned);
  } finally {
    end();
    void holding.then((release) => release());
  }
}

async function runGeneration(options: GenerateOptions, planned: number | undefined): Promise<GenerationSummary> {
  const { out, format = "neutral", split = 0, overwrite = false, clock = systemPorts.clock } = options;
  const startedAt = clock.now();
  const maker = await ConversationMaker.prepare({
    ...options,
    format,
    seed: String(options.seed ?? 0),
    maxTools: options.maxTools ?? DEFAULT_MAX_TOOLS,
    parallelCalls: options.parallelCalls ?? true,
    weights: options.weights ?? false,
  });
  const { plan, seed } = maker;
  const total = planned ?? maker.recordings ?? 0;
  let writer: DatasetWriter | undefined;
  try {
    writer = await DatasetWriter.open({ out, format, overwrite, split, seed, plan });
    const generation = new Generation(options, { maker, writer, total });
    const stopped = await generation.run();
    const { notes, ...facts } = writer.summary();
    return {
      conversations: total,
      existing: writer.existing,
      ...generation.counts.counts,
      ...facts,
      ...omitUndefined({ writing: readWritingReport(options.plan) }),
      notes: [...maker.notes, ...notes],
      durationMs: roundMs(clock.now() - startedAt),
      ...(stopped === undefined ? {} : { stopped: stopped.toJSON() }),
    };
  } finally {
    try {
      await maker.close();
    } finally {
      await writer?.close();
    }
  }
}

function readWritingReport(plan: ConversationPlan): WritingReport | undefined {
  const writer = plan.kind === "played" ? undefined : plan.writer;
  return writer === undefined || writer === false ? undefined : writer.report?.();
}

const OPTIONS: OptionNames<GenerateOptions> = {
  runtime: true,
  plan: true,
  out: true,
  format: true,
  seed: true,
  concurrency: true,
  allow: true,
  maxTools: true,
  parallelCalls: "boolean",
  weights: "boolean",
  maxFailures: true,
  label: true,
  split: true,
  overwrite: true,
  signal: true,
  onProgress: true,
  clock: true,
};

function checkOptions(options: GenerateOptions): number | undefined {
  const owner = "generateConversations()";
  checkKnownKeys(options, OPTIONS, owner);
  const { plan, out, concurrency, maxTools, maxFailures, split } = options;
  checkNumber(concurrency, `concurrency of ${owner}`, COUNT);
  checkNumber(maxTools, `maxTools of ${owner}`, COUNT);
  checkNumber(maxFailures, `maxFailures of ${owner}`, COUNT);
  checkNumber(split, `split of ${owner}`, FRACTION);
  createTrajectoryWriter(options);
  if (out === "" || (typeof out !== "string" && typeof out?.write !== "function"))
    throw new ToolError("invalid_argument", `out of ${owner} must be the path of a file, or have write().`);
  if (split !== undefined && split > 0 && typeof out !== "string")
    throw new ToolError("invalid_argument", `split of ${owner} makes a second file, so out must be the path of the first.`);
  return checkPlan(plan);
}

/** @throws ToolError as `trajectoryWriter` */
function createTrajectoryWriter({ format = "neutral", parallelCalls = true, weights = false }: GenerateOptions): TrajectoryWriter {
  return trajectoryWriter(format, { parallelCalls, weights });
}

function stoppedError(signal: AbortSignal): ToolError {
  return new ToolError("cancelled", "The generation was stopped.", { cause: signal.reason });
}

interface GenerationDependencies {
  readonly maker: ConversationMaker;
  readonly writer: DatasetWriter;
  readonly total: number;
}

class Generation {
  readonly counts = new GenerationCounts();
  readonly #options: GenerateOptions;
  readonly #dependencies: GenerationDependencies;
  readonly #write: TrajectoryWriter;
  readonly #slots: Limit;
  readonly #controller = new AbortController();
  /** Consecutive failed conversations, which are written only once another one succeeds. */
  #heldFailures: Trajectory[] = [];

  constructor(options: GenerateOptions, dependencies: GenerationDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#write = createTrajectoryWriter(options);
    this.#slots = new Limit(options.concurrency ?? DEFAULT_CONCURRENCY);
  }

  /** Runs the generation, and waits until nothing runs any more. Resolves to the error that stopped it; undefined if it was completed. */
  async run(): Promise<ToolError | undefined> {
    const { signal } = this.#options;
    const removeListener = signal === undefined ? undefined : onAbort(signal, () => this.#controller.abort(signal.reason));
    const running: Promise<Trajectory | undefined>[] = [];
    try {
      if (signal?.aborted !== true) await this.#generateAll(running);
      if (signal?.aborted === true) return stoppedError(signal);
      return this.#getFailureError();
    } catch (thrown: unknown) {
      if (signal?.aborted !== true || thrown !== signal.reason) throw thrown;
      return stoppedError(signal); // the sink waited for its reader
    } finally {
      removeListener?.();
      this.#controller.abort();
      await Promise.allSettled(running);
    }
  }

  async #generateAll(running: Promise<Trajectory | undefined>[]): Promise<void> {
    const { total, writer } = this.#dependencies;
    const { concurrency = DEFAULT_CONCURRENCY } = this.#options;
    for (let index = writer.existing; index < total || running.length > 0;) {
      while (index < total && running.length < concurrency * AHEAD_FACTOR) running.push(this.#generate(index++));
      const trajectory = await running[0];
      if (trajectory === undefined || this.#controller.signal.aborted) return;
      void running.shift();
      await this.#handleTrajectory(trajectory);
      await new Promise<void>((resolve) => onNextTurn(resolve)); // simulated calls may never wait: without a turn, no signal and no timer is seen
      if (this.#getFailureError() !== undefined) return;
    }
    await this.#writeHeldFailures();
  }

  /** Generates a conversation; undefined if the generation was stopped meanwhile. Never rejects. */
  async #generate(index: number, redraw = 0): Promise<Trajectory | undefined> {
    const { signal } = this.#controller;
    await this.#slots.wait("").whenTaken();
    try {
      if (signal.aborted) return undefined;
      const trajectory = await this.#dependencies.maker.make(index, { signal, redraw });
      return signal.aborted ? undefined : trajectory;
    } finally {
      this.#slots.release();
    }
  }

  async #handleTrajectory(trajectory: Trajectory): Promise<void> {
    if (trajectory.error !== undefined) {
      this.#heldFailures.push(trajectory);
      return;
    }
    await this.#writeHeldFailures();
    await this.#writeOne(trajectory);
  }

  async #writeHeldFailures(): Promise<void> {
    const held = this.#heldFailures;
    this.#heldFailures = [];
    for (const trajectory of held) await this.#writeOne(trajectory);
  }

  async #writeOne(trajectory: Trajectory): Promise<void> {
    const { writer } = this.#dependencies;
    const line = this.#write(trajectory);
    if (trajectory.error !== undefined || writer.keys.add(line)) return this.#writeLine(line, trajectory);
    const other = await this.#redrawDuplicate(trajectory, line);
    if (other !== undefined) await this.#writeLine(this.#write(other), other);
  }

  async #writeLine(line: JsonObject, trajectory: Trajectory): Promise<void> {
    const { writer, total } = this.#dependencies;
    await writer.write(line, trajectory);
    this.counts.add(trajectory);
    const { written, calls, failed } = this.counts;
    this.#options.onProgress?.({ done: writer.existing + written, total, calls, failed });
  }

  /**
   * Generates the conversation of an index again until it is not a duplicate; returns the duplicate itself, marked, if that fails. This runs one at a
   * time in the order of the indices, so that the outcome does not depend on the concurrency. Undefined if the generation was stopped meanwhile.
   */
  async #redrawDuplicate(made: Trajectory, duplicate: object): Promise<Trajectory | undefined> {
    const { keys } = this.#dependencies.writer;
    const seen = new ConversationKeys();
    const most = this.#options.plan.kind === "played" ? 0 : MAX_REPEATED_REDRAWS;
    let line = duplicate;
    let repeated = 0;
    for (let redraw = 1; redraw <= this.#redraws; redraw++) {
      if (!seen.add(line) && ++repeated > most) break;
      const latest = await this.#generate(made.index, redraw);
      if (latest === undefined) return undefined;
      if (latest.error !== undefined) break;
      line = this.#write(latest);
      if (!keys.add(line)) continue;
      this.counts.remade++;
      return latest;
    }
    return { ...made, checks: { ...made.checks, duplicates: 1 } };
  }

  /** Maximum number of redraws: 0 if draws change nothing (recordings without faults), or if a model would be asked again without "remake". */
  get #redraws(): number {
    const { plan } = this.#options;
    const isFixed = plan.kind === "recorded" ? plan.faults === undefined : plan.kind === "played" && plan.onProblems !== "remake";
    return isFixed ? 0 : MAX_REDRAWS;
  }

  /** Returns the error that stops the generation if too many conversations failed in a row. */
  #getFailureError(): ToolError | undefined {
    const { maxFailures = DEFAULT_MAX_FAILURES } = this.#options;
    const [first] = this.#heldFailures;
    if (first?.error === undefined || this.#heldFailures.length < maxFailures) return undefined;
    const { code, message, hint } = first.error;
    return new ToolError(
      code,
      `${this.#heldFailures.length} conversations in a row failed, the first with: ${message}`,
      hint === undefined ? {} : { hint },
    );
  }
}
