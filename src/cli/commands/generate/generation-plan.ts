/** Makes the plan of a generation from the command line. */
import { listStandIns } from "../../../config/build/build-answers.ts";
import { toLoopOptions } from "../../../config/build/build-model.ts";
import type { LoadedConfig } from "../../../config/load-config.ts";
import { ToolError } from "../../../core/error.ts";
import { isRealSource } from "../../../core/answers/answer-source.ts";
import { SAMPLE_KINDS, type ConversationPlan } from "../../../generate/conversations/conversation-plan.ts";
import type { ConversationTemplate } from "../../../generate/conversations/conversation-template.ts";
import { modelWriter } from "../../../generate/conversations/model-writer.ts";
import type { VirtualClock } from "../../../generate/conversations/virtual-clock.ts";
import type { ConversationWriter } from "../../../generate/conversations/conversation-writer.ts";
import type { RecordedSource } from "../../../generate/conversations/recorded/recorded-plan.ts";
import type { Redaction } from "../../../generate/conversations/recorded/redaction.ts";
import type { UsageMeter } from "../../../model/usage-meter.ts";
import { parseChoice } from "../../command-line.ts";
import { readTemplates } from "../../../generate/conversations/read-templates.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import type { CommandContext } from "../../command.ts";
import { readInput } from "../../input/read-input.ts";
import { chooseModel } from "../chat/choose-model.ts";

const DEFAULT_COUNT = 10;

/** Reads the file of templates, if one is named. @throws ToolError for a file without templates, and for options that do not go with it */
export async function readTemplateFile(context: CommandContext): Promise<Material> {
  const [file] = context.args;
  const { calls, sample, system } = context.options;
  if (file === undefined) {
    if (system === undefined) return { kind: "drawn" };
    throw new ToolError("invalid_argument", "--system needs a file of templates: the model answers what their users say.", {
      hint: "For example: haft generate questions.jsonl --model ollama/qwen3 --out train.jsonl",
    });
  }
  const stray = calls !== undefined ? "--calls" : sample !== undefined ? "--sample" : undefined;
  if (stray !== undefined)
    throw new ToolError("invalid_argument", `${stray} is for conversations that are drawn; the templates say what is called.`, {
      hint: `Leave out ${JSON.stringify(file)} or ${stray}.`,
    });
  const templates = readTemplates(await readInput(context, file), file === "-" ? "standard input" : file);
  const steered = system === undefined ? templates : templates.map((template) => ({ ...template, system: template.system ?? system }));
  return { kind: "templates", templates: steered };
}

/** The plan, and the usage meter of its model. */
export interface ChosenPlan {
  readonly plan: ConversationPlan;
  readonly meter: UsageMeter | undefined;
}

/** The material for the conversations, as the command line names it. */
export type Material =
  | { readonly kind: "drawn" }
  | { readonly kind: "templates"; readonly templates: readonly ConversationTemplate[] }
  | { readonly kind: "recordings"; readonly recordings: readonly RecordedSource[]; readonly redact: Redaction | undefined };

export interface PlanInputs {
  readonly config: LoadedConfig;
  readonly material: Material;
  /** The clock of the generation, so that it does not skip time while a model is asked. */
  readonly clock: VirtualClock;
}

/**
 * Makes the plan. Without a file, tools are drawn, and the model of `--model` writes the texts. A model plays a file that has no assistant lines.
 *
 * @throws ToolError as `chooseModel` does; `invalid_argument` for an unknown `--sample`
 */
export function createPlan(context: CommandContext, { config, material, clock }: PlanInputs): ChosenPlan {
  const { count, calls, model, sample } = context.options;
  if (material.kind === "recordings") return createRecordedPlan(context, { config, material, clock });
  if (material.kind === "drawn") {
    const kind = sample === undefined ? undefined : parseChoice("sample", sample, SAMPLE_KINDS);
    const drawn = { kind: "sampled", count: count ?? DEFAULT_COUNT, ...omitUndefined({ calls, sample: kind }) } as const;
    if (model === undefined) return { plan: drawn, meter: undefined };
    const { writer, meter } = createWriter(context, { config, clock });
    return { plan: { ...drawn, writer }, meter };
  }
  const { templates } = material;
  const isScripted = templates.some(({ messages }) => messages.some(({ role }) => role === "assistant"));
  if (isScripted && model === undefined) return { plan: { kind: "scripted", templates, ...omitUndefined({ count }) }, meter: undefined };
  const chosen = chooseModel(context, config);
  const { system: _asked, ...options } = toLoopOptions(chosen.config, config.config.loop);
  const loop = { ...options, ...omitUndefined({ system: config.config.loop.system }) };
  const plan = { kind: "played", templates, model: clock.attend(chosen.model), loop, ...omitUndefined({ count }) } as const;
  return { plan, meter: chosen.meter };
}

/** Makes the writer that asks the model of `--model`. */
function createWriter(
  context: CommandContext,
  { config, clock }: Pick<PlanInputs, "config" | "clock">,
): { readonly writer: ConversationWriter; readonly meter: UsageMeter } {
  const { model, meter, config: chosen } = chooseModel(context, config);
  const { maxOutputTokens, temperature, reasoningEffort } = chosen;
  const options = omitUndefined({ maxOutputTokens, temperature, reasoningEffort });
  return { writer: modelWriter({ model: clock.attend(model), ...options }), meter };
}

function createRecordedPlan(
  context: CommandContext,
  { config, material, clock }: PlanInputs & { readonly material: Material & { readonly kind: "recordings" } },
): ChosenPlan {
  const { simulation, retry } = config.config;
  const { count, model, seed = simulation?.seed } = context.options;
  const { recordings, redact } = material;
  const rules = simulation?.faults ?? [];
  const faults = rules.length === 0 ? undefined : { rules, ...omitUndefined({ seed }) };
  const written = model === undefined ? undefined : createWriter(context, { config, clock });
  const parts = omitUndefined({ redact, count, faults, retry, writer: written?.writer });
  return { plan: { kind: "recorded", recordings, clock, ...parts }, meter: written?.meter };
}

/** Whether every answer is available at once, apart from those of models, which the virtual clock waits for: no tool is real. */
export function answersInstantly(loaded: LoadedConfig, { kind }: ConversationPlan): boolean {
  if (kind === "recorded") return true;
  const sources = [...(loaded.config.simulation?.sources ?? []).flatMap(({ from }) => from), ...listStandIns(loaded)];
  const engines = [...loaded.config.engines.values()];
  return !engines.some(({ type }) => type === "other") && !sources.some(isRealSource);
}
