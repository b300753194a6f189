/** A small version of `scripts/fleet-drill.mjs`. */
import { expect, test } from "vitest";
import { bundledProgram } from "../../bundled-program.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { postgresPrograms } from "../../store/postgres/server.ts";
import { runFleetDrill } from "./fleet-drill.ts";

test.skipIf(!inCI || postgresPrograms === undefined)(
  `issue 21 L05–L07 servers that are restarted, killed, frozen past their lease and cut off lose nothing and repeat nothing ${IN_CI}`,
  { timeout: 900_000 },
  async () => {
    const report = await runFleetDrill({
      program: bundledProgram("server/fleet/fleet-node"),
      seed: 1,
      leaseMs: 1_500,
      rolls: 4,
      tornRolls: 4,
      kills: 6,
      stops: 8,
      stopMs: 5_000,
      restarts: 4,
      restartEveryMs: 2_000,
      cuts: 2,
      cutMs: 4_000,
      halfOpens: 3,
      skewMs: 300_000,
      clients: 6,
    });
    expect(report).toMatchObject({ rolls: 4, tornRolls: 4, kills: 6, stops: 8, restarts: 4, cuts: 2 });
    expect(report.refusedByEpoch).toBeGreaterThan(0);
    expect(report.requests).toBeGreaterThan(50);
    console.log(`issue 21: ${JSON.stringify(report)}`);
  },
);
