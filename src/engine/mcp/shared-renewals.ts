/**
 * Renews a token once for all calls that find it expired, where the official client renews it for each. If an authorization server replaces a refresh
 * token at each use, a second use ends the whole login.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.14.2
 */
import type { FetchLike } from "@modelcontextprotocol/client";
import { isJsonObject } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";

/** Maximum number of used refresh tokens that are remembered, for requests that read theirs before it was replaced. */
const MAX_CACHED_RENEWALS = 16;

/**
 * A `fetch` that sends each single-use refresh token once: later requests with it get the same answer. If the token stays valid, or was refused, only
 * concurrent requests share the answer.
 */
export function withSharedRenewals(fetch: FetchLike): FetchLike {
  const renewals = new Map<string, Promise<Response>>();
  const renew = async (key: string, token: string, ask: () => Promise<Response>): Promise<Response> => {
    let isUsedUp = false;
    try {
      const response = await ask();
      isUsedUp = response.ok && (await hasNewRefreshToken(response.clone(), token));
      return response;
    } finally {
      if (!isUsedUp) renewals.delete(key);
    }
  };
  return async (url, init) => {
    const body = init?.body;
    const isRenewal = body instanceof URLSearchParams && body.get("grant_type") === "refresh_token";
    const token = isRenewal ? body.get("refresh_token") : null;
    if (token === null) return await fetch(url, init);
    const key = `${String(url)} ${token}`;
    const renewal = renewals.get(key) ?? renew(key, token, () => fetch(url, init));
    renewals.set(key, renewal);
    const [oldest] = renewals.keys();
    if (renewals.size > MAX_CACHED_RENEWALS && oldest !== undefined) renewals.delete(oldest);
    return (await renewal).clone();
  };
}

/** Whether an answer has another refresh token than the one that was sent. */
async function hasNewRefreshToken(answer: Response, token: string): Promise<boolean> {
  try {
    const tokens = parseJson(await answer.text());
    const next = isJsonObject(tokens) ? tokens["refresh_token"] : undefined;
    return typeof next === "string" && next !== token;
  } catch {
    return false;
  }
}
