import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { hasMoreProcessesThan, countMachineTasks, readTreeUsage } from "../../src/processes/process-tree.ts";

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
