/** Reads a file as the kind of document that its extension names. */
import { hash } from "node:crypto";
import { extname } from "node:path";
import { ToolError } from "../core/error.ts";
import { parseJsonFile, blankComments } from "./parse-json-file.ts";
import type { ParsedFile } from "./key-positions.ts";
import type { YamlLimits } from "./parse-yaml.ts";
import { syntaxError } from "./problems.ts";
import { readTextFile, type TextFile } from "./read-text-file.ts";

export type DocumentEnding = ".toml" | ".yaml" | ".yml" | ".json" | ".jsonc" | ".code-workspace";

export interface LoadedDocument extends ParsedFile {
  /** SHA-256 of the text, in hex. */
  readonly digest: string;
}

export interface DocumentFile extends Omit<TextFile, "code"> {
  readonly endings: readonly DocumentEnding[];
  /** @default each that of a configuration file */
  readonly limits?: Partial<YamlLimits>;
  /** Whether JSON may have comments and trailing commas. @default false */
  readonly jsonComments?: boolean;
}

/**
 * Reads and parses a file. Only the parser it needs is loaded.
 *
 * @throws ToolError `invalid_config` for another extension, for anything but a regular file in UTF-8, and with line and column for a syntax
 * error
 */
export async function readDocument({ path, what, endings, maxBytes, hint, limits, jsonComments }: DocumentFile): Promise<LoadedDocument> {
  const problem = findEndingProblem(path, endings);
  if (problem !== undefined) throw new ToolError("invalid_config", `Cannot read the ${what} ${path}: its name ${problem}`);
  const text = await readTextFile({ path, what, code: "invalid_config", maxBytes, hint });
  // the first byte order mark is not part of the text, and parsers skip a second one
  if (text.startsWith("\ufeff")) throw syntaxError(path, { line: 1, column: 1 }, "there is more than one byte order mark.");
  const ending = extname(path).toLowerCase();
  const parse = await loadParser(ending);
  const plain = jsonComments === true && parse === parseJsonFile ? blankComments(text) : text;
  try {
    return { ...parse(plain, path, limits), digest: hash("sha256", text) };
  } catch (thrown: unknown) {
    throw UNESCAPED_PATH.test(text) && thrown instanceof ToolError ? withPathHint(thrown) : thrown;
  }
}

/** Matches a Windows path with unescaped backslashes in double quotes. */
const UNESCAPED_PATH = /"[a-z]:\\(?!\\)/iu;

function withPathHint({ code, message, details, cause }: ToolError): ToolError {
  return new ToolError(code, message, {
    details,
    cause,
    hint: String.raw`In double quotes, a backslash is written twice. Write a path as "C:/folder" or "C:\\folder".`,
  });
}

/** Returns `must end in .yaml, .yml or .json.`; undefined if the path has one of the extensions, in any case. */
export function findEndingProblem(path: string, endings: readonly DocumentEnding[]): string | undefined {
  const ending = extname(path).toLowerCase();
  if (endings.some((known) => known === ending)) return undefined;
  const rest = endings.slice(0, -1).join(", ");
  return `must end in ${rest === "" ? "" : `${rest} or `}${endings.at(-1) ?? ""}.`;
}

type DocumentParser = (text: string, file: string, limits?: Partial<YamlLimits>) => ParsedFile;

async function loadParser(ending: string): Promise<DocumentParser> {
  if (ending === ".toml") return (await import("./parse-toml.ts")).parseToml;
  if (ending === ".yaml" || ending === ".yml") return (await import("./parse-yaml.ts")).parseYaml;
  return parseJsonFile;
}
