import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../../../src/core/system/make-folder.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "haft-make-folder-"));
});
afterEach(() => rm(root, { recursive: true }));

test.runIf(process.platform === "linux")("a folder where nothing can be made is refused, and not tried forever", async () => {
  await expect(makeFolder("/proc/haft/logins")).rejects.toMatchObject({ code: "ENOENT", path: "/proc/haft" });
});

test("a folder below a file is refused, and so is one that has the name of a file", async () => {
  await writeFile(join(root, "file"), "");
  await expect(makeFolder(join(root, "file"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makeFolder(join(root, "file/a/b"))).rejects.toMatchObject({ path: expect.stringContaining("file") });
});

test.skipIf(process.platform === "win32")("a folder below a link that leads nowhere is refused", async () => {
  await symlink(join(root, "gone/deep"), join(root, "link"));
  await expect(makeFolder(join(root, "link/a"))).rejects.toMatchObject({ code: "EEXIST", path: join(root, "link") });
});

test("all missing folders are made with the mode, those that exist are kept, and several callers make one at the same time", async () => {
  await mkdir(join(root, "old"), { mode: 0o755 });
  const path = join(root, "old/new/deep");
  await Promise.all([makeFolder(path, 0o700), makeFolder(path, 0o700), makeFolder(join(root, "old/new/other"), 0o700)]);
  await makeFolder(path, 0o700);
  await makeFolder("/");
  const modes = await Promise.all(["old", "old/new", "old/new/deep"].map(async (name) => (await stat(join(root, name))).mode & 0o777));
  if (process.platform !== "win32") expect(modes).toEqual([0o755, 0o700, 0o700]);
});
