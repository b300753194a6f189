/** A program without `exactOptionalPropertyTypes` may set an option to undefined, such as a limit that it takes from its own options: it is left out then. */
import { expect, test } from "vitest";
import { jobLimits } from "../../src/call/jobs/job-table.ts";
import { checkLoopLimits } from "../../src/compose/loop-limits.ts";
import { reasonToStop } from "../../src/compose/reason-to-stop.ts";
import { checkRepeatOptions } from "../../src/compose/repeat-guard.ts";
import { createRuntime } from "../../src/index.ts";
import { serverSettings } from "../../src/server/api/server-settings.ts";

/** An object with each key of another one, and undefined as each value. */
function undefinedOf(options: object): never {
  return Object.fromEntries(Object.keys(options).map((name) => [name, undefined])) as never;
}

const repeat = checkRepeatOptions({});

test.each<[string, (options: never) => unknown, object]>([
  ["of a loop", checkLoopLimits, checkLoopLimits()],
  ["of a server", serverSettings, serverSettings()],
  ["of jobs", jobLimits, jobLimits({})],
  ["of repeated failures", (failures) => checkRepeatOptions({ failures }).failures, repeat.failures],
  ["of repeated answers", (answers) => checkRepeatOptions({ answers }).answers, repeat.answers],
])("limits %s that are undefined have their defaults", (_, check, defaults) => {
  expect(check(undefinedOf(defaults))).toEqual(defaults);
});

test("a loop of one's own with undefined limits stops where it does without them", () => {
  const facts = { calls: [{ category: "TERMINAL" }], finish: "calls", rounds: 2 } as const;
  const limits = undefinedOf({ maxRounds: 0, maxPauses: 0, multiAction: 0 });
  expect(reasonToStop(facts, limits)).toBe(reasonToStop(facts, {}));
});

test("a runtime takes undefined limits of its jobs", async () => {
  const runtime = createRuntime({ jobs: undefinedOf({ maxRunning: 0, maxQueued: 0, maxPerPrincipal: 0 }) });
  expect(runtime.jobs.list()).toEqual([]);
  await runtime.close();
});
