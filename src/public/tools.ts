/** The public names of `haft/tools`, listed by hand: the registry, definitions of tools as data, and which of them are visible. @packageDocumentation */
export type { JsonPrimitive } from "../core/base/json.ts";
export { type NameParts, qualifiedName, splitName } from "../core/call.ts";
export type { ToolOutputOptions } from "../core/content.ts";
export type { ResolvedEffects } from "../core/effects.ts";
export type { Actor, ErrorCodeInfo } from "../core/error-codes.ts";
export type { ToolErrorOptions } from "../core/error.ts";
export type { JobWork } from "../core/job.ts";
export type { SourceContext } from "../core/source.ts";
export type { ToolPins } from "../core/tool-pins.ts";
export type { CacheScope, PastCall, Reducer, Supersedes, ToolCategory } from "../core/tool.ts";
export { type ToolList, type VisibilityRules, Visibility, visibilityOf, visibleTools } from "../policy/visibility.ts";
export type { HandlerResult } from "../registry/define-tool.ts";
export type { RegisteredTool } from "../registry/registered-tool.ts";
export type { RegistryOptions } from "../registry/registry.ts";
export { withSuccessShape } from "../registry/success-shape.ts";
export type { ToolAnnotations, ToolDefinition, ToolJson } from "../registry/tool-definition.ts";
export type { ToolFunction, ToolFunctionOptions } from "../registry/tool-function.ts";
export type { SearchQuery } from "../registry/tool-search.ts";
