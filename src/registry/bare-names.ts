/** Finds tools by their unqualified names, which several toolsets may use. */
import type { ToolFamily } from "./toolset-entry.ts";

const NONE: readonly ToolFamily[] = Object.freeze([]);

/** Every name is in exactly one of the two maps, so that the usual case, a unique name, costs one look-up and no array. */
export class BareNames {
  readonly #unique = new Map<string, ToolFamily>();
  readonly #shared = new Map<string, readonly ToolFamily[]>();

  /** The family of this name if only one toolset has it. */
  findUnique(name: string): ToolFamily | undefined {
    return this.#unique.get(name);
  }

  /** The families of this name, in the order of registration. */
  findAll(name: string): readonly ToolFamily[] {
    const only = this.#unique.get(name);
    return only === undefined ? (this.#shared.get(name) ?? NONE) : [only];
  }

  has(name: string): boolean {
    return this.#unique.has(name) || this.#shared.has(name);
  }

  names(): Iterable<string> {
    return this.#shared.size === 0 ? this.#unique.keys() : this.#unique.keys().toArray().concat(this.#shared.keys().toArray());
  }

  add(name: string, family: ToolFamily): void {
    const shared = this.#shared.get(name);
    const only = this.#unique.get(name);
    if (shared !== undefined) this.#shared.set(name, [...shared, family]);
    else if (only === undefined) this.#unique.set(name, family);
    else {
      this.#unique.delete(name);
      this.#shared.set(name, [only, family]);
    }
  }

  remove(name: string, family: ToolFamily): void {
    const left = this.findAll(name).filter((other) => other !== family);
    this.#unique.delete(name);
    this.#shared.delete(name);
    const [only] = left;
    if (left.length > 1) this.#shared.set(name, left);
    else if (only !== undefined) this.#unique.set(name, only);
  }
}
