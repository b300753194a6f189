/** The token with which a refused request was sent: a later one may have been got before the refusal comes. */
import type { FetchLike } from "@modelcontextprotocol/client";

const REFUSED = new WeakMap<Response, string>();

/** A `fetch` whose refusals (HTTP 401) `refusedToken` knows. */
export function withRefusedTokens(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status !== 401) return response;
    const token = /^Bearer (.+)$/iu.exec(new Headers(init?.headers).get("authorization") ?? "")?.[1];
    if (token !== undefined) REFUSED.set(response, token);
    return response;
  };
}

/** Undefined for a request that was sent without a token, and for one that another `fetch` sent. */
export function refusedToken(response: Response): string | undefined {
  return REFUSED.get(response);
}
