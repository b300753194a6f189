/** What a program needs to run from a configuration file, or to bring engines and sources that one may name: `haft/config`. @packageDocumentation */
import type { Store } from "../core/store.ts";
import type { RuntimeOptions } from "../runtime/runtime.ts";
import { buildAnswers } from "./build-answers.ts";
import { buildRuntimeParts, type BuildOptions } from "./build-runtime-parts.ts";
import { buildStore } from "./build-store.ts";
import { lockPath, readLock } from "./lock-file.ts";
import { loadConfig, type LoadOptions } from "./load-config.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { toolPins } from "../trust/tool-pins.ts";

export { buildRuntimeParts } from "./build-runtime-parts.ts";
export type { BuildOptions, RuntimeParts } from "./build-runtime-parts.ts";
export { descriptorSource } from "./descriptor-source.ts";
export type { DescriptorSourceOptions } from "./descriptor-source.ts";
export type { EngineFactory, ExtensionContext, Extensions, SourceFactory } from "./extensions.ts";
export { fileSource } from "./file-source.ts";
export type { CommonToolset, FileSourceOptions } from "./file-source.ts";
export type { HaftConfig, RuntimeConfig } from "./haft-config.ts";
export { lockPath, readLock } from "./lock-file.ts";
export { toolPins } from "../trust/tool-pins.ts";
export type { LockData } from "../trust/pinned-tool.ts";
export { findConfig, loadConfig } from "./load-config.ts";
export type { LoadOptions, LoadedConfig } from "./load-config.ts";

/** How a configuration is loaded, and what its runtime is built with. */
export type ConfiguredRuntimeOptions = LoadOptions & BuildOptions;

/**
 * The options for `createRuntime` that a configuration file says: toolsets, sources, settings, policies, store, who answers
 * in place of tools, and the pins of the `haft.lock` beside it. Nothing is opened. That it may start programs is for the caller to know.
 *
 * @throws ToolError `invalid_config` with every problem and its place
 */
export async function configuredRuntime(path: string, options: ConfiguredRuntimeOptions = {}): Promise<RuntimeOptions> {
  const { extensions, ...building } = options;
  const loaded = await loadConfig(path, { ...options, ...(extensions === undefined ? {} : { extensions }) });
  const { toolsets, sources } = await buildRuntimeParts(loaded, building);
  const { runtime, retry, circuit, permission, approval, cache } = loaded.config;
  const store: Store | undefined = buildStore(loaded);
  const lock = await readLock(lockPath(path));
  const pins = lock === undefined ? undefined : toolPins(lock);
  const built = loaded.config.simulation === undefined ? {} : await buildAnswers(loaded);
  return { ...runtime, retry, circuit, permission, approval, cache, toolsets, sources, ...omitUndefined({ store, pins, ...built }) };
}
