/** Random commands to a runtime come to what a plain model of registry, cache, retries and history says. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { inCI } from "../ci.ts";
import { playSequence, sequences } from "./call-model-player.ts";

const RUNS = inCI ? 2_000 : 150;

test("L25 calls, registrations, cached results, retries and histories match their model after any commands", async () => {
  const seen = new Set<string>();
  const play = async (commands: Parameters<typeof playSequence>[0]): Promise<void> =>
    (await playSequence(commands)).forEach((word) => seen.add(word));
  await fc.assert(fc.asyncProperty(sequences, play), { seed: 25, numRuns: RUNS });
  expect([...seen]).toEqual(expect.arrayContaining(SOMETIMES));
}, 120_000);

/** Without these the commands have grown too tame to prove anything. */
const SOMETIMES = ["ok live 1", "ok live 2", "ok live 3", "ok cache 0", "not_found live 0", "invalid_input live 0", "unavailable live 4"];
