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
  /** Counts from 1 in each run. */
  readonly number: number;
  readonly session: RuntimeSession;
}

/** Options of a loop. */
export interface LoopOptions {
  /** Or its name, `provider/model`, for `modelFrom` of `haft/model`, with the keys in `process.env`: these are looked up when the loop first runs. */
  readonly model: Model | string;
  readonly session: RuntimeSession;
  /** The name of the agent in traces. @default that of the runtime */
  readonly agentName?: string;
  /** The system prompt; a function is asked before each request. */
  readonly system?: string | ((round: LoopRound) => string);
  /** The tools that the model is offered; asked before each request. It may call others all the same, within `allow`. @default every tool on offer */
  readonly tools?: (round: LoopRound) => readonly ModelTool[];
  /**
   * Shows the model the pinned tools and `find_tools`, and others when it has found them: for large registries. The runtime needs the toolset of
   * `haft/find-tools`. `true` pins nothing. Not together with `tools`. @default all tools are shown
   */
  readonly deferTools?: boolean | DeferToolsOptions;
  /** The tools that the model is shown and may call, in a mode for instance; it only ever narrows what the runtime allows. @default all */
  readonly allow?: VisibilityRules | ((round: LoopRound) => VisibilityRules | undefined);
  /** @default what the provider does */
  readonly toolChoice?: ToolChoice | ((round: LoopRound) => ToolChoice);
  readonly parallelCalls?: boolean;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** How much the model reasons before each message, where its provider can be asked for it. @default what the provider does */
  readonly reasoningEffort?: ReasoningEffort;
  /** Fields of the provider's own, for every request. */
  readonly native?: JsonObject;
  /** The part of the conversation that the model is shown, as `session.messages` takes it. With options other than `maxTurns`, the whole is read again in each round. */
  readonly history?: MessagesOptions;
  /**
   * False: each run is a branch of the session that is dropped at its end. The model sees what it said and did in the run; the session keeps
   * none of it, nor what it changed in its state. What tools did in the world stays done. A run that ends with `approval` cannot be resumed.
   * @default true
   */
  readonly recordHistory?: boolean;
  readonly limits?: LoopLimits;
  /** Further conditions that end a run; the first that is met, in this order, is the reason. */
  readonly stopWhen?: readonly StopCondition[];
  /** Stops after failed calls in a row; give one of your own to share it between loops, `false` for none. @default one of its own */
  readonly emergencyStop?: EmergencyStop | false;
  /** Called before each run; false refuses it. @default true */
  readonly enabled?: () => boolean;
  /** Sensitive calls need approval once third-party content has been read. @default not watched */
  readonly taint?: TaintOptions;
  /** Why a call is not to be run; nothing to let it be run. */
  readonly refuse?: (call: ModelCall, round: LoopRound) => ToolError | undefined;
  /**
   * Returns the cost of a reply, for the budget `cost` and the result's `cost`; called as well with all tokens of a delegate that tells no cost of its
   * own, and the model that it spoke by last. @default not counted: no budget of cost may be set
   */
  readonly cost?: (usage: TokenUsage, model: string | undefined) => number;
  /** Options of the calls: `data`, `variation`, `ask`, `onProgress`, `validate`, `background`. */
  readonly calls?: Pick<RoundOptions, "data" | "principal" | "variation" | "ask" | "onProgress" | "validate" | "background">;
  /** Start reads as soon as they are sealed, while the model still speaks. @default true */
  readonly earlyDispatch?: boolean;
  /**
   * Lets the model send any call to the background: each tool is offered with the parameter `run_in_background`, unless it has one of that
   * name. @default false
   */
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

const OF_RUNTIME = "The tools themselves are given to the runtime: createRuntime({ tools: [one, another] }).";

const CALL_OPTIONS: OptionNames<NonNullable<LoopOptions["calls"]>> = {
  data: true,
  principal: true,
  variation: true,
  ask: true,
  onProgress: true,
  validate: true,
  background: true,
};

/** Refuses options that do not exist, and says where an option of a part of them belongs. @throws ToolError `invalid_argument` */
export function checkLoopOptions(options: LoopOptions): void {
  const limit = Object.keys(options).find((key) => !Object.hasOwn(OPTIONS, key) && Object.hasOwn(LIMIT_NAMES, key));
  if (limit !== undefined)
    throw new ToolError("invalid_argument", `createLoop() has no option ${JSON.stringify(limit)}.`, {
      hint: `It is a limit: createLoop({ limits: { ${limit} } }).`,
    });
  checkKnownKeys(options, OPTIONS, "createLoop()");
  const { tools } = options;
  const isFunction = tools === undefined || typeof tools === "function";
  checkArgument(isFunction, "createLoop({ tools })", "a function that chooses tools for a round", tools, OF_RUNTIME);
  checkReasoningEffort(options.reasoningEffort, "reasoningEffort of createLoop()");
  const { calls, history, deferTools } = options;
  if (deferTools !== undefined && deferTools !== false && options.tools !== undefined)
    throw new ToolError("invalid_argument", "createLoop() takes deferTools or tools, not both.");
  if (calls !== undefined) checkKnownKeys(calls, CALL_OPTIONS, "createLoop({ calls })");
  if (history !== undefined) checkMessagesOptions(history, "createLoop({ history })");
}
