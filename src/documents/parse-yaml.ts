/** Parses a document in YAML 1.2, without its surprising parts: tags, merge keys, keys that are not strings. */
import {
  Composer,
  Lexer,
  LineCounter,
  Parser,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type CST,
  type Document,
  type Node,
  type Pair,
  type Scalar,
} from "yaml";
import type { ToolError } from "../core/error.ts";
import { shortenNumber } from "../core/base/truncate-text.ts";
import { BOUND_KEYWORDS, isSchemaType, losesIntegerDigits } from "../core/formats/lost-digits.ts";
import { KeyPositions, LineIndex, type KeyPath, type ParsedFile, type Position } from "./key-positions.ts";
import type { JsonFileLimits } from "./parse-json-file.ts";
import { syntaxError } from "./problems.ts";

export interface YamlLimits extends JsonFileLimits {
  readonly maxTokens: number;
  readonly maxAliases: number;
  /** Whether keys that YAML reads as a number, boolean or null are taken literally, such as `200:` in OpenAPI. @default false */
  readonly plainKeys?: boolean;
  /** Whether an integer with more digits than a double can hold is rounded, such as a bound of 64 bits in OpenAPI, in place of an error. @default false */
  readonly roundsIntegers?: boolean;
}

/** Enough for any configuration file. */
export const YAML_FILE_LIMITS: YamlLimits = { maxTokens: 50_000, maxDepth: 32, maxAliases: 100, maxNodes: 100_000 };

/**
 * Parses a document in YAML. Aliases are resolved, as often as the limits allow. A `%YAML 1.1` line, a tag, a merge key, a duplicate key, a key that
 * YAML reads as a number, boolean or null, and an integer that would lose digits are errors.
 *
 * @throws ToolError `invalid_config` with line and column
 */
export function parseYaml(text: string, file: string, given: Partial<YamlLimits> = {}): ParsedFile {
  const limits = { ...YAML_FILE_LIMITS, ...given };
  const lines = new LineCounter();
  lines.addNewLine(0);
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
    lineCounter: lines,
  });
  const tokens = readTokens(text, new Parser(lines.addNewLine), { file, limits });
  const [document, second] = composer.compose(tokens, true, text.length);
  const reader = new YamlReader(text, { file, lines, limits });
  if (document === undefined) return { value: {}, positions: reader.positions };
  reader.throwIfInvalid(document, second);
  return { value: document.contents === null ? {} : reader.read(document.contents, []), positions: reader.positions };
}

const TOO_MANY_TOKENS = " YAML tokens.";

/** Whether `parseYaml` refused a document because it has too many tokens. */
export function hasTooManyTokens(error: ToolError): boolean {
  return error.message.endsWith(TOO_MANY_TOKENS);
}

/** Yields the tokens. Throws on input that would take the parser too long or overflow its stack, before anything is built. */
function* readTokens(
  text: string,
  parser: Parser,
  { file, limits: { maxTokens, maxDepth } }: { readonly file: string; readonly limits: YamlLimits },
): Generator<CST.Token, void> {
  const nesting = new Nesting();
  let count = 0;
  let offset = 0;
  for (const token of new Lexer().lex(text)) {
    if (++count > maxTokens) throw syntaxError(file, START, `more than ${maxTokens}${TOO_MANY_TOKENS}`);
    if (nesting.depthAfter(token) > maxDepth)
      throw syntaxError(file, new LineIndex(text).positionAt(offset), `nested deeper than ${maxDepth} levels.`);
    if (!LEXER_MARKERS.has(token)) offset += token.length;
    yield* parser.next(token);
  }
  yield* parser.end();
}

/** Determines from the tokens alone how deeply the parser has to nest: by brackets, by dashes in one line, and by indentation. */
class Nesting {
  #flow = 0;
  #dashes = 0;
  /** Indents of the current line and of the lines it is nested in. */
  readonly #indents: number[] = [];
  /** Indent of the current line; undefined after its first token. */
  #indent: number | undefined = 0;
  #previous = "";

  /** Returns the minimum depth after one more token. */
  depthAfter(token: string): number {
    const isScalar = this.#previous === SCALAR_MARKER;
    this.#previous = token;
    if (token === "\n" || token === "\r\n") this.#beginLine();
    else if (!LEXER_MARKERS.has(token)) this.#addToken(token, isScalar);
    return Math.max(this.#flow, this.#dashes, this.#indents.length - 1);
  }

  #beginLine(): void {
    this.#dashes = 0;
    this.#indent = 0;
  }

  #addToken(token: string, isScalar: boolean): void {
    if (this.#indent !== undefined) this.#addFirstToken(token, this.#indent);
    if (isScalar) {
      if (token.endsWith("\n")) this.#beginLine(); // a block scalar includes its last line break
    } else if (token === "[" || token === "{") this.#flow++;
    else if (token === "]" || token === "}") this.#flow--;
    else if (token === "-" || token === "?") this.#dashes++;
  }

