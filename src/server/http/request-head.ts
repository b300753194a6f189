/** The head of a request: what comes before its body. */

/** The parts of a request that come before its body. A `Request` is one as well. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderReader;
  /** The address of the client, where it is known. */
  readonly from?: string | undefined;
}

/** The headers of a request, as `Headers` reads them. */
export interface HeaderReader {
  get(name: string): string | null;
}

/** The head of a request, and the `Request` of it for those that need one. */
export interface HeadRequest extends RequestHead {
  /** Without its body. */
  toRequest(): Request;
}
