/** Reads a document in strict JSON. */
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";
import type { ParseOptions } from "../core/base/parse-json.ts";
import { addJsonPositions } from "./json-positions.ts";
import { KeyPositions } from "./key-positions.ts";
import type { ParsedFile } from "./key-positions.ts";
import { syntaxError } from "./problems.ts";

export interface JsonFileLimits {
  readonly maxDepth: number;
  readonly maxNodes: number;
  /** Places are told for keys down to this depth; what lies deeper is named by its nearest parent. @default all */
  readonly positionDepth?: number;
}

/** Enough for any configuration. */
const CONFIG_LIMITS: JsonFileLimits = { maxDepth: 32, maxNodes: 100_000 };

/** @throws ToolError `invalid_config` with line and column when the text is not JSON, or repeats a key */
export function parseJsonFile(text: string, file: string, limits: JsonFileLimits = CONFIG_LIMITS): ParsedFile {
  const { maxDepth, maxNodes, positionDepth = maxDepth } = limits;
  const value = parseJsonText(text, file, { maxDepth, maxNodes });
  return { value, positions: new KeyPositions((positions) => addJsonPositions(text, positions, positionDepth)) };
}

/** The value alone, for documents whose places nobody asks for. @throws as `parseJsonFile` */
export function parseJsonText(text: string, file: string, limits: ParseOptions): JsonValue {
  try {
    return parseJson(text, limits);
  } catch (error: unknown) {
    const { message } = ToolError.fromUnknown(error);
    const place = /line (\d+), column (\d+)/u.exec(message);
    const position = { line: Number(place?.[1] ?? 1), column: Number(place?.[2] ?? 1) };
    throw syntaxError(file, position, message.replace(/,? at line \d+, column \d+/u, ""), error);
  }
}
