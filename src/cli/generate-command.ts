/** `haft generate`: makes many conversations over simulated tools, as data. */
import { standInsOf } from "../config/build-answers.ts";
import { ERROR_CODES } from "../core/error-codes.ts";
import { ToolError, type ErrorInfo } from "../core/error.ts";
import { generateConversations, type GenerateOptions } from "../generate/conversations/generate-conversations.ts";
import type { GenerationProgress, GenerationSummary } from "../generate/conversations/generation-summary.ts";
import { type VirtualClock, virtualClock } from "../generate/conversations/virtual-clock.ts";
import type { ConversationTemplate } from "../generate/conversations/conversation-template.ts";
import type { Command, CommandContext } from "./command.ts";
import { drained } from "./drained.ts";
import { TRAJECTORY_FORMATS } from "../generate/conversations/trajectory-formats.ts";
import { wordOf } from "./command-line.ts";
import { planFor, readTemplateFile, takesNoTime } from "./generate/generation-plan.ts";
import { progressText, summaryLines } from "./generate/generation-words.ts";
import { withRuntime, type OpenRuntime, type WithRuntimeOptions } from "./open-runtime.ts";
import { Progress } from "./progress.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { safeJson, safeText } from "./terminal-text.ts";

export const generateCommand: Command = {
  name: "generate",
  usage: "[templates | -]",
  summary: "Make conversations over simulated tools, as data.",
  details: [
    "Without templates, tools of the configuration are drawn, and called with inputs",
    "that are made up: no model and no key is needed. Templates are JSON Lines, one",
    "conversation a line, from a file or, with -, from standard input:",
    "",
    '  {"messages": [{"role": "user", "content": "What do the notes say?"},',
    '    {"role": "assistant", "calls": [{"name": "files::read", "input": {…}}]}]}',
    "",
    "The calls are those of the templates. Where no template has lines of the",
    "assistant, the model of --model or of the configuration answers what the users",
    "say. With more conversations than templates, the templates take turns.",
    "",
    "Nothing real happens: tools are played by the model that the configuration",
    "names for simulation, else their answers are made up from their schemas; where",
    "its simulation.sources name a tool, that rule holds. Every result says where it",
    "came from.",
    "",
    "Each conversation is one line of the file, in the order of their numbers. The",
    "same seed makes the same lines. A generation that was stopped or killed goes on",
    "where the file ends when the same command is given again; with a larger --count",
    "more are added. As openai or anthropic a line is messages and tools as that",
    "provider takes them, with the rest under metadata.",
    "",
    "A conversation that breaks off is written with its error, and the exit code is 1",
    "then. When ten in a row break off, the rest is given up.",
  ],
  args: [0, 1],
  options: ["out", "count", "calls", "format", "concurrency", "seed", "model", "system", "tools", "overwrite", "config"],
  examples: [
    "haft generate --out train.jsonl --count 1000 --calls 10",
    "haft generate templates.jsonl --out train.jsonl --format openai --seed 7",
    "haft generate questions.jsonl --model ollama/qwen3 --out train.jsonl",
    "haft generate --tools 'files::*' --out - | jq .report",
  ],
  async run(context) {
    const { out, format = "neutral" } = context.options;
    if (out === undefined)
      throw new ToolError("invalid_argument", "haft generate needs --out: the file that the conversations go to.", {
        hint: "For example: haft generate --out train.jsonl. With --out - they go to standard output.",
      });
    const known = wordOf("format", format, TRAJECTORY_FORMATS);
    const templates = await readTemplateFile(context);
    const clock = virtualClock();
    const options: WithRuntimeOptions = {
      clock,
      onConfig: (config) => void planFor(context, { config, templates }), // wrong names and missing keys start nothing
      otherwise: standInsOf,
    };
    const summary = await withRuntime(context, options, (open) => generate(context, { open, clock, templates, out, format: known }));
    tell(context, summary, out);
    if (summary.stopped !== undefined) throw stopOf(context, { stopped: summary.stopped, summary, out });
    return summary.failed === 0 ? 0 : ERROR_CODES.execution_failed.exit;
  },
};

interface Generating extends Required<Pick<GenerateOptions, "format">> {
  readonly open: OpenRuntime;
  /** That of the runtime. */
  readonly clock: VirtualClock;
  readonly templates: readonly ConversationTemplate[] | undefined;
  readonly out: string;
}

async function generate(
  context: CommandContext,
  { open: { runtime, config }, clock, templates, out, format }: Generating,
): Promise<GenerationSummary> {
  const { concurrency, tools, overwrite } = context.options;
  const seed = context.options.seed ?? config.config.simulation?.seed;
  const progress = new Progress(context.err);
  const watch = new Watch(progress);
  const plan = planFor(context, { config, templates });
  try {
    const options: GenerateOptions = {
      runtime,
      plan,
      out: out === "-" ? { write: (line) => writeOut(context, progress, line) } : out,
      format,
      overwrite,
      label: labelOf(config, plan),
      signal: context.signal,
      onProgress: (state) => watch.tell(state),
      ...(tools.length === 0 ? {} : { allow: { allow: tools } }),
      ...omitUndefined({ concurrency, seed }),
    };
    return await (takesNoTime(config, plan) ? clock.fastForward(() => generateConversations(options)) : generateConversations(options));
  } finally {
    progress.clear();
  }
}

async function writeOut(context: CommandContext, progress: Progress, line: string): Promise<void> {
  await drained(context);
  const { out } = context;
  if (out.isTerminal) progress.clear();
  out.write(out.isTerminal ? safeText(line) : line);
}

/** Tells of the progress since it began. */
class Watch {
  readonly #progress: Progress;
  readonly #startedAt = performance.now();
  #madeBefore: number | undefined;

  constructor(progress: Progress) {
    this.#progress = progress;
  }

  tell(state: GenerationProgress): void {
    const madeBefore = (this.#madeBefore ??= state.done - 1);
    this.#progress.tell(() => progressText(state, { madeBefore, elapsedMs: performance.now() - this.#startedAt }));
  }
}

/** What of the configuration decides who answers, and how a model is asked. */
function labelOf({ config: { simulation, loop } }: OpenRuntime["config"], { kind }: GenerateOptions["plan"]): string {
  return JSON.stringify([simulation ?? null, kind === "played" ? loop : null]);
}

function tell({ out, err, options }: CommandContext, summary: GenerationSummary, file: string): void {
  const screen = file === "-" ? err : out;
  const peakBytes = process.resourceUsage().maxRSS * 1_024;
  if (options.json) screen.write(`${safeJson({ ...summary, peakBytes })}\n`);
  else
    for (const line of summaryLines(summary, { where: file === "-" ? "to standard output" : `in ${safeText(file)}`, peakBytes }))
      screen.print(line);
}

/** Why it ended early, and how to go on. */
function stopOf(
  { signal }: CommandContext,
  { stopped, summary, out }: { readonly stopped: ErrorInfo; readonly summary: GenerationSummary; readonly out: string },
): ToolError {
  const { existing, written, conversations } = summary;
  const reason = signal.aborted ? ToolError.fromUnknown(signal.reason).message : stopped.message;
  const goOn = out === "-" ? "" : ` ${existing + written} of ${conversations} conversations are in ${out}.`;
  return new ToolError(stopped.code, `${reason}${goOn}`, out === "-" ? {} : { hint: "The same command goes on where the file ends." });
}
