/** Makes the keys by which a service recognizes a repeated call. */
import { hash } from "node:crypto";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import type { JsonObject } from "../../core/base/json.ts";

export function idempotencyKey(parts: readonly string[], input: JsonObject): string {
  return `haft_${hash("sha256", canonicalJson([parts, input]), "base64url").slice(0, 32)}`;
}
