/** Plays one seed of a fleet, and says what came of it. */
import { SimulationFailure, type PlayOptions, type Played } from "../simulate.ts";
import { operateFleet } from "./fleet-operations.ts";
import type { FleetSabotage } from "./fleet-sabotage.ts";
import { FleetWorld } from "./fleet-world.ts";

export interface PlayFleetOptions extends Pick<PlayOptions, "operations" | "onLine"> {
  readonly nodes: number;
  readonly sabotage?: FleetSabotage;
}

/** @throws SimulationFailure */
export async function playFleet(seed: number, { operations, nodes, sabotage, onLine }: PlayFleetOptions): Promise<Played> {
  const world = new FleetWorld({ seed, nodes, sabotage, onLine });
  try {
    await operateFleet(world, operations);
  } catch (thrown: unknown) {
    throw new SimulationFailure(`--nodes ${nodes} --seed ${seed} --operations ${world.steps}`, { seed, cause: thrown });
  }
  const { counts, trace } = world;
  return { seed, counts, length: trace.length, digest: trace.digest };
}
