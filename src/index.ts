/** The public names of Haft, listed by hand. A name is added here and in test/house/surface.test.ts, on purpose. */
export type { ApprovalAnswer, ApprovalRequest, Approver } from "./core/ask.ts";
export { type NameParts, type ToolCall, qualifiedName, splitName } from "./core/call.ts";
export { type ContentPart, ToolOutput, type ToolOutputOptions } from "./core/content.ts";
export type { ProgressUpdate, ToolContext, ToolState } from "./core/context.ts";
export { type Effects, type ResolvedEffects, type ResourceKeys, type UndoContext, external, pure, readOnly } from "./core/effects.ts";
export type { Engine, EngineContext, EngineRequest } from "./core/engine.ts";
export { type Actor, ERROR_CODES, type ErrorCode, type ErrorCodeInfo, type Outcome } from "./core/error-codes.ts";
export { type ErrorInfo, ToolError, type ToolErrorOptions } from "./core/error.ts";
export type { EventListener, RuntimeEvent, ToolsetEvent } from "./core/event.ts";
export type { Hook, HookContext, HookDecision } from "./core/hook.ts";
export type { JsonObject, JsonPrimitive, JsonValue } from "./core/json.ts";
export type { Clock, Ids, Log, LogFields, Ports, Random } from "./core/ports.ts";
export { type Origin, type Repair, type ResultStatus, type ToolResult, type Truncation, resultText } from "./core/result.ts";
export type { CallSettings, JsonSchema, ParsedInput, Tool, ToolCategory } from "./core/tool.ts";
export type { Toolset } from "./core/toolset.ts";
export { type DefinedTool, type HandlerResult, type SchemaSource, type ToolOptions, defineTool } from "./runtime/define-tool.ts";
export { Registry, type RegistryOptions } from "./runtime/registry.ts";
export type { SearchQuery } from "./runtime/tool-search.ts";
export type { RegisteredTool } from "./runtime/registered-tool.ts";
export { type ExecuteOptions, Runtime, type RuntimeOptions, type RuntimeSession, createRuntime } from "./runtime/runtime.ts";
export type { HistoryEntry, Session } from "./runtime/session.ts";
export { withSuccessShape } from "./runtime/success-shape.ts";
export {
  type ToolAnnotations,
  type ToolDefinition,
  type ToolJson,
  toolDefinition,
  toolFromJson,
  toolToJson,
} from "./runtime/tool-definition.ts";
export { ToolExecutionError } from "./runtime/tool-execution-error.ts";
export { type ToolFunction, type ToolFunctionOptions, toolFunction } from "./runtime/tool-function.ts";
export type { OpenReport } from "./runtime/toolset-lifecycle.ts";
export type { ApprovalSettings } from "./policy/approval.ts";
export type { CircuitSettings } from "./policy/circuit.ts";
export type { PermissionRules } from "./policy/permission.ts";
export type { RetrySettings } from "./policy/retry.ts";
export { type ImportedSchema, importSchema } from "./schema/import-schema.ts";
export { ValidationResult, validateInput, validateOutput } from "./schema/validation-result.ts";
