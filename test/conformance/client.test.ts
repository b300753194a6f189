import { describe, expect, test } from "vitest";
import { requiredScenarios, runScenario, type Revision } from "./run-scenario.ts";
import { IN_CI, inCI } from "../ci.ts";

/** There is none that cannot pass. Outside CI only these run: all of them take a minute and a half. */
const QUICK = /^(?:initialize|request-metadata)$/u;
const COUNTS = { "2025-11-25": 18, "2026-07-28": 32 } as const satisfies Record<Revision, number>;

for (const revision of ["2025-11-25", "2026-07-28"] as const) {
  const required = await requiredScenarios(revision);

  test(`the suite requires ${COUNTS[revision]} client scenarios of ${revision}`, () => {
    expect(required).toHaveLength(COUNTS[revision]);
  });

  describe.concurrent(`F0.18 F4.34 official conformance of the client, ${revision}`, { timeout: 240_000 }, () => {
    for (const scenario of required) {
      const isQuick = QUICK.test(scenario);
      test.skipIf(!inCI && !isQuick)(isQuick ? scenario : `${scenario} ${IN_CI}`, async () => {
        const { failed, passed } = await runScenario(scenario, revision);

        expect(failed).toEqual([]);
        expect(passed).toBeGreaterThan(0);
      });
    }
  });
}
