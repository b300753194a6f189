import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { guideBlocks } from "./guide-programs.ts";

const SIZES = "docs/reference/program-sizes.md";
/** The programs of a page on migrating, in the order in which they stand there, and where they stand in the table. */
const COLUMNS = [0, 3, 1, 2, 4];

test("the table of program sizes matches the programs of the documents", () => {
  const page = readFileSync(new URL(`../../${SIZES}`, import.meta.url), "utf8");
  const own = guideBlocks(new Map([[SIZES, page]])).map(({ code }) => sizeOf(code));
  const peers = ["ai-sdk", "mastra", "langgraph", "pydantic-ai"].map((peer) => {
    const programs = peerPrograms(`docs/guides/migrate-from-${peer}.md`);
    return COLUMNS.map((_, column) => sizeOf(programs[COLUMNS.indexOf(column)] ?? ""));
  });
  expect(own).toHaveLength(COLUMNS.length);
  expect(tableRows(page)).toEqual([own, ...peers]);
});

function peerPrograms(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/^```(?:ts peer|python)\n(.*?)\n^```$/gmsu)].map(([, code = ""]) => code);
}

test("the program with Haft's loop has no more lines than the one with AI SDK's", () => {
  const page = readFileSync(new URL(`../../${SIZES}`, import.meta.url), "utf8");
  const [own = [], aiSdk = []] = tableRows(page);
  expect(Number.parseInt(own[0] ?? "", 10)).toBeLessThanOrEqual(Number.parseInt(aiSdk[0] ?? "", 10));
});

test("each name is counted once, outside of strings and comments", () => {
  const code = 'const a = b("x y", `${a}: c`); // d\n/* none */ print(b)';
  expect(namesIn(code)).toEqual(new Set(["const", "a", "b", "print"]));
  expect(namesIn('def f(a):  # of no use\n  """Text."""\n  return f"{a}" + g')).toEqual(new Set(["def", "f", "a", "return", "g"]));
});

/** Lines and characters, without empty lines and indentation, and the names that a reader has to know. */
function sizeOf(code: string): string {
  const lines = code
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const characters = lines.reduce((sum, line) => sum + line.length, 0);
  return `${lines.length} lines, ${characters.toLocaleString("en")} characters, ${namesIn(code).size} names`;
}

/** Keywords, variables, options and methods, of TypeScript as of Python. */
function namesIn(code: string): ReadonlySet<string> {
  const bare = code
    .replaceAll(/"""[^"]*"""|\/\*.*?\*\/|(?:\bf)?"(?:[^"\\\n]|\\.)*"/gsu, "")
    .replaceAll(/`[^`]*`/gu, (text) => [...text.matchAll(/\$\{([^}]*)\}/gu)].map(([, inside]) => inside).join(" "))
    .replaceAll(/(?:\/\/|#).*$/gmu, "");
  return new Set(bare.match(/[A-Za-z_]\w*/gu));
}

function tableRows(page: string): readonly (readonly string[])[] {
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && line.includes(" characters,"));
  return rows.map((row) =>
    row
      .split("|")
      .slice(2, -1)
      .map((cell) => cell.trim()),
  );
}
