/** The toolset `web`: pages as Markdown, and a search by a provider of your choice. @packageDocumentation */
import { checkName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Toolset } from "../core/toolset.ts";
import { didYouMean } from "../core/base/near-names.ts";
import { SEARCH_PROVIDERS, SEARCH_PROVIDER_NAMES } from "./web/search-provider.ts";
import type { SearchProviderOptions, WebOptions } from "./web/web-options.ts";
import { WebEngine } from "./web/web-engine.ts";

const OPTIONS: OptionNames<WebOptions> = { name: true, search: true, allowPrivate: true, maxBytes: true };
const SEARCH_OPTIONS: OptionNames<SearchProviderOptions> = { provider: true, apiKey: true, url: true };

/**
 * Returns a toolset with the tool `web_fetch`, which reads a page as Markdown (with the package `defuddle`), a PDF document as text (with `unpdf`),
 * and other texts as they are; and with `search` the tool `web_search`.
 *
 * Only public addresses and those in `allowPrivate` are reached. Pages and documents are converted in a thread with limits (512 MB, 20 s), which
 * runs no scripts and makes no requests. Their content is third-party text.
 *
 * @throws ToolError `invalid_argument` for options that cannot be used
 */
export function webToolset(options: WebOptions = {}): Toolset {
  checkKnownKeys(options, OPTIONS, "webToolset()");
  const { name = "web", search } = options;
  checkName(name, "toolset");
  if (search !== undefined && typeof search !== "function") checkProvider(search);
  return { name, description: "Pages of the web.", engine: new WebEngine(options), maxConcurrent: 8 };
}

function checkProvider(search: SearchProviderOptions): void {
  checkKnownKeys(search, SEARCH_OPTIONS, "search of webToolset()");
  const { provider, apiKey, url } = search;
  if (!SEARCH_PROVIDER_NAMES.includes(provider)) {
    const given: unknown = provider;
    throw invalid(
      `The search provider ${JSON.stringify(provider)} is unknown.`,
      didYouMean(String(given), SEARCH_PROVIDER_NAMES) ?? `Known providers: ${SEARCH_PROVIDER_NAMES.join(", ")}.`,
    );
  }
  const { needsKey, address } = SEARCH_PROVIDERS[provider];
  if (needsKey && (typeof apiKey !== "string" || apiKey === "")) throw invalid(`The search provider ${provider} needs an apiKey.`);
  if (address === undefined && url === undefined) throw invalid(`The search provider ${provider} needs the url of its server.`);
  if (url !== undefined && (!URL.canParse(url) || !/^https?:/iu.test(url)))
    throw invalid(`The url ${JSON.stringify(url)} of the search is not an http or https address.`);
  const { username = "", password = "", search: query = "", hash = "" } = url === undefined ? {} : new URL(url);
  if (`${username}${password}${query}${hash}` !== "")
    throw invalid("The url of the search has a user name, password, query or fragment, which is not supported.");
}

function invalid(message: string, hint?: string): ToolError {
  return new ToolError("invalid_argument", message, hint === undefined ? {} : { hint });
}