  #addFirstToken(token: string, indent: number): void {
    if (/^ +$/u.test(token)) {
      this.#indent = token.length;
      return;
    }
    this.#indent = undefined;
    if (this.#flow > 0 || token.startsWith("#")) return;
    while ((this.#indents.at(-1) ?? -1) >= indent) this.#indents.pop();
    this.#indents.push(indent);
  }
}

/** The lexer's marker that the next token is a scalar. */
const SCALAR_MARKER = "\u001f";
/** Markers of the lexer that are not in the text: of a document, the end of a flow collection, a scalar. */
const LEXER_MARKERS: ReadonlySet<string> = new Set(["\u0002", "\u0018", SCALAR_MARKER]);
const START: Position = { line: 1, column: 1 };

class YamlReader {
  readonly positions = new KeyPositions();
  readonly #text: string;
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #limits: YamlLimits;
  readonly #anchors = new Map<string, Node>();
  readonly #positionDepth: number;
  #aliases = 0;
  #nodes = 0;

  constructor(text: string, from: { readonly file: string; readonly lines: LineCounter; readonly limits: YamlLimits }) {
    this.#text = text;
    this.#file = from.file;
    this.#lines = from.lines;
    this.#limits = from.limits;
    this.#positionDepth = from.limits.positionDepth ?? from.limits.maxDepth;
  }

  throwIfInvalid(document: Document.Parsed, second: Document.Parsed | undefined): void {
    if (document.directives.yaml.version !== "1.2")
      throw this.#error(0, `YAML ${document.directives.yaml.version} is not supported; remove the %YAML line.`);
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem === undefined && second !== undefined)
      throw this.#error(second.range[0], "only one YAML document is supported; remove the ---.");
    if (problem !== undefined) throw this.#error(problem.pos[0], `not valid YAML: ${trimFinalDot(problem.message)}.`);
  }

  /** @param isBound whether it is a bound of a schema */
  read(node: unknown, path: KeyPath, isBound: boolean = false): unknown {
    if (++this.#nodes > this.#limits.maxNodes) throw this.#error(offsetOf(node), `more than ${this.#limits.maxNodes} values.`);
    if (path.length > this.#limits.maxDepth) throw this.#error(offsetOf(node), `nested deeper than ${this.#limits.maxDepth} levels.`);
    if (isAlias(node)) return this.#readAlias(node, path, isBound);
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return null;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#readScalar(node, isBound);
    if (isMap(node)) return this.#readMap(node.items, path);
    return node.items.map((item, index) => {
      const itemPath = [...path, index];
      this.#recordPosition(itemPath, item);
      return this.read(item, itemPath);
    });
  }

  #readScalar(node: Scalar, isBound: boolean): unknown {
    const { value, source = "" } = node;
    if (typeof value !== "number" || this.#rounds(isBound) || keepsDigits(source, value)) return value;
    throw this.#error(offsetOf(node), `the integer ${shortenNumber(source)} would lose digits; write it in quotes, as a string.`);
  }

  #rounds(isBound: boolean): boolean {
    return this.#limits.roundsIntegers === true || (this.#limits.roundsBounds === true && isBound);
  }

  #readAlias(alias: Node & { readonly source: string }, path: KeyPath, isBound: boolean): unknown {
    if (++this.#aliases > this.#limits.maxAliases) throw this.#error(offsetOf(alias), `more than ${this.#limits.maxAliases} aliases.`);
    const target = this.#anchors.get(alias.source);
    if (target === undefined) throw this.#error(offsetOf(alias), `no anchor &${alias.source} is defined before this alias.`);
    return this.read(target, path, isBound);
  }

  #readMap(items: readonly Pair[], path: KeyPath): object {
    const isSchema = items.some(isSchemaTypePair);
    const table: Record<string, unknown> = Object.create(null); // null prototype: "__proto__" is a key like any other
    for (const { key, value } of items) {
      const name = this.#keyName(key);
      if (Object.hasOwn(table, name)) throw this.#error(offsetOf(key), `the key ${JSON.stringify(name)} appears twice.`);
      const keyPath = [...path, name];
      this.#recordPosition(keyPath, key);
      table[name] = this.read(value, keyPath, isSchema && BOUND_KEYWORDS.has(name));
    }
    return table;
  }

  #keyName(key: unknown): string {
    const offset = offsetOf(key);
    if (!isScalar(key)) throw this.#error(offset, "a key must be plain text.");
    if (typeof key.value !== "string") {
      const written = key.range === null || key.range === undefined ? String(key.value) : this.#text.slice(key.range[0], key.range[1]);
      if (this.#limits.plainKeys === true) return written;
      throw this.#error(offset, `the key ${written} is not a string in YAML; write it in quotes: ${JSON.stringify(written)}.`);
    }
    if (key.value === "<<") throw this.#error(offset, "merge keys (<<) are not supported; write the keys out.");
    return key.value;
  }

  #recordPosition(path: KeyPath, node: unknown): void {
    if (path.length <= this.#positionDepth) this.positions.add(path, this.#positionOf(node));
  }

  #positionOf(node: unknown): Position {
    const { line, col } = this.#lines.linePos(offsetOf(node));
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }

  #error(offset: number, problem: string): Error {
    const { line, col } = this.#lines.linePos(offset);
    return syntaxError(this.#file, { line: Math.max(1, line), column: Math.max(1, col) }, problem);
  }
}

const OTHER_BASE = /^0[xo]/u;

/** Whether a double holds the integer. */
function keepsDigits(source: string, value: number): boolean {
  if (Number.isSafeInteger(value) || !Number.isInteger(value)) return true;
  return OTHER_BASE.test(source) ? BigInt(source) === BigInt(value) : !losesIntegerDigits(source, value);
}

/** Whether the pair is the `type` of a schema. */
function isSchemaTypePair({ key, value }: Pair): boolean {
  if (!isScalar(key) || key.value !== "type") return false;
  return isSchemaType(isSeq(value) ? value.items.map((item) => isScalar(item) && item.value) : isScalar(value) && value.value);
}

function offsetOf(node: unknown): number {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? (node.range?.[0] ?? 0) : 0;
}

function trimFinalDot(message: string): string {
  return message.endsWith(".") ? message.slice(0, -1) : message;
}
