import type { NamedChain } from "../../../config/toolset/chains.ts";
import type { LoadedConfig } from "../../../config/load-config.ts";
import { qualifiedName } from "../../../core/call.ts";
import { findNearNames } from "../../../core/base/near-names.ts";
import { ToolError } from "../../../core/error.ts";

/** Returns the chains of a configuration by qualified name, without those of disabled toolsets. */
export function listChains({ config }: LoadedConfig): ReadonlyMap<string, NamedChain> {
  const chains = new Map<string, NamedChain>();
  for (const [toolset, entry] of config.toolsets)
    if (entry.type === "chains" && entry.enabled) for (const [name, chain] of entry.chains) chains.set(qualifiedName(toolset, name), chain);
  return chains;
}

/** Finds a chain by name. The toolset may be left out if only one chain has the name. @throws ToolError `not_found` */
export function findChain(config: LoadedConfig, name: string): readonly [name: string, chain: NamedChain] {
  const chains = listChains(config);
  const [only, ...others] = [...chains].filter(([qualified]) => qualified === name || qualified.endsWith(`::${name}`));
  if (only !== undefined && others.length === 0) return only;
  const names = only === undefined ? findNearNames(name, [...chains.keys()]) : [only, ...others].map(([qualified]) => qualified);
  const listed = names.length > 0 ? names : [...chains.keys()].slice(0, 10);
  throw new ToolError("not_found", `There is no chain ${JSON.stringify(name)} in ${config.path}.`, {
    hint:
      listed.length === 0
        ? 'Write one as [toolsets.trips] with type = "chains". haft chain --help says more.'
        : `${only === undefined ? "Known chains" : "More than one has that name"}: ${listed.join(", ")}.`,
  });
}
