/** The public names of `haft/model`, listed by hand: models behind providers, and what they cost. */
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
export { PROVIDERS, PROVIDER_NAMES, type Provider, type ProviderName } from "./providers.ts";
export { type ReplyScript, type ScriptedModel, type ScriptedModelOptions, type ScriptedReply, scriptedModel } from "./scripted-model.ts";
export { type TextToolsOptions, textToolsModel } from "./text-model.ts";
export { type ModelPrices, type ModelTotals, UsageMeter, type UsageMeterOptions, type UsageRecord, costOf } from "./usage-meter.ts";
