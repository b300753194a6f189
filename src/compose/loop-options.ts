/** The options of a loop. */
import { ToolError } from "../core/error.ts";
import { checkArgument } from "../core/check-argument.ts";
import type { JsonObject } from "../core/base/json.ts";
import { checkReasoningEffort } from "../core/model.ts";
import type { Model, ModelCall, ModelTool, ReasoningEffort, TokenUsage, ToolChoice } from "../core/model.ts";
import type { VisibilityRules } from "../policy/visibility.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { RoundOptions } from "../runtime/round.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { checkMessagesOptions, type MessagesOptions } from "../runtime/session-messages.ts";
import type { EmergencyStop } from "./emergency-stop.ts";
import type { DeferToolsOptions } from "./prompt/deferred-tools.ts";
import { LIMIT_NAMES, type LoopLimits } from "./loop-limits.ts";
import type { LoopListener } from "./loop-event.ts";
import type { StopCondition } from "./stop-conditions.ts";
import type { TaintOptions } from "./taint.ts";

/** The round that a request is made for. */
export interface LoopRound {
  /** Number of the round in its run, from 1. */
  readonly number: number;
  readonly session: RuntimeSession;
}

/** Options of a loop. */
export interface LoopOptions {
  /** A model, or its name `provider/model` for `modelFrom` of `haft/model`. Its keys are read from `process.env` when the loop first runs. */
  readonly model: Model | string;
  readonly session: RuntimeSession;
  /** The name of the agent in traces. @default that of the runtime */
  readonly agentName?: string;
  /** The system prompt, or a function that returns it, called before each request. */
  readonly system?: string | ((round: LoopRound) => string);
  /** Returns the tools that the model is offered; called before each request. Others may still be called, within `allow`. @default all tools */
  readonly tools?: (round: LoopRound) => readonly ModelTool[];
  /**
   * For large registries: shows the model only the pinned tools, `find_tools`, and the tools that it has found. The runtime needs the toolset of
   * `haft/find-tools`. `true` pins nothing. Cannot be combined with `tools`. @default all tools are shown
   */
  readonly deferTools?: boolean | DeferToolsOptions;
  /** The tools that the model is shown and may call, for example in a mode. Can only narrow what the runtime allows. @default all */
  readonly allow?: VisibilityRules | ((round: LoopRound) => VisibilityRules | undefined);
  /** @default the provider's default */
  readonly toolChoice?: ToolChoice | ((round: LoopRound) => ToolChoice);
  readonly parallelCalls?: boolean;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** How much the model reasons before each message, if the provider supports it. @default the provider's default */
  readonly reasoningEffort?: ReasoningEffort;
  /** Provider-specific fields, sent with every request. */
  readonly native?: JsonObject;
  /**
   * The part of the conversation that the model is shown: options of `session.messages`. With `trim` or `maxBytes`, each round examines the newest
   * `maxTurns` turns again, and the whole conversation if `maxTurns` is 0.
   */
  readonly history?: MessagesOptions;
  /**
   * If false, each run is a branch of the session that is discarded at the end. The model sees its own messages and calls during the run; the session
   * keeps neither these nor changes of its state. Effects of tools outside of the session remain. A run that ends with `approval` cannot be resumed.
   * @default true
   */
  readonly recordHistory?: boolean;
  readonly limits?: LoopLimits;
  /** Further conditions that end a run. The first one met, in this order, is the reason. */
  readonly stopWhen?: readonly StopCondition[];
  /** Stops after too many failed calls in a row. Pass an instance to share it between loops, `false` for none. @default a new one for this loop */
  readonly emergencyStop?: EmergencyStop | false;
  /** Called before each run; false refuses it, and anything but a boolean rejects it with `invalid_argument`. @default true */
  readonly enabled?: () => boolean;
  /** Requires approval for sensitive calls once third-party content has been read. @default no tracking */
  readonly taint?: TaintOptions;
  /** Returns why a call is refused; undefined to let it run. Anything else, such as a promise, rejects the run with `invalid_argument`. */
  readonly refuse?: (call: ModelCall, round: LoopRound) => ToolError | undefined;
  /**
   * Returns the cost of a reply, for the budget `cost` and the result's `cost`. Also called with all tokens of a delegate that reports no cost, and
   * the model that the delegate used last. @default not counted, and no budget of cost may be set
   */
  readonly cost?: (usage: TokenUsage, model: string | undefined) => number;
  /** Options of the calls: `data`, `variation`, `ask`, `onProgress`, `validate`, `background`. */
  readonly calls?: Pick<RoundOptions, "data" | "principal" | "variation" | "ask" | "onProgress" | "validate" | "background">;
  /** Whether to start reads as soon as they are sealed, while the model is still writing. @default true */
  readonly earlyDispatch?: boolean;
  /** Lets the model run calls in the background: adds the parameter `run_in_background` to each tool that has none of that name. @default false */
  readonly offerBackground?: boolean;
  readonly onEvent?: LoopListener;
}

