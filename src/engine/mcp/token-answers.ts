/** Answers of authorization servers to requests for tokens, as the official client gets them: it quotes them in its errors and on the console. */
import type { FetchLike } from "@modelcontextprotocol/client";
import { createRedactor, decodeUrlPart, type Redact } from "../../core/secrets/redact.ts";
import { stripControlCharacters } from "../../processes/stderr-tail.ts";
import { parseObject, tokenError, watchTokenRequests } from "./login/watch-token-requests.ts";

/** Fields of a request for tokens that are secret. */
const SECRET_FIELDS: readonly string[] = [
  "client_secret",
  "client_assertion",
  "refresh_token",
  "code",
  "code_verifier",
  "subject_token",
  "actor_token",
  "assertion",
  "token",
];
const BASIC = /^Basic +(\S+)/iu;
/** Maximum number of characters that are passed on of an answer that is no OAuth error, or of the text of one. */
const MAX_QUOTED = 500;

/** A `fetch` whose refusals of requests for tokens repeat no secret of the request, no control characters, and at most 500 characters of text. */
export function withQuotableRefusals(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    const body = init?.body;
    if (!(body instanceof URLSearchParams) || response.ok || response.body === null) return response;
    const redact = redactorOf(body, new Headers(init?.headers).get("authorization") ?? "");
    return new Response(quotable(await response.text(), redact), response);
  };
}

/**
 * A `fetch` that rejects with a ToolError if an authorization server neither grants nor refuses a token to a client with credentials of its own.
 * The call that needs the token was refused by its server, so it has not started.
 */
export function withTokenErrors(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const requests = watchTokenRequests(fetch, "client_credentials");
    const asked = requests.fetch(url, init);
    const cause: unknown = await asked.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const { fault } = requests;
    if (fault === undefined || init?.signal?.aborted === true) return asked;
    throw tokenError(`No token could be obtained from ${new URL(url).host}`, fault, { cause });
  };
}

function redactorOf(fields: URLSearchParams, authorization: string): Redact {
  const [, basic = ""] = BASIC.exec(authorization) ?? [];
  const secret = Buffer.from(basic, "base64")
    .toString("utf8")
    .replace(/^[^:]*:?/u, "");
  const given = SECRET_FIELDS.map((name): [string, string] => [name, fields.get(name) ?? ""]);
  return createRedactor({
    ...Object.fromEntries(given),
    credentials: basic,
    clientSecret: decodeUrlPart(secret),
    "encoded clientSecret": secret,
  });
}

function quotable(text: string, redact: Redact): string {
  const { error, error_description: description } = parseObject(redact(text));
  const shorten = (value: string): string => stripControlCharacters(value).slice(0, MAX_QUOTED);
  if (typeof error !== "string") return shorten(redact(text));
  return JSON.stringify({
    error: shorten(error),
    ...(typeof description === "string" ? { error_description: shorten(redact(description)) } : {}),
  });
}
