/** Keywords that apply further subschemas to the same value. */
import { isJsonObject, formatJsonPath } from "../../core/base/json.ts";
import { plural, formatList } from "../../core/base/wording.ts";
import type { TrialResult, RawSchema, Rule, SchemaNode, ValidationRun } from "../compiled-schema.ts";
import { evaluate, evaluateSilently } from "../evaluate.ts";
import {
  type KeywordTable,
  type SubschemaCompiler,
  compileBranches,
  checkNames,
  compileInPlaceKeyword,
  readMapKeyword,
} from "./keyword.ts";
import { hasField, lookUpSteps } from "../own-fields.ts";
import type { SchemaProblem } from "../schema-problem.ts";

type Dependency = { readonly on: string; readonly names: readonly string[]; readonly node: SchemaNode | undefined };

function compileDependentRequired(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  return dependencyRule("dependentRequired", readDependencies(node, "dependentRequired", compiler, "names"));
}

function compileDependentSchemas(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  return dependencyRule("dependentSchemas", readDependencies(node, "dependentSchemas", compiler, "schema"));
}

/** Compiles `dependencies` of draft-07. Later drafts split it in two, but schemas that still use it are supported. */
function compileDependencies(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  return dependencyRule("dependencies", readDependencies(node, "dependencies", compiler, "either"));
}

function readDependencies(
  node: SchemaNode,
  keyword: string,
  compiler: SubschemaCompiler,
  what: "names" | "schema" | "either",
): readonly Dependency[] {
  const map = readMapKeyword(node, keyword, compiler) ?? {};
  return Object.keys(map).map((on) => {
    const value = map[on];
    const isNames = what === "names" || (what === "either" && Array.isArray(value));
    if (isNames) return { on, names: checkNames(node, keyword, value, compiler), node: undefined };
    return { on, names: [], node: compiler.compileInPlaceChild(node, keyword, value, on) };
  });
}

function dependencyRule(keyword: string, dependencies: readonly Dependency[]): Rule {
  return (value, run) => {
    if (!isJsonObject(value)) return true;
    let valid = run.spend(lookUpSteps(dependencies.length));
    for (const dependency of dependencies) {
      if (!hasField(value, dependency.on) || checkDependency(keyword, dependency, value, run)) continue;
      if (!run.shouldContinue()) return false;
      valid = false;
    }
    return valid;
  };
}

function checkDependency(keyword: string, { on, names, node }: Dependency, object: RawSchema, run: ValidationRun): boolean {
  if (node !== undefined) return evaluate(node, object, run);
  let valid = run.spend(lookUpSteps(names.length));
  for (const name of names) {
    if (hasField(object, name)) continue;
    if (!run.explaining) return false;
    valid = run.report(keyword, `required field missing, because there is a field ${JSON.stringify(on)}`, name);
  }
  return valid;
}

function compileAllOf(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  const branches = compileBranches(node, "allOf", compiler) ?? [];
  return (value, run) => {
    let valid = true;
    for (const branch of branches) {
      if (evaluate(branch, value, run)) continue;
      if (!run.shouldContinue()) return false;
      valid = false;
    }
    return valid;
  };
}

function compileAnyOf(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  const branches = compileBranches(node, "anyOf", compiler) ?? [];
  return (value, run) => {
    if (run.explaining) {
      const attempts = tryBranches(branches, value, run);
      return attempts.some(({ valid }) => valid) || reportNoMatch("anyOf", attempts, run);
    }
    let valid = false;
    for (const branch of branches) {
      if (!evaluate(branch, value, run)) continue;
      if (run.evaluated === undefined) return true;
      valid = true; // the other branches may evaluate further parts
    }
    return valid;
  };
}

function compileOneOf(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  const branches = compileBranches(node, "oneOf", compiler) ?? [];
  return (value, run) => {
    if (run.explaining) return explainOneOf(branches, value, run);
    let fits = 0;
    for (const branch of branches) {
      if (evaluate(branch, value, run) && ++fits > 1) return false;
    }
    return fits === 1;
  };
}

