/** The head of a request: everything before its body. */

/** The head of a request. A `Request` is one as well. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderReader;
  /** The address of the client, if known. */
  readonly from?: string | undefined;
}

/** Reads the headers of a request, like `Headers`. */
export interface HeaderReader {
  get(name: string): string | null;
}

/** The head of a request that can be converted to a `Request`. */
export interface HeadRequest extends RequestHead {
  /** The `Request` without its body. */
  toRequest(): Request;
}
