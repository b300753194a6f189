/** The tokens of refused requests, by response. A newer token may have been obtained before the refusal arrives. */
import type { FetchLike } from "@modelcontextprotocol/client";

const REFUSED_TOKENS = new WeakMap<Response, string>();

/** A `fetch` that records the token of each refused request (HTTP 401) for `refusedTokenOf`. */
export function withRefusedTokens(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status !== 401) return response;
    const token = /^Bearer (.+)$/iu.exec(new Headers(init?.headers).get("authorization") ?? "")?.[1];
    if (token !== undefined) REFUSED_TOKENS.set(response, token);
    return response;
  };
}

/** The token of a refused request; undefined if it had none, or was sent by another `fetch`. */
export function refusedTokenOf(response: Response): string | undefined {
  return REFUSED_TOKENS.get(response);
}
