/** Writes a tool's schema in the subset that a provider takes, and reports what was lost. */
import { ToolError } from "../core/error.ts";
import { isOptionsObject, quoteValue } from "../core/base/wording.ts";
import { checkArgument } from "../core/check-argument.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { JsonSchema } from "../core/tool.ts";
import { copySchema } from "../schema/import-schema.ts";
import { countNodes } from "../schema/schema-part.ts";
import { SchemaFitter } from "./subset/schema-fitter.ts";
import type { SchemaLoss } from "./subset/schema-losses.ts";
import { SUBSET_RULES, type SchemaSubset, type SubsetRules, isPlainPatternText } from "./subset/subset-rules.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

export type { SchemaLoss } from "./subset/schema-losses.ts";
export type { SchemaSubset } from "./subset/subset-rules.ts";

/** A schema as a provider takes it, with the losses. */
export interface FittedSchema {
  readonly schema: JsonObject;
  /** The constraints that the original has and this schema does not, in the order of the original; at most 200. */
  readonly losses: readonly SchemaLoss[];
}

/** Maximum number of values in an input schema. */
const MAX_VALUES = 200_000;
/** How many levels deep a recursive schema is inlined; the next is tried if the result is too large. */
const RECURSION_DEPTHS = [2, 1, 0];

/**
 * Writes a schema in the keywords of a subset.
 *
 * Keywords that do not constrain (`default`, `examples`, a `format` that is not allowed) are moved into the description; so is a constraint that is
 * not allowed, which is a loss. Not a loss are: `const` as an `enum` of one, `oneOf` as `anyOf` if no value matches two of its members, a type
 * inferred from the keywords next to it, and closing an object that names its properties and says nothing of others. In subsets that require every
 * property, an optional property may be null: the runtime reads null as absent.
 *
 * The result for a frozen schema is computed once and reused.
 *
 * @throws ToolError `invalid_schema` for a schema that no provider accepts, such as one whose root is not an object, or that becomes too large
 */
export function fitSchema(schema: JsonSchema, subset: SchemaSubset): FittedSchema {
  checkArgument(typeof schema === "boolean" || isOptionsObject(schema), "fitSchema(schema, subset)", "a JSON Schema", schema);
  if (typeof subset !== "string" || !Object.hasOwn(SUBSET_RULES, subset))
    throw new ToolError("invalid_argument", `fitSchema() has no subset ${quoteValue(subset)}.`, {
      hint: `Subsets: ${Object.keys(SUBSET_RULES).join(", ")}.`,
    });
  if (typeof schema === "boolean" || !Object.isFrozen(schema)) return fitUncached(schema, subset);
  const fitted = getOrAdd(fittedSchemas, schema, () => new Map());
  return getOrAdd(fitted, subset, () => fitUncached(schema, subset));
}

const fittedSchemas = new WeakMap<object, Map<SchemaSubset, FittedSchema>>();

/** A lone surrogate as JSON escapes it, unless the backslash itself is escaped. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/u;

function fitUncached(schema: JsonSchema, subset: SchemaSubset): FittedSchema {
  const root = readSchema(schema);
  const text = JSON.stringify(root);
  if (LONE_SURROGATE.test(text)) throw new ToolError("invalid_schema", "The schema holds half a surrogate pair, which providers refuse.");
  const rules = SUBSET_RULES[subset];
  if (subset === "json-schema" && isPlainRoot(root) && isPlainPatternText(text))
    return { schema: { ...root, type: "object", properties: isJsonObject(root["properties"]) ? root["properties"] : {} }, losses: [] };
  const fitted = fitKeepingReferences(root, rules) ?? fitInliningReferences(root, rules);
  const exceeded = findExceededLimit(fitted.schema, rules);
  return exceeded === undefined ? fitted : { ...fitted, losses: [...fitted.losses, { path: "$", note: exceeded }] };
}

function readSchema(schema: JsonSchema): JsonObject {
  const copied = copySchema(schema);
  if (copied === false) throw new ToolError("invalid_schema", "The schema allows no input at all.");
  if (copied === true) return { type: "object", properties: {} };
  if (countNodes(copied, MAX_VALUES) > MAX_VALUES)
    throw new ToolError("invalid_schema", `The schema has more than ${MAX_VALUES} values in it.`);
  return copied;
}

/** Providers refuse these keywords at the root, whatever else they accept. */
const NOT_AT_ROOT: readonly string[] = ["anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"];

function isPlainRoot(root: JsonObject): boolean {
  const { type } = root;
  const isObject = type === undefined || type === "object" || (isJsonArray(type) && type.includes("object"));
  return isObject && NOT_AT_ROOT.every((keyword) => !Object.hasOwn(root, keyword));
}

function fitKeepingReferences(root: JsonObject, rules: SubsetRules): FittedSchema | undefined {
  const { references } = rules;
  if (references === "inline") return undefined;
  const fitter = new SchemaFitter(root, rules, { references, maxRecursion: 0 });
  const schema = fitter.fitRoot(root);
  return references === "acyclic" && fitter.hasCircularDefinitions ? undefined : { schema, losses: fitter.losses };
}

function fitInliningReferences(root: JsonObject, rules: SubsetRules): FittedSchema {
  let problem: unknown;
  for (const maxRecursion of RECURSION_DEPTHS) {
    const fitter = new SchemaFitter(root, rules, { references: "inline", maxRecursion });
    try {
      return { schema: fitter.fitRoot(root), losses: fitter.losses };
    } catch (thrown: unknown) {
      if (!fitter.isCutOff) throw thrown;
      problem = thrown;
    }
  }
  throw problem;
}

/** Returns a message about the provider's limit that a strict schema exceeds; undefined if it exceeds none. */
function findExceededLimit(schema: JsonObject, { maxNesting, maxProperties, maxEnumValues }: SubsetRules): string | undefined {
  if (maxNesting === undefined || maxProperties === undefined || maxEnumValues === undefined) return undefined;
  let properties = 0;
  let members = 0;
  const open: (readonly [JsonValue, number])[] = [[schema, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next;
    if (depth > maxNesting) return `It nests deeper than the ${maxNesting} levels that the provider takes.`;
    if (isJsonArray(value)) for (const item of value) open.push([item, depth]);
    if (!isJsonObject(value)) continue;
    const { properties: named, enum: values, $defs: definitions } = value;
    if (isJsonObject(named)) properties += Object.keys(named).length;
    if (isJsonArray(values)) members += values.length;
    if (isJsonObject(definitions)) for (const one of Object.values(definitions)) open.push([one, 0]);
    if (isJsonObject(named)) for (const one of Object.values(named)) open.push([one, depth + 1]);
    for (const keyword of ["items", "anyOf"]) open.push([value[keyword] ?? null, depth]);
  }
  if (properties > maxProperties) return `It has more than the ${maxProperties} properties that the provider takes.`;
  return members > maxEnumValues ? `It lists more than the ${maxEnumValues} values that the provider takes.` : undefined;
}
