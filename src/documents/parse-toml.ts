import { TomlError, parse } from "smol-toml";
import { BOUND_KEYWORDS, isSchemaType } from "../core/formats/lost-digits.ts";
import type { KeyPath, KeyPositions, ParsedFile } from "./key-positions.ts";
import type { JsonFileLimits } from "./parse-json-file.ts";
import { syntaxError } from "./problems.ts";
import { RefusedTomlError, findTomlPositions } from "./toml-positions.ts";

/** Deeper than any document a person writes, and small enough for the stack. */
const MAX_DEPTH = 32;

/** Parses a document in TOML. @throws ToolError `invalid_config` with line and column if the text is not TOML 1.0 */
export function parseToml(text: string, file: string, { roundsBounds = false }: Pick<JsonFileLimits, "roundsBounds"> = {}): ParsedFile {
  try {
    const value: unknown = parse(text, { maxDepth: MAX_DEPTH, integersAsBigInt: roundsBounds ? "asNeeded" : false });
    const positions = findTomlPositions(text, decodeKey);
    return { value: roundsBounds ? withRoundedBounds(value, { file, positions, path: [] }) : value, positions };
  } catch (error: unknown) {
    if (error instanceof RefusedTomlError) throw syntaxError(file, error.position, `not valid TOML: ${error.message}.`, error);
    if (!(error instanceof TomlError)) throw error;
    const problem =
      error.message
        .split("\n", 1)[0]
        ?.replace("Invalid TOML document: ", "")
        .replace(/(?<!\.)\.+$/u, "") ?? "";
    throw syntaxError(file, error, `not valid TOML: ${problem}.`, error);
  }
}

function decodeKey(quoted: string): string {
  return Object.keys(parse(`${quoted} = 1`))[0] ?? "";
}

interface Place {
  readonly path: KeyPath;
  /** Whether the value is a bound of a schema. @default false */
  readonly isBound?: boolean;
  readonly file: string;
  readonly positions: KeyPositions;
}

/** Replaces integers of more digits than a double holds: a bound by the nearest number. @throws ToolError `invalid_config` for any other */
function withRoundedBounds(value: unknown, place: Place): unknown {
  if (typeof value === "bigint") {
    if (place.isBound === true) return Number(value);
    throw syntaxError(place.file, place.positions.get(place.path), "not valid TOML: integer value cannot be represented losslessly.");
  }
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  const isSchema = !Array.isArray(value) && "type" in value && isSchemaType(value.type);
  for (const [key, item] of Object.entries(value)) {
    const path = [...place.path, Array.isArray(value) ? Number(key) : key];
    const read = withRoundedBounds(item, { ...place, path, isBound: isSchema && BOUND_KEYWORDS.has(key) });
    if (read !== item) Object.defineProperty(value, key, { value: read, enumerable: true, writable: true, configurable: true });
  }
  return value;
}
