/**
 * The facts about a tool that are the same for all its calls: which engine answers, which steps apply, which checks can be skipped. Computed once.
 */
import type { Effects, ResolvedEffects } from "../core/resources/effects.ts";
import type { Engine } from "../core/engine.ts";
import type { JsonObject } from "../core/base/json.ts";
import { findNoHandlerReason } from "../core/answers/missing-handler.ts";
import type { Clock } from "../core/ports.ts";
import type { SlotLimit, Slots } from "../core/resources/slots.ts";
import type { Limit } from "../policy/locks/limit.ts";
import type { CallSettings, Tool } from "../core/tool.ts";
import { localEngine } from "../engine/local.ts";
import { isWithoutCircuit } from "../core/answers/no-circuit.ts";
import { onlyMakesCalls } from "../core/not-started-error.ts";
import { Circuit, type CircuitSettings } from "../policy/attempts/circuit.ts";
import { RetryBudget } from "../policy/attempts/retry-budget.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { InputRepairer } from "../schema/repair/repair-input.ts";
import type { Validator } from "../schema/compile-schema.ts";
import type { CachePlan } from "./cache/cache-plan.ts";
import { createEffectsResolver, dependsOnInput } from "./admit/resolve-effects.ts";
import { liveRoute, type Route } from "./route.ts";
import { endsTurn, runsOncePerTurn } from "./admit/turn-rules.ts";

export interface ToolPlanOptions {
  readonly registered: RegisteredTool;
  readonly engine: Engine;
  readonly slots: Slots;
  /** The limit of the whole runtime. */
  readonly limit: Limit | undefined;
  readonly clock: Clock;
  readonly circuit: CircuitSettings | false;
  readonly onCircuit: (state: "open" | "half-open" | "closed") => void;
  readonly warn: (message: string) => void;
}

/** Effects of answering a provider that asks before it runs a tool: nothing is run here. */
const ANSWER_EFFECTS: Effects = Object.freeze({ reads: [], writes: [], external: true });

export class ToolPlan {
  readonly registered: RegisteredTool;
  readonly tool: Tool;
  readonly qualifiedName: string;
  readonly settings: Required<CallSettings>;
  readonly engine: Engine;
  /** The route of every call outside of simulations and branches. */
  readonly liveRoute: Route;
  /** The tool or its toolset sets a timeout, which then applies to background jobs too. */
  readonly hasOwnTimeout: boolean;
  /** The tool has no handler to run. */
  readonly hasNoHandler: boolean;
  /** Something is checked before the input: whether the tool is usable, and what the program must provide or the model must have read. */
  readonly isGated: boolean;
  /** Undefined if the schema is invalid; the tool is then gated. */
  readonly inputRepairer: InputRepairer | undefined;
  readonly outputValidator: Validator | undefined;
  readonly dropUnknownKeys: boolean;
  /** A damaged input may be repaired by guessing, as the tool writes nothing. */
  readonly allowGuesses: boolean;
  readonly effectsOf: (input: JsonObject) => ResolvedEffects;
  /** The effects of every call; undefined if they depend on the input. */
  readonly effects: ResolvedEffects | undefined;
  /** Calls of the tool affect which calls their turn admits afterwards. */
  readonly hasTurnRule: boolean;
  readonly caches: boolean;
  /** Its resources are shared with other processes. */
  readonly isShared: boolean;
  /** Its calls need no lock, no slot and no record of their writes: nothing to take before an attempt or to release after it. */
  readonly needsNoResources: boolean;
  readonly circuit: Circuit | undefined;
  readonly budget: RetryBudget;
  /** The limits that its calls need a slot of, narrowest first: while waiting for a wide one, a call blocks only calls of its tool or toolset. */
  readonly limits: readonly SlotLimit[];
  /** The number of slots of each limit, in the same order. */
  readonly slotCounts: readonly number[];
  /** The warning that this tool should declare its effects was logged. */
  hasWarnedUndeclared = false;
  /** The version of the registry at which its definition was last found unchanged. */
  checkedVersion = -1;
  #shownTool: Tool | undefined;
  /** How its results are cached; created with the first call of a tool with `cache`. */
  cachePlan: CachePlan | undefined;

