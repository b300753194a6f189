/** The definitions of tools that a person has approved. */
import { ToolError } from "../core/error.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import { definitionFingerprint, fieldHash, readDefinition, type DefinitionField } from "../schema/definition-fingerprint.ts";

/** The content of a lock file. */
export interface LockData {
  readonly toolsets: ReadonlyMap<string, PinnedToolset>;
}

/** The pinned tools of a toolset, and where they came from. */
export interface PinnedToolset {
  /** SHA-256 of the source of its tools, such as a command with its arguments; undefined if that was not known. */
  readonly source: string | undefined;
  /** The name that the server gave itself. */
  readonly server: ServerClaim | undefined;
  /** Sorted by name; overloads by fingerprint. */
  readonly tools: readonly PinnedTool[];
}

/** A server's own, unverified identification. */
export interface ServerClaim {
  readonly name: string;
  readonly version: string;
}

/** A tool as it was pinned. */
export interface PinnedTool {
  readonly name: string;
  readonly fingerprint: string;
  /** All parts that the definition had. */
  readonly fields: ReadonlyMap<DefinitionField, PinnedField>;
}

/** A part of a definition, or the hash of a part that is too large to be kept. */
export type PinnedField = { readonly value: JsonValue } | { readonly sha256: string; readonly bytes: number };

/** Maximum length of a part that is kept, in characters; of a longer part, only the hash is. */
const MAX_KEPT_CHARS = 16_384;

/** Makes the pin of a tool. @throws ToolError `invalid_schema` for a definition that is not plain JSON */
export function pinTool(tool: Tool): PinnedTool {
  const { name, fields, faults } = readDefinition(tool);
  if (faults.length > 0) throw new ToolError("invalid_schema", `The tool ${JSON.stringify(name)} cannot be pinned.`, { details: faults });
  const kept = [...fields].map(([field, value]): [DefinitionField, PinnedField] => [field, toPinnedField(value)]);
  return { name, fingerprint: definitionFingerprint(tool), fields: new Map(kept) };
}

function toPinnedField(value: JsonValue): PinnedField {
  const text = canonicalJson(value);
  return text.length <= MAX_KEPT_CHARS ? { value } : { sha256: fieldHash(value), bytes: Buffer.byteLength(text) };
}

/** Compares tools for their order in a lock file. */
export function comparePinned(one: PinnedTool, other: PinnedTool): number {
  return compareText(one.name, other.name) || compareText(one.fingerprint, other.fingerprint);
}

/** Compares by UTF-16 units, which gives the same order on every machine. */
export function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
