/** Reads a configuration file in strict JSON. */
import { ToolError } from "../core/error.ts";
import { parseJson } from "../core/parse-json.ts";
import type { ParsedFile } from "./key-positions.ts";
import { parseYaml } from "./parse-yaml.ts";
import { syntaxError } from "./problems.ts";

/** @throws ToolError `invalid_config` with line and column when the text is not JSON, or repeats a key */
export function parseJsonFile(text: string, file: string): ParsedFile {
  try {
    parseJson(text);
  } catch (error: unknown) {
    const { message } = ToolError.fromUnknown(error);
    const place = /line (\d+), column (\d+)/u.exec(message);
    const position = { line: Number(place?.[1] ?? 1), column: Number(place?.[2] ?? 1) };
    throw syntaxError(file, position, message.replace(/,? at line \d+, column \d+/u, ""), error);
  }
  // All JSON is YAML, whose parser tells where things stand; only white space is stricter there.
  return parseYaml(text.replaceAll("\t", " "), file);
}
