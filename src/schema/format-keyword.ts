/** `format`, where it is checked: see `CompileOptions.formats`. Otherwise it is an annotation, as JSON Schema has it. */
import type { Rule, SchemaNode } from "./compiled-schema.ts";
import { KNOWN_FORMATS } from "./format/known-formats.ts";
import { own } from "../core/base/own.ts";
import type { KeywordTable, SubschemaCompiler } from "./keyword.ts";
import { showValue } from "./schema-problem.ts";

const CHARACTERS_PER_STEP = 16;

/** A format that is not known is an annotation in any case. */
function compileFormat(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  if (!compiler.checksFormats) return undefined;
  const name = own(node.raw, "format");
  const format = typeof name === "string" ? KNOWN_FORMATS.get(name) : undefined;
  if (format === undefined) return undefined;
  const { fits, meaning, example } = format;
  const expected = `expected ${meaning} such as ${example}`;
  return (value, run) => {
    if (typeof value !== "string") return true;
    if (run.spend(value.length / CHARACTERS_PER_STEP) && fits(value)) return true;
    return run.explaining && run.report("format", `${expected}, got ${showValue(value)}`);
  };
}

export const FORMAT_KEYWORDS: KeywordTable = [[compileFormat, "format"]];
