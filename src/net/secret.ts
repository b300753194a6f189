/** Secrets that cannot be guessed, and their comparison. Ids will not do: those of one process begin alike and are sent to every client. */
// oxlint-disable-next-line no-restricted-imports -- the program that gives the ports must not know it
import { hash, randomBytes, timingSafeEqual } from "node:crypto";

const BYTES = 32;

/** Letters, digits, `-` and `_`. */
export function newSecret(): string {
  return randomBytes(BYTES).toString("base64url");
}

/** Takes as long whatever the texts are: their digests are compared, all of them. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digestOf(one), digestOf(other));
}

/** As `isSameSecret` for one secret that many texts are compared with: it is hashed once. */
export function secretCheck(secret: string): (given: string) => boolean {
  const digest = digestOf(secret);
  return (given) => timingSafeEqual(digestOf(given), digest);
}

/** SHA-256 in hex. */
export function hashOf(text: string): string {
  return hash("sha256", text);
}

/** As hex, which `hash` makes in a quarter of the time that it takes for bytes. */
function digestOf(text: string): Buffer {
  return Buffer.from(hashOf(text), "latin1");
}
