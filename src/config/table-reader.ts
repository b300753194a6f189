/** Reads the keys of one table of a configuration file, and reports invalid ones. */
import { describeThrown } from "../core/error.ts";
import { copyJson, type JsonObject, type JsonValue } from "../core/base/json.ts";
import { describeValueType } from "../core/base/wording.ts";
import { isWithinBounds, describeBounds, type Bounds } from "../core/base/number-bounds.ts";
import type { KeyPath } from "../documents/key-positions.ts";
import { nearHint, unknownKey } from "./near-key.ts";
import type { Problems } from "../documents/problems.ts";

const NO_MESSAGES: ReadonlyMap<string, string> = new Map();
/** Maximum number of unknown keys of a table that are reported; more are not spelling mistakes. */
const MAX_UNKNOWN = 100;

/** Every getter returns undefined for a key that is missing or invalid; an invalid one is also reported. */
export class TableReader {
  readonly path: KeyPath;
  readonly #table: object;
  readonly #problems: Problems;
  readonly #known = new Set<string>();

  constructor(table: object, path: KeyPath, problems: Problems) {
    this.#table = table;
    this.path = path;
    this.#problems = problems;
  }

  /** Returns a reader of the same table that reports its problems elsewhere. */
  reportingTo(problems: Problems): TableReader {
    return new TableReader(this.#table, this.path, problems);
  }

  /** Reports a problem of one key, or of the table itself. */
  report(key: string | undefined, problem: string): void {
    this.#problems.add(key === undefined ? this.path : [...this.path, key], problem);
  }

  text(key: string): string | undefined {
    const value = this.#read(key);
    if (value === undefined) return undefined;
    if (typeof value === "string") return value;
    this.report(key, `must be a string, not ${kindOf(value)}.`);
    return undefined;
  }

  requiredText(key: string, meaning: string): string | undefined {
    if (this.#read(key) === undefined) this.report(undefined, `${JSON.stringify(key)} is missing: ${meaning}.`);
    const value = this.text(key);
    if (value === "") this.report(key, `must not be empty: ${meaning}.`);
    return value === "" ? undefined : value;
  }

  /** Reads a string that is one of a few words. */
  choice<Word extends string>(key: string, words: readonly Word[], options: { readonly required?: boolean } = {}): Word | undefined {
    const oneOf = `one of ${words.map((word) => JSON.stringify(word)).join(", ")}`;
    const value = options.required === true ? this.requiredText(key, oneOf) : this.text(key);
    if (value === undefined) return undefined;
    const word = words.find((known) => known === value);
    if (word !== undefined) return word;
    this.report(key, `must be ${oneOf}, not ${JSON.stringify(value)}.${nearHint(value, words)}`);
    return undefined;
  }

  flag(key: string): boolean | undefined {
    const value = this.#read(key);
    if (value === undefined || typeof value === "boolean") return value;
    this.report(key, `must be a boolean, not ${kindOf(value)}.`);
    return undefined;
  }

  number(key: string, bounds: Bounds): number | undefined {
    const value = this.#read(key);
    if (value === undefined) return undefined;
    if (isWithinBounds(value, bounds)) return value;
    this.report(key, `must be ${describeBounds(bounds)}, not ${typeof value === "number" ? value : kindOf(value)}.`);
    return undefined;
  }

  /** @param faultOf returns what is wrong with a string; left out = any string is accepted */
  texts(key: string, faultOf: (text: string) => string | undefined = () => undefined): readonly string[] | undefined {
    const value = this.#read(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      this.report(key, `must be an array of strings, not ${kindOf(value)}.`);
      return undefined;
    }
    const texts: string[] = [];
    value.forEach((item: unknown, index) => {
      const fault = typeof item === "string" ? faultOf(item) : `must be a string, not ${kindOf(item)}.`;
      if (fault !== undefined) this.#problems.add([...this.path, key, index], fault);
      else if (typeof item === "string") texts.push(item);
    });
    return texts.length === value.length ? texts : undefined;
  }

  /** Reads strings that must all be among the words. @param thing a noun for messages, such as `scope` */
  choices<Word extends string>(key: string, words: readonly Word[], thing: string): readonly Word[] | undefined {
    const isOne = (text: string): text is Word => words.some((word) => word === text);
    return this.texts(key, (text) => (isOne(text) ? undefined : `is not a known ${thing}. Expected one of: ${words.join(", ")}.`))?.filter(
      isOne,
    );
  }

  table(key: string): TableReader | undefined {
    const value = this.#read(key);
    if (value === undefined) return undefined;
    if (isTable(value)) return new TableReader(value, [...this.path, key], this.#problems);
    this.report(key, `must be an object, not ${kindOf(value)}.`);
    return undefined;
  }

  /** Returns the result of `read` for the table under a key, and reports keys that it did not read, like `reportUnknownKeys`. Undefined if there is no table. */
  section<Value>(key: string, read: (table: TableReader) => Value, elsewhere?: ReadonlyMap<string, string>): Value | undefined {
    const table = this.table(key);
    if (table === undefined) return undefined;
    const value = read(table);
    table.reportUnknownKeys(elsewhere);
    return value;
  }

  /** Reads an array of tables. An item that is not a table is reported and left out. */
  tables(key: string): readonly TableReader[] | undefined {
    const value = this.#read(key);
    if (value === undefined) return undefined;
    if (Array.isArray(value)) return readTables(value, [...this.path, key], this.#problems);
    this.report(key, `must be an array of objects, not ${kindOf(value)}.`);
    return undefined;
  }

  /** Reads a table of strings. */
  textTable(key: string): Readonly<Record<string, string>> | undefined {
    const table = this.table(key);
    return table && Object.fromEntries(table.mapEntries((name) => table.text(name)));
  }

  /** Returns the results of `read` for the keys of a table whose keys are names, without those that are undefined. */
  mapEntries<Value>(read: (name: string) => Value | undefined): readonly (readonly [name: string, value: Value])[] {
    return this.names().flatMap((name) => {
      const value = read(name);
      return value === undefined ? [] : [[name, value] as const];
    });
  }

  /** Returns the value of a key unchanged, of any type. */
  value(key: string): unknown {
    return this.#read(key);
  }

  /** Like `value`, for a key that may not be one of ours: it does not count as read. */
  peek(key: string): unknown {
    return Object.hasOwn(this.#table, key) ? Reflect.get(this.#table, key) : undefined;
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#table, key);
  }

  /** Returns the first of several aliases that the table has, or else the first of all; further ones that it has are reported. */
  firstPresent([first, ...others]: readonly [string, ...string[]]): string {
    const [used = first, ...more] = [first, ...others].filter((key) => this.#read(key) !== undefined);
    for (const key of more) this.report(key, `duplicates ${used}; remove one of them.`);
    return used;
  }

  /** Returns the keys that were not read, with their values, as plain JSON, and counts them as read. Values that are not JSON are reported. */
  rest(): JsonObject {
    const rest: [key: string, value: JsonValue][] = [];
    for (const key of this.names().filter((name) => !this.#known.has(name))) {
      try {
        rest.push([key, copyJson(this.#read(key)).value]);
      } catch (error: unknown) {
        this.report(key, describeThrown(error));
      }
    }
    return Object.fromEntries(rest);
  }

  /** Counts every remaining key as known. */
  ignoreRest(): void {
    for (const name of this.names()) this.#known.add(name);
  }

  /** Returns all keys, for a table whose keys are names. */
  names(): readonly string[] {
    return Object.keys(this.#table);
  }

  /** Reports the keys that were not read. @param elsewhere messages for keys that are known, but belong elsewhere */
  reportUnknownKeys(elsewhere: ReadonlyMap<string, string> = NO_MESSAGES): void {
    const unknown = Object.keys(this.#table).filter((key) => !this.#known.has(key));
    const known = [...this.#known];
    for (const key of unknown.slice(0, MAX_UNKNOWN)) this.report(key, elsewhere.get(key) ?? unknownKey(key, known));
    if (unknown.length > MAX_UNKNOWN)
      this.report(
        undefined,
        `${unknown.length - MAX_UNKNOWN === 1 ? "1 more key is" : `${unknown.length - MAX_UNKNOWN} more keys are`} unknown.`,
      );
  }

  #read(key: string): unknown {
    this.#known.add(key);
    if (!Object.hasOwn(this.#table, key)) return undefined;
    const value: unknown = Reflect.get(this.#table, key);
    return value ?? null;
  }
}

/** Returns readers of the tables in an array. Items that are not tables are reported and left out. */
export function readTables(list: readonly unknown[], path: KeyPath, problems: Problems): readonly TableReader[] {
  const tables: TableReader[] = [];
  list.forEach((item, index) => {
    const here = [...path, index];
    if (isTable(item)) tables.push(new TableReader(item, here, problems));
    else problems.add(here, `must be an object, not ${kindOf(item)}.`);
  });
  return tables;
}

/** True for a table of the file. Dates are objects too, but not tables. */
export function isTable(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Returns the kind of a value, for messages such as "must be a string, not …". The value itself may be a secret. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "empty";
  return value instanceof Date ? "a date" : describeValueType(value);
}
