/** What stands between a tool and its calls: its circuit, its limits, its retry budget, its effects. */
import { declaresNoWrites } from "../core/effects.ts";
import type { Engine } from "../core/engine.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { Clock } from "../core/ports.ts";
import type { SlotLimit, Slots } from "../core/slots.ts";
import { Circuit } from "../policy/circuit.ts";
import type { CircuitSettings } from "../policy/circuit.ts";
import { RetryBudget } from "../policy/retry-budget.ts";
import type { CachePlan } from "./cache-plan.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { createEffectsResolver } from "./resolve-effects.ts";
import type { CallEffects } from "./resolve-effects.ts";
import type { Route } from "./route.ts";

export interface ToolGuardsOptions {
  readonly registered: RegisteredTool;
  readonly engine: Engine;
  readonly slots: Slots;
  readonly clock: Clock;
  readonly circuit: CircuitSettings | false;
  readonly onCircuit: (state: "open" | "half-open" | "closed") => void;
  readonly warn: (message: string) => void;
}

export class ToolGuards {
  readonly engine: Engine;
  /** The way of every call that is neither in a simulation nor in a branch. */
  readonly liveRoute: Route;
  readonly circuit: Circuit | undefined;
  readonly budget: RetryBudget;
  readonly limit: SlotLimit | undefined;
  readonly toolsetLimit: SlotLimit | undefined;
  readonly effectsOf: (input: JsonObject) => CallEffects;
  readonly dropUnknownKeys: boolean;
  /** The likely reading of damaged arguments will do: it writes nothing. */
  readonly allowGuesses: boolean;
  /** The runtime has already said that this tool should declare its effects. */
  toldToDeclare = false;
  /** How its results are cached; made with the first call of a tool that is. */
  cachePlan: CachePlan | undefined;

  constructor(options: ToolGuardsOptions) {
    const { slots, registered } = options;
    const { tool, toolset } = registered;
    this.engine = options.engine;
    this.liveRoute = Object.freeze({ engine: options.engine, via: "live" });
    this.circuit = options.circuit === false ? undefined : new Circuit(options.circuit, options.clock, options.onCircuit);
    this.budget = new RetryBudget({ clock: options.clock });
    // Overloads of one name count for themselves.
    this.limit =
      tool.maxConcurrent === undefined
        ? undefined
        : slots.limit(`tool:${registered.qualifiedName}#${registered.fingerprint}`, tool.maxConcurrent);
    this.toolsetLimit = toolset.maxConcurrent === undefined ? undefined : slots.limit(`toolset:${toolset.name}`, toolset.maxConcurrent);
    this.effectsOf = createEffectsResolver(tool, toolset.name, options.warn, options.clock);
    this.allowGuesses = declaresNoWrites(tool.effects);
    this.dropUnknownKeys = tool.unknownKeys === undefined ? this.allowGuesses : tool.unknownKeys === "drop";
  }
}