  constructor(options: ToolPlanOptions) {
    const { registered, engine } = options;
    const { tool, toolset, quarantine } = registered;
    this.registered = registered;
    this.tool = tool;
    this.qualifiedName = registered.qualifiedName;
    this.settings = registered.settings;
    this.engine = engine;
    this.liveRoute = liveRoute(engine);
    this.hasOwnTimeout = tool.timeoutMs !== undefined || toolset.defaults?.timeoutMs !== undefined;
    this.hasNoHandler = engine === localEngine() && findNoHandlerReason(tool) !== undefined;
    this.isGated =
      tool.providerExecuted === true ||
      tool.composite === true ||
      quarantine !== undefined ||
      (tool.requires ?? []).length > 0 ||
      tool.requiresReading === true;
    this.inputRepairer = quarantine === undefined ? new InputRepairer(registered.inputValidator) : undefined;
    this.outputValidator = quarantine === undefined ? registered.outputValidator : undefined;
    const { allowGuesses = false, dropUnknownKeys } = registered.repairs;
    this.allowGuesses = allowGuesses;
    this.dropUnknownKeys = dropUnknownKeys;
    const planned = tool.providerExecuted === true ? { ...tool, effects: ANSWER_EFFECTS } : tool;
    this.effectsOf = createEffectsResolver({ tool: planned, toolsetName: toolset.name, warn: options.warn, clock: options.clock });
    this.effects = dependsOnInput(planned.effects) ? undefined : this.effectsOf({});
    this.hasTurnRule = runsOncePerTurn(tool) || endsTurn(tool);
    this.caches = tool.cache !== undefined;
    this.isShared = toolset.shared === true;
    const hasCircuit = !onlyMakesCalls(tool.execute) && !isWithoutCircuit(tool, engine); // the calls that it makes have their own
    this.circuit = options.circuit === false || !hasCircuit ? undefined : new Circuit(options.circuit, options.clock, options.onCircuit);
    this.budget = new RetryBudget({ clock: options.clock });
    const named = quarantine === undefined ? namedLimits(registered, options.slots) : []; // an unusable tool needs no slot
    const whole = options.limit === undefined ? [] : [{ limit: options.limit, count: options.limit.maxConcurrent }];
    const limited = tool.composite === true ? [] : [...named, ...whole];
    this.limits = limited.map(({ limit }) => limit);
    this.slotCounts = limited.map(({ count }) => count);
    const lock = this.effects?.lock;
    this.needsNoResources = lock !== undefined && lock.reads.length + lock.writes.length + limited.length === 0;
  }

  /** A frozen copy of the tool for its handlers, so that their changes cannot affect later calls. */
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

/** The limits of the tool and of its toolset, if set; each overload has its own. */
function namedLimits(registered: RegisteredTool, slots: Slots): readonly { readonly limit: SlotLimit; readonly count: number }[] {
  const { tool, toolset, qualifiedName } = registered;
  const limits: { readonly limit: SlotLimit; readonly count: number }[] = [];
  const add = (name: string, count: number): void => void limits.push({ limit: slots.limit(name, count), count });
  if (tool.maxConcurrent !== undefined) add(`tool:${qualifiedName}${overloadSuffix(registered)}`, tool.maxConcurrent);
  if (toolset.maxConcurrent !== undefined) add(`toolset:${toolset.name}`, toolset.maxConcurrent);
  return limits;
}

/** Distinguishes a tool from its overloads; empty if its schema cannot be hashed, in which case it has no overloads. */
function overloadSuffix(registered: RegisteredTool): string {
  try {
    return `#${registered.fingerprint}`;
  } catch {
    return "";
  }
}
