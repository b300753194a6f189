/** Reads the credentials of a request: its bearer token. */

import type { RequestHead } from "../http/request-head.ts";

/** Maximum length of the header, as of a whole request head: a token with a user's groups may have 12,000 characters. */
const MAX_LENGTH = 16_384;
/** Matches one token and nothing else. */
const BEARER = /^bearer +([\w.~+/-]+=*) *$/iu;
/** @see https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
const TOKEN = /^[\w.~+/-]+=*$/u;

/** Whether a text can be sent as a bearer token. */
export function isBearerToken(text: string): boolean {
  return TOKEN.test(text);
}

/** The bearer token of the header `Authorization`; undefined for other schemes, and for a token elsewhere, such as in the query. */
export function bearerToken({ headers }: Pick<RequestHead, "headers">): string | undefined {
  const given = headers.get("authorization") ?? "";
  return given.length > MAX_LENGTH ? undefined : BEARER.exec(given)?.[1];
}
