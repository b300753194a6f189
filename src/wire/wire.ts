/** The public names of `haft/wire`, listed by hand: converts providers' JSON, and calls in text, to Haft's types and back. @packageDocumentation */
export { anthropicMessages } from "./anthropic.ts";
export { bedrockConverse } from "./bedrock.ts";
export { CHAT_VARIANTS, type ChatVariant, type ChatVariantName, PLAIN_CHAT, type ReasoningRule, chatVariant } from "./chat-variants.ts";
export { cohere } from "./cohere.ts";
export { type FittedSchema, type SchemaLoss, type SchemaSubset, fitSchema } from "./fit-schema.ts";
export type { IdRule } from "./conversation-steps.ts";
export type { EffortFields } from "./reasoning-effort.ts";
export { frameReader } from "./framing/frame-reader.ts";
export type { FrameReader } from "./framing/frames.ts";
export { geminiInteractions } from "./gemini-interactions.ts";
export { type GeminiFormatOptions, gemini } from "./gemini.ts";
export { mistral } from "./mistral.ts";
export { ollama } from "./ollama.ts";
export { openAiChat } from "./openai-chat.ts";
export { openAiResponses } from "./openai-responses.ts";
export { providerName } from "./provider-name.ts";
export type { Delimiters } from "./text/delimited-grammar.ts";
export { mendJsonText } from "../schema/json-text/mend-json-text.ts";
export { PartialJson, readPartialJson } from "../schema/repair/partial-json.ts";
export { TEXT_FORMATS, delimitedFormat, textFormat } from "./text/formats.ts";
export type { DecodeTextOptions, TextDecoding, TextEnding, TextFormat, WrittenAnswer, WrittenCall } from "./text/text-format.ts";
export type {
  AnsweredCall,
  DecodeOptions,
  EncodeMessagesOptions,
  EncodeToolsOptions,
  EncodedMessages,
  EncodedRequest,
  EncodedTools,
  Framing,
  StreamDecoder,
  WireFormat,
  WireNote,
  WireTarget,
} from "./wire-format.ts";