function explainOneOf(branches: readonly SchemaNode[], value: unknown, run: ValidationRun): boolean {
  const attempts = tryBranches(branches, value, run);
  const fitting = attempts.flatMap(({ valid }, index) => (valid ? [index + 1] : []));
  if (fitting.length === 1) return true;
  if (fitting.length === 0) return reportNoMatch("oneOf", attempts, run);
  const shown = formatList(fitting, MAX_SHOWN_BRANCHES);
  return run.report(
    "oneOf",
    `expected to fit exactly one of ${plural(branches.length, "alternative")}, but fits ${fitting.length} (number ${shown})`,
  );
}

const MAX_SHOWN_BRANCHES = 3;
const MAX_REASON_LENGTH = 100;

function tryBranches(branches: readonly SchemaNode[], value: unknown, run: ValidationRun): readonly TrialResult[] {
  return branches.map((branch) => run.runTrial(() => evaluate(branch, value, run)));
}

/**
 * Reports that no alternative matches.
 *
 * If only one alternative has the right type and constants (the object of "object or null", the member of a union selected by `kind`), its
 * problems are reported. Otherwise there is one line with a problem of each alternative and its path within the value; a problem about the
 * kind of the value takes precedence.
 */
function reportNoMatch(keyword: string, attempts: readonly TrialResult[], run: ValidationRun): false {
  const depth = run.path.length;
  const meant = attempts.filter(({ problems }) => problems.length > 0 && !problems.some((problem) => isKindMismatch(problem, depth)));
  const [only] = meant;
  if (meant.length === 1 && only !== undefined) return run.reportAll(only.problems);
  const place = formatJsonPath(run.path);
  const reasons = attempts
    .slice(0, MAX_SHOWN_BRANCHES)
    .map(({ problems }, index) => `${index + 1}: ${formatReason(problems, depth, place)}`);
  const rest = attempts.length > MAX_SHOWN_BRANCHES ? "; …" : "";
  return run.report(keyword, `fits none of ${plural(attempts.length, "alternative")} (${reasons.join("; ")}${rest})`);
}

function formatReason(problems: readonly SchemaProblem[], depth: number, place: string): string {
  const problem = problems.find((one) => isKindMismatch(one, depth)) ?? problems[0];
  if (problem === undefined) return "does not fit";
  const { path, message } = problem;
  const below = path.startsWith(place) ? path.slice(place.length).replace(/^\./u, "") : path;
  return (below === "" ? message : `${below}: ${message}`).slice(0, MAX_REASON_LENGTH);
}

/** True for a problem which says that the value is of a different kind than the alternative describes. */
function isKindMismatch({ keyword, pointer }: SchemaProblem, depth: number): boolean {
  const below = pointer.split("/").length - 1 - depth;
  return (below === 0 && (keyword === "type" || keyword === "enum")) || (below <= 1 && keyword === "const");
}

function compileNot(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const unwanted = compileInPlaceKeyword(node, "not", compiler);
  if (unwanted === undefined) return undefined;
  return (value, run) => {
    const mark = run.evaluated?.mark();
    const fits = evaluateSilently(unwanted, value, run);
    if (mark !== undefined) run.evaluated?.rewind(mark);
    if (run.limit !== undefined) return false;
    return !fits || (run.explaining && run.report("not", "fits a schema that it must not fit"));
  };
}

function compileIf(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const condition = compileInPlaceKeyword(node, "if", compiler);
  const consequence = compileInPlaceKeyword(node, "then", compiler);
  const alternative = compileInPlaceKeyword(node, "else", compiler);
  if (condition === undefined) return undefined;
  return (value, run) => {
    const next = evaluateSilently(condition, value, run) ? consequence : alternative;
    return next === undefined || evaluate(next, value, run);
  };
}

/** In the order in which their problems are reported. */
export const COMPOSITION_KEYWORDS: KeywordTable = [
  [compileDependentRequired, "dependentRequired"],
  [compileDependentSchemas, "dependentSchemas"],
  [compileDependencies, "dependencies"],
  [compileAllOf, "allOf"],
  [compileAnyOf, "anyOf"],
  [compileOneOf, "oneOf"],
  [compileNot, "not"],
  [compileIf, "if", "then", "else"],
];
