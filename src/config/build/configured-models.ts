/** All models that a configuration names. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { formatForOperator } from "../../core/error.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import { splitSpec } from "../../model/provider-names.ts";
import { checkAddress } from "../../model/model-from.ts";
import { textFormat } from "../../wire/text/formats.ts";
import { toRegistryEntries, type HaftConfig } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";
import type { ModelConfig } from "../tables/model-config.ts";
import type { DelegatesConfig } from "../toolset/delegates.ts";

/** A model, and the key that names it or holds its settings. */
interface ConfiguredModel {
  readonly path: KeyPath;
  readonly model: ModelConfig;
}

/** Returns every model of a configuration: of its loop, simulations, engines, enrichments and enabled delegates. */
export function listModels({ model, simulation, engines, enrichments, toolsets, registry }: HaftConfig): readonly ConfiguredModel[] {
  return [
    ...(model === undefined ? [] : [{ path: ["model"], model }]),
    ...(simulation?.model === undefined ? [] : [{ path: ["simulation", "model"], model: simulation.model }]),
    ...[...engines].flatMap(([name, engine]) =>
      engine.type === "lm" ? [{ path: ["engines", name, engine.modelKey], model: engine.model }] : [],
    ),
    ...toRegistryEntries({ toolsets, registry }).flatMap(({ path, toolset }) =>
      toolset.enabled && toolset.type === "delegates" ? delegateModels(toolset, path) : [],
    ),
    ...enrichments.flatMap((enrichment) =>
      enrichment.type === "output_parameters" ? [{ path: [...enrichment.path, enrichment.lm.modelKey], model: enrichment.lm.model }] : [],
    ),
  ];
}

function delegateModels({ delegates }: DelegatesConfig, path: KeyPath): readonly ConfiguredModel[] {
  return [...delegates].flatMap(([name, { model }]) =>
    model === undefined ? [] : [{ path: [...path, "delegates", name, "model"], model }],
  );
}

/**
 * Returns the problems of models that could not be made even with a key: an unknown provider or text format, a missing address. One line each, with
 * the place.
 *
 * Models are made late, so commands that use none do not need their keys.
 */
export function modelProblems({ config, environment, problems }: LoadedConfig): readonly string[] {
  const found = problems();
  for (const { path, model } of listModels(config)) {
    const { name, baseUrl, textFormat: format } = model;
    try {
      checkAddress({ ...splitSpec(name), ...omitUndefined({ baseUrl }) }, environment);
      if (typeof format === "string") textFormat(format);
    } catch (thrown: unknown) {
      found.add(path, formatForOperator(thrown));
    }
  }
  return found.formatLines();
}
