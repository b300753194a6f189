import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { expect, onTestFinished, test, vi } from "vitest";
import { hasMoreProcessesThan, countMachineTasks, readTreeUsage, treeCheck } from "../../src/processes/process-tree.ts";

test.skipIf(process.platform !== "linux")(
  "only the newest processes of a session are counted, together with the tasks of the machine",
  async () => {
    const before = countMachineTasks();
    const child = spawn("/bin/sh", ["-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; echo begun; wait"], { detached: true });
    const root = { pid: child.pid ?? 0, mark: "HAFT_PROGRAM=none" };
    onTestFinished(() => void process.kill(-root.pid, "SIGKILL"));
    await once(child.stdout, "data");
    expect(readTreeUsage(root).processes).toBe(10);
    expect([hasMoreProcessesThan(9, root), hasMoreProcessesThan(10, root), hasMoreProcessesThan(500, root)]).toEqual([true, false, false]);
    expect(hasMoreProcessesThan(0, { ...root, pid: 2 ** 30 })).toBe(false);
    expect(before).toBeGreaterThan(0);
  },
);

test.skipIf(process.platform !== "linux")(
  "a tree is alive until its last process has ended, and only one process is read while that still runs",
  async () => {
    const child = spawn("/bin/sh", ["-c", "sleep 60 & echo $!; wait"], { detached: true });
    const root = { pid: child.pid ?? 0, mark: "HAFT_PROGRAM=none" };
    onTestFinished(() => void (child.exitCode === null && child.signalCode === null && child.kill("SIGKILL")));
    const [line] = await once(child.stdout, "data");
    const isAlive = treeCheck(root);
    const reads = vi.spyOn(fs, "readFileSync");
    syncBuiltinESMExports();
    onTestFinished(() => {
      reads.mockRestore();
      syncBuiltinESMExports();
    });
    expect([isAlive(), isAlive(), reads.mock.calls.length]).toEqual([true, true, 2]);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isAlive()).toBe(true); // the sleep, found among all processes
    reads.mockClear();
    expect([isAlive(), reads.mock.calls.length]).toEqual([true, 1]);
    process.kill(Number(String(line)), "SIGKILL");
    await vi.waitUntil(() => !isAlive());
  },
);
