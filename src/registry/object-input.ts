/** Ensures that the input of a tool is an object, which every provider and protocol requires. */
import { ToolError } from "../core/error.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { JsonSchema } from "../core/tool.ts";
import { showValue } from "../schema/schema-problem.ts";

/** @throws ToolError `invalid_schema` if its outermost keywords accept no object, so that every call would be rejected */
export function checkAcceptsObjects(schema: unknown): void {
  const reason = findObjectProblem(schema, MAX_DEPTH);
  if (reason === undefined) return;
  throw new ToolError("invalid_schema", `${reason}; the input of a tool must be an object.`, {
    hint: 'Give it a property: { type: "object", properties: { value: … } }.',
  });
}

const MAX_DEPTH = 8;

/** Checks the keywords that restrict types and values, and the subschemas that apply to the value itself. */
function findObjectProblem(schema: unknown, depth: number): string | undefined {
  if (schema === false) return "false allows nothing";
  if (!isJsonObject(schema) || depth === 0) return undefined;
  const { type, enum: values, allOf } = schema;
  if (type !== undefined && type !== "object" && !(Array.isArray(type) && type.includes("object"))) return `type is ${showValue(type)}`;
  if (Object.hasOwn(schema, "const") && !isJsonObject(schema["const"])) return `const is ${showValue(schema["const"])}`;
  if (Array.isArray(values) && !values.some(isJsonObject)) return `enum is ${showValue(values)}`;
  for (const part of Array.isArray(allOf) ? allOf : []) {
    const reason = findObjectProblem(part, depth - 1);
    if (reason !== undefined) return `in allOf, ${reason}`;
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const parts: unknown = schema[keyword];
    if (!Array.isArray(parts) || parts.length === 0) continue;
    const reasons = parts.map((part) => findObjectProblem(part, depth - 1));
    if (!reasons.includes(undefined)) return `in ${keyword}, ${reasons[0]}`;
  }
  return undefined;
}

/** The schema of an input for readers that require `type: "object"`, such as MCP. */
export function toObjectSchema(schema: JsonSchema): JsonSchema {
  if (typeof schema === "boolean") return schema ? { type: "object" } : { type: "object", not: {} };
  return schema["type"] === "object" ? schema : { ...schema, type: "object" };
}
