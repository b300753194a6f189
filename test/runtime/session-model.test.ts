/** Random things done to sessions and to a plain model of them come to the same, crashes included. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { scenarioArbitrary } from "./session-arbitrary.ts";
import type { Scenario } from "./session-arbitrary.ts";
import { checkWorld } from "./session-checks.ts";
import { Commands } from "./session-commands.ts";
import { TICK_MS, World } from "./session-world.ts";

async function play(scenario: Scenario): Promise<World> {
  const world = new World(scenario);
  const commands = new Commands(world);
  const check = (): Promise<void> => checkWorld(world, commands.acknowledged);
  for (const command of scenario.commands) {
    if (command.kind !== "execute") await world.advance(0);
    if (command.kind === "crash") await check();
    commands.do(command);
    if (command.kind === "execute" && command.pause === undefined) continue;
    await world.advance(command.pause ?? 0);
    await check();
  }
  for (let left = 1_000; left > 0 && !world.isQuiet; left--) await world.advance(TICK_MS);
  expect(world.isQuiet).toBe(true);
  await world.advance(64);
  await check();
  expect(world.runtime.running).toEqual([]);
  expect(world.clock.pending).toBe(0);
  return world;
}

test("I03 I10 C06 F0.27 whatever is executed, simulated, forked, committed, copied, closed and crashed, sessions come to what their model says", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(scenarioArbitrary, async (scenario) => {
      const world = await play(scenario);
      for (const word of world.seen) seen.add(word);
    }),
    { numRuns: RUNS, ...(process.env["SEED"] === undefined ? { seed: SEED } : { seed: Number(process.env["SEED"]) }) },
  );
  console.log([...seen].sort());
}, 60_000);

const SEED = 3;
const RUNS = Number(process.env["RUNS"] ?? 1_000);
