/** Collects the problems of a document, each with its position, to report all of them at once. */
import { ToolError } from "../core/error.ts";
import { formatJsonPath } from "../core/base/json.ts";
import type { KeyPath, KeyPositions, Position } from "./key-positions.ts";

export interface ProblemAtPath {
  readonly path: KeyPath;
  readonly problem: string;
}

export class Problems {
  readonly #file: string;
  readonly #positions: KeyPositions;
  readonly #found: (ProblemAtPath & { readonly position: Position; readonly text: string })[] = [];

  constructor(file: string, positions: KeyPositions) {
    this.#file = file;
    this.#positions = positions;
  }

  /** Returns an empty collection for the same file. */
  createEmpty(): Problems {
    return new Problems(this.#file, this.#positions);
  }

  add(path: KeyPath, problem: string): void {
    this.#found.push({ path, problem, position: this.#positions.get(path), text: this.formatLine(path, problem) });
  }

  /** Returns a problem as one line: `haft.toml:7:3: toolsets.fs.root: must be a string, not a number.` */
  formatLine(path: KeyPath, problem: string): string {
    return formatPlacedLine(this.#file, this.#positions.get(path), path.length === 0 ? problem : `${formatKeyPath(path)}: ${problem}`);
  }

  /** Returns the keys of a table in the order of the file: an object puts integer keys first. */
  sortKeys(table: KeyPath, keys: readonly string[]): readonly string[] {
    const place = (key: string): Position => this.#positions.get([...table, key]);
    return keys.toSorted((one, other) => comparePositions(place(one), place(other)));
  }

  get count(): number {
    return this.#found.length;
  }

  /** The problems in the order in which they were added. */
  get found(): readonly ProblemAtPath[] {
    return this.#found;
  }

  /** Returns all problems as lines, in the order of the file. */
  formatLines(): readonly string[] {
    return this.#found.toSorted((one, other) => comparePositions(one.position, other.position)).map((problem) => problem.text);
  }

  /** @throws ToolError `invalid_config` with all problems in the order of the file; the message is the first one */
  throwIfAny(): void {
    const lines = this.formatLines();
    const first = lines[0];
    if (first === undefined) return;
    const more = lines.length === 1 ? "" : ` (and ${lines.length - 1} more)`;
    throw new ToolError("invalid_config", `${first}${more}`, { details: lines });
  }
}

function comparePositions(one: Position, other: Position): number {
  return one.line - other.line || one.column - other.column;
}

/** Makes the error of a file that is not valid TOML, YAML or JSON. */
export function syntaxError(file: string, position: Position, problem: string, cause?: unknown): ToolError {
  const line = formatPlacedLine(file, position, problem);
  return new ToolError("invalid_config", line, { details: [line], cause });
}

function formatPlacedLine(file: string, position: Position, text: string): string {
  return `${file}:${position.line}:${position.column}: ${text}`;
}

/** `["toolsets", "my files", "root"]` → `toolsets["my files"].root`. */
function formatKeyPath(path: KeyPath): string {
  const text = formatJsonPath(path).slice(1);
  return text.startsWith(".") ? text.slice(1) : text;
}
