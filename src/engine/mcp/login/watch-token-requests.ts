/** Distinguishes temporary failures of an authorization server from its refusals, which the official client does not. */
import type { FetchLike } from "@modelcontextprotocol/client";
import { causesOf } from "../../../core/base/causes.ts";
import { ToolError, describeThrown, isToolError, type ToolErrorOptions } from "../../../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { parseJson } from "../../../core/base/parse-json.ts";

/** Errors with which an authorization server does not refuse a request. @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
const TRANSIENT_ERRORS: ReadonlySet<JsonValue | undefined> = new Set(["server_error", "temporarily_unavailable", "slow_down"]);

/** A token that fits into a header, whose limit is 16,384 characters. @see https://www.rfc-editor.org/rfc/rfc6749#appendix-A.12 */
const TOKEN = /^[\u0020-\u007e]{1,16000}$/u;

/** A `fetch` that watches requests for tokens. */
export interface WatchedRequests {
  readonly fetch: FetchLike;
  /** Why the latest request was neither granted nor refused; undefined if it was, or if none was sent. */
  readonly fault: TokenFault | undefined;
}

interface TokenFault {
  /** The reason, as the end of a sentence. */
  readonly reason: string;
  /** Set if the request was not sent, because its address is not allowed. */
  readonly notAllowed?: ToolError | undefined;
}

/** The error of a call whose token was neither granted nor refused. @param what the failure, such as "The token could not be renewed" */
export function tokenError(
  what: string,
  { reason, notAllowed }: TokenFault,
  options: Pick<ToolErrorOptions, "operatorHint" | "cause">,
): ToolError {
  const { operatorHint = options.operatorHint } = notAllowed ?? {};
  return new ToolError(notAllowed?.code ?? "unavailable", `${what}${notAllowed === undefined ? " now" : ""}: ${reason}.`, {
    retryable: notAllowed === undefined,
    outcome: "not_started",
    cause: options.cause,
    ...(operatorHint === undefined ? {} : { operatorHint }),
  });
}

/** @throws ToolError `unavailable` for a token that no header can carry: it would be kept, and fail in every call */
export function checkUsableToken({ access_token: token }: { readonly access_token: string }): void {
  if (TOKEN.test(token)) return;
  throw new ToolError("unavailable", "The authorization server answered without a usable token.", { outcome: "not_started" });
}

/** Watches the requests of one grant type. */
export function watchTokenRequests(fetch: FetchLike, grantType: string): WatchedRequests {
  let fault: TokenFault | undefined;
  const ask: FetchLike = async (url, init) => {
    try {
      const response = await fetch(url, init);
      const text = await response.text();
      const body = parseObject(text);
      const { error } = body;
      const isRefused = typeof error === "string" && !TRANSIENT_ERRORS.has(error);
      const token = body["access_token"];
      const isGranted = response.ok && typeof token === "string" && TOKEN.test(token);
      const answered = response.ok ? "without a usable token" : response.status;
      fault = isRefused || isGranted ? undefined : { reason: `it answered ${answered}` };
      return new Response(text, response);
    } catch (thrown: unknown) {
      const inner = [...causesOf(thrown)].filter(isToolError);
      const notAllowed = inner.find(({ code }) => code === "permission_denied");
      fault = { reason: describeThrown(notAllowed ?? inner[0] ?? thrown).replace(/\.$/u, ""), notAllowed };
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

export function parseObject(text: string): JsonObject {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
