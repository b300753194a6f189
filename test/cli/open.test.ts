/** What `haft open` takes: every file of which the page can show a part, and no other. */
import { expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { builtDashboard } from "../dashboard/built.ts";
import { PATIENCE_MS, SOURCE, folderWith, haft } from "./run-haft.ts";

const REFUSED: Readonly<Record<string, string>> = {
  "empty.json": "",
  "blank.jsonl": " \n\n",
  "notes.txt": "Milk is bought.\nBread is not.\n",
  "text.json": '"a conversation"',
  "long.txt": "word ".repeat(100_000),
};

test.each(Object.keys(REFUSED))("J06 haft open refuses %s, which has nothing to show, before it serves anything", async (name) => {
  const { exitCode, stdout, stderr } = await haft(["open", name], { folder: folderWith(REFUSED) });
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(`The file "${name}" has neither a JSON object nor an array.`);
});

test.skipIf(!inCI)(
  `J06 haft open serves a file with a damaged first line, since the page shows the rest ${IN_CI}`,
  async () => {
    await builtDashboard();
    const folder = folderWith({ "cut.jsonl": 'ent":"Hello?"}\n{"role":"user","content":"Hello?"}\n' });
    const { exitCode, stdout } = await haft(["open", "cut.jsonl"], {
      folder,
      program: SOURCE, // the bundle of the tests has no dashboard
      onOutput: (output, control) => output.stdout.includes("\n") && control.signal("SIGINT"),
    });
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/file#/u)]);
  },
  PATIENCE_MS,
);
