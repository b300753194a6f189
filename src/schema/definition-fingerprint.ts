/** Reads the parts of a tool's definition, as a model and the runtime see it, and computes their fingerprint. */
import { hash } from "node:crypto";
import type { Effects } from "../core/resources/effects.ts";
import { describeThrown } from "../core/error.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { copyJson, type JsonValue } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";

/** The parts of a definition, in the order in which they are shown. `annotations` and `http` come from `metadata`. */
export const DEFINITION_FIELDS = [
  "title",
  "description",
  "documentation",
  "inputSchema",
  "outputSchema",
  "effects",
  "tags",
  "annotations",
  "promptContribution",
  "providers",
  "http",
] as const;

export type DefinitionField = (typeof DEFINITION_FIELDS)[number];

export interface Definition {
  readonly name: string;
  /** The fields that the tool has, except those that are not plain JSON. */
  readonly fields: ReadonlyMap<DefinitionField, JsonValue>;
  /** One line for each part that is not plain JSON, too deep or too large: whether it has changed cannot be determined. */
  readonly faults: readonly string[];
}

/** Larger and deeper parts are not read. */
const LIMITS = { maxDepth: 128, maxNodes: 1_000_000, maxChars: 16 * 1024 * 1024 };

/** Copies the data of a definition. Never throws, whatever the tool consists of. */
export function readDefinition(tool: Tool): Definition {
  const fields = new Map<DefinitionField, JsonValue>();
  const faults: string[] = [];
  for (const field of DEFINITION_FIELDS) {
    try {
      const raw = rawField(tool, field);
      if (raw === undefined) continue;
      const { value, dropped } = copyJson(raw, LIMITS);
      if (dropped.length === 0) fields.set(field, value);
      else faults.push(`${field} has a key that cannot be kept: ${dropped[0] ?? ""}`);
    } catch (error: unknown) {
      faults.push(`${field} cannot be read: ${describeThrown(error)}`);
    }
  }
  return { name: tool.name, fields, faults };
}

/**
 * Returns the SHA-256 of the whole definition, in hex: name, title, description, documentation, both schemas, effects, tags, the server's
 * annotations, and the HTTP operation. The order of keys does not matter.
 *
 * Two definitions that cannot be read may have the same fingerprint: see `Definition.faults`.
 */
export function definitionFingerprint(tool: Tool): string {
  const definition = readDefinition(tool);
  const hashes = new Map<string, string>([...definition.fields].map(([field, value]) => [field, fieldHash(value)]));
  if (definition.faults.length > 0) hashes.set("faults", fieldHash(definition.faults));
  return fingerprintOf(definition.name, hashes);
}

/** Returns the SHA-256 of one part of a definition, in hex. */
export function fieldHash(value: JsonValue): string {
  return hash("sha256", canonicalJson(value));
}

/** Returns the fingerprint of a definition from the hashes of its parts. */
export function fingerprintOf(name: string, hashes: ReadonlyMap<string, string>): string {
  return hash("sha256", canonicalJson({ name, fields: Object.fromEntries(hashes) }));
}

function rawField(tool: Tool, field: DefinitionField): unknown {
  if (field === "effects") return tool.effects === undefined ? undefined : effectsAsData(tool.effects);
  if (field === "annotations" || field === "http") {
    const value = tool.metadata !== undefined && Object.hasOwn(tool.metadata, field) ? tool.metadata[field] : undefined;
    return isEmptyObject(value) ? undefined : value;
  }
  return tool[field];
}

/** Returns the effects as data; a computed key only as the fact that it is computed. */
function effectsAsData({ reads, writes, idempotent, external, destructive, commutative }: Effects): JsonValue {
  return {
    ...(reads === undefined ? {} : { reads: typeof reads === "function" ? COMPUTED : reads }),
    ...(writes === undefined ? {} : { writes: typeof writes === "function" ? COMPUTED : writes }),
    ...(idempotent === true ? { idempotent } : {}),
    ...(external === true ? { external } : {}),
    ...(destructive === true ? { destructive } : {}),
    ...(commutative === true ? { commutative } : {}),
  };
}

const COMPUTED = "computed from the input";

/** Empty annotations count as none. */
function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}
