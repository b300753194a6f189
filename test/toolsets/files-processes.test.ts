import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { linkSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { bundledProgram } from "../bundled-program.ts";
import { renameOver } from "../../src/toolsets/files/rename-over.ts";
import { IN_CI, inCI } from "../ci.ts";
import { TemporaryWorkspace } from "./temporary-workspace.ts";

const PROGRAM = bundledProgram("toolsets/edit-process");
const LINES = 50;

async function begun(...args: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  await once(child.stdout, "data");
  return async () => {
    child.stdin.write("go\n");
    return JSON.parse(await text(child.stdout)) as unknown;
  };
}

describe("changes of one file by several processes", { timeout: 60_000 }, () => {
  test.skipIf(!inCI).each(["", "store.db"])(`no edit is lost without an error, with the store %j ${IN_CI}`, async (store) => {
    const workspace = new TemporaryWorkspace({ "a.txt": "end\n" });
    const database = store === "" ? "" : join(workspace.outside, store);
    const processes = await Promise.all(["one", "two", "three"].map((name) => begun(workspace.root, database, name, `${LINES}`)));
    const refused = await Promise.all(processes.map((goOn) => goOn()));
    const wanted = ["one", "two", "three"].flatMap((name) => Array.from({ length: LINES }, (_none, index) => `${name}${index + 1}`));
    expect(workspace.text("a.txt").split("\n").slice(0, -2).sort()).toEqual(wanted.sort());
    expect([...new Set(refused.flat())]).toEqual(['"a.txt" changed on disk since it was read; nothing was written.']);
    expect(readdirSync(workspace.root)).toEqual(["a.txt"]);
  });

  test("a change waits while another process replaces the file, and is then rejected as stale", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "one", "theirs.txt": "theirs" });
    await workspace.call("read", { path: "a.txt" });
    const lock = workspace.path(lockOf("a.txt"));
    renameSync(workspace.path("theirs.txt"), lock);
    const answer = workspace.refusal("edit", { path: "a.txt", old: "one", new: "two" });
    while (!readdirSync(workspace.root).some((name) => name.endsWith(".tmp"))) await new Promise((resolve) => setImmediate(resolve));
    renameSync(lock, workspace.path("a.txt"));
    expect((await answer).message).toContain("changed on disk since it was read");
    expect([readdirSync(workspace.root), workspace.text("a.txt")]).toEqual([["a.txt"], "theirs"]);
  });

  test("the lock of a killed process is removed", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "one", [lockOf("a.txt")]: "half" });
    await workspace.call("read", { path: "a.txt" });
    await workspace.call("edit", { path: "a.txt", old: "one", new: "two" });
    expect([readdirSync(workspace.root), workspace.text("a.txt")]).toEqual([["a.txt"], "two"]);
  });

  test("a suspended process whose lock was removed does not publish the other's file, and checks the file again", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "one", "own.tmp": "own", "theirs.tmp": "theirs" });
    const [target, lock, theirs] = ["a.txt", lockOf("a.txt"), "theirs.tmp"].map((name) => workspace.path(name)) as [string, string, string];
    const seen: string[] = [];
    const check = async () => {
      seen.push(workspace.text("a.txt"));
      if (seen.length > 1) throw new Error("it changed");
      rmSync(lock);
      linkSync(theirs, lock);
      setTimeout(() => renameSync(lock, target), 50);
      await Promise.resolve();
    };
    const placing = renameOver(workspace.path("own.tmp"), target, { check, signal: new AbortController().signal });
    await expect(placing).rejects.toThrow("it changed");
    expect({ seen, text: workspace.text("a.txt") }).toEqual({ seen: ["one", "theirs"], text: "theirs" });
    expect(readdirSync(workspace.root).sort()).toEqual(["a.txt", "own.tmp", "theirs.tmp"]);
  });
});

function lockOf(name: string): string {
  return `.haft-${createHash("sha256").update(name).digest("hex").slice(0, 16)}.lock`;
}
