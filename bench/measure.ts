/** Times several contestants in turn, round by round, so that a machine whose speed drifts is fair to all. */

export interface Contestant {
  readonly name: string;
  /** Does the work once; awaited. */
  readonly run: () => unknown;
  /** Shown behind the figures. */
  readonly note?: string;
}

export interface Timing {
  readonly name: string;
  /** Median over the rounds, in microseconds for one run. */
  readonly medianUs: number;
  readonly minUs: number;
  readonly maxUs: number;
  readonly note?: string;
}

export interface MeasureOptions {
  readonly rounds: number;
  /** How long one contestant runs in one round, in milliseconds. */
  readonly roundMs: number;
}

/** Runs every contestant for a while, in turn, `rounds` times, after a warm-up round. */
export async function measure(contestants: readonly Contestant[], options: MeasureOptions): Promise<readonly Timing[]> {
  const samples = new Map<string, number[]>();
  for (let round = -1; round < options.rounds; round++) {
    for (const contestant of contestants) {
      const each = await oneRound(contestant, options.roundMs);
      if (round >= 0) samples.set(contestant.name, [...(samples.get(contestant.name) ?? []), each]);
    }
  }
  return contestants.map((contestant) => summarise(contestant, samples.get(contestant.name) ?? []));
}

async function oneRound(contestant: Contestant, roundMs: number): Promise<number> {
  const startedAt = performance.now();
  let runs = 0;
  let elapsed = 0;
  while (elapsed < roundMs) {
    const step = Math.max(1, Math.min(runs, 1_000));
    for (let index = 0; index < step; index++) await contestant.run();
    runs += step;
    elapsed = performance.now() - startedAt;
  }
  return (elapsed * 1_000) / runs;
}

function summarise(contestant: Contestant, samples: readonly number[]): Timing {
  const timing = { name: contestant.name, medianUs: median(samples), minUs: Math.min(...samples), maxUs: Math.max(...samples) };
  return contestant.note === undefined ? timing : { ...timing, note: contestant.note };
}

/** Prints a table in which every row is also a multiple of `base`. */
export function printTable(title: string, timings: readonly Timing[], base: string): void {
  const unit = timings.some((timing) => timing.medianUs >= 1_000) ? "ms" : "µs";
  const scale = unit === "ms" ? 1_000 : 1;
  const baseUs = timings.find((timing) => timing.name === base)?.medianUs ?? Number.NaN;
  const width = Math.max(...timings.map((timing) => timing.name.length));
  console.log(`\n${title}`);
  for (const timing of timings) {
    const figure = (timing.medianUs / scale).toFixed(2).padStart(10);
    const spread = `(${(timing.minUs / scale).toFixed(2)}–${(timing.maxUs / scale).toFixed(2)})`.padEnd(20);
    const ratio = `${(timing.medianUs / baseUs).toFixed(2)} ×`.padStart(10);
    console.log(`  ${timing.name.padEnd(width)} ${figure} ${unit} ${spread}${ratio}  ${timing.note ?? ""}`.trimEnd());
  }
  console.log(`  (median of the rounds, fastest and slowest round, and the ratio to "${base}")`);
}

/** The value in the middle; of an even number, the upper one. */
export function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Says of a bar that the project sets itself whether it was met. */
export function goal(bar: string, isMet: boolean): string {
  return `goal ${bar}: ${isMet ? "met" : "MISSED"}`;
}

export function spell(count: number): string {
  return count.toLocaleString("en");
}
