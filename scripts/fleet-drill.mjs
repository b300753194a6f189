/** Breaks a fleet of servers over PostgreSQL in every way, and checks what became of its work: see `--help`. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundle } from "./bundle.ts";
import { runFleetDrill } from "../test/server/fleet/fleet-drill.ts";

const HELP = `Runs three servers over one PostgreSQL server, each in a network namespace of its own where there are any, under load from clients
that ask until they are answered. Restarts them in order, kills, stops and cuts off the servers, restarts the database, leaves connections half-open, with clocks that are
wrong. Then everything has to agree: the answers of clients, the stored sessions, and a table outside that counts effects.

  node --conditions=haft-source scripts/fleet-drill.mjs [options]

  --rolls N              SIGTERM of a server, which ends in order, and a new one, one after the other (60)
  --torn-rolls N         SIGTERM of a server, kill -9 before it has ended, and a new one (60)
  --kills N              kill -9 of a server, and a new one, two at a time (300)
  --stops N              a server stopped for --stop-ms, two at a time (50)
  --stop-ms N            (30000)
  --restarts N           the database stopped at once and started again, every --restart-every-ms (200)
  --restart-every-ms N   (3000)
  --cuts N               a server cut off from all others for --cut-ms (10)
  --cut-ms N             (20000)
  --half-open N          times that connections to the database are left half-open (20)
  --skew-ms N            clocks are wrong by so much (300000)
  --lease-ms N           (15000)
  --clients N            (6)
  --seed N               (1)
`;

const number = (value) => ({ type: "string", default: String(value) });
const {
  values: { help, ...options },
} = parseArgs({
  options: {
    rolls: number(60),
    "torn-rolls": number(60),
    kills: number(300),
    stops: number(50),
    "stop-ms": number(30_000),
    restarts: number(200),
    "restart-every-ms": number(3_000),
    cuts: number(10),
    "cut-ms": number(20_000),
    "half-open": number(20),
    "skew-ms": number(300_000),
    "lease-ms": number(15_000),
    clients: number(6),
    seed: number(1),
    help: { type: "boolean", default: false },
  },
});

/** Ends the process where an option is no whole number: a drill that never ends proves nothing. */
function readCounts(texts) {
  const counts = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.trim() === "" ? Number.NaN : Number(text)]));
  const wrong = Object.keys(counts).find((name) => !Number.isSafeInteger(counts[name]) || counts[name] < 0);
  if (wrong === undefined) return counts;
  console.error(`--${wrong} is a whole number of at least 0, not ${JSON.stringify(texts[wrong])}.`);
  process.exit(2);
}

async function drill(counts) {
  const dir = join(import.meta.dirname, `../node_modules/.cache/haft-fleet-${process.pid}`);
  try {
    const inlined = ["get-east-asian-width", "kysely", "smol-toml", "yaml"];
    await bundle({ dir: join(dir, "dist"), inlined, programs: { "tests/fleet-node": "./test/server/fleet/fleet-node.ts" } });
    const startedAt = performance.now();
    const report = await runFleetDrill({
      program: join(dir, "dist/tests/fleet-node.js"),
      seed: counts.seed,
      leaseMs: counts["lease-ms"],
      rolls: counts.rolls,
      tornRolls: counts["torn-rolls"],
      kills: counts.kills,
      stops: counts.stops,
      stopMs: counts["stop-ms"],
      restarts: counts.restarts,
      restartEveryMs: counts["restart-every-ms"],
      cuts: counts.cuts,
      cutMs: counts["cut-ms"],
      halfOpens: counts["half-open"],
      skewMs: counts["skew-ms"],
      clients: counts.clients,
      onPhase: (text) => console.log(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(5)} s  ${text}`),
    });
    console.log(JSON.stringify(report, undefined, 2));
    if (counts.stops > 0 && report.refusedByEpoch === 0) throw new Error("No write was refused by its epoch: the drill proves nothing.");
    console.log("No acknowledged result is lost, nothing was done twice, every job has ended, no lease is left.");
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

if (help) console.log(HELP);
else await drill(readCounts(options));
