/** The keywords `type`, `enum` and `const`, for values of any type. */
import { ANY_TYPE, type Rule, type SchemaNode, TYPE_BITS, ValidationRun } from "../compiled-schema.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { type KeywordTable, type SubschemaCompiler, throwInvalidSchema } from "./keyword.ts";
import { MAX_SCHEMA_VALUES } from "../schema-limits.ts";
import { showValue, showValues } from "../schema-problem.ts";
import { JsonSet, treeSize } from "./unique-items.ts";

function compileType(node: SchemaNode): undefined {
  const value = getOwn(node.raw, "type");
  node.types = Array.isArray(value) ? unionBits(node, value) : typeBits(node, value);
}

function unionBits(node: SchemaNode, names: readonly unknown[]): number {
  if (names.length === 0) return throwInvalidSchema(node, "type", "type must name at least one type");
  let bits = 0;
  for (const name of names) bits |= typeBits(node, name);
  return bits === 127 ? ANY_TYPE : bits;
}

function typeBits(node: SchemaNode, name: unknown): number {
  const bits = typeof name === "string" ? TYPE_BITS.get(name) : undefined;
  if (bits !== undefined) return bits;
  return throwInvalidSchema(
    node,
    "type",
    `${showValue(name)} is not a JSON type`,
    `Use one of ${[...TYPE_BITS.keys()].join(", ")}, or an array of them.`,
  );
}

function compileEnum(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  const value = getOwn(node.raw, "enum");
  if (!Array.isArray(value)) return throwInvalidSchema(node, "enum", `enum must be an array of values, not ${showValue(value)}`);
  const allowed = createValueSet(node, "enum", value, compiler);
  const expected = value.length === 0 ? "no value is allowed here" : `expected one of ${showValues(value)}`;
  return (candidate, run) =>
    allowed.has(candidate, run) || (run.explaining && run.report("enum", `${expected}, got ${run.showCached(candidate)}`));
}

function compileConst(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  const value = getOwn(node.raw, "const");
  const allowed = createValueSet(node, "const", [value], compiler);
  return (candidate, run) =>
    allowed.has(candidate, run) ||
    (run.explaining && run.report("const", `expected ${showValue(value)}, got ${run.showCached(candidate)}`));
}

function createValueSet(node: SchemaNode, keyword: string, values: readonly unknown[], compiler: SubschemaCompiler): JsonSet {
  const size = treeSize(values, MAX_SCHEMA_VALUES);
  if (size === undefined) return throwInvalidSchema(node, keyword, `${keyword} is nested too deeply or too large`);
  compiler.spend(node, keyword, size);
  const set = new JsonSet();
  const unlimited = new ValidationRun(MAX_SCHEMA_VALUES * 10, 0);
  for (const value of values) set.add(value, unlimited);
  return set;
}

export const VALUE_KEYWORDS: KeywordTable = [
  [compileType, "type"],
  [compileEnum, "enum"],
  [compileConst, "const"],
];
