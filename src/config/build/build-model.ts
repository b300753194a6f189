/** Makes the model that a configuration names, and the limits of its loop. */
import { ToolError } from "../../core/error.ts";
import type { Model } from "../../core/model.ts";
import type { LoopOptions } from "../../compose/loop-options.ts";
import { splitSpec } from "../../model/provider-names.ts";
import { modelFrom, type ModelContext, type ModelSpec } from "../../model/model-from.ts";
import { findProvider } from "../../model/providers.ts";
import { textToolsModel } from "../../model/text-model.ts";
import { UsageMeter, costOf } from "../../model/usage-meter.ts";
import type { LoopConfig, ModelConfig } from "../tables/model-config.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { delimitedFormat } from "../../wire/text/formats.ts";
import { resolveVariables, type Environment } from "../variables.ts";

export interface BuildModelOptions extends Pick<ModelContext, "fetch" | "onRetry" | "onNotes"> {
  readonly environment: Environment;
  /** The name of the key's variable in the configuration. @default "model.apiKey" */
  readonly keyName?: string;
  /** Called with what was odd about the calls of a message in text. */
  readonly onWarnings?: (warnings: readonly string[]) => void;
}

export interface BuiltModel {
  readonly model: Model;
  /** Counts what it is asked, and what that costs where the prices are known. */
  readonly meter: UsageMeter;
}

/**
 * The model of a configuration.
 *
 * @throws ToolError `invalid_argument` for a name without provider, and a provider or a text format that is not known; `invalid_config`
 * where a key or an address is missing, naming the variable
 */
export function buildModel(config: ModelConfig, options: BuildModelOptions): BuiltModel {
  const { environment, keyName = "model.apiKey", onWarnings, ...context } = options;
  const { name, prices, currency, textFormat, bodyArguments, apiKey, maxAttempts } = config;
  const { baseUrl, headers, stream, strict } = config;
  const named = splitSpec(name);
  const spec: ModelSpec = {
    ...named,
    ...omitUndefined({ baseUrl, headers, stream, strict, keyHint: keyHintOf(named.provider, { apiKey, keyName }) }),
    ...(apiKey === undefined ? {} : { apiKey: keyOf(apiKey, { environment, keyName }) }),
    ...(maxAttempts === undefined ? {} : { retry: { maxAttempts } }),
  };
  const known = modelFrom(spec, { environment }).name; // what a meter counts by
  const meter = new UsageMeter({
    ...(prices === undefined ? {} : { prices: { [known]: prices } }),
    ...(currency === undefined ? {} : { currency }),
  });
  const model = modelFrom(spec, { environment, meter, ...context });
  if (textFormat === undefined) return { model, meter };
  const format = typeof textFormat === "string" ? textFormat : delimitedFormat("delimited", textFormat);
  return { model: textToolsModel(model, { format, ...omitUndefined({ bodyArguments, onWarnings }) }), meter };
}

function keyOf(written: string, { environment, keyName }: { readonly environment: Environment; readonly keyName: string }): string {
  const resolved = resolveVariables(written, environment);
  if ("text" in resolved) return resolved.text;
  throw new ToolError("invalid_config", `${keyName}: ${resolved.problem}`);
}

/** Where the key comes from, for a user whose key is missing or refused. */
function keyHintOf(
  provider: string,
  { apiKey, keyName }: { readonly apiKey: string | undefined; readonly keyName: string },
): string | undefined {
  if (apiKey !== undefined) return `The key is that of ${apiKey}, named by ${keyName}.`;
  const variables = findProvider(provider)?.provider.keyVariables;
  return (
    variables && `Set ${variables.join(" or ")}, or name the variable that holds the key in the configuration: ${keyName} = "env:NAME".`
  );
}

/** The options of a loop that a configuration sets. */
export function configuredLoop(
  model: Partial<ModelConfig>,
  { system, earlyDispatch, ...limits }: LoopConfig,
): Pick<
  LoopOptions,
  "system" | "earlyDispatch" | "limits" | "parallelCalls" | "maxOutputTokens" | "temperature" | "reasoningEffort" | "cost"
> {
  const { parallelCalls, maxOutputTokens, temperature, reasoningEffort, contextTokens, prices } = model;
  return {
    ...omitUndefined({ system, earlyDispatch, parallelCalls, maxOutputTokens, temperature, reasoningEffort }),
    limits: { ...limits, ...omitUndefined({ contextTokens }) },
    ...(prices === undefined ? {} : { cost: (usage) => costOf(usage, prices) }),
  };
}
