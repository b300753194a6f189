/** The state of a branch whose calls may not touch the world. */
import { isInside } from "../core/effects.ts";

/** Says of which tools calls may happen for real. */
export type SideEffects = (qualifiedName: string) => boolean;

export const NO_SIDE_EFFECTS: SideEffects = () => false;

export class SimulationMode {
  readonly #allowsSideEffects: SideEffects;
  /** The keys that pretended writes lock. */
  readonly #dirty = new Set<string>();
  readonly #pretended = new Set<string>();

  constructor(allowsSideEffects: SideEffects = NO_SIDE_EFFECTS) {
    this.#allowsSideEffects = allowsSideEffects;
  }

  /** Whether the caller lets calls of this tool happen for real. */
  allowsSideEffects(qualifiedName: string): boolean {
    return this.#allowsSideEffects(qualifiedName);
  }

  /** Some of its calls may happen for real. */
  get mayBeReal(): boolean {
    return this.#allowsSideEffects !== NO_SIDE_EFFECTS;
  }

  /**
   * Resources that were written here differ from those of the world: reads of them are answered by the stand-in too.
   *
   * @param locked the keys that the write locks, its places in its toolset included
   */
  markDirty(writes: readonly string[], locked: readonly string[]): void {
    for (const key of writes) this.#pretended.add(key);
    for (const key of locked) this.#dirty.add(key);
  }

  /** The resources that were written, in the tools' own words. */
  get pretended(): readonly string[] {
    return [...this.#pretended];
  }

  /** Takes over what a branch of this branch pretended to write. */
  adopt(branch: SimulationMode): void {
    this.markDirty([...branch.#pretended], [...branch.#dirty]);
  }

  isDirty(keys: readonly string[]): boolean {
    if (this.#dirty.size === 0) return false;
    return keys.some((key) => [...this.#dirty].some((dirty) => isInside(key, dirty) || isInside(dirty, key)));
  }

  /** The mode of a branch of this branch: it begins with the same dirty keys, and adds to them alone. */
  branch(allowsSideEffects?: SideEffects): SimulationMode {
    const branch = new SimulationMode(this.mayBeReal ? this.#narrowed(allowsSideEffects) : NO_SIDE_EFFECTS);
    branch.adopt(this);
    return branch;
  }

  /** Effects that are not allowed here are not allowed in a branch either. */
  #narrowed(allows: SideEffects | undefined): SideEffects {
    const own = this.#allowsSideEffects;
    return allows === undefined ? own : (name) => own(name) && allows(name);
  }
}
