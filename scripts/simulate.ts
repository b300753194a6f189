/** Plays worlds from seeds, and stops at the first in which something is wrong: see `--help`. */
import { parseArgs } from "node:util";
import { play, type Played } from "../test/simulation/simulate.ts";
import { SOMETIMES } from "../test/simulation/sometimes.ts";
import { FLEET_SOMETIMES } from "../test/simulation/fleet/fleet-sometimes.ts";
import { playFleet } from "../test/simulation/fleet/play-fleet.ts";

const HELP = `Plays whole runtimes in worlds that a seed decides: virtual time, a store that is slow, fails and forgets what it did not
acknowledge, tools that fail in every way, processes that die, and everything a program may ask, at once. Looks after every step
whether all that Haft promises holds (INVARIANTS in test/simulation/broken.ts). SQLite has a thread of its own, which no seed
decides: its crashes are tried by scripts/crash-drill.mjs.

With --nodes it plays fleets instead: nodes with clocks of their own, each over a connection of its own to one simulated database, which
are paused beyond their leases, killed, cut off and restarted, while clients ask until they are answered.

  node --conditions=haft-source scripts/simulate.ts [options]

  --seeds N        how many worlds (10000)
  --from N         the first seed (1)
  --operations N   how much is asked in each (200; 40 of a fleet)
  --nodes N        fleets of so many nodes
  --seed N         this world only, with every line of its trace
  --twice          each world twice: the same trace, or it has failed
`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "10000" },
    from: { type: "string", default: "1" },
    operations: { type: "string" },
    nodes: { type: "string" },
    seed: { type: "string" },
    twice: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

/** So many worlds must have come to every rare point. */
const ENOUGH = 200;

function numberOf(text: string, name: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new Error(`--${name} takes a whole number, not ${text}.`);
}

const nodes = values.nodes === undefined ? undefined : numberOf(values.nodes, "nodes");
const operations = numberOf(values.operations ?? (nodes === undefined ? "200" : "40"), "operations");

function playOne(seed: number, onLine?: (line: string) => void): Promise<Played> {
  const options = { operations, ...(onLine === undefined ? {} : { onLine }) };
  return nodes === undefined ? play(seed, options) : playFleet(seed, { ...options, nodes });
}

async function playAll(): Promise<void> {
  if (values.seed !== undefined) {
    const { digest, length } = await playOne(numberOf(values.seed, "seed"), (line) => console.log(line));
    console.log(`${length} lines, ${digest}`);
    return;
  }
  const [from, seeds] = [numberOf(values.from, "from"), numberOf(values.seeds, "seeds")];
  const counts = new Map<string, number>();
  const startedAt = performance.now();
  for (let seed = from; seed < from + seeds; seed++) {
    const played = await playOne(seed);
    if (values.twice && (await playOne(seed)).digest !== played.digest) throw new Error(`seed=${seed}: two runs differ.`);
    for (const [point, count] of played.counts) counts.set(point, (counts.get(point) ?? 0) + count);
    if ((seed - from + 1) % 500 === 0) console.error(`${seed - from + 1} seeds, ${perSecond(seed - from + 1, startedAt)} a second`);
  }
  for (const [point, count] of [...counts].sort(([one], [other]) => (one < other ? -1 : 1)))
    console.log(`${String(count).padStart(9)}  ${point}`);
  const never = (nodes === undefined ? SOMETIMES : FLEET_SOMETIMES).filter((point) => !counts.has(point));
  if (seeds >= ENOUGH && never.length > 0) throw new Error(`In no world: ${never.join("; ")}.`);
  const fleets = nodes === undefined ? "" : ` with ${nodes} nodes`;
  console.log(`${seeds} seeds of ${operations} operations${fleets}, ${perSecond(seeds, startedAt)} a second: nothing is wrong.`);
}

function perSecond(seeds: number, startedAt: number): string {
  return (seeds / ((performance.now() - startedAt) / 1_000)).toFixed(1);
}

if (values.help) console.log(HELP);
else {
  try {
    await playAll();
  } catch (thrown: unknown) {
    console.error(thrown instanceof Error ? thrown.message : String(thrown));
    process.exitCode = 1;
  }
}
