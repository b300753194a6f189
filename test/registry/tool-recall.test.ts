/** How often a search finds what people asked for, on queries that others published: `../shared/cases` or `$HAFT_CASES`. Figures are printed. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bfcl, recallOf, toolbench } from "../../scripts/tool-recall.ts";
import { Registry } from "../../src/registry/registry.ts";

const FOLDER = process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../../shared/cases");
/** Of 208 and 729 queries. A search that reads words as they are written finds 146 of the first. */
const SETS = [
  { read: toolbench, queries: 208, floor: 175 },
  { read: bfcl, queries: 729, floor: 600 },
] as const;

describe.skipIf(!existsSync(join(FOLDER, "toolbench")))("recorded queries over published tools", () => {
  test.each(SETS)("find a relevant tool among the first five for most queries", ({ read, queries: known, floor }) => {
    const { name, register, queries } = read(FOLDER);
    const registry = new Registry();
    register(registry);
    const { found } = recallOf(registry, queries, 5);
    console.log(
      `tool search, ${name}: a relevant tool is in the first five for ${found} of ${queries.length} queries over ${registry.size} tools`,
    );
    expect(found).toBeGreaterThanOrEqual(Math.floor((queries.length * floor) / known));
  });
});
