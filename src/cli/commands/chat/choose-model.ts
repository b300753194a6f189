/** The model that a command asks: that of the command line, else that of the configuration. */
import { buildModel, type BuiltModel } from "../../../config/build/build-model.ts";
import type { LoadedConfig } from "../../../config/load-config.ts";
import type { ModelConfig } from "../../../config/tables/model-config.ts";
import { ToolError } from "../../../core/error.ts";
import { REASONING_EFFORTS, checkReasoningEffort } from "../../../core/model.ts";
import { PROVIDERS } from "../../../model/providers.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import type { CommandContext } from "../../command.ts";
import { retryText, warn } from "../../open/open-runtime.ts";

export interface ChosenModel extends BuiltModel {
  readonly config: ModelConfig;
}

/**
 * Builds the model to ask. The settings of the configuration apply to the model that it names. To another model of `--model` only the settings for
 * reaching the provider apply, and only if it is the same provider.
 *
 * @throws ToolError `invalid_argument` for an unknown `--reasoning-effort`; `invalid_config` if no model is named, which lists the providers
 * whose keys are set
 */
export function chooseModel(context: CommandContext, { config }: LoadedConfig): ChosenModel {
  const { environment, options } = context;
  const name = options.model ?? config.model?.name;
  if (name === undefined) throw noModelError(environment);
  const chosen = withReasoningEffort(modelSettings(name, config.model), options.reasoningEffort);
  const built = buildModel(chosen, {
    environment,
    onWarnings: (warnings) => {
      for (const warning of warnings) warn(context, `${name}: ${warning}`);
    },
    onRetry: (retry) => warn(context, retryText(name, retry)),
    onNotes: (notes) => {
      for (const { kind, tool, path, note } of notes)
        if (kind !== "schema-loss")
          warn(context, `${name} does not get ${tool ?? "something"}${path === undefined ? "" : ` (${path})`}: ${note}`);
    },
  });
  return { ...built, config: chosen };
}

function withReasoningEffort(model: ModelConfig, effort: string | undefined): ModelConfig {
  const reasoningEffort = REASONING_EFFORTS.find((known) => known === effort);
  checkReasoningEffort(effort, "--reasoning-effort");
  return reasoningEffort === undefined ? model : { ...model, reasoningEffort };
}

function modelSettings(name: string, configured: ModelConfig | undefined): ModelConfig {
  if (configured === undefined || providerOf(configured.name) !== providerOf(name)) return { name };
  if (configured.name === name) return configured;
  const { baseUrl, apiKey, headers, stream, maxAttempts } = configured;
  return { name, ...omitUndefined({ baseUrl, apiKey, headers, stream, maxAttempts }) };
}

function providerOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf("/"))).toLowerCase();
}

function noModelError(environment: CommandContext["environment"]): ToolError {
  const ready = Object.entries(PROVIDERS).filter(([, { keyVariables }]) => keyVariables.some((name) => (environment[name] ?? "") !== ""));
  const keys = ready.length === 0 ? "" : ` Keys are set for ${ready.map(([provider]) => provider).join(", ")}.`;
  return new ToolError("invalid_config", `No model is named.${keys}`, {
    hint: 'Name one: --model anthropic/claude-sonnet-5, or model.name = "ollama/qwen3" in the configuration.',
  });
}
