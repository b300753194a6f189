import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { hasMoreThan, tasksOfMachine, usageOf } from "../../src/processes/process-tree.ts";

test.skipIf(process.platform !== "linux")(
  "the processes of a session are counted, the newest alone, and the tasks of the machine with them",
  async () => {
    const before = tasksOfMachine();
    const child = spawn("/bin/sh", ["-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; echo begun; wait"], { detached: true });
    const root = { pid: child.pid ?? 0, mark: "HAFT_PROGRAM=none" };
    onTestFinished(() => void process.kill(-root.pid, "SIGKILL"));
    await once(child.stdout, "data");
    expect(usageOf(root).processes).toBe(10);
    expect([hasMoreThan(9, root), hasMoreThan(10, root), hasMoreThan(500, root)]).toEqual([true, false, false]);
    expect(hasMoreThan(0, { ...root, pid: 2 ** 30 })).toBe(false);
    expect(before).toBeGreaterThan(0);
  },
);
