/** Checks a value against a compiled schema. */
import type { JsonSchema } from "../core/tool.ts";
import { ANY_TYPE, type Rule, type SchemaNode, ValidationRun } from "./compiled-schema.ts";
import { Evaluated } from "./keywords/evaluated.ts";
import { MAX_PROBLEMS, MAX_VISIT_DEPTH } from "./schema-limits.ts";
import { type SchemaProblem, createProblem, isLongInteger, typeName } from "./schema-problem.ts";

const [NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT] = [1, 2, 4, 8, 16, 32, 64] as const;

/**
 * Whether a value matches a subschema.
 *
 * A wrong type ends the check of this value. Without explaining, so does the first failure; while explaining, all rules run until enough
 * problems are found.
 */
export function evaluate(node: SchemaNode, value: unknown, run: ValidationRun): boolean {
  if (--run.stepsLeft < 0) return run.spend(0);
  if (node.types !== ANY_TYPE && (node.types & typeBit(value)) === 0) return run.explaining && reportType(node, value, run);
  if (node.rules.length === 0 && !node.needsTracking) return true;
  if (run.depth >= MAX_VISIT_DEPTH) return run.abort(`the value is nested too deeply (more than ${MAX_VISIT_DEPTH} steps of checking)`);
  run.depth++;
  const valid = node.needsTracking || run.evaluated !== undefined ? applyTracking(node, value, run) : applyRules(node.rules, value, run);
  run.depth--;
  return valid;
}

/** Checks an item or property of the current value against a subschema. */
export function evaluateChild(node: SchemaNode, value: unknown, run: ValidationRun, step: string | number): boolean {
  if (!run.explaining && run.evaluated === undefined) return evaluate(node, value, run);
  const evaluated = run.evaluated;
  run.evaluated = undefined;
  if (run.explaining) run.path.push(step);
  const valid = evaluate(node, value, run);
  if (run.explaining) run.path.pop();
  run.evaluated = evaluated;
  return valid;
}

/** Like `evaluate`, without reporting problems. */
export function evaluateSilently(node: SchemaNode, value: unknown, run: ValidationRun): boolean {
  const explaining = run.explaining;
  run.explaining = false;
  const valid = evaluate(node, value, run);
  run.explaining = explaining;
  return valid;
}

/** Like `evaluateChild`, without reporting problems. */
export function evaluateChildSilently(node: SchemaNode, value: unknown, run: ValidationRun): boolean {
  const evaluated = run.evaluated;
  run.evaluated = undefined;
  const valid = evaluateSilently(node, value, run);
  run.evaluated = evaluated;
  return valid;
}

function applyRules(rules: readonly Rule[], value: unknown, run: ValidationRun): boolean {
  const only = rules[0];
  if (rules.length === 1 && only !== undefined) return only(value, run);
  let valid = true;
  for (let index = 0; index < rules.length; index++) {
    if (rules[index]?.(value, run) === true) continue;
    if (!run.shouldContinue()) return false;
    valid = false;
  }
  return valid;
}

/** Applies the rules while tracking the dynamic scope and the evaluated parts, for schemas that need them. */
function applyTracking(node: SchemaNode, value: unknown, run: ValidationRun): boolean {
  const { scope, evaluated: outer } = run;
  if (scope?.resource !== node.resource) run.scope = { resource: node.resource, outer: scope };
  const valid = node.lateRules.length > 0 ? applyWithOwnRecord(node, value, run) : applyWithRecord(node, value, run, outer);
  run.scope = scope;
  return valid;
}

function applyWithRecord(node: SchemaNode, value: unknown, run: ValidationRun, record: Evaluated | undefined): boolean {
  const mark = record?.mark();
  const valid = applyRules(node.rules, value, run);
  if (!valid && mark !== undefined) record?.rewind(mark);
  return valid;
}

/** Applies rules with a separate record: `unevaluated…` depends on what this subschema and its own subschemas evaluated, not on siblings. */
function applyWithOwnRecord(node: SchemaNode, value: unknown, run: ValidationRun): boolean {
  const outer = run.evaluated;
  const own = new Evaluated();
  run.evaluated = own;
  const valid = applyRules(node.rules, value, run) && applyRules(node.lateRules, value, run);
  run.evaluated = outer;
  if (valid && outer !== undefined && run.spend(own.size)) outer.addAll(own);
  return valid;
}

function typeBit(value: unknown): number {
  // Not a switch: V8 calls a function for `typeof` in a switch, and compares in place here.
  if (typeof value === "string") return STRING;
  if (typeof value === "number") return Number.isInteger(value) ? INTEGER : Number.isFinite(value) ? FRACTION : 0;
  if (typeof value === "boolean") return BOOLEAN;
  if (typeof value !== "object") return 0;
  return value === null ? NULL : Array.isArray(value) ? ARRAY : OBJECT;
}

/** A string is the only way in which a caller can send such an integer, so that its type alone would not say what is wrong. */
const TOO_LONG = "a string with an integer beyond ±9007199254740991, which is not supported";

function reportType(node: SchemaNode, value: unknown, run: ValidationRun): false {
  const declared = node.raw["type"];
  const expected = Array.isArray(declared) ? declared.join(" or ") : String(declared);
  const isTooLong = (node.types & INTEGER) !== 0 && isLongInteger(value);
  return run.report("type", `expected type ${expected}, got ${isTooLong ? TOO_LONG : typeName(value)}`);
}

/** The validator that `compileSchema` returns. */
export class CompiledValidator {
  readonly schema: JsonSchema;
  private readonly root: SchemaNode;
  private readonly maxSteps: number;

  constructor(schema: JsonSchema, root: SchemaNode, maxSteps: number) {
    this.schema = schema;
    this.root = root;
    this.maxSteps = maxSteps;
  }

  check(value: unknown): boolean {
    const run = new ValidationRun(this.maxSteps, 0);
    try {
      return evaluate(this.root, value, run) && run.limit === undefined;
    } catch {
      return false; // a getter or proxy of the value threw
    }
  }

  problems(value: unknown, max: number = MAX_PROBLEMS): readonly SchemaProblem[] {
    const run = new ValidationRun(this.maxSteps, max);
    try {
      evaluate(this.root, value, run);
    } catch {
      run.abort("the value cannot be read");
    }
    if (run.limit === undefined) return run.problems;
    return [...run.problems.slice(0, Math.max(0, max - 1)), createProblem([], "limit", run.limit)];
  }
}
