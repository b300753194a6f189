/** The tools that providers run themselves: how each provider declares them, and their options. */
import type { JsonObject } from "../../core/base/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { ANTHROPIC } from "../../wire/anthropic-conversation.ts";
import { GEMINI } from "../../wire/gemini-conversation.ts";
import { INTERACTIONS } from "../../wire/gemini/interaction-steps.ts";
import { OPENAI_RESPONSES as RESPONSES } from "../../wire/responses/input-items.ts";

export interface ProviderTool {
  /** The name that the provider uses in its replies. */
  readonly name: string;
  readonly description: string;
  /** The declaration that is sent when no option is set. */
  readonly declaration: JsonObject;
  /** The key of the declaration that holds the options. @default next to `type` */
  readonly optionsAt?: string;
  readonly options: JsonSchema;
}

const text = { type: "string", minLength: 1 } as const;
const flag = { type: "boolean" } as const;
const domains = { type: "array", items: text, minItems: 1, maxItems: 100 } as const;
const positive = { type: "integer", minimum: 1 } as const;

function options(properties: Readonly<Record<string, JsonSchema>>, more: Readonly<Record<string, unknown>> = {}): JsonSchema {
  return { type: "object", properties, additionalProperties: false, ...more };
}

const userLocation = options(
  { type: { const: "approximate" }, city: text, region: text, country: { type: "string", pattern: "^[A-Z]{2}$" }, timezone: text },
  { required: ["type"] },
);
/** Anthropic takes either a list of allowed domains or one of blocked domains, not both. */
const domainLists = { allowed_domains: domains, blocked_domains: domains };
const oneDomainList = { not: { required: ["allowed_domains", "blocked_domains"] } };

const ANTHROPIC_TOOLS: readonly ProviderTool[] = [
  {
    name: "web_search",
    description: "Searches the web and cites what it finds.",
    declaration: { type: "web_search_20250305", name: "web_search" },
    options: options({ max_uses: positive, ...domainLists, user_location: userLocation }, oneDomainList),
  },
  {
    name: "web_fetch",
    description: "Reads a page of the web whose address is in the conversation.",
    declaration: { type: "web_fetch_20250910", name: "web_fetch" },
    options: options(
      { max_uses: positive, ...domainLists, citations: options({ enabled: flag }), max_content_tokens: positive },
      oneDomainList,
    ),
  },
  {
    name: "code_execution",
    description: "Runs code and shell commands in a container of the provider's.",
    declaration: { type: "code_execution_20250825", name: "code_execution" },
    options: options({}),
  },
];

const RESPONSES_TOOLS: readonly ProviderTool[] = [
  {
    name: "web_search",
    description: "Searches the web and cites what it finds.",
    declaration: { type: "web_search" },
    options: options({
      search_context_size: { enum: ["low", "medium", "high"] },
      user_location: userLocation,
      filters: options({ allowed_domains: domains }),
    }),
  },
  {
    name: "code_interpreter",
    description: "Runs Python in a container of the provider's.",
    declaration: { type: "code_interpreter", container: { type: "auto" } },
    options: options({
      container: {
        anyOf: [text, options({ type: { const: "auto" }, file_ids: { type: "array", items: text } }, { required: ["type"] })],
      },
    }),
  },
  {
    name: "image_generation",
    description: "Makes and changes images.",
    declaration: { type: "image_generation" },
    options: options({
      size: { enum: ["auto", "1024x1024", "1024x1536", "1536x1024"] },
      quality: { enum: ["auto", "low", "medium", "high"] },
      background: { enum: ["auto", "opaque", "transparent"] },
      output_format: { enum: ["png", "webp", "jpeg"] },
      output_compression: { type: "integer", minimum: 0, maximum: 100 },
      partial_images: { type: "integer", minimum: 0, maximum: 3 },
      moderation: { enum: ["auto", "low"] },
    }),
  },
];

const timeRange = options({ startTime: text, endTime: text }, { required: ["startTime", "endTime"] });

const GEMINI_TOOLS: readonly ProviderTool[] = [
  {
    name: "google_search",
    description: "Searches the web and cites what it finds.",
    declaration: { googleSearch: {} },
    optionsAt: "googleSearch",
    options: options({ timeRangeFilter: timeRange }),
  },
  {
    name: "url_context",
    description: "Reads the pages whose addresses are in the conversation.",
    declaration: { urlContext: {} },
    options: options({}),
  },
  {
    name: "code_execution",
    description: "Writes and runs Python on the provider's side.",
    declaration: { codeExecution: {} },
    options: options({}),
  },
];

/** The same tools for the Interactions API, which takes them by `type`. */
const INTERACTIONS_TOOLS: readonly ProviderTool[] = GEMINI_TOOLS.map(({ name, description }) => ({
  name,
  description,
  declaration: { type: name },
  options: options({}),
}));

/**
 * The providers' tools, by the name of the wire format.
 *
 * @see https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
 * @see https://platform.openai.com/docs/guides/tools
 * @see https://ai.google.dev/api/caching#Tool — all as of November 2026
 */
export const PROVIDER_TOOLS: ReadonlyMap<string, readonly ProviderTool[]> = new Map([
  [ANTHROPIC, ANTHROPIC_TOOLS],
  [RESPONSES, RESPONSES_TOOLS],
  [GEMINI, GEMINI_TOOLS],
  [INTERACTIONS, INTERACTIONS_TOOLS],
]);
