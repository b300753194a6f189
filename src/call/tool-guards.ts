/** What stands between a tool and its calls: its circuit, its limits, its retry budget, its effects. */
import { declaresNoWrites } from "../core/effects.ts";
import type { Engine } from "../core/engine.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { Clock } from "../core/ports.ts";
import { Circuit } from "../policy/circuit.ts";
import type { CircuitSettings } from "../policy/circuit.ts";
import { Limit } from "../policy/limit.ts";
import { RetryBudget } from "../policy/retry-budget.ts";
import type { CachePlan } from "./cache-plan.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { createEffectsResolver } from "./resolve-effects.ts";
import type { CallEffects } from "./resolve-effects.ts";
import type { Route } from "./route.ts";

export interface ToolGuardsOptions {
  readonly registered: RegisteredTool;
  readonly engine: Engine;
  readonly toolsetLimit: Limit | undefined;
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
  readonly limit: Limit | undefined;
  readonly toolsetLimit: Limit | undefined;
  readonly effectsOf: (input: JsonObject) => CallEffects;
  readonly dropUnknownKeys: boolean;
  /** The likely reading of damaged arguments will do: it writes nothing. */
  readonly allowGuesses: boolean;
  /** The runtime has already said that this tool should declare its effects. */
  toldToDeclare = false;
  /** How its results are cached; made with the first call of a tool that is. */
  cachePlan: CachePlan | undefined;

  constructor(options: ToolGuardsOptions) {
    const { tool, toolset } = options.registered;
    this.engine = options.engine;
    this.liveRoute = Object.freeze({ engine: options.engine, via: "live" });
    this.circuit = options.circuit === false ? undefined : new Circuit(options.circuit, options.clock, options.onCircuit);
    this.budget = new RetryBudget({ clock: options.clock });
    this.limit = tool.maxConcurrent === undefined ? undefined : new Limit(tool.maxConcurrent);
    this.toolsetLimit = options.toolsetLimit;
    this.effectsOf = createEffectsResolver(tool, toolset.name, options.warn, options.clock);
    this.allowGuesses = declaresNoWrites(tool.effects);
    this.dropUnknownKeys = tool.unknownKeys === undefined ? this.allowGuesses : tool.unknownKeys === "drop";
  }
}
