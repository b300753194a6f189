/** A SQLite store in a place that lacks what it needs. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("sqlite-places-program.ts", import.meta.url));

test.for([
  ["without threads", ["--permission", "--allow-fs-read=*", "--allow-fs-write=*"], "", "--allow-worker"],
  ["in a bundle, without node:sqlite", [], "no-module", "node:sqlite"],
  ["in a bundle, where no database can be made", [], "illegal", "Illegal constructor"],
] as const)("%s the error says what the store needs and names the alternatives", async ([, flags, mode, reason]) => {
  const { said } = await opened(mode, flags);
  expect(said).toMatchObject({
    code: "store_failed",
    message: expect.stringMatching(new RegExp(`a\\.db could not be opened: .*${reason}`, "u")),
    retryable: false,
    operatorHint: expect.stringMatching(/needs node:sqlite and threads.*memoryStore/u),
  });
});

test("an outdated SQLite is refused before it creates a file that other users could read", async () => {
  expect(await opened("old")).toEqual({
    said: expect.objectContaining({
      code: "store_failed",
      message: "This Node.js includes SQLite 3.47.2, which can lose commits; at least 3.51.3 is required.",
    }),
    files: [],
  });
});

/** What the program says that opens a store in a new folder, and what is in the folder then. */
async function opened(mode: string, flags: readonly string[] = []): Promise<{ readonly said: unknown; readonly files: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "haft-places-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const args = ["--no-warnings", "--conditions=haft-source", ...flags, PROGRAM, join(folder, "a.db"), mode];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return { said: JSON.parse(stdout), files: readdirSync(folder) };
}
