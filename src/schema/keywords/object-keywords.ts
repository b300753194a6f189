/** Keywords for the fields of objects. */
import { isJsonObject } from "../../core/base/json.ts";
import { plural } from "../../core/base/wording.ts";
import { NEVER, type RawSchema, type Rule, type SchemaNode, type ValidationRun } from "../compiled-schema.ts";
import { evaluate, evaluateChild } from "../evaluate.ts";
import {
  type KeywordTable,
  type SubschemaCompiler,
  compileChildKeyword,
  readCountKeyword,
  readMapKeyword,
  readNamesKeyword,
} from "./keyword.ts";
import { STEPS_PER_FIELD, hasField, lookUpSteps, fieldNames } from "../own-fields.ts";
import type { LinearPattern } from "../pattern/pattern.ts";
import { matchesPattern, compilePatternAt } from "./scalar-keywords.ts";
import { showValues } from "../schema-problem.ts";

/** `required`, `properties`, `patternProperties` and `additionalProperties`, combined. */
interface Fields {
  readonly required: readonly string[];
  /** The required names that are not in `properties`. */
  readonly undeclaredRequired: readonly string[];
  readonly names: readonly string[];
  readonly nodes: readonly SchemaNode[];
  readonly isRequired: readonly boolean[];
  readonly declared: ReadonlySet<string>;
  readonly patterns: readonly { readonly pattern: LinearPattern; readonly node: SchemaNode }[];
  readonly additional: SchemaNode | undefined;
  /** `properties` and `required` as a linked list in schema order; undefined if there are none, or if other required names or patterns exist. */
  readonly firstLink: Link | undefined;
  readonly links: ReadonlyMap<string, Link>;
  /** Number of required fields among `links`. */
  readonly requiredCount: number;
  /** The cost of one pass over the lists above. */
  readonly steps: number;
}

/** One declared field, linked to the next. */
interface Link {
  readonly name: string;
  readonly node: SchemaNode;
  readonly isRequired: boolean;
  readonly next: Link | undefined;
}

/** Up to this many extra fields are checked in sorted order, more in their own order: sorting is not linear. */
const MAX_SORTED = 10_000;
const NO_NAMES: readonly string[] = [];
/** Maximum number of undeclared fields in an object that is checked by a loop over its keys. */
const MAX_UNDECLARED = 16;

function compileFields(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const fields = readFields(node, compiler);
  return (value, run) => {
    if (!isJsonObject(value)) return true;
    const quick = fields.firstLink !== undefined && run.canLoopKeys(value) ? checkPlainFields(fields, value, run) : undefined;
    return quick ?? checkFields(fields, value, run);
  };
}

function readFields(node: SchemaNode, compiler: SubschemaCompiler): Fields {
  const required = readNamesKeyword(node, "required", compiler) ?? NO_NAMES;
  const properties = readMapKeyword(node, "properties", compiler);
  const names = properties === undefined ? NO_NAMES : fieldNames(properties);
  const nodes = names.map((name) => compiler.compileChild(node, "properties", properties?.[name], name));
  const declared = new Set(names);
  const requiredSet = new Set(required);
  const undeclaredRequired = required.filter((name) => !declared.has(name));
  const isRequired = names.map((name) => requiredSet.has(name));
  const patterns = readPatterns(node, compiler);
  return {
    required,
    undeclaredRequired,
    names,
    nodes,
    isRequired,
    declared,
    ...linkFields(names, nodes, requiredSet, undeclaredRequired.length === 0 && patterns.length === 0),
    patterns,
    additional: compileChildKeyword(node, "additionalProperties", compiler),
    steps: lookUpSteps(names.length + required.length),
  };
}

function linkFields(
  names: readonly string[],
  nodes: readonly SchemaNode[],
  required: ReadonlySet<string>,
  isWhole: boolean,
): Pick<Fields, "firstLink" | "links" | "requiredCount"> {
  const links = new Map<string, Link>();
  let next: Link | undefined;
  let requiredCount = 0;
  for (let index = names.length - 1; index >= 0 && isWhole; index--) {
    const name = names[index] ?? "";
    const node = nodes[index];
    if (node === undefined) continue;
    next = { name, node, isRequired: required.has(name), next };
    if (next.isRequired) requiredCount++;
    links.set(name, next);
  }
  return { firstLink: next, links, requiredCount };
}

function readPatterns(node: SchemaNode, compiler: SubschemaCompiler): Fields["patterns"] {
  const map = readMapKeyword(node, "patternProperties", compiler);
  if (map === undefined) return [];
  return fieldNames(map).map((source) => ({
    pattern: compilePatternAt(node, "patternProperties", source, compiler),
    node: compiler.compileChild(node, "patternProperties", map[source], source),
  }));
}

/**
 * Checks an object in one loop over its keys. These are usually in the order of the schema, so that no field has to be looked up.
 * Non-enumerable fields are not part of JSON and are ignored.
 *
 * @returns undefined if `checkFields` must decide, which charges for objects with many keys
 */
function checkPlainFields(fields: Fields, object: RawSchema, run: ValidationRun): boolean | undefined {
  if (!run.spend(fields.steps)) return false;
  const { additional } = fields;
  let expected = fields.firstLink;
  let strays = 0;
  let required = 0;
  for (const key in object) {
    const item = object[key];
    if (item === undefined) continue;
    const link = key === expected?.name ? expected : fields.links.get(key);
    if (link !== undefined) {
      expected = link.next;
      if (link.isRequired) required++;
    } else if (additional?.rules === NEVER || ++strays > MAX_UNDECLARED) return run.countEarlyExit();
    const node = link === undefined ? additional : link.node;
    if (node === undefined || evaluate(node, item, run)) continue;
    run.countEarlyExit();
    return false;
  }
  return required === fields.requiredCount ? true : run.countEarlyExit();
}

