/** The dependencies of opening and closing toolsets. */
import type { Engine } from "../../core/engine.ts";
import type { ToolsetEvent } from "../../core/event.ts";
import type { Ports } from "../../core/ports.ts";
import type { ToolSource } from "../../core/source.ts";
import type { ToolPins } from "../../core/tool-pins.ts";
import type { Toolset } from "../../core/toolset.ts";
import type { Registry } from "../registry.ts";

export interface LifecycleOptions {
  readonly registry: Registry;
  /** Toolsets that are already in the registry; they are opened and closed with the others. @default none */
  readonly registered?: readonly Toolset[];
  readonly ports: Ports;
  readonly emit: (event: ToolsetEvent) => void;
  /** Whether one failure closes all and rejects. @default false */
  readonly strict?: boolean;
  readonly localEngine: Engine;
  readonly sources?: readonly ToolSource[];
  readonly pins?: ToolPins | undefined;
  /** Resolves when no started call uses the engine any more. */
  readonly whenUnused?: (engine: Engine) => Promise<void>;
}
