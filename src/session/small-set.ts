/** A set that usually has one element, and then allocates no `Set`. */
export class SmallSet<Element> {
  #sole: Element | undefined = undefined;
  /** Created for a second element, and kept until it is empty. */
  #several: Set<Element> | undefined = undefined;

  get hasAny(): boolean {
    return this.#sole !== undefined || this.#several !== undefined;
  }

  get first(): Element | undefined {
    return this.#sole ?? this.#several?.values().next().value;
  }

  has(element: unknown): boolean {
    return element !== undefined && (this.#sole === element || this.#several?.has(element as Element) === true);
  }

  add(element: Element): void {
    if (!this.hasAny) this.#sole = element;
    else this.#several = (this.#several ?? new Set(this.all())).add(element);
    if (this.#several !== undefined) this.#sole = undefined;
  }

  /** Removes an element. Returns false if it is not in the set. */
  remove(element: Element): boolean {
    if (this.#sole === element) {
      this.#sole = undefined;
      return true;
    }
    const isOne = this.#several?.delete(element) === true;
    if (this.#several?.size === 0) this.#several = undefined;
    return isOne;
  }

  all(): Iterable<Element> {
    return this.#several ?? (this.#sole === undefined ? [] : [this.#sole]);
  }
}
