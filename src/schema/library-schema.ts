/** Schemas of other libraries: how they are known, and how each has a JSON Schema. */
import type { StandardSchemaV1 } from "@standard-schema/spec";

/** True for what a schema library makes: an object or function with a `~standard` of version 1. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || !("~standard" in value)) return false;
  const standard = value["~standard"];
  return typeof standard === "object" && standard !== null && "validate" in standard && typeof standard.validate === "function";
}

/** True for a schema of a defined tool: plain JSON Schema with our own `~standard` on it. */
export function isOwnSchema(source: StandardSchemaV1): boolean {
  return source["~standard"].vendor === "haft";
}

/** How schemas of a library have a JSON Schema, by its vendor. */
const WAYS: ReadonlyMap<string, string> = new Map([
  ["zod", 'Use zod ≥ 4.2: npm install zod@4, and import from "zod", not from "zod/v3" or "zod/mini".'],
  ["valibot", "Wrap it: toStandardJsonSchema(schema) from @valibot/to-json-schema."],
  ["arktype", "Use arktype ≥ 2.1.28: npm install arktype@2."],
  ["effect", "Wrap it: Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(schema)) in effect 4, JSONSchema.make(schema) in effect 3."],
]);

/** Says how a schema of the library gets a JSON Schema, for a hint. */
export function wayOf(vendor: string): string {
  return WAYS.get(vendor) ?? "Use a library or a version of it that has `~standard.jsonSchema`, such as zod ≥ 4.2, or give a JSON Schema.";
}
