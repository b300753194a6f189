/** Begins with the files that take longest in CI, however small they are: one that began last would be waited for alone. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The longest, in this order; the others follow as vitest has them: by what they took before, or else by their size. */
const LONGEST = [
  "server/worker/workers",
  "server/fleet/fleet-drill",
  "dashboard/screens",
  "conformance/client",
  "store/processes",
  "dashboard/replay-screens",
  "dashboard/trouble",
  "house/guides",
  "house/typescript-versions",
  "dashboard/files",
  "house/large-text",
  "engine/mcp-fleet",
  "toolsets/programs/sandbox-escapes",
  "store/leases-across-processes",
  "server/api/kill",
  "store/postgres/processes",
  "simulation/simulation",
  "simulation/fleet/fleet",
  "cli/worker",
  "house/examples",
  "processes/program/hostile-programs",
  "store/postgres/contract",
  "server/api/load",
  "engine/example-cases",
  "engine/openapi/relaxed-answers",
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
