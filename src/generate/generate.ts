/** The public names of `haft/generate`: generates data with tools. @packageDocumentation */
export { Artifacts } from "./artifacts.ts";
export type { ArtifactType } from "./artifacts.ts";
export type { CatalogTool, ToolCollection } from "./catalog.ts";
export type { ConversationChecks } from "./conversations/check-conversation.ts";
export { SAMPLE_KINDS } from "./conversations/conversation-plan.ts";
export type { CheckedPlan } from "./conversations/checked-plan.ts";
export type { ConversationPlan, PlayedPlan, SampleKind, SampledPlan, ScriptedPlan } from "./conversations/conversation-plan.ts";
export type {
  AnsweredCall,
  AnsweredTurn,
  ConversationWriter,
  PlannedCall,
  PlannedTurn,
  TakenValue,
  WriterOptions,
  WritingReport,
} from "./conversations/conversation-writer.ts";
export { type ModelWriterOptions, modelWriter } from "./conversations/model-writer.ts";
export { plainWriter } from "./conversations/plain-writer.ts";
export type { ConversationTemplate, TemplateMessage } from "./conversations/conversation-template.ts";
export { generateConversations } from "./conversations/generate-conversations.ts";
export type { GenerateOptions } from "./conversations/generate-conversations.ts";
export type { AnswerCount, GenerationProgress, GenerationSummary, SplitCounts } from "./conversations/generation-summary.ts";
export type { DatasetSummary } from "./conversations/dataset-counts.ts";
export { type VirtualClock, virtualClock } from "./conversations/virtual-clock.ts";
export type { LineSink } from "./conversations/trajectory-file.ts";
export { readTemplates } from "./conversations/read-templates.ts";
export type { TrajectoryMessage, TrajectoryReport, TrajectoryResult } from "./conversations/trajectory.ts";
export type { RecordedPlan, RecordedSource } from "./conversations/recorded/recorded-plan.ts";
export { REDACTED_KINDS } from "./conversations/recorded/redaction.ts";
export type { RedactedKind, Redaction } from "./conversations/recorded/redaction.ts";
export { TRAJECTORY_FORMATS } from "./conversations/trajectory-formats.ts";
export type { TrajectoryFormat } from "./conversations/trajectory-formats.ts";
export { dataflow } from "./dataflow.ts";
export type { DataflowOptions } from "./dataflow.ts";
export { DataflowGraph } from "./dataflow-graph.ts";
export type { DataflowEdge, ParameterPlace } from "./dataflow-graph.ts";
export { ToolVectors, embeddings } from "./embeddings.ts";
export type { EmbeddingsOptions } from "./embeddings.ts";
export { Enriched, enrich } from "./enrich.ts";
export type { EnrichOptions, EnrichmentProgress } from "./enrich.ts";
export { enrichedSource } from "./enriched-source.ts";
export type { EnrichedSource } from "./enriched-source.ts";
export type { Enrichment, EnrichmentContext, EnrichmentResult } from "./enrichment.ts";
export type { EnrichmentCacheOptions } from "./enrichment-cache.ts";
export { chainSampler, fanInSampler, fanOutSampler } from "./graph-samplers.ts";
export type { GraphSampleOptions, NeededSampleOptions } from "./graph-samplers.ts";
export { neighborSampler } from "./neighbor-sampler.ts";
export type { NeighborSampleOptions } from "./neighbor-sampler.ts";
export { ToolNeighbors, neighbors } from "./neighbors.ts";
export type { Neighbor, NeighborsOptions } from "./neighbors.ts";
export { outputSchemas } from "./output-schemas.ts";
export type { OutputSchemasOptions, SchemaModel, SchemaPrompt } from "./output-schemas.ts";
export { namedSamplers } from "./named-samplers.ts";
export type { NamedSampleOptions, NamedSamplers, SamplerFactory } from "./named-samplers.ts";
export { randomSampler } from "./random-sampler.ts";
export type { RandomSampleOptions } from "./random-sampler.ts";
export { SamplingError } from "./sampler.ts";
export type { SampleOptions, Sampler } from "./sampler.ts";
export type { Embed } from "./vectors.ts";
