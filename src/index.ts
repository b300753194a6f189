/** The public names of `haft`, listed by hand: what the first programs need. All others are at the entry of their subject, in `public/`. A name is added here and in test/house/surface.test.ts, on purpose. @packageDocumentation */
export { defineHook } from "./call/define-hook.ts";
export type { ExecuteOptions } from "./call/execute-options.ts";
export { ToolExecutionError } from "./call/tool-execution-error.ts";
export { EmergencyStop } from "./compose/emergency-stop.ts";
export type { LoopEvent } from "./compose/loop-event.ts";
export type { LoopLimits } from "./compose/loop-limits.ts";
export type { LoopOptions } from "./compose/loop-options.ts";
export type { LoopResult } from "./compose/loop-result.ts";
export { createAgent } from "./compose/agent.ts";
export { type Loop, type LoopRunOptions, createLoop } from "./compose/loop.ts";
export { stopAfterRounds, stopAtKeyword } from "./compose/stop-conditions.ts";
export type { ApprovalDecision } from "./core/approvals/approvals.ts";
export type { QuestionAnswer, ApprovalRequest, Approver, Ask, Question } from "./core/approvals/ask.ts";
export type { JsonObject, JsonValue } from "./core/base/json.ts";
export type { ToolCall } from "./core/call.ts";
export { type ContentPart, ToolOutput } from "./core/content.ts";
export type { ProgressUpdate, ToolContext, ToolState } from "./core/context.ts";
export {
  type Effects,
  type ReconcileContext,
  type Reconciled,
  type UndoContext,
  external,
  pure,
  readOnly,
} from "./core/resources/effects.ts";
export type { EndedConnection, Engine, EngineContext, EngineRequest, EngineSession } from "./core/engine.ts";
export { type ErrorCode, type Outcome, ERROR_CODES } from "./core/error-codes.ts";
export { type ErrorInfo, ToolError } from "./core/error.ts";
export type { EventListener, RuntimeEvent, SessionEvent } from "./core/event.ts";
export type { Hook, HookCommand, HookContext, HookDecision } from "./core/hook.ts";
export { RemoteJob } from "./core/jobs/remote-job.ts";
export type { ModelMessage, SessionMessage } from "./core/message.ts";
export type { Ports } from "./core/ports.ts";
export type { ResourceKeys } from "./core/resources/resource-keys.ts";
export { type ToolResult, resultText } from "./core/result.ts";
export type { ToolSource } from "./core/source.ts";
export type { CacheSettings, CallSettings, JsonSchema, Tool } from "./core/tool.ts";
export type { Toolset } from "./core/toolset.ts";
export { perSession } from "./engine/per-session.ts";
export type { ApprovalSettings } from "./policy/approval/approval-gate.ts";
export type { PermissionRules } from "./policy/permission.ts";
export { type DefinedTool, type SchemaSource, type ToolOptions, defineTool } from "./registry/define-tool.ts";
export { outputOf } from "./registry/output-of.ts";
export { Registry } from "./registry/registry.ts";
export { toolDefinition, toolFromJson, toolToJson } from "./registry/tool-definition.ts";
export { toolFunction } from "./registry/tool-function.ts";
export type { RuntimeSession, SessionTurn } from "./runtime/runtime-session.ts";
export type { SimulateOptions, Simulation } from "./runtime/session-options.ts";
export type { RuntimeOptions } from "./runtime/runtime.ts";
export { createRuntime, Runtime } from "./compose/loop-runtime.ts";
