/** Records which properties and items of a value were evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */

export class Evaluated {
  private readonly names: string[] = [];
  private readonly indexes: number[] = [];
  private allNames = false;
  /** All items below this index are evaluated. */
  private prefix = 0;

  addName(name: string): void {
    this.names.push(name);
  }

  addAllNames(): void {
    this.allNames = true;
  }

  addIndex(index: number): void {
    this.indexes.push(index);
  }

  addItemsBelow(end: number): void {
    if (end > this.prefix) this.prefix = end;
  }

  addAll(other: Evaluated): void {
    for (const name of other.names) this.names.push(name);
    for (const index of other.indexes) this.indexes.push(index);
    this.allNames ||= other.allNames;
    this.addItemsBelow(other.prefix);
  }

  /** Returns a mark for `rewind`: what a subschema evaluated does not count if it fails. */
  mark(): EvaluatedMark {
    return { names: this.names.length, indexes: this.indexes.length, allNames: this.allNames, prefix: this.prefix };
  }

  rewind(mark: EvaluatedMark): void {
    this.names.length = mark.names;
    this.indexes.length = mark.indexes;
    this.allNames = mark.allNames;
    this.prefix = mark.prefix;
  }

  /** Returns those of the names that were not evaluated. */
  unevaluatedNames(names: readonly string[]): readonly string[] {
    if (this.allNames) return [];
    const claimed = new Set(this.names);
    return names.filter((name) => !claimed.has(name));
  }

  /** Returns the indexes below `length` that were not evaluated. */
  unevaluatedIndexes(length: number): readonly number[] {
    const claimed = new Set(this.indexes);
    const missing: number[] = [];
    for (let index = this.prefix; index < length; index++) if (!claimed.has(index)) missing.push(index);
    return missing;
  }

  /** Number of recorded names and indexes, used to charge for merging and searching. */
  get size(): number {
    return this.names.length + this.indexes.length;
  }
}

export interface EvaluatedMark {
  readonly names: number;
  readonly indexes: number;
  readonly allNames: boolean;
  readonly prefix: number;
}
