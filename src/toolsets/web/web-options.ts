/** The options of the toolset `web`. */
import type { SearchProviderName, WebSearch } from "./search-provider.ts";

/** A built-in search, and its key. */
export interface SearchProviderOptions {
  readonly provider: SearchProviderName;
  /** Required by every provider except SearXNG. */
  readonly apiKey?: string;
  /** The address of the server: required for SearXNG, else that of the provider. */
  readonly url?: string;
}

/** Options of `webToolset`. */
export interface WebOptions {
  /** The namespace of the tools. @default "web" */
  readonly name?: string;
  /** A built-in search provider with its key, or a function. Left out = no `web_search`. */
  readonly search?: SearchProviderOptions | WebSearch;
  /**
   * Hosts that may have private addresses: `localhost:8080` for one port, `wiki.corp.example` for every port, `10.0.0.0/8`. All others must have
   * public addresses, after redirects as well. @default none
   */
  readonly allowPrivate?: readonly string[];
  /** Maximum size of a page after decompression, in bytes. @default 10 MiB */
  readonly maxBytes?: number;
}
