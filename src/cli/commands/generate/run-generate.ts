/** Generates conversations as the command line says. Resolves to the exit code. */
import { sumMeters, type ModelTotals, type UsageMeter } from "../../../model/usage-meter.ts";
import { listStandIns } from "../../../config/build/build-answers.ts";
import { ERROR_CODES } from "../../../core/error-codes.ts";
import { onNextTurn } from "../../../core/system/lazy-timer.ts";
import { ToolError, type ErrorInfo } from "../../../core/error.ts";
import { generateConversations, type GenerateOptions } from "../../../generate/conversations/generate-conversations.ts";
import type { GenerationProgress, GenerationSummary } from "../../../generate/conversations/generation-summary.ts";
import { type VirtualClock, virtualClock } from "../../../generate/conversations/virtual-clock.ts";
import type { CommandContext } from "../../command.ts";
import { waitForDrain } from "../../terminal/wait-for-drain.ts";
import { TRAJECTORY_FORMATS } from "../../../generate/conversations/trajectory-formats.ts";
import { parseChoice } from "../../command-line.ts";
import type { ConversationPlan } from "../../../generate/conversations/conversation-plan.ts";
import { cardFileOf, checkCardFile, writeCard } from "./dataset-card.ts";
import { createPlan, readTemplateFile, answersInstantly, type Material } from "./generation-plan.ts";
import { usesRecordings, recordingSources, parseRedaction, sessionSources } from "./recorded-sources.ts";
import { progressText, summaryLines } from "./generation-text.ts";
import { withRuntime, type OpenRuntime, type WithRuntimeOptions } from "../../open/open-runtime.ts";
import { withStore } from "../../open/open-store.ts";
import { Progress } from "../../terminal/progress.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { checkOutputPaths } from "../../input/check-output-paths.ts";
import { safeJsonText, safeText } from "../../terminal/terminal-text.ts";
import { testFilePath } from "../../../generate/conversations/dataset-files.ts";

export async function runGenerate(context: CommandContext): Promise<number> {
  const { out, format = "neutral" } = context.options;
  if (out === undefined)
    throw new ToolError("invalid_argument", "haft generate needs --out: the file that the conversations go to.", {
      hint: "For example: haft generate --out train.jsonl. With --out - they go to standard output.",
    });
  const known = parseChoice("format", format, TRAJECTORY_FORMATS);
  const split = parseSplit(context);
  const card = out === "-" ? undefined : cardFileOf(out);
  const make = async (material: Material): Promise<GenerationOutcome> => {
    const clock = virtualClock();
    const meters: UsageMeter[] = [];
    const options: WithRuntimeOptions = {
      clock,
      // fails before anything is started if a name is wrong or a key is missing
      onConfig: (config) => void createPlan(context, { config, material, clock }),
      otherwise: listStandIns,
      onModel: (model) => clock.attend(model),
      onMeter: (meter) => void meters.push(meter),
      mayLackConfig: material.kind === "recordings",
    };
    if (out !== "-") await checkCardFile(out);
    return await withRuntime(context, options, (open) => generate(context, { open, clock, meters, material, out, format: known, split }));
  };
  const what = usesRecordings(context) ? "the recording" : "the file of the templates";
  const inputs = context.args.map((path) => ({ what, path }));
  await checkOutputPaths(context, { paths: out === "-" ? [] : [out, testFilePath(out)], named: "--out names", inputs });
  const { summary, usage, kind } = await withMaterial(context, make).catch((thrown: unknown) => {
    if (ToolError.fromUnknown(thrown).code === "cancelled") context.signal.throwIfAborted(); // its reason says who stopped it
    throw thrown;
  });
  if (card !== undefined) await writeCard(summary, { out, format: known, kind, weights: context.options.weights });
  printSummary(context, summary, { file: out, card, usage });
  if (summary.stopped !== undefined) throw stoppedError(context, { stopped: summary.stopped, summary, out });
  return summary.failed === 0 ? 0 : ERROR_CODES.execution_failed.exit;
}

/** Reads the material for the conversations, and keeps its store open while they are made. */
async function withMaterial(context: CommandContext, make: (material: Material) => Promise<GenerationOutcome>): Promise<GenerationOutcome> {
  if (!usesRecordings(context)) return await make(await readTemplateFile(context));
  const redact = parseRedaction(context);
  if (!context.options.fromStore) return await make({ kind: "recordings", recordings: await recordingSources(context), redact });
  return await withStore(context, { readOnly: true }, async (store) =>
    make({ kind: "recordings", recordings: await sessionSources(context, store), redact }),
  );
}

/** Reads `--split`. @throws ToolError `invalid_argument` for a value that is not a share, and without an output file to put a second one next to */
function parseSplit({ options: { split, out } }: CommandContext): number {
  if (split === undefined) return 0;
  const share = Number(split);
  if (split.trim() === "" || !(share >= 0 && share <= 1))
    throw new ToolError("invalid_argument", `--split takes a share from 0 to 1, such as 0.1, not ${JSON.stringify(split)}.`);
  if (share > 0 && out === "-")
    throw new ToolError("invalid_argument", "--split makes a second file, so --out must name the first.", {
      hint: "For example: haft generate --out train.jsonl --split 0.1",
    });
  return share;
}

