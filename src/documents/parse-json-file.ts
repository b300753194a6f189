/** Parses a document in strict JSON, or in JSON with comments and trailing commas, as editors write it. */
import { ToolError } from "../core/error.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../core/base/json.ts";
import { LONG_NUMBER, parseJson, type ParseOptions } from "../core/base/parse-json.ts";
import { shortenNumber } from "../core/base/truncate-text.ts";
import { BOUND_KEYWORDS, isSchemaType } from "../core/formats/lost-digits.ts";
import { KeyPositions, LineIndex, type KeyPath, type ParsedFile } from "./key-positions.ts";
import { syntaxError } from "./problems.ts";

export interface JsonFileLimits {
  readonly maxDepth: number;
  readonly maxNodes: number;
  /** Positions are recorded for keys down to this depth; a deeper key is reported at its nearest ancestor. @default all */
  readonly positionDepth?: number;
  /** Whether a bound of a schema, such as a `maximum` of 64 bits next to a `type`, is rounded where it would lose digits, in place of an error. @default false */
  readonly roundsBounds?: boolean;
}

/** Enough for any configuration file. */
const CONFIG_LIMITS: JsonFileLimits = { maxDepth: 32, maxNodes: 100_000 };

/** @throws ToolError `invalid_config` with line and column if the text is not JSON, or repeats a key */
export function parseJsonFile(text: string, file: string, limits: Partial<JsonFileLimits> = {}): ParsedFile {
  const { maxDepth, maxNodes, positionDepth = maxDepth, roundsBounds = false } = { ...CONFIG_LIMITS, ...limits };
  const positions = new KeyPositions((found) => scanPositions(text, found, positionDepth));
  const parse = (longIntegers: NonNullable<ParseOptions["longIntegers"]>): JsonValue =>
    parseJsonText(text, file, { maxDepth, maxNodes, longIntegers });
  if (!roundsBounds || !LONG_NUMBER.test(text)) return { value: parse("refuse"), positions };
  const value = parse("round");
  const rounded = findRoundedValue(value, parse("string"));
  if (rounded === undefined) return { value, positions };
  const { path, literal } = rounded;
  throw syntaxError(file, positions.get(path), `the integer ${shortenNumber(literal)} would lose digits; write it in quotes, as a string.`);
}

interface RoundedValue {
  readonly path: KeyPath;
  readonly literal: string;
}

/** Finds a number that was rounded, and is a string in `exact`, without being a bound of a schema. */
function findRoundedValue(value: JsonValue, exact: JsonValue | undefined, path: KeyPath = []): RoundedValue | undefined {
  if (typeof value === "number" && typeof exact === "string") return { path, literal: exact };
  if (typeof value !== "object" || value === null) return undefined;
  const isSchema = isJsonObject(value) && isSchemaType(value["type"]);
  for (const [key, item] of Object.entries(value)) {
    if (isSchema && BOUND_KEYWORDS.has(key) && typeof item === "number") continue;
    const exactItem: JsonValue | undefined = isJsonArray(exact) ? exact[Number(key)] : isJsonObject(exact) ? exact[key] : undefined;
    const found = findRoundedValue(item, exactItem, [...path, isJsonArray(value) ? Number(key) : key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns only the value, for documents whose positions are not needed. @throws as `parseJsonFile` */
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

/** @param maxDepth keys below this depth get no position */
function scanPositions(text: string, positions: KeyPositions, maxDepth: number): void {
  new JsonScanner(text, positions, maxDepth).scanValue([]);
}

class JsonScanner {
  readonly #text: string;
  readonly #positions: KeyPositions;
  readonly #maxDepth: number;
  readonly #lines: LineIndex;
  #at = 0;

  constructor(text: string, positions: KeyPositions, maxDepth: number) {
    this.#text = text;
    this.#positions = positions;
    this.#maxDepth = maxDepth;
    this.#lines = new LineIndex(text);
  }

  /** Recursive: the parser has already limited the depth. */
  scanValue(path: KeyPath): void {
    this.#skipMatch(SPACE);
    const first = this.#text[this.#at];
    if (first === "{") this.#members("}", path);
    else if (first === "[") this.#members("]", path);
    else if (first === '"') this.#skipString();
    else this.#skipMatch(PRIMITIVE);
    this.#skipMatch(SPACE);
  }

  /** Scans the members of an object or an array. */
  #members(end: "}" | "]", path: KeyPath): void {
    this.#at++;
    for (let index = 0; ; index++) {
      this.#skipMatch(SPACE);
      if (this.#text[this.#at] === end || this.#at >= this.#text.length) break;
      const start = this.#at;
      const memberPath = [...path, end === "}" ? this.#scanKey() : index];
      if (memberPath.length <= this.#maxDepth) this.#positions.add(memberPath, this.#lines.positionAt(start));
      this.scanValue(memberPath);
      if (this.#text[this.#at] === ",") this.#at++;
    }
    this.#at++;
  }

  #scanKey(): string {
    const start = this.#at;
    this.#skipString();
    const written = this.#text.slice(start + 1, this.#at - 1);
    this.#skipMatch(COLON);
    return written.includes("\\") ? decodeEscapes(written) : written;
  }

  /** Moves past the closing quote: the first one after an even number of backslashes. */
  #skipString(): void {
    for (let quote = this.#text.indexOf('"', this.#at + 1); quote >= 0; quote = this.#text.indexOf('"', quote + 1)) {
      let before = quote - 1;
      while (this.#text[before] === "\\") before--;
      this.#at = quote + 1;
      if ((quote - before) % 2 === 1) return;
    }
  }

  /** Moves past what a sticky pattern matches here. */
  #skipMatch(pattern: RegExp): void {
    pattern.lastIndex = this.#at;
    if (pattern.test(this.#text)) this.#at = pattern.lastIndex;
  }
}

const SPACE = /[ \t\r\n]*/uy;
const COLON = /[ \t\r\n]*:/uy;
const PRIMITIVE = /[^\s,\]}]*/uy;
const LETTERS: ReadonlyMap<string, string> = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

function decodeEscapes(written: string): string {
  return written.replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.))/gu, (_all, code: string | undefined, letter: string | undefined) =>
    code === undefined ? (LETTERS.get(letter ?? "") ?? letter ?? "") : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

const TOKENS = /"(?:[^"\\]|\\[^])*"?|\/\/[^\r\n]*|\/\*[^]*?(?:\*\/|$)|[^\s]/gu;

/** Replaces comments, and commas before a closing bracket, by spaces, so that all positions stay the same. Takes linear time. */
export function blankComments(text: string): string {
  const tokens = Array.from(text.matchAll(TOKENS), ({ 0: token, index }) => ({ token, index }));
  const plain = tokens.filter(({ token }) => !isComment(token));
  const blanks = [
    ...tokens.filter(({ token }) => isComment(token)),
    ...plain.filter(({ token }, at) => token === "," && ["}", "]"].includes(plain[at + 1]?.token ?? "")),
  ].toSorted((one, other) => one.index - other.index);
  let result = "";
  let end = 0;
  for (const { token, index } of blanks) {
    result += text.slice(end, index) + token.replaceAll(/[^\r\n]/gu, " ");
    end = index + token.length;
  }
  return result + text.slice(end);
}

function isComment(token: string): boolean {
  return token.startsWith("//") || token.startsWith("/*");
}
