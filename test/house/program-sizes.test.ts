import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { guideBlocks } from "./guide-programs.ts";
import { readTree } from "./source-tree.ts";

const SIZES = "docs/reference/program-sizes.md";
/** The programs of a page on migrating, in the order in which they stand there, and where they stand in the table. */
const COLUMNS = [0, 3, 1, 2];

test("the table of sizes is what the programs of the documents come to", () => {
  const page = readFileSync(new URL(`../../${SIZES}`, import.meta.url), "utf8");
  const own = guideBlocks(new Map([[SIZES, page]])).map(({ code }) => sizeOf(code));
  const peers = ["ai-sdk", "mastra", "langgraph"].map((peer) => {
    const blocks = guideBlocks(readTree(`docs/guides/migrate-from-${peer}.md`)).filter(({ kind }) => kind === "peer");
    return COLUMNS.map((_, column) => sizeOf(blocks[COLUMNS.indexOf(column)]?.code ?? ""));
  });
  expect(tableRows(page).slice(0, 4)).toEqual([own, ...peers]);
});

/** Lines and characters, without empty lines and indentation. */
function sizeOf(code: string): string {
  const lines = code
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const characters = lines.reduce((sum, line) => sum + line.length, 0);
  return `${lines.length} lines, ${characters.toLocaleString("en")} characters`;
}

function tableRows(page: string): readonly (readonly string[])[] {
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && line.includes(" characters"));
  return rows.map((row) =>
    row
      .split("|")
      .slice(2, -1)
      .map((cell) => cell.trim()),
  );
}
