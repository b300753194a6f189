/** The options of a delegate: how it is offered as a tool, and the loop that it runs. */
import { quoteValue } from "../../core/base/wording.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { CALL_SETTINGS } from "../../core/call-settings.ts";
import { checkModel } from "../../core/check-argument.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { checkProvider, splitSpec } from "../../model/provider-names.ts";
import { checkReasoningEffort } from "../../core/model.ts";
import type { Tool } from "../../core/tool.ts";
import { visibilityOf, type VisibilityRules } from "../../policy/visibility.ts";
import type { SchemaSource } from "../../registry/define-tool.ts";
import { checkCostIsCounted, checkLoopLimits } from "../loop-limits.ts";
import type { LoopOptions } from "../loop-options.ts";
import { checkStopConditions } from "../stop-conditions.ts";
import { SHARED_CONTEXTS, type SharedContext } from "./shared-context.ts";

/** The options of the loop that a delegate runs. */
export type DelegateLoopOptions = Pick<
  LoopOptions,
  | "model"
  | "system"
  | "deferTools"
  | "toolChoice"
  | "parallelCalls"
  | "maxOutputTokens"
  | "temperature"
  | "reasoningEffort"
  | "native"
  | "history"
  | "limits"
  | "stopWhen"
  | "taint"
  | "refuse"
  | "cost"
  | "earlyDispatch"
  | "onEvent"
>;

type DelegateToolFields = Omit<
  Tool,
  | "execute"
  | "composite"
  | "effects"
  | "cache"
  | "reducer"
  | "inputSchema"
  | "outputSchema"
  | "parseInput"
  | "parseOutput"
  | "providerExecuted"
  | "approveWhole"
  | "workingFolder"
  | "environment"
  | "maxConcurrent"
>;

/** Options of a delegate: its name and purpose, its model, its tools and its limits. */
export interface DelegateOptions extends DelegateToolFields, DelegateLoopOptions {
  /** The tools that the delegate is shown and may call. Can only narrow what its caller may call. @default all that its caller may call */
  readonly allow?: VisibilityRules;
  /** The part of its caller's conversation that the delegate gets with its task. @default "task" */
  readonly share?: SharedContext;
  /** Maximum number of concurrent runs in one conversation, with those of its own delegates; others end `resource_busy`. Integer ≥ 1. @default 3 */
  readonly maxRunning?: number;
  /** The input schema of the tool. @default `{ task: string }` */
  readonly inputSchema?: Tool["inputSchema"];
  /** Returns the first message for the loop. @default the argument `task`; without it, the whole input as JSON */
  readonly prompt?: (input: JsonObject) => string;
  /** The schema of the answer, an object, as in `LoopRunOptions.output`. Also the output schema of the tool. @default the last text */
  readonly output?: SchemaSource;
}

export const LOOP_KEYS: OptionNames<DelegateLoopOptions> = {
  model: true,
  system: true,
  deferTools: true,
  toolChoice: true,
  parallelCalls: true,
  maxOutputTokens: true,
  temperature: true,
  reasoningEffort: true,
  native: true,
  history: true,
  limits: true,
  stopWhen: true,
  taint: true,
  refuse: true,
  cost: true,
  earlyDispatch: true,
  onEvent: true,
};
const TOOL_KEYS: OptionNames<DelegateToolFields> = {
  name: true,
  title: true,
  description: true,
  validate: true,
  tags: true,
  oncePerTurn: true,
  mode: true,
  notify: true,
  endsTurn: true,
  category: true,
  providers: true,
  unknownKeys: true,
  supersedes: true,
  requires: true,
  documentation: true,
  requiresReading: true,
  promptContribution: true,
  enabled: true,
  unusable: true,
  metadata: true,
  ...CALL_SETTINGS,
};
const KEYS: OptionNames<DelegateOptions> = {
  ...LOOP_KEYS,
  ...TOOL_KEYS,
  allow: true,
  share: true,
  maxRunning: true,
  inputSchema: true,
  prompt: true,
  output: true,
};

/** @throws ToolError `invalid_argument` for options with which no call could succeed */
export function checkDelegate(options: DelegateOptions): void {
  checkKnownKeys(options, KEYS, "delegateTool()");
  const { name, model, share = "task", mode, prompt, allow, reasoningEffort } = options;
  const owner = `The delegate ${quoteValue(name)}`;
  if (model === undefined)
    throw new ToolError("invalid_argument", `${owner} has no model.`, {
      hint: 'Give its name, "provider/model", or create one with haft/model.',
    });
  if (typeof model === "string") checkProvider(splitSpec(model));
  else checkModel(model, `model of ${owner.replace("The", "the")}`, "a model, or its name as a string");
  if (!SHARED_CONTEXTS.includes(share))
    throw new ToolError(
      "invalid_argument",
      `share of ${owner.replace("The", "the")} is ${quoteValue(share)}; it takes ${SHARED_CONTEXTS.map((one) => JSON.stringify(one)).join(", ")}.`,
    );
  if (mode === "stateful")
    throw new ToolError("invalid_argument", `${owner} cannot be stateful: it is given one task and returns one answer.`, {
      hint: 'Its mode is "direct" or "background".',
    });
  if (prompt !== undefined && typeof prompt !== "function")
    throw new ToolError("invalid_argument", `prompt of ${owner.replace("The", "the")} must be a function of its arguments.`);
  checkLoopLimits(options.limits);
  checkStopConditions(options.stopWhen, `stopWhen of ${owner.replace("The", "the")}`);
  checkCostIsCounted(options, owner);
  checkReasoningEffort(reasoningEffort, `reasoningEffort of ${owner.replace("The", "the")}`);
  if (allow !== undefined) visibilityOf(allow);
}

/** @throws ToolError `invalid_argument` */
export function checkMaxRunning(maxRunning: number, owner: string): void {
  if (!Number.isSafeInteger(maxRunning) || maxRunning < 1)
    throw new ToolError("invalid_argument", `maxRunning of ${owner} is ${quoteValue(maxRunning)}; it takes an integer from 1.`);
}

/** Returns the first message of a delegate without `prompt`. */
export function taskOf(input: JsonObject): string {
  const { task } = input;
  return typeof task === "string" ? task : JSON.stringify(input);
}

export const TASK_SCHEMA: Tool["inputSchema"] = {
  type: "object",
  properties: { task: { type: "string", minLength: 1, description: "The task, with everything that is needed to do it." } },
  required: ["task"],
  additionalProperties: false,
};
