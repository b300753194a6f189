/** The public names of `haft/loop`, listed by hand: what ends a loop and what watches over it. @packageDocumentation */
export type { Agent, AgentOptions, AgentStartOptions, AgentState, AgentTriggers, SendOptions } from "../compose/agent.ts";
export type { EmergencyStopOptions } from "../compose/emergency-stop.ts";
export { type BudgetAxis, type BudgetLevel, type BudgetLimit, type LoopBudgetLimits, BUDGET_AXES } from "../compose/loop-budget.ts";
export type { LoopListener } from "../compose/loop-event.ts";
export { type RoundCall, type RoundFacts, type RoundLimits, reasonToStop } from "../compose/reason-to-stop.ts";
export { type ReactOptions, reactLimits } from "../compose/loop-limits.ts";
export type { LoopRound } from "../compose/loop-options.ts";
export type { ApprovalDecisions, PendingCall } from "../compose/pending-calls.ts";
export type { DeferToolsOptions } from "../compose/prompt/deferred-tools.ts";
export type { RepeatGuardOptions, RepeatLimits } from "../compose/repeat-guard.ts";
export { type LoopState, type StopCondition, stopAfterMs, stopByVote } from "../compose/stop-conditions.ts";
export { type StopReason, STOP_REASONS } from "../compose/stop-reason.ts";
export type { TaintOptions } from "../compose/taint.ts";
export type { RuntimeLoopOptions } from "../compose/loop-runtime.ts";
