import { describe, expect, test } from "vitest";
import { requiredScenarios, runScenario } from "./run-scenario.ts";
import type { Revision } from "./run-scenario.ts";

/**
 * Every required scenario runs with CI=true; elsewhere one of each kind does, for they take two minutes.
 * There is none that cannot pass.
 */
const LOCAL =
  /^(?:initialize|tools_call|elicitation.*|sse-retry|request-metadata|sep-2322.*|http-.*|json-schema.*|auth\/(?:metadata-default|scope-step-up|iss-wrong-issuer|pre-registration))$/u;
const COUNTS = { "2025-11-25": 18, "2026-07-28": 32 } as const satisfies Record<Revision, number>;

for (const revision of ["2025-11-25", "2026-07-28"] as const) {
  const required = await requiredScenarios(revision);

  test(`the suite requires ${COUNTS[revision]} client scenarios of ${revision}`, () => {
    expect(required).toHaveLength(COUNTS[revision]);
  });

  describe.concurrent(`F0.18 F4.34 official conformance of the client, ${revision}`, { timeout: 120_000 }, () => {
    const chosen = process.env["CI"] === "true" ? required : required.filter((scenario) => LOCAL.test(scenario));
    test.each(chosen)("%s", async (scenario) => {
      const { failed, passed } = await runScenario(scenario, revision);

      expect(failed).toEqual([]);
      expect(passed).toBeGreaterThan(0);
    });
  });
}
