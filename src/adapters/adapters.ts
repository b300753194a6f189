/** The public names of `haft/adapters`, listed by hand: Haft's tools for other frameworks, and theirs for Haft. @packageDocumentation */
export {
  type AiSdkContent,
  type AiSdkTool,
  type AiSdkToolLike,
  type AiSdkTypedOptions,
  type AiSdkTypedTool,
  type AiSdkTypedTools,
  fromAiSdkTools,
  toAiSdkTools,
} from "./ai-sdk.ts";
export { type AgUiEvent, type AgUiInput, type AgUiOptions, agUiHandler } from "./ag-ui.ts";
export type { AdapterOptions } from "./bridge.ts";
export {
  type LangChainConfig,
  type LangChainFields,
  type LangChainHandler,
  type LangChainToolLike,
  fromLangChainTools,
  toLangChainTools,
} from "./langchain.ts";
export { type MastraFields, type MastraToolLike, fromMastraTools, toMastraTools } from "./mastra.ts";
export { type OpenAiAgentsFields, type OpenAiAgentsToolLike, fromOpenAiAgentsTools, toOpenAiAgentsTools } from "./openai-agents.ts";
export { type UiChatInput, type UiChatMessage, type UiChatOptions, uiChatHandler } from "./ui-stream.ts";
