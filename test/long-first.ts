/** Begins with the files that take longest in CI, however small they are: one that began last would be waited for alone. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The longest, in this order; the others follow as vitest has them: by what they took before, or else by their size. */
const LONGEST = [
  "cli/worker",
  "server/worker/workers",
  "house/typescript-versions",
  "conformance/client",
  "toolsets/programs/sandbox-escapes",
  "server/fleet/fleet-drill",
  "house/examples",
  "dashboard/screens",
  "dashboard/trouble",
  "dashboard/replay-screens",
  "house/guides",
  "dashboard/files",
  "runtime/session/two-owners",
  "runtime/session/ending-races",
  "house/large-text",
  "simulation/fleet/fleet",
  "store/postgres/faults",
  "store/leases-across-processes",
  "engine/example-cases",
  "server/api/load",
  "store/postgres/processes",
  "cli/demo",
  "cli/store",
  "server/api/kill",
  "simulation/simulation",
  "engine/mcp-fleet",
  "cli/mcp",
  "toolsets/web",
  "store/processes",
  "engine/openapi/relaxed-answers",
  "runtime/session/leave-resume",
  "server/api/brought-events",
  "processes/process",
  "store/postgres/contract",
  "cli/generate",
  "cli/damaged-files",
  "processes/program/hostile-programs",
].map((name) => `/test/${name}.test.ts`);

export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const index = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}
