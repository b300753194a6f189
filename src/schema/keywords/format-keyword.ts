/** The keyword `format`, which is checked only if `CompileOptions.formats` is set. Otherwise it is an annotation, as in JSON Schema. */
import type { Rule, SchemaNode, ValidationRun } from "../compiled-schema.ts";
import { KNOWN_FORMATS, type KnownFormat } from "../format/known-formats.ts";
import { getOwn } from "../../core/base/get-own.ts";
import type { KeywordTable, SubschemaCompiler } from "./keyword.ts";
import { showValue } from "../schema-problem.ts";

const CHARACTERS_PER_STEP = 16;

/** Unknown formats are always annotations. */
function compileFormat(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const format = compiler.checksFormats ? findFormat(node) : undefined;
  if (format === undefined) return undefined;
  return (value, run) => {
    if (typeof value !== "string" || matchesFormat(value, format, run)) return true;
    return run.explaining && run.report("format", `expected ${describeFormat(format)}, got ${showValue(value)}`);
  };
}

export function findFormat(node: SchemaNode): KnownFormat | undefined {
  const name = getOwn(node.raw, "format");
  return typeof name === "string" ? KNOWN_FORMATS.get(name) : undefined;
}

/** Checks a format. False if the budget is used up. */
export function matchesFormat(text: string, { isValid }: KnownFormat, run: ValidationRun): boolean {
  return run.spend(text.length / CHARACTERS_PER_STEP) && isValid(text);
}

export function describeFormat({ meaning, example }: KnownFormat): string {
  return `${meaning} such as ${example}`;
}

export const FORMAT_KEYWORDS: KeywordTable = [[compileFormat, "format"]];
