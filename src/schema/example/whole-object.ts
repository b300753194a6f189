/** The fields of one object, including those of nested objects, while its values are made consistent. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import type { Described } from "./described.ts";
import { plainName } from "./name-words.ts";
import type { RandomStream } from "./random-stream.ts";

/** An object whose values were drawn. */
export interface DrawnObject {
  readonly entries: ReadonlyMap<string, JsonValue>;
  /** Whether the value was not given, so that it may be replaced. */
  isMadeUp(name: string): boolean;
  /** Replaces a value if the new one matches the schema. */
  replace(name: string, value: JsonValue): void;
  /** Draws another value for the property; undefined if there is none. */
  redraw(name: string, turn: number): JsonValue | undefined;
  told(name: string): Described | undefined;
  /** Returns a value of the call, by plain name. */
  known(plain: string): JsonValue | undefined;
  readonly random: RandomStream;
}

/** Makes some fields consistent. */
export type Step = (object: WholeObject) => void;

/**
 * A relation between the fields of an object.
 *
 * Called once per set of plain names; returns what to do with every object that has them, or undefined if the relation does not apply.
 */
export type Relation = (names: ReadonlySet<string>) => Step | undefined;

/** Objects with more properties are left unchanged. */
const MAX_PROPERTIES = 200;
const MAX_INNER = 12;

interface Path {
  readonly name: string;
  readonly inner: string | undefined;
}

/** Fields by plain name: `departure_time` is also the `time` of a nested object `departure`. */
export class WholeObject {
  readonly random: RandomStream;
  readonly #object: DrawnObject;
  readonly #paths = new Map<string, Path>();

  constructor(object: DrawnObject) {
    this.#object = object;
    this.random = object.random;
    if (object.entries.size > MAX_PROPERTIES) return;
    for (const [name, value] of object.entries) {
      const plain = plainName(name);
      this.#paths.set(plain, { name, inner: undefined });
      if (!isJsonObject(value)) continue;
      for (const inner of Object.keys(value).slice(0, MAX_INNER)) {
        const joined = `${plain}_${plainName(inner)}`;
        if (!this.#paths.has(joined)) this.#paths.set(joined, { name, inner });
      }
    }
  }

  get names(): readonly string[] {
    return [...this.#paths.keys()];
  }

  has(plain: string): boolean {
    return this.#paths.has(plain);
  }

  at(plain: string): JsonValue | undefined {
    const path = this.#paths.get(plain);
    const value = path === undefined ? undefined : this.#object.entries.get(path.name);
    return path?.inner === undefined || !isJsonObject(value) ? value : value[path.inner];
  }

  text(plain: string | undefined): string | undefined {
    const value = plain === undefined ? undefined : this.at(plain);
    return typeof value === "string" ? value : undefined;
  }

  number(plain: string | undefined): number | undefined {
    return plain === undefined ? undefined : numberIn(this.at(plain));
  }

  /** Returns a number of the object, else of the call it answers. */
  numberHereOrAsked(names: readonly string[]): number | undefined {
    const here = this.number(this.first(names));
    return here ?? names.map((name) => numberIn(this.#object.known(name))).find((value) => value !== undefined);
  }

  hereOrAsked(names: readonly string[]): JsonValue | undefined {
    const here = this.first(names);
    return here === undefined ? names.map((name) => this.#object.known(name)).find((value) => value !== undefined) : this.at(here);
  }

  first(names: readonly string[]): string | undefined {
    return names.find((name) => this.#paths.has(name));
  }

  told(plain: string): Described | undefined {
    const path = this.#paths.get(plain);
    return path === undefined || path.inner !== undefined ? undefined : this.#object.told(path.name);
  }

  isMadeUp(plain: string): boolean {
    const path = this.#paths.get(plain);
    return path !== undefined && this.#object.isMadeUp(path.name);
  }

  /** Sets a value, if the present one was not given and the new one matches the schema. */
  set(plain: string | undefined, value: JsonValue): void {
    const path = plain === undefined ? undefined : this.#paths.get(plain);
    if (path === undefined || plain === undefined || !this.isMadeUp(plain)) return;
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
    const before = plain === undefined ? undefined : this.at(plain);
    if (plain === undefined || numberIn(before) === undefined) return;
    const rounded = Math.round(value * 100) / 100;
    this.set(plain, typeof before === "string" ? String(rounded) : rounded);
  }

  redraw(plain: string, turn: number): void {
    const path = this.#paths.get(plain);
    const value = path === undefined || path.inner !== undefined ? undefined : this.#object.redraw(path.name, turn);
    if (value !== undefined) this.set(plain, value);
  }
}

export function numberIn(value: JsonValue | undefined): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,10})?$/u.test(value) ? Number(value) : undefined;
}
