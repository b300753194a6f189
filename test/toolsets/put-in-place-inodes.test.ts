import { readdirSync, type Stats } from "node:fs";
import { expect, test, vi } from "vitest";
import { renameOver } from "../../src/toolsets/files/rename-over.ts";
import { TemporaryWorkspace } from "./temporary-workspace.ts";

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const lstatSync = (path: string, options: object) => ofName(path, real.lstatSync(path, options));
  return { ...real, lstatSync };
});

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  return { ...real, lstat: async (path: string) => ofName(path, await real.lstat(path)) };
});

/** As on sshfs, where each name of a file has an inode of its own. */
function ofName(path: string, stats: Stats | undefined): Stats | undefined {
  return stats && Object.assign(stats, { ino: path.endsWith(".lock") ? 1 : 2 });
}

test("a file is replaced where each of its names has its own inode, as on sshfs", async () => {
  const workspace = new TemporaryWorkspace({ "a.txt": "old", "own.tmp": "new" });
  const signal = AbortSignal.timeout(5_000);
  await renameOver(workspace.path("own.tmp"), workspace.path("a.txt"), { check: () => Promise.resolve(), signal });
  expect([workspace.text("a.txt"), readdirSync(workspace.root).sort()]).toEqual(["new", ["a.txt", "own.tmp"]]);
});
