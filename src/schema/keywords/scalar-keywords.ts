/** Keywords for strings and numbers. */
import type { Rule, SchemaNode, ValidationRun } from "../compiled-schema.ts";
import { ToolError } from "../../core/error.ts";
import { plural } from "../../core/base/wording.ts";
import { firstChars } from "../../core/base/truncate-text.ts";
import { matchesFormat, findFormat, describeFormat } from "./format-keyword.ts";
import {
  type KeywordTable,
  type SubschemaCompiler,
  readCountKeyword,
  readNumberKeyword,
  throwInvalidSchema,
  readStringKeyword,
} from "./keyword.ts";
import { type LinearPattern, linearPattern } from "../pattern/pattern.ts";
import { showValue } from "../schema-problem.ts";

function compileLength(node: SchemaNode): Rule {
  const min = readCountKeyword(node, "minLength") ?? 0;
  const max = readCountKeyword(node, "maxLength") ?? Infinity;
  return (value, run) => {
    if (typeof value !== "string") return true;
    // a code point is one or two UTF-16 units, so most strings need not be counted
    if (value.length <= max && value.length >= 2 * min) return true;
    const length = value.length > 2 * max || value.length < min ? value.length : countCodePoints(value, run);
    if (length < min) return run.explaining && run.report("minLength", `expected at least ${plural(min, "character")}, got ${length}`);
    return length <= max || (run.explaining && run.report("maxLength", `expected at most ${plural(max, "character")}, got ${length}`));
  };
}

const CHARACTERS_PER_STEP = 16;

function countCodePoints(text: string, run: ValidationRun): number {
  run.spend(text.length / CHARACTERS_PER_STEP);
  let count = text.length;
  for (let index = 1; index < text.length; index++) {
    const isPair = (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
    if (isPair) count--;
  }
  return count;
}

function compilePatternKeyword(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const source = readStringKeyword(node, "pattern");
  if (source === undefined) return undefined;
  const pattern = compilePatternAt(node, "pattern", source, compiler);
  const shown = firstChars(source, MAX_SHOWN_PATTERN);
  const format = findFormat(node);
  return (value, run) => {
    if (typeof value !== "string" || matchesPattern(pattern, value, run)) return true;
    if (!run.explaining) return false;
    if (format === undefined || matchesFormat(value, format, run))
      return run.report(
        "pattern",
        `expected ${format === undefined ? "a string" : describeFormat(format)} that matches ${shown}, got ${showValue(value)}`,
      );
    // the pattern of a format is long and less clear than its name; if formats are checked, that check reports the problem
    return !compiler.checksFormats && run.report("pattern", `expected ${describeFormat(format)}, got ${showValue(value)}`);
  };
}

const MAX_SHOWN_PATTERN = 200;

/** Compiles a pattern. Refuses the schema, with the location, if that fails. */
export function compilePatternAt(node: SchemaNode, keyword: string, source: string, compiler: SubschemaCompiler): LinearPattern {
  const pattern = compileLinearPattern(node, keyword, source);
  compiler.spend(node, keyword, pattern.compileCost);
  return pattern;
}

function compileLinearPattern(node: SchemaNode, keyword: string, source: string): LinearPattern {
  try {
    return linearPattern(source);
  } catch (error: unknown) {
    const { message, hint } = ToolError.fromUnknown(error);
    return throwInvalidSchema(node, keyword, message.replace(/\.$/u, ""), hint);
  }
}

/** Tests a pattern. False if the budget is used up. */
export function matchesPattern(pattern: LinearPattern, text: string, run: ValidationRun): boolean {
  return run.spend(pattern.stepsPerTest + text.length * pattern.stepsPerCharacter) && pattern.test(text);
}

function compileBounds(node: SchemaNode): Rule {
  const min = readNumberKeyword(node, "minimum") ?? -Infinity;
  const max = readNumberKeyword(node, "maximum") ?? Infinity;
  const above = readNumberKeyword(node, "exclusiveMinimum") ?? -Infinity;
  const below = readNumberKeyword(node, "exclusiveMaximum") ?? Infinity;
  return (value, run) => {
    if (typeof value !== "number" || (value >= min && value <= max && value > above && value < below)) return true;
    if (!run.explaining) return false;
    if (!(value >= min)) run.report("minimum", `expected at least ${min}, got ${value}`);
    if (!(value <= max)) run.report("maximum", `expected at most ${max}, got ${value}`);
    if (!(value > above)) run.report("exclusiveMinimum", `expected more than ${above}, got ${value}`);
    if (!(value < below)) run.report("exclusiveMaximum", `expected less than ${below}, got ${value}`);
    return false;
  };
}

function compileMultipleOf(node: SchemaNode): Rule | undefined {
  const divisor = readNumberKeyword(node, "multipleOf");
  if (divisor === undefined) return undefined;
  if (divisor <= 0) return throwInvalidSchema(node, "multipleOf", `multipleOf must be more than 0, not ${divisor}`);
  return (value, run) => {
    if (typeof value !== "number" || value % divisor === 0) return true;
    if (run.spend(STEPS_PER_DIVISION) && isMultiple(value, divisor)) return true;
    return run.explaining && run.report("multipleOf", `expected a multiple of ${divisor}, got ${value}`);
  };
}

/** Maximum cost of a decimal division, in steps. */
const STEPS_PER_DIVISION = 60;

/** Divides as decimals, as written in JSON: 0.0075 is a multiple of 0.0001, although the binary fractions are not. */
function isMultiple(value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || (Number.isSafeInteger(value) && Number.isSafeInteger(divisor))) return false;
  const [digits, exponent] = toDecimal(value);
  const [divisorDigits, divisorExponent] = toDecimal(divisor);
  const scale = Math.min(exponent, divisorExponent);
  return (digits * 10n ** BigInt(exponent - scale)) % (divisorDigits * 10n ** BigInt(divisorExponent - scale)) === 0n;
}

/** Returns the shortest decimal that parses to the number: `digits × 10 ** exponent`. */
function toDecimal(value: number): readonly [digits: bigint, exponent: number] {
  const [mantissa = "0", exponent = "0"] = value.toExponential().split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

/** In the order in which their problems are reported. */
export const SCALAR_KEYWORDS: KeywordTable = [
  [compileLength, "minLength", "maxLength"],
  [compilePatternKeyword, "pattern"],
  [compileBounds, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  [compileMultipleOf, "multipleOf"],
];
