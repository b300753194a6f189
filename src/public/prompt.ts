/** The public names of `haft/prompt`, listed by hand: the part of a prompt that describes tools. @packageDocumentation */
export { type PromptOptions, buildPrompt } from "../compose/prompt/build-prompt.ts";
export { type ModelToolsOptions, modelTools } from "../compose/prompt/model-tools.ts";
export { type ProviderToolName, type ProviderToolsOptions, patchOptions, providerTools } from "../compose/prompt/provider-tools.ts";
export type { ProgramContribution } from "../compose/prompt/tool-guidance.ts";
export type { PromptContribution } from "../core/tool.ts";
export { type Documentation, type DocumentationOptions, type DocumentationOverrides, documentationOf } from "../registry/documentation.ts";