interface GenerationContext extends Required<Pick<GenerateOptions, "format" | "split">> {
  readonly open: OpenRuntime;
  /** The clock of the runtime. */
  readonly clock: VirtualClock;
  /** Usage meters of the other models of the configuration, such as one that plays tools. */
  readonly meters: readonly UsageMeter[];
  readonly material: Material;
  readonly out: string;
}

interface GenerationOutcome {
  readonly summary: GenerationSummary;
  readonly usage: ModelTotals | undefined;
  readonly kind: ConversationPlan["kind"];
}

async function generate(
  context: CommandContext,
  { open: { runtime, config }, clock, meters, material, out, format, split }: GenerationContext,
): Promise<GenerationOutcome> {
  const { concurrency, tools, maxTools, overwrite, noParallelCalls, weights } = context.options;
  const seed = context.options.seed ?? config.config.simulation?.seed;
  const progress = new Progress(context.err);
  const { plan, meter } = createPlan(context, { config, material, clock });
  const usage = (): ModelTotals | undefined => usageOf(meter, meters);
  const watch = new ProgressReporter(progress, usage);
  try {
    const options: GenerateOptions = {
      runtime,
      plan,
      out: out === "-" ? { write: (line) => writeLine(context, progress, line) } : out,
      format,
      split,
      overwrite,
      parallelCalls: !noParallelCalls,
      weights,
      label: configurationLabel(config, plan),
      signal: context.signal,
      onProgress: (state) => watch.report(state),
      ...(tools.length === 0 ? {} : { allow: { allow: tools } }),
      ...omitUndefined({ concurrency, maxTools, seed }),
    };
    const run = (): Promise<GenerationSummary> => generateConversations(options);
    const summary = await (answersInstantly(config, plan) ? clock.fastForward(run) : run());
    return { summary, usage: usage(), kind: plan.kind };
  } finally {
    progress.clear();
  }
}

/** Returns the usage of all models; undefined if no model writes or answers, and no other one was asked. */
function usageOf(meter: UsageMeter | undefined, others: readonly UsageMeter[]): ModelTotals | undefined {
  const meters = meter === undefined ? others : [meter, ...others];
  const total = sumMeters(meters, meters[0]?.currency ?? "USD");
  return meter === undefined && total.requests === 0 ? undefined : total;
}

/** Writes a line. @throws the reason of the signal if the line could not be written, so that it is not counted; as a rejection */
async function writeLine(context: CommandContext, progress: Progress, line: string): Promise<void> {
  await waitForDrain(context);
  const { out } = context;
  if (out.isTerminal) progress.clear();
  out.write(out.isTerminal ? safeJsonText(line) : line);
  await new Promise<void>((resolve) => onNextTurn(resolve));
  if (out.isLost) context.signal.throwIfAborted();
}

/** Prints the progress, with rates since the generation began. */
class ProgressReporter {
  readonly #progress: Progress;
  readonly #usage: () => ModelTotals | undefined;
  readonly #startedAt = performance.now();
  #madeBefore: number | undefined;

  constructor(progress: Progress, usage: () => ModelTotals | undefined) {
    this.#progress = progress;
    this.#usage = usage;
  }

  report(state: GenerationProgress): void {
    const madeBefore = (this.#madeBefore ??= state.done - 1);
    this.#progress.show(() => progressText(state, { madeBefore, elapsedMs: performance.now() - this.#startedAt, usage: this.#usage() }));
  }
}

/** Returns the parts of the configuration that decide how tools are answered and how a model is asked. */
function configurationLabel({ config: { simulation, loop } }: OpenRuntime["config"], { kind }: GenerateOptions["plan"]): string {
  return JSON.stringify([simulation ?? null, kind === "played" ? loop : null]);
}

function printSummary(
  { out, err, options }: CommandContext,
  summary: GenerationSummary,
  { file, card, usage }: { readonly file: string; readonly card: string | undefined; readonly usage: ModelTotals | undefined },
): void {
  const screen = file === "-" ? err : out;
  const peakBytes = process.resourceUsage().maxRSS * 1_024;
  if (options.json) screen.writeJson({ ...summary, ...omitUndefined({ usage }), peakBytes });
  else
    for (const line of summaryLines(summary, {
      where: file === "-" ? "to standard output" : `in ${safeText(file)}`,
      card,
      peakBytes,
      usage,
    }))
      screen.print(safeText(line));
}

/** Makes the error that says why the generation ended early, and how to continue. */
function stoppedError(
  { signal }: CommandContext,
  { stopped, summary, out }: { readonly stopped: ErrorInfo; readonly summary: GenerationSummary; readonly out: string },
): ToolError {
  const { existing, written, conversations } = summary;
  const reason = signal.aborted ? ToolError.fromUnknown(signal.reason).message : stopped.message;
  const progress = out === "-" ? "" : ` ${existing + written} of ${conversations} conversations are in ${out}.`;
  return new ToolError(
    stopped.code,
    `${reason}${progress}`,
    out === "-" ? {} : { hint: "The same command continues where the file ends." },
  );
}
