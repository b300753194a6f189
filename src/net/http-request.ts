/** The request to a server over HTTP, and its response; see `HttpClient`. */

export interface HttpRequest {
  /** Upper case. Any method but CONNECT. */
  readonly method: string;
  /** http or https. An address with user info is refused. */
  readonly url: URL;
  /** In order; a name may occur several times. Checked, then sent unchanged. */
  readonly headers: readonly HttpHeader[];
  readonly body?: Uint8Array | undefined;
  /** Lower-case names of headers to drop when a redirect leaves the origin, besides `authorization`, `cookie` and `proxy-authorization`. */
  readonly secretHeaders?: readonly string[];
  /** Names of query parameters that are removed from a redirect's address when it leaves the origin. */
  readonly secretQuery?: readonly string[];
  /** Also applies after the head of the response has arrived: the body then ends with `cancelled`. */
  readonly signal: AbortSignal;
  /** Whether a redirect is returned as the response instead of being followed. @default false */
  readonly keepRedirect?: boolean;
  /** Whether, in a response of type `text/event-stream`, `maxBytes` applies to each event and the stream may be endless. @default false */
  readonly capEachEvent?: boolean;
}

export type HttpHeader = readonly [name: string, value: string];

export interface HttpResponse {
  readonly status: number;
  /** The address that responded in the end, after redirects. */
  readonly url: URL;
  /** Names in lower case; values of a repeated name in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /**
   * The decoded body, which can be read once. Ends with ToolError `too_large` if it exceeds `maxBytes`, `network_error` if the connection
   * breaks. Leaving the loop early closes the connection.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** Reads the whole body. @throws ToolError as `body` */
  bytes(): Promise<Uint8Array>;
  /** Discards the response and frees its connection. Idempotent. */
  discard(): void;
}

export interface HttpClientOptions {
  /**
   * Hosts that may have private addresses: `localhost:8080` with a port, `billing.corp.example` for every port, `10.0.0.0/8` for every host
   * that resolves to such an address. Any other address that is not public is refused.
   */
  readonly allowPrivate?: readonly string[];
  /** Maximum number of bytes of a response, after decompression. @default 10 MiB */
  readonly maxBytes?: number;
  /** Maximum number of redirects that are followed. @default 5 */
  readonly maxRedirects?: number;
  /** False = certificates are not checked, which is logged as a warning once. @default true */
  readonly verifyTls?: boolean;
  /** Certificate authorities in PEM, instead of those of the system. */
  readonly ca?: string;
  /** Longest time to connect, in milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number;
}

/** Sends requests to public addresses, and to private ones that are explicitly allowed. Proxies of the environment are not used. */
export interface HttpClient {
  /**
   * Resolves once the head of the response has arrived, whatever its status.
   *
   * @throws ToolError, as a rejection: `permission_denied` for an address that is not allowed (`not_started`), `network_error` (`not_started`
   * if nothing was sent), `invalid_argument` for an illegal header, `cancelled` if the signal aborts
   */
  request(request: HttpRequest): Promise<HttpResponse>;
  /** Closes every connection. Idempotent. */
  close(): void;
}
