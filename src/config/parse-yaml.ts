/** Reads a configuration file in YAML 1.2, without the parts of YAML that surprise: tags, merge keys, keys that are no text. */
import { Lexer, LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument } from "yaml";
import type { Document, Node, Pair } from "yaml";
import { KeyPositions } from "./key-positions.ts";
import type { KeyPath, ParsedFile, Position } from "./key-positions.ts";
import { syntaxError } from "./problems.ts";

const MAX_TOKENS = 50_000;
const MAX_DEPTH = 32;
const MAX_ALIASES = 100;
const MAX_NODES = 100_000;

/**
 * Anchors and aliases are followed, at most a hundred times. A `%YAML 1.1` line, a tag, a merge key, a key
 * given twice and a key that YAML reads as a number, boolean or null are errors.
 *
 * @throws ToolError `invalid_config` with line and column
 */
export function parseYaml(text: string, file: string): ParsedFile {
  const tokens = new Lexer().lex(text);
  for (let count = 1; tokens.next().done !== true; count++) {
    if (count > MAX_TOKENS)
      throw syntaxError(file, { line: 1, column: 1 }, `more than ${MAX_TOKENS} YAML tokens are too many for a configuration.`);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
    lineCounter: lines,
  });
  const reader = new YamlReader(text, file, lines);
  reader.refuseErrors(document);
  return { value: document.contents === null ? {} : reader.read(document.contents, []), positions: reader.positions };
}

class YamlReader {
  readonly positions = new KeyPositions();
  readonly #text: string;
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #anchors = new Map<string, Node>();
  #aliases = 0;
  #nodes = 0;

  constructor(text: string, file: string, lines: LineCounter) {
    this.#text = text;
    this.#file = file;
    this.#lines = lines;
  }

  refuseErrors(document: Document.Parsed): void {
    if (document.directives.yaml.version !== "1.2")
      throw this.#error(0, `YAML ${document.directives.yaml.version} is not read; leave the %YAML line out.`);
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem?.code === "MULTIPLE_DOCS") throw this.#error(problem.pos[0], "only one YAML document is read; take the --- out.");
    if (problem !== undefined) throw this.#error(problem.pos[0], `not valid YAML: ${withoutDot(problem.message)}.`);
  }

  read(node: unknown, path: KeyPath): unknown {
    if (++this.#nodes > MAX_NODES) throw this.#error(offsetOf(node), `more than ${MAX_NODES} values.`);
    if (path.length > MAX_DEPTH) throw this.#error(offsetOf(node), `nested deeper than ${MAX_DEPTH} levels.`);
    if (isAlias(node)) return this.#readAlias(node, path);
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return null;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return node.value;
    if (isMap(node)) return this.#readMap(node.items, path);
    return node.items.map((item, index) => {
      this.positions.add([...path, index], this.#positionOf(item));
      return this.read(item, [...path, index]);
    });
  }

  #readAlias(alias: Node & { readonly source: string }, path: KeyPath): unknown {
    if (++this.#aliases > MAX_ALIASES) throw this.#error(offsetOf(alias), `more than ${MAX_ALIASES} aliases are followed.`);
    const target = this.#anchors.get(alias.source);
    if (target === undefined) throw this.#error(offsetOf(alias), `no anchor &${alias.source} stands before this alias.`);
    return this.read(target, path);
  }

  #readMap(items: readonly Pair[], path: KeyPath): object {
    const table: Record<string, unknown> = Object.create(null); // so that "__proto__" is a key like any other
    for (const { key, value } of items) {
      const name = this.#keyName(key);
      if (Object.hasOwn(table, name)) throw this.#error(offsetOf(key), `the key ${JSON.stringify(name)} comes twice.`);
      const here = [...path, name];
      this.positions.add(here, this.#positionOf(key));
      table[name] = this.read(value, here);
    }
    return table;
  }

  #keyName(key: unknown): string {
    const offset = offsetOf(key);
    if (!isScalar(key)) throw this.#error(offset, "a key must be plain text.");
    if (typeof key.value !== "string") {
      const written = key.range === null || key.range === undefined ? String(key.value) : this.#text.slice(key.range[0], key.range[1]);
      throw this.#error(offset, `the key ${written} is not text in YAML; write it in quotes: ${JSON.stringify(written)}.`);
    }
    if (key.value === "<<") throw this.#error(offset, "merge keys (<<) are not read; write the keys out.");
    return key.value;
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

function offsetOf(node: unknown): number {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? (node.range?.[0] ?? 0) : 0;
}

function withoutDot(message: string): string {
  return message.endsWith(".") ? message.slice(0, -1) : message;
}
