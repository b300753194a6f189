/** The options of the toolset `web`. */
import type { SearchProviderName, WebSearch } from "./search-provider.ts";

/** A built-in search, and its key. */
export interface SearchProviderOptions {
  readonly provider: SearchProviderName;
  /** Of every provider but SearXNG. */
  readonly apiKey?: string;
  /** The address of the server: needed for SearXNG, else that of the provider. */
  readonly url?: string;
}

/** Which addresses may be fetched, and who searches. */
export interface WebOptions {
  /** The namespace of the tools. @default "web" */
  readonly name?: string;
  /** A built-in provider with its key, or a function of yours. Left out = there is no `web_search`. */
  readonly search?: SearchProviderOptions | WebSearch;
  /**
   * Hosts that may have private addresses: `localhost:8080` with a port, `wiki.corp.example` for every port, `10.0.0.0/8`. All others must be public, after
   * redirects as well. @default none
   */
  readonly allowPrivate?: readonly string[];
  /** Most bytes of a page after decompression. @default 10 MiB */
  readonly maxBytes?: number;
}
