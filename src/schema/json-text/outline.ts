/** The places of the members of a damaged text, and whether it has values that must not be accepted. */
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** The place of a value. */
export interface Span {
  readonly start: number;
  /** Offset directly after the value. */
  readonly end: number;
}

export class Outline {
  readonly #members = new WeakMap<object, Map<string, Span>>();
  /** The first duplicate key within one object. */
  repeatedKey: string | undefined;
  /** Whether a duplicate key has different values. */
  hasContradiction = false;
  /** Whether a number would lose digits. */
  isLossy = false;

  add(object: object, key: string, span: Span): void {
    getOrAdd(this.#members, object, () => new Map()).set(key, span);
  }

  addRepeatedKey(key: string, contradicts: boolean): void {
    this.repeatedKey ??= key;
    if (contradicts) this.hasContradiction = true;
  }

  /** Returns the place of a member's value. */
  findSpan(object: object, key: string): Span | undefined {
    return this.#members.get(object)?.get(key);
  }
}
