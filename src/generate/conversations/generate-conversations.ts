/** Makes many conversations, several at a time, and writes them in order. */
import { COUNT, checkNumber } from "../../core/base/number-bounds.ts";
import { ToolError } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import { systemPorts } from "../../core/system-ports.ts";
import { onAbort } from "../../policy/deadline.ts";
import { Limit } from "../../policy/limit.ts";
import type { VisibilityRules } from "../../policy/visibility.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { ConversationMaker } from "./conversation-maker.ts";
import { checkPlan, type ConversationPlan } from "./conversation-plan.ts";
import { GenerationCounts, type GenerationProgress, type GenerationSummary } from "./generation-summary.ts";
import { TrajectoryFile, type LineSink } from "./trajectory-file.ts";
import { OPENINGS, trajectoryWriter, type TrajectoryFormat } from "./trajectory-formats.ts";
import type { Trajectory } from "./trajectory.ts";

/** How conversations are generated. */
export interface GenerateOptions {
  /** Open, without a store, its `answers` such that nothing real happens that should not: conversations call whatever is offered. */
  readonly runtime: Runtime;
  readonly plan: ConversationPlan;
  /** The path of a file, which is gone on with where the same plan made it; or what takes the lines. */
  readonly out: string | LineSink;
  /** @default "neutral" */
  readonly format?: TrajectoryFormat;
  /** Decides tools, inputs and ids. @default 0 */
  readonly seed?: number | string;
  /** Most conversations that are under way at a time. Integer ≥ 1. @default 8 */
  readonly concurrency?: number;
  /** Which tools are offered and may be called. @default all */
  readonly allow?: VisibilityRules;
  /** Most tools that a conversation is made with: those it needs, and others drawn. Integer ≥ 1. @default 32 */
  readonly maxTools?: number;
  /** How many conversations in a row may fail before the rest is given up; those are not written. Integer ≥ 1. @default 10 */
  readonly maxFailures?: number;
  /** What else the conversations depend on, such as the sources that answer: a file of another label is not gone on with. */
  readonly label?: string;
  /** Begin the file anew, whatever it holds. @default false */
  readonly overwrite?: boolean;
  readonly signal?: AbortSignal;
  /** Told after each conversation that is written. */
  readonly onProgress?: (progress: GenerationProgress) => void;
  /** For `durationMs`. @default the real one */
  readonly clock?: Ports["clock"];
}

const DEFAULT_CONCURRENCY = 8;
const DEFAULT_MAX_TOOLS = 32;
const DEFAULT_MAX_FAILURES = 10;
/** How many conversations may be made ahead of one that takes long, for each that is under way. */
const AHEAD = 4;

/**
 * Makes the conversations of a plan, each in a session of its own, and writes each as one line of JSON, in the order of their indices.
 *
 * The same seed gives the same lines whatever the concurrency, as far as what answers is decided by session and call: lines hold no
 * times and no ids of the runtime. A file that was not finished is gone on with: a last line that was cut off is made again, nothing is
 * there twice, and nothing is missing. More conversations of the same plan are added in the same way.
 *
 * A conversation that breaks off is written with its `error`. Resolves as well where it was stopped: see `stopped` of the summary.
 *
 * @throws ToolError `invalid_argument` for options that cannot work, and for a file that something else made; `conflict` when something
 * else writes to it meanwhile; `store_failed` when it cannot be written. By rejecting
 */
export async function generateConversations(options: GenerateOptions): Promise<GenerationSummary> {
  if (typeof options?.runtime?.session !== "function")
    throw new ToolError("invalid_argument", "generateConversations() needs a runtime whose tools are called.", {
      hint: "Give one that is open: generateConversations({ runtime, plan, out }).",
    });
  const total = checkOptions(options);
  const { out, format = "neutral", overwrite = false, clock = systemPorts.clock } = options;
  const startedAt = clock.now();
  const maker = await ConversationMaker.prepare({
    ...options,
    format,
    seed: String(options.seed ?? 0),
    maxTools: options.maxTools ?? DEFAULT_MAX_TOOLS,
  });
  const { plan, seed } = maker;
  const file = typeof out === "string" ? await TrajectoryFile.open(out, { plan, seed, openings: OPENINGS[format], overwrite }) : undefined;
  const existing = file?.existing ?? 0;
  const generation = new Generation(options, { maker, sink: file ?? (out as LineSink), total, existing }); // a path has its file
  try {
    const stopped = await generation.run();
    const { counts } = generation;
    const stop = stopped === undefined ? {} : { stopped: stopped.toJSON() };
    return { conversations: total, existing, ...counts.counts, durationMs: clock.now() - startedAt, ...stop };
  } finally {
    await file?.close();
  }
}

