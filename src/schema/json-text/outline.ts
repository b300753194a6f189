/** The places in the objects of a damaged text, and the values in it that may not be taken. */
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** The place of a value. */
export interface Span {
  readonly start: number;
  /** The offset behind it. */
  readonly end: number;
}

export class Outline {
  readonly #members = new WeakMap<object, Map<string, Span>>();
  /** The first key that is given twice in one object. */
  twice: string | undefined;
  /** One is given twice with values that differ. */
  contradicts = false;
  /** A number would lose digits. */
  isLossy = false;

  add(object: object, key: string, span: Span): void {
    getOrAdd(this.#members, object, () => new Map()).set(key, span);
  }

  addTwice(key: string, contradicts: boolean): void {
    this.twice ??= key;
    if (contradicts) this.contradicts = true;
  }

  /** The place of the value of a member. */
  spanOf(object: object, key: string): Span | undefined {
    return this.#members.get(object)?.get(key);
  }
}
