/** Kills workers at random while they run jobs, and counts what became of the jobs. */
import { Fleet, kill } from "./fleet.ts";
import type { StoreProcess } from "../../store/run-process.ts";
import type { PostgresServer } from "../../store/postgres/server.ts";

export interface DrillOptions {
  readonly server: PostgresServer;
  readonly workers: number;
  readonly jobs: number;
  readonly kills: number;
  readonly seed: number;
  /** From one kill to the next. */
  readonly betweenMs: number;
  /** How long the jobs may take after the last kill. */
  readonly withinMs: number;
}

export interface DrillReport {
  readonly accepted: number;
  readonly ended: number;
  /** Of tools that may not be repeated: calls whose effect was seen more than once. */
  readonly twice: number;
  /** Effects of such tools. */
  readonly paid: number;
  /** Such calls of which it is not known whether they had their effect. */
  readonly unknown: number;
  readonly kills: number;
  readonly seconds: number;
}

/** Half of the jobs may be repeated. */
export async function runWorkerDrill({ server, workers, jobs, kills, seed, betweenMs, withinMs }: DrillOptions): Promise<DrillReport> {
  const fleet = await Fleet.on(server);
  const began = Date.now();
  const running: StoreProcess[] = [];
  try {
    for (let index = 0; index < workers; index++) running.push(await fleet.worker());
    const half = Math.floor(jobs / 2);
    const submitting = Promise.all([fleet.submit(half, "note", "n"), fleet.submit(jobs - half, "pay", "p")]);
    const random = randomFrom(seed);
    for (let killed = 0; killed < kills; killed++) {
      await new Promise((resolve) => setTimeout(resolve, betweenMs * (0.5 + random())));
      const at = Math.floor(random() * running.length);
      const [one] = running.splice(at, 1);
      if (one !== undefined) await kill(one);
      running.push(await fleet.worker());
    }
    const accepted = (await submitting).flat().length;
    const ended = await fleet.ended(accepted, withinMs);
    const { all: paid, twice } = await fleet.effects("pay");
    const unknown = ended.filter(({ errorCode }) => errorCode === "outcome_unknown").length;
    return { accepted, ended: ended.length, twice, paid, unknown, kills, seconds: (Date.now() - began) / 1_000 };
  } finally {
    await Promise.all(running.map(kill));
    await fleet.close();
  }
}

/** Numbers from 0 to 1, the same for a seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
