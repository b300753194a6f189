/** The request to a server over HTTP, and its response; see `HttpClient`. */

export interface HttpRequest {
  /** Upper case. Any method but CONNECT. */
  readonly method: string;
  /** http or https. User-info in it is refused. */
  readonly url: URL;
  /** In order; a name may come twice. Sent as they are, once they are known to be legal. */
  readonly headers: readonly HttpHeader[];
  readonly body?: Uint8Array | undefined;
  /** Lower-case names of headers that are dropped, besides `authorization`, `cookie` and `proxy-authorization`, when a redirect leaves the origin. */
  readonly secretHeaders?: readonly string[];
  /** Names of query parameters that are dropped from a redirect's address when it leaves the origin. */
  readonly secretQuery?: readonly string[];
  /** Also after the head of the answer has come: the body then ends with `cancelled`. */
  readonly signal: AbortSignal;
  /** Do not follow redirects: the answer is the redirect. @default false */
  readonly keepRedirect?: boolean;
  /** In an answer of type `text/event-stream`, `maxBytes` counts for each event and the stream may be endless. @default false */
  readonly capEachEvent?: boolean;
}

export type HttpHeader = readonly [name: string, value: string];

export interface HttpResponse {
  readonly status: number;
  /** Where the answer came from in the end, after redirects. */
  readonly url: URL;
  /** Names in lower case; the values of a name that came several times, in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /**
   * The decoded body, once. Ends with ToolError `too_large` past the cap, `network_error` when the connection breaks. Leaving
   * the loop early closes the connection.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** All of `body`. @throws ToolError as `body` */
  bytes(): Promise<Uint8Array>;
  /** Gives the answer up and frees its connection. Idempotent. */
  discard(): void;
}

export interface HttpClientOptions {
  /**
   * Hosts that may have private addresses: `localhost:8080` with a port, `billing.corp.example` for every port, `10.0.0.0/8` for
   * every host that resolves there. Anything else that is not public is refused.
   */
  readonly allowPrivate?: readonly string[];
  /** Most bytes of an answer after decompression. @default 10 MiB */
  readonly maxBytes?: number;
  /** Most redirects followed. @default 5 */
  readonly maxRedirects?: number;
  /** False = certificates are not checked, which is warned of once. @default true */
  readonly verifyTls?: boolean;
  /** Certificate authorities in PEM, instead of those of the system. */
  readonly ca?: string;
  /** Longest time to connect, in milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number;
}

/** Sends requests to public addresses, and to the private ones that were named. No proxy of the environment is used. */
export interface HttpClient {
  /**
   * Resolves once the head of the answer is there, whatever its status.
   *
   * @throws ToolError, by rejecting: `permission_denied` for an address that is not allowed (`not_started`), `network_error`
   * (`not_started` when nothing was sent), `invalid_argument` for an illegal header, `cancelled` when the signal aborts
   */
  request(request: HttpRequest): Promise<HttpResponse>;
  /** Closes every connection. Idempotent. */
  close(): void;
}
