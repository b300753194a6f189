/** What a loop is made of. */
import { ToolError } from "../core/error.ts";
import type { JsonObject } from "../core/base/json.ts";
import { checkReasoningEffort } from "../core/model.ts";
import type { Model, ModelCall, ModelTool, ReasoningEffort, TokenUsage, ToolChoice } from "../core/model.ts";
import type { VisibilityRules } from "../policy/visibility.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { RoundOptions } from "../runtime/round.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import type { MessagesOptions } from "../runtime/session-messages.ts";
import type { EmergencyStop } from "./emergency-stop.ts";
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

/** What a loop is made of. */
export interface LoopOptions {
  /** Or its name, `provider/model`, for `modelFrom` of `haft/model`, with the keys in `process.env`: looked up when the loop first runs. */
  readonly model: Model | string;
  readonly session: RuntimeSession;
  /** What stands before the conversation; a function is asked before each request. */
  readonly system?: string | ((round: LoopRound) => string);
  /** What the model is told it may call; asked before each request. It may call others all the same, within `allow`. @default every tool on offer */
  readonly tools?: (round: LoopRound) => readonly ModelTool[];
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
  /** What of the conversation the model is shown, as `session.messages` takes it. With others than `maxTurns`, the whole is looked at anew in each round. */
  readonly history?: MessagesOptions;
  readonly limits?: LoopLimits;
  /** What end a run besides; the first that is met, in this order, is the reason. */
  readonly stopWhen?: readonly StopCondition[];
  /** Stops after failed calls in a row; give one of your own to share it between loops, `false` for none. @default one of its own */
  readonly emergencyStop?: EmergencyStop | false;
  /** Asked before each run; false refuses it. @default true */
  readonly enabled?: () => boolean;
  /** Sensitive calls need approval once third-party content has been read. @default not watched */
  readonly taint?: TaintOptions;
  /** Why a call is not to be run; nothing to let it be run. */
  readonly refuse?: (call: ModelCall, round: LoopRound) => ToolError | undefined;
  /** What a reply cost, for the budget `cost`. @default 0 */
  readonly cost?: (usage: TokenUsage, model: string | undefined) => number;
  /** What calls are given: `data`, `ask`, `onProgress`, `validate`. */
  readonly calls?: Pick<RoundOptions, "data" | "ask" | "onProgress" | "validate">;
  /** Start reads as soon as they are sealed, while the model still speaks. @default true */
  readonly earlyDispatch?: boolean;
  readonly onEvent?: LoopListener;
}

const OPTIONS: Readonly<Record<keyof LoopOptions, true>> = {
  model: true,
  session: true,
  system: true,
  tools: true,
  allow: true,
  toolChoice: true,
  parallelCalls: true,
  maxOutputTokens: true,
  temperature: true,
  reasoningEffort: true,
  native: true,
  history: true,
  limits: true,
  stopWhen: true,
  emergencyStop: true,
  enabled: true,
  taint: true,
  refuse: true,
  cost: true,
  calls: true,
  earlyDispatch: true,
  onEvent: true,
};
const CALL_OPTIONS: Readonly<Record<keyof NonNullable<LoopOptions["calls"]>, true>> = {
  data: true,
  ask: true,
  onProgress: true,
  validate: true,
};

/** Refuses options that do not exist, and says where an option of a part of them belongs. @throws ToolError `invalid_argument` */
export function checkLoopOptions(options: LoopOptions): void {
  const limit = Object.keys(options).find((key) => !Object.hasOwn(OPTIONS, key) && LIMIT_NAMES.includes(key));
  if (limit !== undefined)
    throw new ToolError("invalid_argument", `createLoop() has no option ${JSON.stringify(limit)}.`, {
      hint: `It is a limit: createLoop({ limits: { ${limit} } }).`,
    });
  checkKnownKeys(options, Object.keys(OPTIONS), "createLoop()");
  checkReasoningEffort(options.reasoningEffort, "reasoningEffort of createLoop()");
  if (options.calls !== undefined) checkKnownKeys(options.calls, Object.keys(CALL_OPTIONS), "createLoop({ calls })");
}
