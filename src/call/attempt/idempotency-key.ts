/** Makes the keys by which a service recognises a repeated call. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import type { JsonObject } from "../../core/base/json.ts";

export function idempotencyKey(parts: readonly string[], input: JsonObject): string {
  return `haft_${createHash("sha256")
    .update(canonicalJson([parts, input]))
    .digest("base64url")
    .slice(0, 32)}`;
}
