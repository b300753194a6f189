/** Recognizes schemas of other libraries, and says how each gets a JSON Schema. */
import type { StandardSchemaV1 } from "@standard-schema/spec";

/** True for a schema of a library: an object or function with a `~standard` of version 1. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || !("~standard" in value)) return false;
  const standard = value["~standard"];
  return typeof standard === "object" && standard !== null && "validate" in standard && typeof standard.validate === "function";
}

/** True for the schema of a defined tool: plain JSON Schema with Haft's own `~standard`. */
export function isHaftSchema(source: StandardSchemaV1): boolean {
  return source["~standard"].vendor === "haft";
}

/** How to get a JSON Schema from a schema of each library, by vendor. */
const CONVERSION_HINTS: ReadonlyMap<string, string> = new Map([
  ["zod", 'Use zod ≥ 4.2: npm install zod@4, and import from "zod", not from "zod/v3" or "zod/mini".'],
  ["valibot", "Wrap it: toStandardJsonSchema(schema) from @valibot/to-json-schema."],
  ["arktype", "Use arktype ≥ 2.1.28: npm install arktype@2."],
  ["effect", "Wrap it: Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(schema)) in effect 4, JSONSchema.make(schema) in effect 3."],
]);

/** Returns how to get a JSON Schema from a schema of this library, for a hint. */
export function conversionHint(vendor: string): string {
  return (
    CONVERSION_HINTS.get(vendor) ??
    "Use a library or a version of it that has `~standard.jsonSchema`, such as zod ≥ 4.2, or give a JSON Schema."
  );
}

/** Options for the libraries that refuse to write a rule which JSON Schema cannot express. zod and arktype leave such a rule out, and only check it. */
const WRITER_OPTIONS: ReadonlyMap<string, Readonly<Record<string, unknown>>> = new Map([["valibot", { overrideAction: keepWithoutRule }]]);

/** Returns the `libraryOptions` with which the JSON Schema of a library's schema is written; undefined if it needs none. */
export function writerOptions(vendor: string): Record<string, unknown> | undefined {
  const options = WRITER_OPTIONS.get(vendor);
  return options === undefined ? undefined : { ...options };
}

/** For valibot: `v.check()` and other validations change nothing in the JSON Schema if they cannot be written. Transformations are still refused. */
function keepWithoutRule(context: {
  readonly valibotAction: { readonly kind: string };
  readonly jsonSchema: unknown;
  readonly errors?: readonly string[];
}): unknown {
  return context.errors !== undefined && context.valibotAction.kind === "validation" ? context.jsonSchema : undefined;
}
