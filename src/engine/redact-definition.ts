/** Removes credentials from the definition of a tool whose server or document repeats them. */
import { isJsonArray, isJsonObject, isStringArray, type JsonValue } from "../core/base/json.ts";
import { wordSet } from "../core/base/wording.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import { SCHEMA_MAP_KEYWORDS } from "../schema/keyword-names.ts";

/** Keywords that explain a schema and decide nothing. */
const ANNOTATIONS: ReadonlySet<string> = wordSet("title description default example examples $comment");
/** Keywords with values. */
const DATA: ReadonlySet<string> = wordSet("const enum");
/** Keywords with names and patterns, which are the same in every value that fits. */
const NAMES: ReadonlySet<string> = wordSet(
  "required type format pattern contentEncoding contentMediaType $schema $id $ref $anchor $dynamicRef $dynamicAnchor x-mcp-header",
);
/** Keywords whose keys are names. */
const NAMED: ReadonlySet<string> = new Set([...SCHEMA_MAP_KEYWORDS, "dependentRequired", "$defs", "definitions"]);
/** Maximum depth that is looked through; the registry refuses deeper schemas. */
const MAX_DEPTH = 128;

interface Redaction {
  readonly redact: <T>(value: T) => T;
  /** Whether values that the schema allows are redacted too. */
  readonly redactsData: boolean;
}

/**
 * Returns the definition with `redact` applied to everything that a model or a person is shown, but for the names in it: a short credential such as
 * `postgres` may be part of the name of a property, and the server knows the property by that name only. Values that the output schema allows are kept
 * as well, since an answer is checked before credentials are removed from it.
 */
export function redactDefinition(tool: Tool, redact: <T>(value: T) => T): Tool {
  if (redact(tool) === tool) return tool;
  const { name, inputSchema, outputSchema, effects, ...shown } = tool;
  const schemaOf = (schema: Tool["inputSchema"], redactsData: boolean): JsonSchema =>
    redactSchema(schema as JsonValue, { redact, redactsData }) as JsonSchema; // it is JSON of the server
  return {
    ...redact(shown),
    name,
    inputSchema: schemaOf(inputSchema, true),
    ...(outputSchema === undefined ? {} : { outputSchema: schemaOf(outputSchema, false) }),
    ...(effects === undefined ? {} : { effects }),
  };
}

function redactSchema(schema: JsonValue, redaction: Redaction, depth = 0): JsonValue {
  if (depth > MAX_DEPTH) return schema;
  if (isJsonArray(schema)) return schema.map((item) => redactSchema(item, redaction, depth + 1));
  if (!isJsonObject(schema)) return schema;
  const members = Object.entries(schema).map(
    ([key, value]) => [key, redactMember(key, value, { ...redaction, depth: depth + 1 })] as const,
  );
  return Object.fromEntries(members);
}

function redactMember(key: string, value: JsonValue, { depth, ...redaction }: Redaction & { readonly depth: number }): JsonValue {
  const { redact, redactsData } = redaction;
  if (NAMED.has(key) && isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, redactSchema(schema, redaction, depth + 1)] as const));
  if (ANNOTATIONS.has(key) || (redactsData && DATA.has(key))) return redact(value);
  const isText = typeof value === "string" || isStringArray(value);
  return isText && redactsData && !NAMES.has(key) ? redact(value) : redactSchema(value, redaction, depth);
}