const OPTIONS: OptionNames<LoopOptions> = {
  model: true,
  session: true,
  agentName: "string",
  system: ["string", "function"],
  tools: true,
  deferTools: true,
  allow: true,
  toolChoice: ["string", "object", "function"],
  parallelCalls: "boolean",
  maxOutputTokens: "number",
  temperature: "number",
  reasoningEffort: true,
  native: "object",
  history: true,
  recordHistory: "boolean",
  limits: true,
  stopWhen: "array",
  emergencyStop: ["object", "boolean"],
  enabled: "function",
  taint: true,
  refuse: "function",
  cost: "function",
  calls: true,
  earlyDispatch: "boolean",
  offerBackground: "boolean",
  onEvent: "function",
};

const RUNTIME_OPTION_HINT = "The tools themselves are given to the runtime: createRuntime({ tools: [one, another] }).";

const CALL_OPTIONS: OptionNames<NonNullable<LoopOptions["calls"]>> = {
  data: true,
  principal: true,
  variation: true,
  ask: true,
  onProgress: true,
  validate: true,
  background: true,
};

/**
 * Refuses unknown options, and says where a misplaced one belongs.
 *
 * @param owner the function that takes the options, for the message @param own its options besides those of a loop @throws ToolError `invalid_argument`
 */
export function checkLoopOptionNames(options: LoopOptions, owner: string, own: Readonly<Record<string, "function" | true>> = {}): void {
  const limit = Object.keys(options).find((key) => !Object.hasOwn(OPTIONS, key) && Object.hasOwn(LIMIT_NAMES, key));
  if (limit !== undefined)
    throw new ToolError("invalid_argument", `${owner} has no option ${JSON.stringify(limit)}.`, {
      hint: `It is a limit: ${owner.slice(0, -1)}{ limits: { ${limit} } }).`,
    });
  checkKnownKeys(options, { ...OPTIONS, ...own }, owner);
}

/**
 * Copies the options, with those that an instance of a class has from its class: a spread would lose its `refuse`. Functions are called with the
 * options as `this`.
 */
export function copyLoopOptions(options: LoopOptions): LoopOptions {
  const copy = { ...options };
  for (const name of Object.keys(OPTIONS)) {
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined) Reflect.set(copy, name, typeof value === "function" && name !== "model" ? value.bind(options) : value);
  }
  return copy;
}

/** @throws ToolError `invalid_argument` for unknown and wrong options */
export function checkLoopOptions(options: LoopOptions): void {
  checkLoopOptionNames(options, "createLoop()");
  const { tools } = options;
  const isFunction = tools === undefined || typeof tools === "function";
  checkArgument(isFunction, "createLoop({ tools })", "a function that chooses tools for a round", tools, RUNTIME_OPTION_HINT);
  checkReasoningEffort(options.reasoningEffort, "reasoningEffort of createLoop()");
  const { calls, history, deferTools } = options;
  if (deferTools !== undefined && deferTools !== false && options.tools !== undefined)
    throw new ToolError("invalid_argument", "createLoop() takes deferTools or tools, not both.");
  if (calls !== undefined) checkKnownKeys(calls, CALL_OPTIONS, "createLoop({ calls })");
  if (history !== undefined) checkMessagesOptions(history, "createLoop({ history })");
}
