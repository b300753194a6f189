/** The built-in web searches: the request of each, and the place of its results. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ToolError } from "../../core/error.ts";
import type { HttpHeader } from "../../net/http-request.ts";

/** One page that a search found. */
export interface WebResult {
  readonly title: string;
  readonly url: string;
  /** The part of the page that answers the query. */
  readonly snippet: string;
}

/** Searches the web. Rejects with a `ToolError` if it fails. */
export type WebSearch = (query: string, options: { readonly count: number; readonly signal: AbortSignal }) => Promise<readonly WebResult[]>;

/** The name of a built-in web search. */
export type SearchProviderName = "brave" | "exa" | "searxng" | "tavily";

export interface SearchQuery {
  readonly query: string;
  readonly count: number;
  readonly apiKey: string;
}

interface ProviderRequest {
  readonly method: "GET" | "POST";
  /** The path and query, relative to the provider's address. */
  readonly path: string;
  readonly headers: readonly HttpHeader[];
  readonly body?: JsonObject;
}

export interface SearchProvider {
  /** Undefined if users run their own server. */
  readonly address: string | undefined;
  readonly needsKey: boolean;
  /** The header that holds the key. */
  readonly secretHeader?: string;
  request(query: SearchQuery): ProviderRequest;
  /** The path of the results, and the name of the snippet field. */
  readonly results: readonly string[];
  readonly snippet: string;
  /** Whether titles and snippets are HTML: `&amp;` is written for "&". */
  readonly isHtml?: boolean;
}

/**
 * @see https://api-dashboard.search.brave.com/app/documentation/web-search/get-started
 * @see https://docs.tavily.com/documentation/api-reference/endpoint/search
 * @see https://docs.exa.ai/reference/search
 * @see https://docs.searxng.org/dev/search_api.html
 */
export const SEARCH_PROVIDERS: { readonly [Name in SearchProviderName]: SearchProvider } = {
  brave: {
    address: "https://api.search.brave.com",
    needsKey: true,
    secretHeader: "x-subscription-token",
    request: ({ query, count, apiKey }) => ({
      method: "GET",
      path: `/res/v1/web/search?${String(new URLSearchParams({ q: query, count: String(count), text_decorations: "false" }))}`,
      headers: [["x-subscription-token", apiKey]],
    }),
    results: ["web", "results"],
    snippet: "description",
    isHtml: true,
  },
  tavily: {
    address: "https://api.tavily.com",
    needsKey: true,
    request: ({ query, count, apiKey }) => ({
      method: "POST",
      path: "/search",
      headers: [["authorization", `Bearer ${apiKey}`]],
      body: { query, max_results: count },
    }),
    results: ["results"],
    snippet: "content",
  },
  exa: {
    address: "https://api.exa.ai",
    needsKey: true,
    secretHeader: "x-api-key",
    request: ({ query, count, apiKey }) => ({
      method: "POST",
      path: "/search",
      headers: [["x-api-key", apiKey]],
      body: { query, numResults: count, contents: { text: { maxCharacters: 500 } } },
    }),
    results: ["results"],
    snippet: "text",
  },
  searxng: {
    address: undefined,
    needsKey: false,
    request: ({ query }) => ({ method: "GET", path: `/search?${String(new URLSearchParams({ q: query, format: "json" }))}`, headers: [] }),
    results: ["results"],
    snippet: "content",
  },
};
export const SEARCH_PROVIDER_NAMES = ["brave", "exa", "searxng", "tavily"] as const satisfies readonly SearchProviderName[];

/** @throws ToolError `execution_failed` for an answer without a list of results, `unavailable` for none if search engines behind it did not answer */
export function readResults(answer: JsonValue, { results, snippet, isHtml = false }: SearchProvider, name: string): readonly WebResult[] {
  let list: JsonValue | undefined = answer;
  for (const key of results) list = isJsonObject(list) ? getOwn(list, key) : undefined;
  if (list === undefined && isJsonObject(answer)) return []; // some providers leave out the list if nothing is found
  if (!Array.isArray(list))
    throw new ToolError("execution_failed", `The search ${name} answered without a list of results.`, { outcome: "failed" });
  if (list.length === 0) checkEngines(answer, name);
  return list.flatMap((entry) => {
    const url = isJsonObject(entry) ? getOwn(entry, "url") : undefined;
    if (!isJsonObject(entry) || typeof url !== "string") return [];
    const text = (key: string): string => {
      const value = getOwn(entry, key);
      return typeof value === "string" ? (isHtml ? plainText(value) : value).trim() : "";
    };
    return [{ title: text("title"), url, snippet: text(snippet) }];
  });
}

/**
 * Reads the results of a search function of the program, which may leave out the title or snippet. Entries without a URL are left out.
 *
 * @throws ToolError `execution_failed` if it is no array, or if no entry has a URL
 */
export function readOwnResults(found: unknown): readonly WebResult[] {
  if (!Array.isArray(found))
    throw new ToolError("execution_failed", "The search of the program answered without a list of results.", { outcome: "failed" });
  const results = found.flatMap((entry: unknown) => {
    const text = (key: keyof WebResult): string => {
      const value: unknown = Reflect.get(Object(entry), key);
      return typeof value === "string" ? value : "";
    };
    const url = text("url");
    return url === "" ? [] : [{ title: text("title"), url, snippet: text("snippet") }];
  });
  if (results.length > 0 || found.length === 0) return results;
  throw new ToolError("execution_failed", "The search of the program answered with results that have no url.", { outcome: "failed" });
}

/**
 * Reports an empty answer as an error if some engines behind SearXNG did not answer or sent a captcha: there may be results then.
 *
 * @see https://docs.searxng.org/dev/search_api.html
 */
function checkEngines(answer: JsonValue, name: string): void {
  const silent = isJsonObject(answer) ? getOwn(answer, "unresponsive_engines") : undefined;
  if (!Array.isArray(silent) || silent.length === 0) return;
  const engines = silent
    .slice(0, MAX_ENGINES_NAMED)
    .map((engine) => (Array.isArray(engine) ? engine.map(String).join(": ") : String(engine)));
  throw new ToolError("unavailable", `The search ${name} found nothing, and not all of its engines answered (${engines.join("; ")}).`, {
    outcome: "failed",
    retryable: true,
  });
}

const MAX_ENGINES_NAMED = 5;
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", " "],
]);

function plainText(html: string): string {
  return html
    .replaceAll(/<\/?strong>/giu, "")
    .replaceAll(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/giu, (whole, hex?: string, digits?: string, name?: string) => {
      const code = hex === undefined ? Number(digits) : Number.parseInt(hex, 16);
      if (name !== undefined) return ENTITIES.get(name) ?? whole;
      return code <= 0x10_ffff ? String.fromCodePoint(code).toWellFormed() : whole;
    });
}
