import { hash } from "node:crypto";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { JsonSchema } from "../core/tool.ts";

/** Returns the SHA-256 of a schema's canonical JSON, in hex, to tell overloads apart and for cache keys. The order of keys does not matter. */
export function schemaFingerprint(schema: JsonSchema): string {
  const text = canonicalJson(schema as Parameters<typeof canonicalJson>[0]); // a schema is JSON, but its type leaves the values open
  return hash("sha256", text);
}
