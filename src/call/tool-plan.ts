/** The facts about a tool that hold for all its calls: who answers, which steps apply, and which questions need not be asked. Made once. */
import type { Effects, ResolvedEffects } from "../core/effects.ts";
import type { Engine } from "../core/engine.ts";
import type { JsonObject } from "../core/base/json.ts";
import { whyNoHandler } from "../core/missing-handler.ts";
import type { Clock } from "../core/ports.ts";
import type { SlotLimit, Slots } from "../core/slots.ts";
import type { Limit } from "../policy/locks/limit.ts";
import type { CallSettings, Tool } from "../core/tool.ts";
import { localEngine } from "../engine/local.ts";
import { Circuit, type CircuitSettings } from "../policy/attempts/circuit.ts";
import { RetryBudget } from "../policy/attempts/retry-budget.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { InputFitter } from "../schema/repair/repair-input.ts";
import type { Validator } from "../schema/compile-schema.ts";
import type { CachePlan } from "./cache/cache-plan.ts";
import { createEffectsResolver, dependsOnInput } from "./admit/resolve-effects.ts";
import { liveRoute, type Route } from "./route.ts";
import { endsTurn, runsOnce } from "./admit/turn-rules.ts";

export interface ToolPlanOptions {
  readonly registered: RegisteredTool;
  readonly engine: Engine;
  readonly slots: Slots;
  /** Of the whole runtime. */
  readonly limit: Limit | undefined;
  readonly clock: Clock;
  readonly circuit: CircuitSettings | false;
  readonly onCircuit: (state: "open" | "half-open" | "closed") => void;
  readonly warn: (message: string) => void;
}

/** Of the answer to a provider that asks before it runs a tool: nothing is run here. */
const ANSWER_EFFECTS: Effects = Object.freeze({ reads: [], writes: [], external: true });

export class ToolPlan {
  readonly registered: RegisteredTool;
  readonly tool: Tool;
  readonly qualifiedName: string;
  readonly settings: Required<CallSettings>;
  readonly engine: Engine;
  /** The way of every call that is neither in a simulation nor in a branch. */
  readonly live: Route;
  /** Its own time limit, or its toolset's, holds for background jobs too. */
  readonly hasOwnTimeout: boolean;
  /** Nothing can run for it. */
  readonly isOnlyDescribed: boolean;
  /** There is something to ask before its input is looked at: it may be unusable, or need what the program or the model must provide. */
  readonly isGated: boolean;
  /** Undefined where the schema cannot be used: the tool is gated then. */
  readonly inputFitter: InputFitter | undefined;
  readonly outputValidator: Validator | undefined;
  readonly dropUnknownKeys: boolean;
  /** The likely reading of damaged arguments will do: it writes nothing. */
  readonly allowGuesses: boolean;
  /** Works out what a call touches. */
  readonly effectsOf: (input: JsonObject) => ResolvedEffects;
  /** The effects of every call; undefined where they depend on the input. */
  readonly effects: ResolvedEffects | undefined;
  /** Admitting a call of it changes what its turn admits after it. */
  readonly hasTurnRule: boolean;
  readonly caches: boolean;
  /** Calls of other processes use its resources as well. */
  readonly isShared: boolean;
  /** Its calls need no lock, no slot and no note of what they write: nothing to take before an attempt, nothing to give back. */
  readonly holdsNothing: boolean;
  readonly circuit: Circuit | undefined;
  readonly budget: RetryBudget;
  /** The slots that its calls need, the narrowest first: a call that waits for a wide one keeps out only calls like itself. */
  readonly limits: readonly SlotLimit[];
  /** How many slots each of them has, in the same order. */
  readonly slotCounts: readonly number[];
  /** The runtime has already said that this tool should declare its effects. */
  warnedUndeclared = false;
  /** The version of the registry in which its definition was last found. */
  foundAt = -1;
  #shownTool: Tool | undefined;
  /** How its results are cached; made with the first call of a tool that is. */
  cachePlan: CachePlan | undefined;

  constructor(options: ToolPlanOptions) {
    const { registered, engine } = options;
    const { tool, toolset, quarantine } = registered;
    this.registered = registered;
    this.tool = tool;
    this.qualifiedName = registered.qualifiedName;
    this.settings = registered.settings;
    this.engine = engine;
    this.live = liveRoute(engine);
    this.hasOwnTimeout = tool.timeoutMs !== undefined || toolset.defaults?.timeoutMs !== undefined;
    this.isOnlyDescribed = engine === localEngine() && whyNoHandler(tool) !== undefined;
    this.isGated =
      tool.providerExecuted === true ||
      tool.composite === true ||
      quarantine !== undefined ||
      (tool.requires ?? []).length > 0 ||
      tool.requiresReading === true;
    this.inputFitter = quarantine === undefined ? new InputFitter(registered.inputValidator) : undefined;
    this.outputValidator = quarantine === undefined ? registered.outputValidator : undefined;
    const { allowGuesses = false, dropUnknownKeys } = registered.repairs;
    this.allowGuesses = allowGuesses;
    this.dropUnknownKeys = dropUnknownKeys;
    const planned = tool.providerExecuted === true ? { ...tool, effects: ANSWER_EFFECTS } : tool;
    this.effectsOf = createEffectsResolver(planned, toolset.name, options.warn, options.clock);
    this.effects = dependsOnInput(planned.effects) ? undefined : this.effectsOf({});
    this.hasTurnRule = runsOnce(tool) || endsTurn(tool);
    this.caches = tool.cache !== undefined;
    this.isShared = toolset.shared === true;
    this.circuit = options.circuit === false ? undefined : new Circuit(options.circuit, options.clock, options.onCircuit);
    this.budget = new RetryBudget({ clock: options.clock });
    const named = quarantine === undefined ? namedLimits(registered, options.slots) : []; // a tool that cannot be used needs no slot
    const whole = options.limit === undefined ? [] : [{ limit: options.limit, count: options.limit.maxConcurrent }];
    const limited = tool.composite === true ? [] : [...named, ...whole];
    this.limits = limited.map(({ limit }) => limit);
    this.slotCounts = limited.map(({ count }) => count);
    const lock = this.effects?.lock;
    this.holdsNothing = lock !== undefined && lock.reads.length + lock.writes.length + limited.length === 0;
  }

  /** A frozen copy of the tool for its handlers, whose changes would affect every later call. */
  get shownTool(): Tool {
    if (this.#shownTool === undefined) {
      const { environment } = this.tool;
      this.#shownTool = Object.freeze({
        ...this.tool,
        ...(environment === undefined ? {} : { environment: Object.freeze({ ...environment }) }),
      });
    }
    return this.#shownTool;
  }
}

/** Of the tool and of its toolset, where they are set; overloads of one name count for themselves. */
function namedLimits(registered: RegisteredTool, slots: Slots): readonly { readonly limit: SlotLimit; readonly count: number }[] {
  const { tool, toolset, qualifiedName } = registered;
  const limits: { readonly limit: SlotLimit; readonly count: number }[] = [];
  const add = (name: string, count: number): void => void limits.push({ limit: slots.limit(name, count), count });
  if (tool.maxConcurrent !== undefined) add(`tool:${qualifiedName}${overloadMark(registered)}`, tool.maxConcurrent);
  if (toolset.maxConcurrent !== undefined) add(`toolset:${toolset.name}`, toolset.maxConcurrent);
  return limits;
}

/** Tells a tool from its overloads; nothing where its schema cannot be hashed, and so is no overload's. */
function overloadMark(registered: RegisteredTool): string {
  try {
    return `#${registered.fingerprint}`;
  } catch {
    return "";
  }
}
