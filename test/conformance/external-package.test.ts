/** The setting with which the guide leaves the package out of a bundle. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";

const GUIDE = fileURLToPath(new URL("../../docs/guides/bundle-and-host.md", import.meta.url));
const PROGRAM = 'import "haft";\nimport "haft/sqlite";\nimport "haft/program";\nimport "./haft-of-mine.js";\n';

test("the pattern in the guide makes every entry of the package external, and nothing of the program", async () => {
  const patterns = [...readFileSync(GUIDE, "utf8").matchAll(/`externals?: \[\/(?<text>[^\]]+)\/\]`/gu)].map(
    (match) => match.groups?.["text"],
  );
  expect(patterns).toHaveLength(2);
  for (const pattern of patterns) {
    const files = new Map([
      ["/entry.js", PROGRAM],
      ["/haft-of-mine.js", "console.log(1);\n"],
    ]);
    const build = await rolldown({
      input: "/entry.js",
      external: [new RegExp(String(pattern).replaceAll(String.raw`\|`, "|"), "u")],
      plugins: [
        {
          name: "files",
          resolveId: (id) => (files.has(id.replace(/^\./u, "")) ? id.replace(/^\./u, "") : undefined),
          load: (id) => files.get(id),
        },
      ],
    });
    const { output } = await build.generate({ format: "esm" });
    await build.close();
    expect(output.map((chunk) => ("imports" in chunk ? chunk.imports : undefined))).toEqual([["haft", "haft/sqlite", "haft/program"]]);
  }
});
