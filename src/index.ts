/** The public names of Haft, listed by hand. A name is added here and in test/house/surface.test.ts, on purpose. */
export type { ApprovalDecision, ApprovalQuestion, Approvals, PendingApproval, SessionRule } from "./core/approvals.ts";
export type { Answer, ApprovalAnswer, ApprovalRequest, Approver, Ask, AskRequest, Question } from "./core/ask.ts";
export { type NameParts, type ToolCall, qualifiedName, splitName } from "./core/call.ts";
export { type ContentPart, ToolOutput, type ToolOutputOptions } from "./core/content.ts";
export type { ProgressUpdate, ToolContext, ToolState } from "./core/context.ts";
export {
  type Effects,
  type ReconcileContext,
  type Reconciled,
  type ResolvedEffects,
  type UndoContext,
  external,
  pure,
  readOnly,
} from "./core/effects.ts";
export type { ResourceKeys } from "./core/resource-keys.ts";
export type { Engine, EngineContext, EngineRequest, EngineSession } from "./core/engine.ts";
export { type Actor, ERROR_CODES, type ErrorCode, type ErrorCodeInfo, type Outcome } from "./core/error-codes.ts";
export { type ErrorInfo, ToolError, type ToolErrorOptions } from "./core/error.ts";
export type { BranchPoint, EventListener, RuntimeEvent, SessionEvent, ToolsetEvent } from "./core/event.ts";
export { FAULT_TYPES, type FaultPlan, type FaultRule, type FaultType } from "./core/fault.ts";
export { FIDELITIES, type Fidelity } from "./core/fidelity.ts";
export type { HistoryEntry } from "./core/history.ts";
export type { Hook, HookContext, HookDecision } from "./core/hook.ts";
export type { JsonObject, JsonPrimitive, JsonValue } from "./core/base/json.ts";
export type { JsonPatch, JsonPatchStep } from "./core/base/json-patch.ts";
export { Job, type JobWork } from "./core/job.ts";
export type { LockRequest, LockTicket, Locks } from "./core/locks.ts";
export type { ModelMessage, NativeMessage, SessionMessage } from "./core/message.ts";
export {
  type FinishReason,
  type Model,
  type ModelCall,
  type ModelEvent,
  type ModelOptions,
  type ModelReply,
  type ModelRequest,
  type ModelTool,
  type ProviderCall,
  type ReplyCandidate,
  type ResponseFormat,
  type TokenUsage,
  type ToolChoice,
  collectReply,
  endedWell,
} from "./core/model.ts";
export { NoAnswer } from "./core/no-answer.ts";
export { type OpenRecording, type RecordingSource, parseRecording, readRecording, writeRecording } from "./core/recording/recording.ts";
export type { RecordingHeader } from "./core/recording/format.ts";
export type { Clock, Ids, Log, LogFields, Ports, Random } from "./core/ports.ts";
export { type Origin, type Repair, type ResultStatus, type ToolResult, type Truncation, resultText } from "./core/result.ts";
export { RUNGS, type Rung, type Rungs } from "./core/rung.ts";
export type { SlotLimit, SlotWaiter, Slots } from "./core/slots.ts";
export type { SourceContext, ToolSource } from "./core/source.ts";
export type {
  CacheRecord,
  CacheStore,
  EventLog,
  EventPage,
  ListOptions,
  LogDamage,
  LogOptions,
  ReadOptions,
  Store,
  StoredSession,
} from "./core/store.ts";
export type {
  CacheScope,
  CacheSettings,
  CallSettings,
  JsonSchema,
  ParsedInput,
  PastCall,
  PromptContribution,
  Reducer,
  Supersedes,
  Tool,
  ToolCategory,
} from "./core/tool.ts";
export type { ToolPins } from "./core/tool-pins.ts";
export type { Toolset } from "./core/toolset.ts";
export { type DefinedTool, type HandlerResult, type SchemaSource, type ToolOptions, defineTool } from "./registry/define-tool.ts";
export { perSession } from "./engine/per-session.ts";
export { type ReplayOptions, type ReplayToolsetOptions, replayEngine, toolsetsOfRecording } from "./engine/replay.ts";
export { memoryStore } from "./store/memory-store.ts";
export { type AnthropicConversation, toAnthropicMessages } from "./wire/anthropic-conversation.ts";
export { type GeminiConversation, type GeminiOptions, toGeminiContents } from "./wire/gemini-conversation.ts";
export { type OpenAiConversation, toOpenAiMessages } from "./wire/openai-conversation.ts";
export { Registry, type RegistryOptions } from "./registry/registry.ts";
export type { SearchQuery } from "./registry/tool-search.ts";
export type { RegisteredTool } from "./registry/registered-tool.ts";
export { type Documentation, type DocumentationOptions, type DocumentationOverrides, documentationOf } from "./registry/documentation.ts";
export type { ExecuteOptions, ProgressListener, ProgressingCall } from "./call/execute-options.ts";
export type { ResultNotes } from "./call/call-run.ts";
export type { EngineRung, LadderOptions, LadderRule } from "./call/ladder.ts";
export type { AddOptions, Round, RoundOptions, RoundReply } from "./runtime/round.ts";
export { Runtime, type RuntimeOptions, type SessionStart, createRuntime } from "./runtime/runtime.ts";
export type { OpenSessions } from "./runtime/open-sessions.ts";
export { type ImportOptions, type ImportedRecording, importRecording } from "./runtime/import-recording.ts";
export { storedEvents } from "./session/read-events.ts";
export type { ResumeOptions } from "./runtime/resume-session.ts";
export type { ForkOptions } from "./session/fork-options.ts";
export type { RuntimeSession, SessionTurn, SimulateOptions, Simulation } from "./runtime/runtime-session.ts";
export type { MessagesOptions } from "./runtime/session-messages.ts";
export type { Session } from "./session/session.ts";
export type { SessionDiff, StateDifference } from "./session/session-diff.ts";
export type { SessionSnapshot } from "./runtime/snapshot.ts";
export { withSuccessShape } from "./registry/success-shape.ts";
export {
  type ToolAnnotations,
  type ToolDefinition,
  type ToolJson,
  toolDefinition,
  toolFromJson,
  toolToJson,
} from "./registry/tool-definition.ts";
export { ToolExecutionError } from "./call/tool-execution-error.ts";
export { type ToolFunction, type ToolFunctionOptions, toolFunction } from "./registry/tool-function.ts";
export type { ToolsetFailure } from "./registry/lifecycle/merge-toolsets.ts";
export type { ToolsetChange } from "./registry/prepare-toolset.ts";
export type { OpenReport, RefreshReport } from "./registry/lifecycle/toolset-lifecycle.ts";
export type { ApprovalSettings } from "./policy/approval.ts";
export type { CacheOptions } from "./policy/result-cache.ts";
export type { WholeResult } from "./policy/result-keeper.ts";
export type { CircuitSettings } from "./policy/circuit.ts";
export type { PermissionRules } from "./policy/permission.ts";
export { type BudgetAxis, type BudgetLimit, type LoopBudgetLimits } from "./compose/loop-budget.ts";
export type { RepeatGuardOptions, RepeatLadder } from "./compose/repeat-guard.ts";
export { type ToolList, Visibility, type VisibilityRules, visibilityOf, visibleTools } from "./policy/visibility.ts";
export { supersedesAt, supersedesSameInput } from "./history/supersede.ts";
export type { RetrySettings } from "./policy/retry.ts";
export { EmergencyStop, type EmergencyStopOptions } from "./compose/emergency-stop.ts";
export type { LoopEvent, LoopListener } from "./compose/loop-event.ts";
export { type LoopLimits, type ReactOptions, reactLimits } from "./compose/loop-limits.ts";
export type { LoopOptions, LoopRound } from "./compose/loop-options.ts";
export type { LoopResult } from "./compose/loop-result.ts";
export { type Loop, type LoopRunOptions, type ResumeDecisions, createLoop } from "./compose/loop.ts";
export type { ApprovalDecisions, PendingCall } from "./compose/pending-calls.ts";
export { type PromptOptions, buildPrompt } from "./compose/prompt/build-prompt.ts";
export { type ModelToolsOptions, modelTools } from "./compose/prompt/model-tools.ts";
export { type ProviderToolName, type ProviderToolsOptions, patchOptions, providerTools } from "./compose/prompt/provider-tools.ts";
export type { ProgramContribution } from "./compose/prompt/tool-guidance.ts";
export {
  type CheckSequenceOptions,
  type SequenceCheck,
  type SequenceLayers,
  type SequenceRules,
  checkSequence,
} from "./compose/sequence/check-sequence.ts";
export { type RunSequenceOptions, type SequenceRun, runSequence } from "./compose/sequence/run-sequence.ts";
export { SEQUENCE_REASONS, type SequenceCall, type SequenceProblem, type SequenceReason } from "./compose/sequence/sequence-problem.ts";
export type { SequenceTool } from "./compose/sequence/sequence-tools.ts";
export { type LoopState, type StopCondition, stopAfterMs, stopAfterRounds, stopAtKeyword, stopByVote } from "./compose/stop-conditions.ts";
export { STOP_REASONS, type StopReason } from "./compose/stop-reason.ts";
export type { TaintOptions } from "./compose/taint.ts";
export { type ImportedSchema, importSchema } from "./schema/import-schema.ts";
export { ValidationResult, validateInput, validateOutput } from "./schema/validation-result.ts";
