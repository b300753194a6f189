/** Plays one seed, and says what came of it. */
import { operate } from "./operations.ts";
import type { Sabotage } from "./sabotage.ts";
import { World } from "./world.ts";

export interface PlayOptions {
  readonly operations: number;
  readonly sabotage?: Sabotage;
  /** Told every line of the trace. */
  readonly onLine?: (line: string) => void;
}

export interface Played {
  readonly seed: number;
  /** How often each operation, fault and rare point came. */
  readonly counts: ReadonlyMap<string, number>;
  /** How many events and operations the trace has, and their hash. */
  readonly length: number;
  readonly digest: string;
}

/** A run that showed something wrong; its message says how to see it again. */
export class SimulationFailure extends Error {
  override readonly name = "SimulationFailure";
  readonly seed: number;

  /** @param world the options that play it again, with as few operations as show it: what follows does not change what came before */
  constructor(world: string, { seed, cause }: { readonly seed: number; readonly cause: unknown }) {
    const again = `node --conditions=haft-source scripts/simulate.ts ${world}`;
    super(`seed=${seed}: ${cause instanceof Error ? cause.message : String(cause)}\nSee it again: ${again}`, { cause });
    this.seed = seed;
  }
}

/** @throws SimulationFailure */
export async function play(seed: number, { operations, sabotage, onLine }: PlayOptions): Promise<Played> {
  const world = new World({ seed, sabotage, onLine });
  try {
    await operate(world, operations);
  } catch (thrown: unknown) {
    throw new SimulationFailure(`--seed ${seed} --operations ${world.steps}`, { seed, cause: thrown });
  }
  const { counts, trace } = world;
  return { seed, counts, length: trace.length, digest: trace.digest };
}
