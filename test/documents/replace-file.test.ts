import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { replaceFile } from "../../src/documents/replace-file.ts";

const HAS_PIPES = spawnSync("mkfifo", ["--version"]).error === undefined;

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "haft-replace-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test.skipIf(!HAS_PIPES)("J06 a pipe (needs mkfifo) is not replaced, and does not block", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "pipe");
  spawnSync("mkfifo", [path]);
  symlinkSync("pipe", join(folder, "link"));

  for (const name of ["pipe", "link"])
    await expect(replaceFile(join(folder, name), "new")).rejects.toMatchObject({
      code: "store_failed",
      message: `Cannot write ${join(folder, name)}: it is not a regular file but a pipe, socket or device.`,
    });

  expect(statSync(path).isFIFO()).toBe(true);
  expect(readdirSync(folder)).toEqual(["link", "pipe"]);
});

test("a file without read permission is replaced and keeps its mode", async () => {
  const path = join(temporaryFolder(), "secret.json");
  writeFileSync(path, "old");
  chmodSync(path, 0o200);

  await replaceFile(path, "new");

  expect(statSync(path).mode & 0o777).toBe(0o200);
  chmodSync(path, 0o600);
  expect(readFileSync(path, "utf8")).toBe("new");
});
