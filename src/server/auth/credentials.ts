/** The credentials of a request: its bearer token. */

import type { RequestHead } from "../http/request-head.ts";

/** A longer one is no token of an issuer, and costs nothing. */
const MAX_TOKEN_LENGTH = 8_192;
/** One token, and nothing around it: two headers are joined by a comma, which no token has. */
const BEARER = /^bearer +([\w.~+/-]+=*) *$/iu;

/** The bearer token of the header `Authorization`. Undefined for any other scheme, and for a token anywhere else, such as in the query. */
export function bearerToken({ headers }: Pick<RequestHead, "headers">): string | undefined {
  const given = headers.get("authorization") ?? "";
  return given.length > MAX_TOKEN_LENGTH ? undefined : BEARER.exec(given)?.[1];
}
