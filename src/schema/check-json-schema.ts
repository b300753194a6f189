/** Refuses values that a program may pass as a JSON Schema by mistake: taken as one, they would allow every value. */
import { ToolError } from "../core/error.ts";
import { isInstanceOfClass } from "../core/base/class-instance.ts";
import { isJsonObject } from "../core/base/json.ts";
import { KNOWN_KEYWORDS, SCHEMA_KEYWORDS, SCHEMA_MAP_KEYWORDS } from "./keyword-names.ts";
import { isHaftSchema, isStandardSchema, conversionHint } from "./library-schema.ts";

/**
 * @throws ToolError `invalid_schema` for a schema of a library, an object with such schemas as its properties, and properties without a schema
 * around them
 */
export function checkJsonSchema(source: unknown): void {
  checkNotLibrarySchema(source);
  checkHasKeywords(source);
}

/** Like `checkJsonSchema`, for a schema that another system wrote, which may be properties only. */
export function checkNotLibrarySchema(source: unknown): void {
  if (isLibrarySchema(source))
    throw new ToolError("invalid_schema", `This is a schema of ${JSON.stringify(source["~standard"].vendor)}, not a JSON Schema.`, {
      hint: libraryHint(source["~standard"].vendor),
    });
  checkNoFunctions(source);
  checkNoLibraryFields(source);
}

/** How a schema of a library is used where a JSON Schema is expected. */
function libraryHint(vendor: string): string {
  const conversion = CONVERSIONS.get(vendor);
  return `Pass it to defineTool() as it is.${conversion === undefined ? "" : ` ${conversion} converts it to JSON Schema.`}`;
}

/** The call that writes a schema of each library as JSON Schema, by vendor. */
const CONVERSIONS: ReadonlyMap<string, string> = new Map([
  ["zod", "z.toJSONSchema(schema) of zod 4"],
  ["valibot", "toJsonSchema(schema) of @valibot/to-json-schema"],
  ["arktype", "schema.toJsonSchema()"],
]);

/** True for a schema of a library. JSON Schema written by a library, as by `z.toJSONSchema()`, has a non-enumerable `~standard` and is none. */
function isLibrarySchema(value: unknown): value is Parameters<typeof isHaftSchema>[0] {
  if (!isStandardSchema(value) || isHaftSchema(value)) return false;
  return isInstanceOfClass(value) || Object.keys(value).includes("~standard");
}

/** Throws if fields of the object are schemas of a library, as other libraries accept them: `{ city: z.string() }`. */
function checkNoLibraryFields(source: unknown): void {
  if (!isJsonObject(source) || "toJSON" in source) return;
  const { properties } = source;
  const fields = [
    ...(isJsonObject(properties) ? Object.entries(properties) : []),
    ...Object.entries(source).filter(([key]) => !UNCHECKED_KEYS.has(key)),
  ];
  const field = fields.find(([, value]) => isLibrarySchema(value) || findFunctionName(value) !== undefined);
  if (field === undefined) return;
  throw new ToolError("invalid_schema", `${JSON.stringify(field[0])} is a schema of a library, which cannot be part of a JSON Schema.`, {
    hint: "Combine the fields into one schema: z.object({ … }) in zod, v.object({ … }) in valibot, type({ … }) in arktype.",
  });
}

/** Throws for classes and for schemas of libraries without Standard Schema, such as io-ts, superstruct and runtypes. */
function checkNoFunctions(source: unknown): void {
  const hint = typeof source === "function" && "ast" in source ? conversionHint("effect") : conversionHint("");
  if (typeof source === "function")
    throw new ToolError("invalid_schema", "A schema must be an object or a boolean, not a function.", { hint });
  const name = findFunctionName(source);
  if (name === undefined) return;
  throw new ToolError("invalid_schema", `${JSON.stringify(name)} is a function, which a JSON Schema cannot contain.`, { hint });
}

/** Keys that are not checked here: the compiler reports invalid keyword values. */
const UNCHECKED_KEYS: ReadonlySet<string> = new Set(["constructor", ...KNOWN_KEYWORDS]);

/** Returns the name of a function among the properties of an object and of its class; undefined if the object has `toJSON`. */
function findFunctionName(value: unknown): string | undefined {
  if (typeof value === "function") return value.name;
  if (typeof value !== "object" || value === null || Array.isArray(value) || "toJSON" in value) return undefined;
  for (let object: unknown = value; typeof object === "object" && object !== null; object = Object.getPrototypeOf(object)) {
    if (object !== value && Object.getPrototypeOf(object) === null) return undefined; // Object.prototype, of any realm
    for (const name of Object.getOwnPropertyNames(object)) {
      if (UNCHECKED_KEYS.has(name) || name.startsWith("~")) continue;
      const member: unknown = Object.getOwnPropertyDescriptor(object, name)?.value; // calls no getter
      if (typeof member === "function" && !isStandardSchema(member)) return name;
    }
  }
  return undefined;
}

const TYPE_WORDS: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "object", "array"]);
/** Keywords whose value may look like the schema of a property. */
const OBJECT_KEYWORDS: ReadonlySet<string> = new Set([...SCHEMA_KEYWORDS, ...SCHEMA_MAP_KEYWORDS, "const", "default"]);

/** Throws for bare properties, `{ city: { type: "string" } }` or `{ city: "string" }`: as a JSON Schema, they allow everything. */
function checkHasKeywords(source: unknown): void {
  const entries = isJsonObject(source) ? Object.entries(source) : [];
  const isProperty = ([key, value]: readonly [string, unknown]): boolean =>
    isJsonObject(value) ? !OBJECT_KEYWORDS.has(key) && TYPE_WORDS.has(value["type"]) : !KNOWN_KEYWORDS.has(key) && TYPE_WORDS.has(value);
  if (entries.length === 0 || !entries.every(isProperty)) return;
  throw new ToolError("invalid_schema", `${JSON.stringify(entries[0]?.[0])} looks like a property name; it is not a JSON Schema keyword.`, {
    hint: 'Put the properties into an object: { type: "object", properties: { … } }.',
  });
}
