/** Random combinations of features, inside each other, keep every promise of their own. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { inCI } from "../../ci.ts";
import { HOWS, scenarioArbitrary, type Scenario } from "./feature-plan.ts";
import { play } from "./feature-world.ts";

const RUNS = inCI ? 800 : 40;
const PROGRAM_RUNS = inCI ? 40 : 2;

test("B07 I03 calls nested in every way keep their results, approvals, caches, simulations and turn rules, run once, and leave nothing behind, also after a crash, a takeover or a close", async () => {
  const seen = new Set<string>();
  const come = async (scenario: Scenario): Promise<void> => {
    const world = await play(scenario);
    world.seen.forEach((word) => seen.add(word));
    expect(world.broken).toEqual([]);
  };
  const hows = HOWS.filter((how) => how !== "program");
  await fc.assert(fc.asyncProperty(scenarioArbitrary(hows), come), { seed: 1, numRuns: RUNS });
  await fc.assert(fc.asyncProperty(scenarioArbitrary(["program", "plain", "agent"]), come), { seed: 2, numRuns: PROGRAM_RUNS });
  for (const must of inCI ? SOMETIMES : []) expect([must, seen.has(must)]).toEqual([must, true]);
}, 180_000);

/** Without these the mix has grown too tame to prove anything. */
const SOMETIMES = [
  "entered pay",
  "entered drop",
  "entered wipe",
  "entered once",
  "answer allow-once whole",
  "answer deny whole",
  "answer allow-input",
  "answer allow-always",
  "w::get_turn ok cache",
  "w::get_session ok cache",
  "w::get_runtime ok cache",
  "w::get_stored ok cache",
  "w::sum ok cache",
  "w::once limit_exceeded live",
  "w::end ok live",
  "s::sub ok stub",
  "s::sub_drop ok stub",
  "x::denied permission_denied live",
  "w::put vetoed live",
  "w::put resource_busy live",
  "w::put ok simulated",
  "w::pay ok simulated",
  "c::plain outcome_unknown live",
  "c::agent ok live",
  "c::chain ok live",
  "program::run_program ok live",
  "resumed",
  "taken over",
  "cancelled one",
  "committed true",
  "committed false",
  "simulation committed",
  "simulation conflict",
  "entered art",
  "w::ask ok live",
  "w::talk ok live",
  "w::late timeout live",
  "w::flaky network_error live",
  "w::pay not_found live",
  "c::other ok live",
];
