/** `unevaluatedItems` and `unevaluatedProperties`: the parts of a value that no other keyword evaluated. */
import { isJsonObject } from "../../core/base/json.ts";
import { NEVER, type SchemaNode, type ValidationRun } from "../compiled-schema.ts";
import { evaluateChild } from "../evaluate.ts";
import { type KeywordTable, type SubschemaCompiler, compileChildKeyword } from "./keyword.ts";

/** The cost of listing, recording and looking up one item or field, in steps. */
const STEPS_PER_PART = 6;

function compileUnevaluatedItems(node: SchemaNode, compiler: SubschemaCompiler): undefined {
  const rest = compileChildKeyword(node, "unevaluatedItems", compiler);
  if (rest === undefined) return;
  node.lateRules.push((value, run) => {
    const record = run.evaluated;
    if (!Array.isArray(value) || record === undefined) return true;
    if (!run.spend(STEPS_PER_PART * (record.size + value.length))) return false;
    const missing = record.unevaluatedIndexes(value.length);
    record.addItemsBelow(value.length);
    return checkEach(missing, run, (index) => checkPart(rest, value[index], run, index));
  });
}

function compileUnevaluatedProperties(node: SchemaNode, compiler: SubschemaCompiler): undefined {
  const rest = compileChildKeyword(node, "unevaluatedProperties", compiler);
  if (rest === undefined) return;
  node.lateRules.push((value, run) => {
    const record = run.evaluated;
    if (!isJsonObject(value) || record === undefined) return true;
    const names = Object.keys(value);
    if (!run.spend(STEPS_PER_PART * (record.size + names.length))) return false;
    const missing = record.unevaluatedNames(names);
    record.addAllNames();
    return checkEach(missing, run, (name) => value[name] === undefined || checkPart(rest, value[name], run, name));
  });
}

function checkEach<Step>(steps: readonly Step[], run: ValidationRun, check: (step: Step) => boolean): boolean {
  let valid = true;
  for (const step of steps) {
    if (check(step)) continue;
    if (!run.shouldContinue()) return false;
    valid = false;
  }
  return valid;
}

function checkPart(node: SchemaNode, part: unknown, run: ValidationRun, step: string | number): boolean {
  if (node.rules !== NEVER) return evaluateChild(node, part, run, step);
  const [keyword, what] = typeof step === "number" ? ["unevaluatedItems", "item"] : ["unevaluatedProperties", "field"];
  return run.explaining && run.report(keyword, `unexpected ${what}`, step);
}

/** In the order in which their problems are reported: after all others. */
export const UNEVALUATED_KEYWORDS: KeywordTable = [
  [compileUnevaluatedItems, "unevaluatedItems"],
  [compileUnevaluatedProperties, "unevaluatedProperties"],
];
