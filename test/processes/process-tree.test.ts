import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { hasMoreProcessesThan, countMachineTasks, killTree, readTreeUsage, treeCheck, treeRoot } from "../../src/processes/process-tree.ts";

test.skipIf(process.platform !== "linux")(
  "only the newest processes of a session are counted, together with the tasks of the machine",
  async () => {
    const before = countMachineTasks();
    const child = spawn("/bin/sh", ["-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; echo begun; wait"], { detached: true });
    const root = { pid: child.pid ?? 0, mark: "HAFT_PROGRAM=none", startedAt: 0 };
    onTestFinished(() => void process.kill(-root.pid, "SIGKILL"));
    await once(child.stdout, "data");
    expect((await readTreeUsage(root)).processes).toBe(10);
    expect([hasMoreProcessesThan(9, root), hasMoreProcessesThan(10, root), hasMoreProcessesThan(500, root)]).toEqual([true, false, false]);
    expect(hasMoreProcessesThan(0, { ...root, pid: 2 ** 30 })).toBe(false);
    expect(before).toBeGreaterThan(0);
  },
);

test.skipIf(process.platform !== "linux")(
  "a tree is alive until its last process has ended, and only one process is read while that still runs",
  async () => {
    const child = spawn("/bin/sh", ["-c", "sleep 60 & echo $!; wait"], { detached: true });
    const root = { pid: child.pid ?? 0, mark: "HAFT_PROGRAM=none", startedAt: 0 };
    onTestFinished(() => void (child.exitCode === null && child.signalCode === null && child.kill("SIGKILL")));
    const [line] = await once(child.stdout, "data");
    const isAlive = treeCheck(root);
    const reads = vi.spyOn(fs, "readFileSync");
    syncBuiltinESMExports();
    onTestFinished(() => {
      reads.mockRestore();
      syncBuiltinESMExports();
    });
    expect([await isAlive(), await isAlive(), reads.mock.calls.length]).toEqual([true, true, 2]);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await isAlive()).toBe(true); // the sleep, found among all processes
    reads.mockClear();
    expect([await isAlive(), reads.mock.calls.length]).toEqual([true, 1]);
    process.kill(Number(String(line)), "SIGKILL");
    await vi.waitUntil(async () => !(await isAlive()));
  },
);

/** The files of processes that are read, in the order in which they are read. Lists `added` as processes of the machine, besides those that it has. */
function watchReads(added: readonly string[] = []): string[] {
  const files: string[] = [];
  const { readFileSync, readdirSync } = fs;
  const mocks = [
    vi.spyOn(fs, "readFileSync").mockImplementation((path, options) => {
      files.push(String(path));
      return readFileSync(path, options);
    }),
    vi.spyOn(fs, "readdirSync").mockImplementation(((path: string) => [...readdirSync(path), ...added]) as unknown as typeof readdirSync),
  ];
  syncBuiltinESMExports();
  onTestFinished(() => {
    for (const mock of mocks) mock.mockRestore();
    syncBuiltinESMExports();
  });
  return files;
}

test.skipIf(process.platform !== "linux")(
  "a tree is found and ended while other work goes on, on a machine with 5,000 processes",
  async () => {
    const child = spawn("/bin/sh", ["-c", "setsid sleep 60 & echo $!; exit"], {
      detached: true,
      env: { ...process.env, HAFT_PROGRAM: "own" },
    });
    const root = treeRoot(child.pid ?? 0, "HAFT_PROGRAM=own");
    const exited = once(child, "exit");
    await once(child.stdout, "data");
    await exited;
    expect(await treeCheck(root)()).toBe(true);
    const files = watchReads(Array.from({ length: 5_000 }, (_none, index) => String(2 ** 30 + index)));
    let [seen, most] = [0, 0];
    let isEnded = false;
    const look = (): void => {
      most = Math.max(most, files.length - seen);
      seen = files.length;
      if (!isEnded) setImmediate(look);
    };
    look();
    await killTree(root, systemPorts.clock);
    isEnded = true;
    expect(files.length).toBeGreaterThan(5_000);
    expect(most).toBeLessThanOrEqual(1_000);
    expect(await treeCheck(root)()).toBe(false);
  },
);

test.skipIf(process.platform !== "linux")("the environment of a process that is older than the program is not read", async () => {
  const child = spawn("/bin/sh", ["-c", "echo begun; sleep 60"], { detached: true });
  const root = treeRoot(child.pid ?? 0, "HAFT_PROGRAM=none");
  await once(child.stdout, "data");
  const files = watchReads();
  await killTree(root, systemPorts.clock);
  expect(root.startedAt).toBeGreaterThan(0);
  expect(files).toContain("/proc/1/stat");
  expect(files).not.toContain("/proc/1/environ");
});

test.skipIf(process.platform !== "linux")(
  "a later process that has the number of an ended program is neither counted nor killed",
  async () => {
    const child = spawn("/bin/sh", ["-c", "sleep 60 & echo begun; wait"], { detached: true });
    onTestFinished(() => void process.kill(-(child.pid ?? 0), "SIGKILL"));
    await once(child.stdout, "data");
    const ended = { ...treeRoot(child.pid ?? 0, "HAFT_PROGRAM=none"), startedAt: 1 };
    expect([(await readTreeUsage(ended)).processes, await treeCheck(ended)()]).toEqual([0, false]);
    await killTree(ended, systemPorts.clock);
    expect((await readTreeUsage(treeRoot(child.pid ?? 0, "HAFT_PROGRAM=none"))).processes).toBe(2);
  },
);
