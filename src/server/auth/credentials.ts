/** The credentials of a request: its bearer token, and the comparison of secrets. */
import { createHash, timingSafeEqual } from "node:crypto";

/** A longer one is no token of an issuer, and costs nothing. */
const MAX_TOKEN_LENGTH = 8_192;
/** One token, and nothing around it: two headers are joined by a comma, which no token has. */
const BEARER = /^bearer +([\w.~+/-]+=*) *$/iu;

/** The bearer token of the header `Authorization`. Undefined for any other scheme, and for a token anywhere else, such as in the query. */
export function bearerToken({ headers }: Request): string | undefined {
  const given = headers.get("authorization") ?? "";
  return given.length > MAX_TOKEN_LENGTH ? undefined : BEARER.exec(given)?.[1];
}

/** Takes as long whatever the texts are: their digests are compared, all of them. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digestOf(one), digestOf(other));
}

/** SHA-256 in hex. */
export function hashOf(text: string): string {
  return digestOf(text).toString("hex");
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
