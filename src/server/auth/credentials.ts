/** The credentials of a request: its bearer token. */

import type { RequestHead } from "../http/request-head.ts";

/** As long as the head of a request may be: an issuer that puts the groups of a user into a token makes one of 12,000 characters. */
const MAX_LENGTH = 16_384;
/** One token, and nothing around it. */
const BEARER = /^bearer +([\w.~+/-]+=*) *$/iu;

/** The bearer token of the header `Authorization`. Undefined for any other scheme, and for a token anywhere else, such as in the query. */
export function bearerToken({ headers }: Pick<RequestHead, "headers">): string | undefined {
  const given = headers.get("authorization") ?? "";
  return given.length > MAX_LENGTH ? undefined : BEARER.exec(given)?.[1];
}
