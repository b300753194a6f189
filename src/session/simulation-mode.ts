/** The state of a branch whose calls may not touch the world. */
import { isInside } from "../core/effects.ts";

/** Says of which tools calls may happen for real. */
export type SideEffects = (qualifiedName: string) => boolean;

export const NO_SIDE_EFFECTS: SideEffects = () => false;

interface PretendedWrite {
  readonly writes: readonly string[];
  /** The keys that it locks, its places in its toolset included. */
  readonly locked: readonly string[];
}

export class SimulationMode {
  readonly #allowsSideEffects: SideEffects;
  /** The keys that pretended writes lock, each with the number of calls that wrote it. */
  readonly #dirty = new Map<string, number>();
  readonly #pretended = new Map<string, number>();
  /** By the id of a call, what it wrote here. */
  readonly #writes = new Map<string, PretendedWrite>();

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

  /** Resources that were written here differ from those of the world: reads of them are answered by the stand-in too. */
  markDirty(callId: string, write: PretendedWrite): void {
    if (this.#writes.has(callId)) return;
    this.#writes.set(callId, write);
    this.#count(write, 1);
  }

  /** The call was not run after all, or was taken back. */
  forget(callId: string): void {
    const write = this.#writes.get(callId);
    if (write === undefined) return;
    this.#writes.delete(callId);
    this.#count(write, -1);
  }

  #count({ writes, locked }: PretendedWrite, change: 1 | -1): void {
    for (const key of writes) addTo(this.#pretended, key, change);
    for (const key of locked) addTo(this.#dirty, key, change);
  }

  /** The resources that were written, in the tools' own words. */
  get pretended(): readonly string[] {
    return [...this.#pretended.keys()];
  }

  /** Takes over what a branch of this branch pretended to write. */
  adopt(branch: SimulationMode): void {
    this.#count({ writes: branch.pretended, locked: [...branch.#dirty.keys()] }, 1);
  }

  isDirty(keys: readonly string[]): boolean {
    if (this.#dirty.size === 0) return false;
    return keys.some((key) => [...this.#dirty.keys()].some((dirty) => isInside(key, dirty) || isInside(dirty, key)));
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

function addTo(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
