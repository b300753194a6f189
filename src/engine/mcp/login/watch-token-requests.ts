/** Tells failures in passing of an authorization server from its refusals, which the official client does not. */
import type { FetchLike } from "@modelcontextprotocol/client";
import { describeThrown } from "../../../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { parseJson } from "../../../core/base/parse-json.ts";

/** Errors with which an authorization server does not refuse a request. @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
const PASSING: ReadonlySet<JsonValue | undefined> = new Set(["server_error", "temporarily_unavailable", "slow_down"]);

/** Requests for tokens that are watched on their way. */
export interface WatchedRequests {
  readonly fetch: FetchLike;
  /** Why the latest one was neither granted nor refused, as the end of a sentence; undefined where it was, or none was sent. */
  readonly fault: string | undefined;
}

/** Watches the requests of one grant type. */
export function watchTokenRequests(fetch: FetchLike, grantType: string): WatchedRequests {
  let fault: string | undefined;
  const ask: FetchLike = async (url, init) => {
    try {
      const response = await fetch(url, init);
      const text = await response.text();
      const body = objectIn(text);
      const { error } = body;
      const isRefused = typeof error === "string" && !PASSING.has(error);
      fault = isRefused || (response.ok && typeof body["access_token"] === "string") ? undefined : `it answered ${response.status}`;
      return new Response(text, response);
    } catch (thrown: unknown) {
      fault = describeThrown(thrown).replace(/\.$/u, "");
      throw thrown;
    }
  };
  const isWatched = (body: unknown): boolean => body instanceof URLSearchParams && body.get("grant_type") === grantType;
  return {
    fetch: (url, init) => (isWatched(init?.body) ? ask(url, init) : fetch(url, init)),
    get fault() {
      return fault;
    },
  };
}

function objectIn(text: string): JsonObject {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
