/** Runs a program from a configuration file, and lets the program add engines and sources for it: `haft/config`. @packageDocumentation */
import { checkString } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Store } from "../core/store/store.ts";
import type { Toolset } from "../core/toolset.ts";
import type { DocumentationOverrides } from "../registry/documentation.ts";
import type { RuntimeOptions } from "../runtime/runtime.ts";
import { policyOptions } from "./tables/policy-options.ts";
import { buildAnswers } from "./build/build-answers.ts";
import { BUILD_OPTIONS, buildRuntimeParts, type BuildOptions } from "./build/build-runtime-parts.ts";
import { buildArtifacts, buildStore } from "./build/build-store.ts";
import { readDocumentation } from "./tables/documentation-config.ts";
import { lockPath, readLock } from "./trust/lock-file.ts";
import { LOAD_OPTIONS, loadConfig, type LoadOptions } from "./load-config.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { infoToolset } from "../toolsets/info.ts";
import { toolPins } from "../trust/tool-pins.ts";

export { buildRuntimeParts } from "./build/build-runtime-parts.ts";
export type { BuildOptions, RuntimeParts } from "./build/build-runtime-parts.ts";
export { descriptorSource } from "./tools/descriptor-source.ts";
export type { DescriptorSourceOptions } from "./tools/descriptor-source.ts";
export type { EnrichmentConfig } from "./tables/enrichment-config.ts";
export type { EngineFactory, EnrichmentFactory, ExtensionContext, Extensions, SourceFactory } from "./extensions.ts";
export { fileSource } from "./tools/file-source.ts";
export type { CommonToolset, FileSourceOptions } from "./tools/file-source.ts";
export type { HaftConfig, RuntimeConfig } from "./haft-config.ts";
export { lockPath, readLock } from "./trust/lock-file.ts";
export { toolPins } from "../trust/tool-pins.ts";
export type { LockData, PinnedField, PinnedTool, PinnedToolset, ServerClaim } from "../trust/pinned-tool.ts";
export { findConfig, loadConfig } from "./load-config.ts";
export type { LoadOptions, LoadedConfig } from "./load-config.ts";
export type { DefaultModel } from "./toolset/toolset-type.ts";
export type { ToolMemory } from "../engine/known-tools.ts";
export type { Environment, SentVariable } from "./variables.ts";
export type { KeyPath } from "../documents/key-positions.ts";

/** Options for loading a configuration and building its runtime. */
export type ConfiguredRuntimeOptions = LoadOptions & BuildOptions;

/**
 * Returns the options for `createRuntime` from a configuration file: toolsets, sources, settings, policies, store, the engines that answer in place
 * of tools, and the pins of the `haft.lock` next to it. Nothing is opened. The caller must decide whether the configuration is trusted to start
 * programs.
 *
 * @throws ToolError `invalid_config` with every problem and its place
 */
export async function configuredRuntime(path: string, options: ConfiguredRuntimeOptions = {}): Promise<RuntimeOptions> {
  checkString(path, "configuredRuntime()", "the path of a file");
  checkKnownKeys(options, { ...LOAD_OPTIONS, ...BUILD_OPTIONS }, "configuredRuntime()");
  const { environment, extensions, allowVariables, foreignKeys, ...building } = options;
  const loaded = await loadConfig(path, omitUndefined({ environment, extensions, allowVariables, foreignKeys }));
  const store: Store | undefined = buildStore(loaded);
  const { toolsets, sources } = await buildRuntimeParts(loaded, { ...omitUndefined({ store }), ...building });
  const artifacts = buildArtifacts(loaded.config, store);
  const lock = await readLock(lockPath(path));
  const pins = lock === undefined ? undefined : toolPins(lock);
  const manual = await readDocumentation(loaded.config.documentation);
  const built = loaded.config.simulation === undefined ? {} : await buildAnswers(loaded);
  return {
    ...policyOptions(loaded.config),
    toolsets: withInfoToolset(toolsets, manual),
    sources,
    ...omitUndefined({ store, artifacts, pins, ...built }),
  };
}

/** Adds the toolset of `info` if there are overrides, unless the configuration has a toolset of that name. */
function withInfoToolset(toolsets: readonly Toolset[], overrides: DocumentationOverrides): readonly Toolset[] {
  const manual = infoToolset({ overrides });
  return overrides.size === 0 || toolsets.some(({ name }) => name === manual.name) ? toolsets : [...toolsets, manual];
}
