import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

test.skipIf(spawnSync("git", ["rev-parse"], { cwd: root }).status !== 0)(
  "a clone has the repository's line endings, even with Git for Windows",
  () => {
    const { stdout } = spawnSync("git", ["check-attr", "text", "eol", "--", "README.md", "test/wire/recorded.test.ts"], {
      cwd: root,
      encoding: "utf8",
    });

    expect(stdout.trim().split(/\r?\n/u)).toEqual([
      "README.md: text: auto",
      "README.md: eol: lf",
      "test/wire/recorded.test.ts: text: auto",
      "test/wire/recorded.test.ts: eol: lf",
    ]);
  },
);