function checkOptions({ plan, out, concurrency, maxTools, maxFailures, format = "neutral" }: GenerateOptions): number {
  const owner = "generateConversations()";
  checkNumber(concurrency, `concurrency of ${owner}`, COUNT);
  checkNumber(maxTools, `maxTools of ${owner}`, COUNT);
  checkNumber(maxFailures, `maxFailures of ${owner}`, COUNT);
  trajectoryWriter(format);
  if (out === "" || (typeof out !== "string" && typeof out?.write !== "function"))
    throw new ToolError("invalid_argument", `out of ${owner} is the path of a file, or has write().`);
  return checkPlan(plan);
}

interface GenerationParts {
  readonly maker: ConversationMaker;
  readonly sink: LineSink;
  readonly total: number;
  readonly existing: number;
}

class Generation {
  readonly counts = new GenerationCounts();
  readonly #options: GenerateOptions;
  readonly #parts: GenerationParts;
  readonly #write: ReturnType<typeof trajectoryWriter>;
  readonly #slots: Limit;
  readonly #controller = new AbortController();
  /** Conversations that failed, one after the other, and are not written before one is well. */
  #held: Trajectory[] = [];

  constructor(options: GenerateOptions, parts: GenerationParts) {
    this.#options = options;
    this.#parts = parts;
    this.#write = trajectoryWriter(options.format ?? "neutral");
    this.#slots = new Limit(options.concurrency ?? DEFAULT_CONCURRENCY);
  }

  /** Resolves to why it ended early, when nothing runs any more. */
  async run(): Promise<ToolError | undefined> {
    const { signal } = this.#options;
    const forget = signal === undefined ? undefined : onAbort(signal, () => this.#controller.abort());
    const underWay: Promise<Trajectory | undefined>[] = [];
    try {
      if (signal?.aborted !== true) await this.#makeAll(underWay);
      if (signal?.aborted === true) return new ToolError("cancelled", "The generation was stopped.", { cause: signal.reason });
      return this.#givenUp();
    } finally {
      forget?.();
      this.#controller.abort();
      await Promise.allSettled(underWay);
    }
  }

  async #makeAll(underWay: Promise<Trajectory | undefined>[]): Promise<void> {
    const { total, existing } = this.#parts;
    const { concurrency = DEFAULT_CONCURRENCY } = this.#options;
    for (let index = existing; index < total || underWay.length > 0;) {
      while (index < total && underWay.length < concurrency * AHEAD) underWay.push(this.#make(index++));
      const trajectory = await underWay[0];
      if (trajectory === undefined || this.#controller.signal.aborted) return;
      void underWay.shift();
      await this.#take(trajectory);
      if (this.#givenUp() !== undefined) return;
    }
    await this.#writeHeld();
  }

  /** Undefined when it was stopped meanwhile. Never rejects. */
  async #make(index: number): Promise<Trajectory | undefined> {
    const { signal } = this.#controller;
    await this.#slots.wait("").whenTaken();
    try {
      if (signal.aborted) return undefined;
      const trajectory = await this.#parts.maker.make(index, signal);
      return signal.aborted ? undefined : trajectory;
    } finally {
      this.#slots.release();
    }
  }

  async #take(trajectory: Trajectory): Promise<void> {
    if (trajectory.error !== undefined) {
      this.#held.push(trajectory);
      return;
    }
    await this.#writeHeld();
    await this.#writeOne(trajectory);
  }

  async #writeHeld(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    for (const trajectory of held) await this.#writeOne(trajectory);
  }

  async #writeOne(trajectory: Trajectory): Promise<void> {
    const { sink, total, existing } = this.#parts;
    await sink.write(`${JSON.stringify(this.#write(trajectory))}\n`);
    this.counts.add(trajectory);
    const { written, calls, failed } = this.counts;
    this.#options.onProgress?.({ done: existing + written, total, calls, failed });
  }

  /** Set when too many have failed in a row. */
  #givenUp(): ToolError | undefined {
    const { maxFailures = DEFAULT_MAX_FAILURES } = this.#options;
    const [first] = this.#held;
    if (first?.error === undefined || this.#held.length < maxFailures) return undefined;
    const { code, message, hint } = first.error;
    return new ToolError(
      code,
      `${this.#held.length} conversations in a row failed, the first with: ${message}`,
      hint === undefined ? {} : { hint },
    );
  }
}
