/** From the command line to the plan of a generation. */
import { resolve } from "node:path";
import { standInsOf } from "../../config/build-answers.ts";
import { configuredLoop } from "../../config/build-model.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import { ToolError } from "../../core/error.ts";
import { isReal } from "../../core/answer-source.ts";
import type { ConversationPlan } from "../../generate/conversations/conversation-plan.ts";
import type { ConversationTemplate } from "../../generate/conversations/conversation-template.ts";
import { readTemplates } from "../../generate/conversations/read-templates.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { CommandContext } from "../command.ts";
import { readInput } from "../read-input.ts";
import { chosenModel } from "../chat/chosen-model.ts";

const DEFAULT_COUNT = 10;

/** The templates of the file that was named; undefined where none was. @throws ToolError for a file that has none, and for options that it does not go with */
export async function readTemplateFile(context: CommandContext): Promise<readonly ConversationTemplate[] | undefined> {
  const [file] = context.args;
  const { calls, model, system, out } = context.options;
  if (file === undefined) {
    const stray = model !== undefined ? "--model" : system !== undefined ? "--system" : undefined;
    if (stray === undefined) return undefined;
    throw new ToolError("invalid_argument", `${stray} needs a file of templates: the model answers what their users say.`, {
      hint: "For example: haft generate questions.jsonl --model ollama/qwen3 --out train.jsonl",
    });
  }
  if (calls !== undefined)
    throw new ToolError("invalid_argument", "--calls is for conversations that are drawn; the templates say what is called.", {
      hint: `Leave out ${JSON.stringify(file)} or --calls.`,
    });
  if (out !== undefined && file !== "-" && resolve(out) === resolve(file))
    throw new ToolError("invalid_argument", "--out names the file of the templates, which would be lost.", { hint: "Take another name." });
  const templates = readTemplates(await readInput(context, file), file === "-" ? "standard input" : file);
  return system === undefined ? templates : templates.map((template) => ({ ...template, system: template.system ?? system }));
}

/** Without a file tools are drawn; a file without lines of the assistant is played by a model. @throws ToolError as `chosenModel` does */
export function planFor(
  context: CommandContext,
  { config, templates }: { readonly config: LoadedConfig; readonly templates: readonly ConversationTemplate[] | undefined },
): ConversationPlan {
  const { count, calls, model } = context.options;
  if (templates === undefined) return { kind: "sampled", count: count ?? DEFAULT_COUNT, ...omitUndefined({ calls }) };
  const isScripted = templates.some(({ messages }) => messages.some(({ role }) => role === "assistant"));
  if (isScripted && model === undefined) return { kind: "scripted", templates, ...omitUndefined({ count }) };
  const chosen = chosenModel(context, config);
  const { system: _asked, ...loop } = configuredLoop(chosen.config, config.config.loop);
  const { system } = config.config.loop;
  return { kind: "played", templates, model: chosen.model, loop: { ...loop, ...omitUndefined({ system }) }, ...omitUndefined({ count }) };
}

/** Whether every answer is there at once: no tool is real, and no model is asked. */
export function takesNoTime(loaded: LoadedConfig, { kind }: ConversationPlan): boolean {
  const sources = [...(loaded.config.simulation?.sources ?? []).flatMap(({ from }) => from), ...standInsOf(loaded)];
  const engines = [...loaded.config.engines.values()];
  const asksModel = sources.includes("lm") || engines.some(({ type }) => type === "lm" || type === "other");
  return kind !== "played" && !asksModel && !sources.some(isReal);
}
