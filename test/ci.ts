/** What only CI runs: long drills, and long runs of random tests. */

/** Whether this run is one of CI: with the variable `CI`, as CI services set it. */
export const inCI = !["", "false", undefined].includes(process.env["CI"]);

/** Behind the title of a test that only CI runs; the reporter counts them by it. */
export const IN_CI = "(in CI)";

/** How often something is repeated: so often in CI, elsewhere a fifth. */
export function repeated(times: number): number {
  return inCI ? times : Math.ceil(times / 5);
}
