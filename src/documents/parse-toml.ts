import { TomlError, parse } from "smol-toml";
import type { ParsedFile } from "./key-positions.ts";
import { syntaxError } from "./problems.ts";
import { RefusedTomlError, findTomlPositions } from "./toml-positions.ts";

/** Deeper than any document a person writes, and small enough for the stack. */
const MAX_DEPTH = 32;

/** Parses a document in TOML. @throws ToolError `invalid_config` with line and column if the text is not TOML 1.0 */
export function parseToml(text: string, file: string): ParsedFile {
  try {
    const value = parse(text, { maxDepth: MAX_DEPTH });
    return { value, positions: findTomlPositions(text, decodeKey) };
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
