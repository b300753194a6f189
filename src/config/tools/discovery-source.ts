/** Tools that one engine lists and another answers, such as those of a server whose calls are simulated. */
import type { Engine } from "../../core/engine.ts";
import type { Clock } from "../../core/ports.ts";
import type { ToolSource } from "../../core/source.ts";
import type { CommonToolset } from "./file-source.ts";

export interface DiscoverySourceOptions {
  /** The namespace of the tools. */
  readonly name: string;
  /** The engine that is opened for each listing and closed afterwards. */
  readonly lister: Engine;
  /** The settings of the toolset, including the engine that answers. */
  readonly toolset: CommonToolset;
  readonly clock: Clock;
}

export function discoverySource({ name, lister, toolset, clock }: DiscoverySourceOptions): ToolSource {
  return {
    name,
    async load({ signal, log }) {
      try {
        const tools = (await lister.open?.({ toolset: name, signal, log, clock, changed() {} })) ?? [];
        return [{ ...toolset, name, tools }];
      } finally {
        await lister.close?.();
      }
    },
  };
}
