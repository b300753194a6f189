/** The identity of a schema, for telling overloads apart and for cache keys. */
import { hash } from "node:crypto";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { JsonSchema } from "../core/tool.ts";

/** The SHA-256 of the schema's canonical JSON, in hex: the order of keys does not matter. */
export function schemaFingerprint(schema: JsonSchema): string {
  const text = canonicalJson(schema as Parameters<typeof canonicalJson>[0]); // schemas are JSON; their type leaves the values open
  return hash("sha256", text);
}
