/** Makes the model that a configuration names, and the options of its loop. */
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
  /** The configuration key that holds the API key, for messages. @default "model.apiKey" */
  readonly keyName?: string;
  /** Called with warnings about calls that a message writes as text. */
  readonly onWarnings?: (warnings: readonly string[]) => void;
}

export interface BuiltModel {
  readonly model: Model;
  /** Counts the requests, and their cost if the prices are known. */
  readonly meter: UsageMeter;
}

/**
 * Makes the model of a configuration.
 *
 * @throws ToolError `invalid_argument` for a name without provider, and for an unknown provider or text format; `invalid_config` if a key or an
 * address is missing, naming the variable
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
  const known = modelFrom(spec, { environment }).name; // the name under which a meter counts
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

/** Returns where the key comes from, for a user whose key is missing or refused. */
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

/** Returns the options of a loop that a configuration sets. */
export function toLoopOptions(
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