function checkFields(fields: Fields, object: RawSchema, run: ValidationRun): boolean {
  if (!run.spend(fields.steps)) return false;
  // while explaining, missing fields are reported before problems of present ones
  let valid = checkRequired(run.explaining ? fields.required : fields.undeclaredRequired, object, run);
  if (!valid && !run.shouldContinue()) return false;
  const { names, nodes, isRequired } = fields;
  let present = 0;
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? "";
    const node = nodes[index];
    const item = object[name];
    if (node === undefined || item === undefined || !Object.hasOwn(object, name)) {
      if (isRequired[index] === true && !run.explaining) return false;
      continue;
    }
    present++;
    run.evaluated?.addName(name);
    if (checkField(node, item, run, name)) continue;
    if (!run.shouldContinue()) return false;
    valid = false;
  }
  return checkOtherFields(fields, object, run, present) && valid;
}

function checkRequired(required: readonly string[], object: RawSchema, run: ValidationRun): boolean {
  let valid = true;
  for (const name of required) {
    if (hasField(object, name)) continue;
    if (!run.shouldContinue()) return false;
    valid = run.report("required", "required field missing", name);
  }
  return valid;
}

function checkField(node: SchemaNode, item: unknown, run: ValidationRun, name: string): boolean {
  if (node.rules === NEVER) return run.explaining && run.report("false", "this field is not allowed", name);
  return evaluateChild(node, item, run, name);
}

function checkOtherFields(fields: Fields, object: RawSchema, run: ValidationRun, present: number): boolean {
  const { patterns, additional, declared } = fields;
  if (patterns.length === 0 && additional === undefined) return true;
  const keys = Object.keys(object);
  if (patterns.length === 0 && keys.length === present) return true;
  if (!run.spend(keys.length * STEPS_PER_FIELD)) return false;
  if (run.explaining && keys.length <= MAX_SORTED) keys.sort();
  let valid = true;
  for (const key of keys) {
    if (patterns.length === 0 && declared.has(key)) continue;
    const item = object[key];
    if (item === undefined || checkOtherField(fields, key, item, run)) continue;
    if (!run.shouldContinue()) return false;
    valid = false;
  }
  return valid;
}

function checkOtherField(fields: Fields, key: string, item: unknown, run: ValidationRun): boolean {
  let isMatched = false;
  let valid = true;
  for (const { pattern, node } of fields.patterns) {
    if (!matchesPattern(pattern, key, run)) continue;
    isMatched = true;
    if (!checkField(node, item, run, key)) valid = false;
  }
  const { additional } = fields;
  if (isMatched || additional === undefined || fields.declared.has(key)) {
    if (isMatched) run.evaluated?.addName(key);
    return valid;
  }
  run.evaluated?.addName(key);
  if (additional.rules === NEVER) return run.explaining && reportUnexpected(fields, key, run);
  return evaluateChild(additional, item, run, key);
}

function reportUnexpected(fields: Fields, key: string, run: ValidationRun): false {
  const known = fields.names.length === 0 ? "" : `; known fields: ${showValues(fields.names)}`;
  return run.report("additionalProperties", `unexpected field${known}`, key);
}

function compileCount(node: SchemaNode): Rule {
  const min = readCountKeyword(node, "minProperties") ?? 0;
  const max = readCountKeyword(node, "maxProperties") ?? Infinity;
  return (value, run) => {
    if (!isJsonObject(value)) return true;
    const count = countNames(value, run);
    if (count >= min && count <= max) return true;
    if (!run.explaining) return false;
    if (count < min) return run.report("minProperties", `expected at least ${plural(min, "field")}, got ${count}`);
    return run.report("maxProperties", `expected at most ${plural(max, "field")}, got ${count}`);
  };
}

function countNames(object: RawSchema, run: ValidationRun): number {
  const count = fieldNames(object).length;
  run.spend(count * STEPS_PER_FIELD);
  return count;
}

function compileNames(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const names = compileChildKeyword(node, "propertyNames", compiler);
  if (names === undefined) return undefined;
  return (value, run) => {
    if (!isJsonObject(value)) return true;
    const keys = fieldNames(value);
    let valid = run.spend(keys.length * STEPS_PER_FIELD);
    for (const key of keys) {
      if (checkName(names, key, run)) continue;
      if (!run.shouldContinue()) return false;
      valid = false;
    }
    return valid;
  };
}

function checkName(names: SchemaNode, key: string, run: ValidationRun): boolean {
  if (!run.explaining) return evaluateChild(names, key, run, key);
  const { valid, problems } = run.runTrial(() => evaluateChild(names, key, run, key));
  return (
    valid || run.report("propertyNames", `the field name is not allowed: ${problems[0]?.message ?? "it breaks the rules for names"}`, key)
  );
}

/** In the order in which their problems are reported. */
export const OBJECT_KEYWORDS: KeywordTable = [[compileFields, "required", "properties", "patternProperties", "additionalProperties"]];

export const OBJECT_COUNT_KEYWORDS: KeywordTable = [
  [compileCount, "minProperties", "maxProperties"],
  [compileNames, "propertyNames"],
];
