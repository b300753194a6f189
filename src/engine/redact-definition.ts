/** Removes credentials from the definition of a tool whose server or document repeats them. */
import { isJsonArray, isJsonObject, type JsonValue } from "../core/base/json.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";

/** Keywords that explain a schema and decide nothing. */
const ANNOTATIONS: ReadonlySet<string> = new Set(["title", "description", "default", "examples", "$comment"]);
/** Maximum depth that is looked through; the registry refuses deeper schemas. */
const MAX_DEPTH = 128;

/**
 * Returns the definition with `redact` applied to everything that a model or a person is shown. The name is kept, as calls need it, and so is what
 * decides in the output schema, since an answer is checked before credentials are removed from it.
 */
export function redactDefinition(tool: Tool, redact: <T>(said: T) => T): Tool {
  if (redact(tool) === tool) return tool;
  const { outputSchema, ...shown } = tool;
  const output = outputSchema === undefined ? {} : { outputSchema: redactAnnotations(outputSchema as JsonValue, redact, 0) as JsonSchema }; // it is JSON of the server
  return { ...redact(shown), ...output, name: tool.name };
}

function redactAnnotations(schema: JsonValue, redact: <T>(said: T) => T, depth: number): JsonValue {
  if (depth > MAX_DEPTH) return schema;
  if (isJsonArray(schema)) return schema.map((item) => redactAnnotations(item, redact, depth + 1));
  if (!isJsonObject(schema)) return schema;
  const members = Object.entries(schema).map(
    ([key, value]) => [key, ANNOTATIONS.has(key) ? redact(value) : redactAnnotations(value, redact, depth + 1)] as const,
  );
  return Object.fromEntries(members);
}
