/** The state of a simulation: a branch whose calls have no side effects unless they are allowed. */
import { isSameOrInside } from "../core/resources/effects.ts";

/** Whether calls of a tool may have side effects. */
export type SideEffects = (qualifiedName: string) => boolean;

export const NO_SIDE_EFFECTS: SideEffects = () => false;

interface PretendedWrite {
  readonly writes: readonly string[];
  /** The keys that the call locks, including those for its toolset. */
  readonly locked: readonly string[];
}

export class SimulationMode {
  readonly #allowsSideEffects: SideEffects;
  /** The keys locked by pretended writes, each with the number of calls that wrote it. */
  readonly #dirty = new Map<string, number>();
  readonly #pretended = new Map<string, number>();
  /** The pretended writes, by call id. */
  readonly #writes = new Map<string, PretendedWrite>();

  constructor(allowsSideEffects: SideEffects = NO_SIDE_EFFECTS) {
    this.#allowsSideEffects = allowsSideEffects;
  }

  /** Whether the caller allows side effects of this tool. */
  allowsSideEffects(qualifiedName: string): boolean {
    return this.#allowsSideEffects(qualifiedName);
  }

  /** Whether some calls may have side effects. */
  get mayBeReal(): boolean {
    return this.#allowsSideEffects !== NO_SIDE_EFFECTS;
  }

  /** Records a pretended write: the resources now differ from the real ones, so the stand-in answers reads of them too. */
  markDirty(callId: string, write: PretendedWrite): void {
    if (this.#writes.has(callId)) return;
    this.#writes.set(callId, write);
    this.#count(write, 1);
  }

  /** Removes a call's pretended write, because the call did not run or was taken back. */
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

  /** The keys that were written, as the tools declare them. */
  get pretended(): readonly string[] {
    return [...this.#pretended.keys()];
  }

  /** Adds the pretended writes of a branch of this branch. */
  addPretendedWrites(branch: SimulationMode): void {
    this.#count({ writes: branch.pretended, locked: [...branch.#dirty.keys()] }, 1);
  }

  isDirty(keys: readonly string[]): boolean {
    if (this.#dirty.size === 0) return false;
    return keys.some((key) => [...this.#dirty.keys()].some((dirty) => isSameOrInside(key, dirty) || isSameOrInside(dirty, key)));
  }

  /** Returns the mode of a branch of this branch: it begins with the same dirty keys, and changes only its own copy. */
  branch(allowsSideEffects?: SideEffects): SimulationMode {
    const branch = new SimulationMode(this.mayBeReal ? this.#narrowSideEffects(allowsSideEffects) : NO_SIDE_EFFECTS);
    branch.addPretendedWrites(this);
    return branch;
  }

  /** Side effects that are not allowed here are not allowed in a branch either. */
  #narrowSideEffects(allows: SideEffects | undefined): SideEffects {
    const own = this.#allowsSideEffects;
    return allows === undefined ? own : (name) => own(name) && allows(name);
  }
}

function addTo(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
