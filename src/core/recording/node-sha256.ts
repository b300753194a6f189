/** SHA-256 with `node:crypto`. */
import { hash } from "node:crypto";

export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data);
}
