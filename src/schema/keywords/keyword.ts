/** The interface of keyword compilers, and checks of keyword values. */
import { getOwn } from "../../core/base/get-own.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { type Location, type RawSchema, type Rule, type SchemaNode, schemaPointer } from "../compiled-schema.ts";
import { showValue } from "../schema-problem.ts";

/** Compiles one keyword, or several that only work together, to a rule; undefined if there is nothing to check. */
export type KeywordCompiler = (node: SchemaNode, compiler: SubschemaCompiler) => Rule | undefined;

/** Keywords in the order in which their problems are reported; names that share a compiler are in one row. */
export type KeywordTable = readonly (readonly [compile: KeywordCompiler, ...keywords: string[]])[];

/** The parts of the compiler that keywords use. */
export interface SubschemaCompiler {
  /** Whether `format` is checked. */
  readonly checksFormats: boolean;
  /** Compiles a subschema that is applied to parts of the value. */
  compileChild(parent: SchemaNode, keyword: string, raw: unknown, step?: string | number): SchemaNode;
  /** Compiles a subschema that is applied to the same value. */
  compileInPlaceChild(parent: SchemaNode, keyword: string, raw: unknown, step?: string | number): SchemaNode;
  /** Creates a reference; its target is set once the whole schema is compiled. */
  addReference(parent: SchemaNode, keyword: string, uri: string): Reference;
  /** Records an `$anchor` or `$dynamicAnchor`. */
  addAnchor(node: SchemaNode, keyword: string, name: string, dynamic: boolean): void;
  /** Charges for the size of a keyword's value, or for the work it causes. */
  spend(node: SchemaNode, keyword: string, values: number): void;
}

export interface Reference {
  readonly from: SchemaNode;
  readonly keyword: string;
  readonly uri: string;
  /** Set before the first validation. */
  target: SchemaNode | undefined;
  /** Set if the target is looked up in each validation, by this anchor, among the resources in scope. */
  dynamicAnchor: string | undefined;
}

/**
 * Refuses a schema with the location of the problem.
 *
 * @throws ToolError `invalid_schema`, always
 */
export function throwInvalidSchema(location: Location | undefined, keyword: string, problem: string, hint?: string): never {
  const pointer = schemaPointer(location, keyword);
  throw new ToolError("invalid_schema", `The schema cannot be used: at ${pointer}, ${problem}.`, {
    details: [`${pointer}: ${problem}`],
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Returns the number of a keyword; undefined if absent. */
export function readNumberKeyword(node: SchemaNode, keyword: string): number | undefined {
  const value = getOwn(node.raw, keyword);
  if (value === undefined || (typeof value === "number" && Number.isFinite(value))) return value;
  const hint = typeof value === "boolean" ? `In draft-04 ${keyword} was a flag; since draft-06 it is the bound itself.` : undefined;
  return throwInvalidSchema(node, keyword, `${keyword} must be a number, not ${showValue(value)}`, hint);
}

/** Returns the non-negative integer of a keyword; undefined if absent. */
export function readCountKeyword(node: SchemaNode, keyword: string): number | undefined {
  const value = getOwn(node.raw, keyword);
  if (value === undefined || (typeof value === "number" && Number.isInteger(value) && value >= 0)) return value;
  return throwInvalidSchema(node, keyword, `${keyword} must be an integer of at least 0, not ${showValue(value)}`);
}

export function readStringKeyword(node: SchemaNode, keyword: string): string | undefined {
  const value = getOwn(node.raw, keyword);
  if (value === undefined || typeof value === "string") return value;
  return throwInvalidSchema(node, keyword, `${keyword} must be a string, not ${showValue(value)}`);
}

/** Returns the names in a keyword's array without duplicates; undefined if absent. */
export function readNamesKeyword(node: SchemaNode, keyword: string, compiler: SubschemaCompiler): readonly string[] | undefined {
  const value = getOwn(node.raw, keyword);
  if (value === undefined) return undefined;
  return checkNames(node, keyword, value, compiler);
}

export function checkNames(node: SchemaNode, keyword: string, value: unknown, compiler: SubschemaCompiler): readonly string[] {
  if (!Array.isArray(value)) return throwInvalidSchema(node, keyword, `${keyword} must be an array of names, not ${showValue(value)}`);
  compiler.spend(node, keyword, value.length);
  for (const name of value) {
    if (typeof name !== "string") return throwInvalidSchema(node, keyword, `${keyword} must contain only names, not ${showValue(name)}`);
  }
  return value.length < 2 ? value : [...new Set<string>(value)];
}

/** Returns the object of a keyword; undefined if absent. */
export function readMapKeyword(node: SchemaNode, keyword: string, compiler: SubschemaCompiler): RawSchema | undefined {
  const value = getOwn(node.raw, keyword);
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) return throwInvalidSchema(node, keyword, `${keyword} must be an object, not ${showValue(value)}`);
  compiler.spend(node, keyword, Object.keys(value).length);
  return value;
}

/** Compiles each subschema in a keyword's array; undefined if absent. */
export function compileBranches(node: SchemaNode, keyword: string, compiler: SubschemaCompiler): readonly SchemaNode[] | undefined {
  const list = readListKeyword(node, keyword, compiler);
  return list?.map((raw, index) => compiler.compileInPlaceChild(node, keyword, raw, index));
}

/** Returns the subschemas in a keyword's array, which must not be empty, uncompiled; undefined if absent. */
export function readListKeyword(node: SchemaNode, keyword: string, compiler: SubschemaCompiler): readonly unknown[] | undefined {
  const value = getOwn(node.raw, keyword);
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length === 0) {
    return throwInvalidSchema(node, keyword, `${keyword} must be an array of at least one schema, not ${showValue(value)}`);
  }
  compiler.spend(node, keyword, value.length);
  return value;
}

/** Compiles the single subschema of a keyword, for parts of the value; undefined if absent. */
export function compileChildKeyword(node: SchemaNode, keyword: string, compiler: SubschemaCompiler): SchemaNode | undefined {
  const value = getOwn(node.raw, keyword);
  return value === undefined ? undefined : compiler.compileChild(node, keyword, value);
}

/** Compiles the single subschema of a keyword, for the same value; undefined if absent. */
export function compileInPlaceKeyword(node: SchemaNode, keyword: string, compiler: SubschemaCompiler): SchemaNode | undefined {
  const value = getOwn(node.raw, keyword);
  return value === undefined ? undefined : compiler.compileInPlaceChild(node, keyword, value);
}
