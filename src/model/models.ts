/** The public names of `haft/model`, listed by hand: models behind providers, their requests, and their cost. @packageDocumentation */
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
  type ReasoningEffort,
  type ReplyCandidate,
  type ResponseFormat,
  type TokenUsage,
  type ToolChoice,
  FINISH_REASONS,
  REASONING_EFFORTS,
  collectReply,
  endedWell,
} from "../core/model.ts";
export type { FetchFunction } from "./exchange.ts";
export {
  type HttpModelOptions,
  type ModelRetry,
  type ModelRetrySettings,
  type SignatureHeaders,
  type UnsignedRequest,
  httpModel,
} from "./http-model.ts";
export { meteredModel } from "./metered-model.ts";
export { type ModelContext, type ModelSpec, modelFrom } from "./model-from.ts";
export type { ModelPorts } from "./model-ports.ts";
export { type ProviderName, PROVIDER_NAMES } from "./provider-names.ts";
export { PROVIDERS, type Provider } from "./providers.ts";
export { type ReplyScript, type ScriptedModel, type ScriptedModelOptions, type ScriptedReply, scriptedModel } from "./scripted-model.ts";
export { type TextToolsOptions, textToolsModel } from "./text-model.ts";
export { type ModelPrices, type ModelTotals, UsageMeter, type UsageMeterOptions, type UsageRecord, costOf } from "./usage-meter.ts";
