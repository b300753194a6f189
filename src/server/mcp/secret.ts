/** A secret that cannot be guessed: ids will not do, since those of one process begin alike and are sent to every client. */
// oxlint-disable-next-line no-restricted-imports -- the program that gives the ports must not know it
import { randomBytes } from "node:crypto";

const BYTES = 32;

/** Letters, digits, `-` and `_`. */
export function newSecret(): string {
  return randomBytes(BYTES).toString("base64url");
}
