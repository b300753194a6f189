import { beforeAll, describe, expect, test } from "vitest";
import { requiredScenarios, runRequired, type Revision, type ScenarioOutcome } from "./run-scenario.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

/** There is none that cannot pass. */
const COUNTS = { "2025-11-25": 18, "2026-07-28": 32 } as const satisfies Record<Revision, number>;

for (const revision of ["2025-11-25", "2026-07-28"] as const) {
  const required = inCI ? await requiredScenarios(revision) : [];

  describe(`F0.18 F4.34 the client passes the official conformance suite, ${revision}`, () => {
    let outcomes: ReadonlyMap<string, ScenarioOutcome> = new Map();
    beforeAll(async () => {
      if (inCI) outcomes = await runRequired(revision);
    }, 300_000);

    testInCI(`the suite requires ${COUNTS[revision]} scenarios, and each passes`, () => {
      expect(required).toHaveLength(COUNTS[revision]);
    });

    test.each(required)("%s", (scenario) => {
      expect(outcomes.get(scenario)).toEqual({ failed: [], passed: expect.toSatisfy((count) => count > 0) });
    });
  });
}
