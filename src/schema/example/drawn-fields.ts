/** The fields of one object, including those of nested objects, while its values are made consistent. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import type { ParsedDescription } from "./parsed-description.ts";
import { normalizeName } from "./name-words.ts";
import type { RandomStream } from "./random-stream.ts";

/** An object whose values were drawn. */
export interface DrawnObject {
  readonly entries: ReadonlyMap<string, JsonValue>;
  /** Whether the value was not given, so that it may be replaced. */
  isGenerated(name: string): boolean;
  /** Replaces a value if the new one matches the schema. */
  replace(name: string, value: JsonValue): void;
  /** Draws another value for the property; undefined if there is none. */
  redraw(name: string, turn: number): JsonValue | undefined;
  parsedDescription(name: string): ParsedDescription | undefined;
  /** Returns a value of the call, by plain name. */
  valueFromCall(plain: string): JsonValue | undefined;
  readonly random: RandomStream;
}

/** Makes some fields consistent. */
export type ConsistencyStep = (object: DrawnFields) => void;

/**
 * A relation between the fields of an object.
 *
 * Called once per set of plain names; returns what to do with every object that has them, or undefined if the relation does not apply.
 */
export type Relation = (names: ReadonlySet<string>) => ConsistencyStep | undefined;

/** Objects with more properties are left unchanged. */
const MAX_PROPERTIES = 200;
const MAX_INNER = 12;

interface Path {
  readonly name: string;
  readonly inner: string | undefined;
}

/** Fields by plain name: `departure_time` is also the `time` of a nested object `departure`. */
export class DrawnFields {
  readonly random: RandomStream;
  readonly #object: DrawnObject;
  readonly #paths = new Map<string, Path>();

  constructor(object: DrawnObject) {
    this.#object = object;
    this.random = object.random;
    if (object.entries.size > MAX_PROPERTIES) return;
    for (const [name, value] of object.entries) {
      const plain = normalizeName(name);
      this.#paths.set(plain, { name, inner: undefined });
      if (!isJsonObject(value)) continue;
      for (const inner of Object.keys(value).slice(0, MAX_INNER)) {
        const joined = `${plain}_${normalizeName(inner)}`;
        if (!this.#paths.has(joined)) this.#paths.set(joined, { name, inner });
      }
    }
  }

  get names(): readonly string[] {
    return [...this.#paths.keys()];
  }

  get(plain: string): JsonValue | undefined {
    const path = this.#paths.get(plain);
    const value = path === undefined ? undefined : this.#object.entries.get(path.name);
    return path?.inner === undefined || !isJsonObject(value) ? value : value[path.inner];
  }

  getText(plain: string | undefined): string | undefined {
    const value = plain === undefined ? undefined : this.get(plain);
    return typeof value === "string" ? value : undefined;
  }

  getNumber(plain: string | undefined): number | undefined {
    return plain === undefined ? undefined : toNumber(this.get(plain));
  }

  /** Returns a number of the object, else of the call it answers. */
  numberFromObjectOrCall(names: readonly string[]): number | undefined {
    const own = this.getNumber(this.firstPresent(names));
    return own ?? names.map((name) => toNumber(this.#object.valueFromCall(name))).find((value) => value !== undefined);
  }

  valueFromObjectOrCall(names: readonly string[]): JsonValue | undefined {
    const ownName = this.firstPresent(names);
    return ownName === undefined
      ? names.map((name) => this.#object.valueFromCall(name)).find((value) => value !== undefined)
      : this.get(ownName);
  }

  firstPresent(names: readonly string[]): string | undefined {
    return names.find((name) => this.#paths.has(name));
  }

  parsedDescription(plain: string): ParsedDescription | undefined {
    const path = this.#paths.get(plain);
    return path === undefined || path.inner !== undefined ? undefined : this.#object.parsedDescription(path.name);
  }

  isGenerated(plain: string): boolean {
    const path = this.#paths.get(plain);
    return path !== undefined && this.#object.isGenerated(path.name);
  }

  /** Sets a value, if the present one was not given and the new one matches the schema. */
  set(plain: string | undefined, value: JsonValue): void {
    const path = plain === undefined ? undefined : this.#paths.get(plain);
    if (path === undefined || plain === undefined || !this.isGenerated(plain)) return;
    if (path.inner === undefined) {
      this.#object.replace(path.name, value);
      return;
    }
    const outer = this.#object.entries.get(path.name);
    if (!isJsonObject(outer)) return;
    const changed: JsonObject = Object.fromEntries(Object.entries(outer).map(([name, one]) => [name, name === path.inner ? value : one]));
    this.#object.replace(path.name, changed);
  }

  /** Sets a number, if the present value is one: rounded to cents, and as a string if it was a string. */
  setNumber(plain: string | undefined, value: number): void {
    const before = plain === undefined ? undefined : this.get(plain);
    if (plain === undefined || toNumber(before) === undefined) return;
    const rounded = Math.round(value * 100) / 100;
    this.set(plain, typeof before === "string" ? String(rounded) : rounded);
  }

  redraw(plain: string, turn: number): void {
    const path = this.#paths.get(plain);
    const value = path === undefined || path.inner !== undefined ? undefined : this.#object.redraw(path.name, turn);
    if (value !== undefined) this.set(plain, value);
  }
}

export function toNumber(value: JsonValue | undefined): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,10})?$/u.test(value) ? Number(value) : undefined;
}
