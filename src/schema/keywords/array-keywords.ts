/** Keywords for arrays. */
import { plural } from "../../core/base/wording.ts";
import { NEVER, type Rule, type SchemaNode, type ValidationRun } from "../compiled-schema.ts";
import { evaluate, evaluateChild, evaluateChildSilently } from "../evaluate.ts";
import { getOwn } from "../../core/base/get-own.ts";
import {
  type KeywordTable,
  type SubschemaCompiler,
  compileChildKeyword,
  readCountKeyword,
  readListKeyword,
  throwInvalidSchema,
} from "./keyword.ts";
import { firstRepeatedIndex } from "./unique-items.ts";

function compileSize(node: SchemaNode): Rule {
  const min = readCountKeyword(node, "minItems") ?? 0;
  const max = readCountKeyword(node, "maxItems") ?? Infinity;
  return (value, run) => {
    if (!Array.isArray(value) || (value.length >= min && value.length <= max)) return true;
    if (!run.explaining) return false;
    if (value.length < min) return run.report("minItems", `expected at least ${plural(min, "item")}, got ${value.length}`);
    return run.report("maxItems", `expected at most ${plural(max, "item")}, got ${value.length}`);
  };
}

function compileUniqueItems(node: SchemaNode): Rule | undefined {
  const wanted = getOwn(node.raw, "uniqueItems");
  if (typeof wanted !== "boolean") return throwInvalidSchema(node, "uniqueItems", "uniqueItems must be a boolean");
  if (!wanted) return undefined;
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    const index = firstRepeatedIndex(value, run);
    if (run.limit !== undefined) return false;
    return (
      index < 0 || (run.explaining && run.report("uniqueItems", `expected items that all differ, but item ${index} repeats an earlier one`))
    );
  };
}

function compileContains(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const min = readCountKeyword(node, "minContains") ?? 1;
  const max = readCountKeyword(node, "maxContains") ?? Infinity;
  return containsRule(compileChildKeyword(node, "contains", compiler), { min, max, evaluates: true });
}

/** In 2019-09, matches of `contains` do not count as evaluated. */
function compileContains2019(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const min = readCountKeyword(node, "minContains") ?? 1;
  const max = readCountKeyword(node, "maxContains") ?? Infinity;
  return containsRule(compileChildKeyword(node, "contains", compiler), { min, max, evaluates: false });
}

function compileContains7(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  return containsRule(compileChildKeyword(node, "contains", compiler), { min: 1, max: Infinity, evaluates: false });
}

interface ContainsBounds {
  readonly min: number;
  readonly max: number;
  readonly evaluates: boolean;
}

function containsRule(node: SchemaNode | undefined, bounds: ContainsBounds): Rule | undefined {
  if (node === undefined) return undefined; // minContains and maxContains have no effect alone
  const { min, max } = bounds;
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    const found = countMatches(node, value, run, bounds);
    if (found >= min && found <= max) return true;
    if (!run.explaining) return false;
    if (found < min) return run.report("contains", `expected at least ${plural(min, "matching item")}, got ${found}`);
    return run.report("maxContains", `expected at most ${plural(max, "matching item")}, got ${found} or more`);
  };
}

/** Counts the items that match. Stops as soon as the verdict is certain, unless every match must be recorded as evaluated. */
function countMatches(node: SchemaNode, items: readonly unknown[], run: ValidationRun, bounds: ContainsBounds): number {
  const record = bounds.evaluates ? run.evaluated : undefined;
  const enough = bounds.max === Infinity ? bounds.min : bounds.max + 1;
  let found = 0;
  for (let index = 0; index < items.length && (found < enough || record !== undefined); index++) {
    if (!evaluateChildSilently(node, items[index], run)) continue;
    found++;
    record?.addIndex(index);
  }
  return found;
}

function compileItems(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  const items = getOwn(node.raw, "items");
  if (Array.isArray(items)) {
    return throwInvalidSchema(
      node,
      "items",
      "items must be one schema, not an array of them",
      "Since 2020-12 the array form is called prefixItems; or set $schema to draft-07.",
    );
  }
  return itemsRule(compilePrefix(node, "prefixItems", compiler), compileChildKeyword(node, "items", compiler));
}

/** Up to 2019-09, `items` may be an array of schemas, and `additionalItems` applies to the items after those. */
function compileItemsUpTo2019(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const items = getOwn(node.raw, "items");
  const additional = compileChildKeyword(node, "additionalItems", compiler);
  if (items === undefined) return undefined;
  if (!Array.isArray(items)) return itemsRule([], compileChildKeyword(node, "items", compiler));
  return itemsRule(items.length === 0 ? [] : compilePrefix(node, "items", compiler), additional);
}

function compilePrefix(node: SchemaNode, keyword: string, compiler: SubschemaCompiler): readonly SchemaNode[] {
  return (readListKeyword(node, keyword, compiler) ?? []).map((raw, index) => compiler.compileChild(node, keyword, raw, index));
}

function itemsRule(prefix: readonly SchemaNode[], rest: SchemaNode | undefined): Rule {
  const general = anyItemsRule(prefix, rest);
  if (prefix.length > 0 || rest === undefined) return general;
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    if (run.explaining || run.evaluated !== undefined) return general(value, run);
    for (let index = 0; index < value.length; index++) if (!evaluate(rest, value[index], run)) return false;
    return true;
  };
}

function anyItemsRule(prefix: readonly SchemaNode[], rest: SchemaNode | undefined): Rule {
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    const end = rest === undefined ? Math.min(prefix.length, value.length) : value.length;
    run.evaluated?.addItemsBelow(end);
    let valid = true;
    for (let index = 0; index < end; index++) {
      const node = prefix[index] ?? rest;
      if (node === undefined || checkItem(node, value[index], run, index)) continue;
      if (!run.shouldContinue()) return false;
      valid = false;
    }
    return valid;
  };
}

function checkItem(node: SchemaNode, item: unknown, run: ValidationRun, index: number): boolean {
  if (node.rules === NEVER) return run.explaining && run.report("items", "unexpected item", index);
  return evaluateChild(node, item, run, index);
}

const SIZE_AND_UNIQUENESS: KeywordTable = [
  [compileSize, "minItems", "maxItems"],
  [compileUniqueItems, "uniqueItems"],
];

/** In the order in which their problems are reported. */
export const ARRAY_KEYWORDS: KeywordTable = [
  ...SIZE_AND_UNIQUENESS,
  [compileContains, "contains", "minContains", "maxContains"],
  [compileItems, "prefixItems", "items"],
];

export const ARRAY_KEYWORDS_2019: KeywordTable = [
  ...SIZE_AND_UNIQUENESS,
  [compileContains2019, "contains", "minContains", "maxContains"],
  [compileItemsUpTo2019, "items", "additionalItems"],
];

export const ARRAY_KEYWORDS_7: KeywordTable = [
  ...SIZE_AND_UNIQUENESS,
  [compileContains7, "contains"],
  [compileItemsUpTo2019, "items", "additionalItems"],
];
