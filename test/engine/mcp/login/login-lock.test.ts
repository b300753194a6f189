/** The lock of processes that renew the same token, where their clocks differ from the one by which files have their times. */
import { watch } from "node:fs";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Clock } from "../../../../src/core/ports.ts";
import { systemPorts } from "../../../../src/core/system/system-ports.ts";
import { withLockFile } from "../../../../src/engine/mcp/login/login-lock.ts";

const { signal } = new AbortController();

function clockAhead(ms: number): Clock {
  return { ...systemPorts.clock, wallTime: () => systemPorts.clock.wallTime() + ms };
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "haft-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

describe.each([3_600_000, -3_600_000])("a process whose clock is %i ms ahead", (aheadMs) => {
  test("does not take a lock that another process holds", async () => {
    const path = join(await folder(), "a.lock");
    const order: string[] = [];
    const [began, ends] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = withLockFile(path, { clock: systemPorts.clock, signal }, async () => {
      began.resolve();
      await ends.promise;
      order.push("first ended");
    });
    await began.promise;
    const looked = Promise.withResolvers<void>();
    let looks = 0;
    const clock: Clock = {
      ...clockAhead(aheadMs),
      timer(fire, delayMs) {
        if (++looks === 3) looked.resolve();
        return systemPorts.clock.timer(fire, delayMs);
      },
    };
    const second = withLockFile(path, { clock, signal }, async () => void order.push("second began"));
    await looked.promise;
    ends.resolve();
    await Promise.all([first, second]);
    expect(order).toEqual(["first ended", "second began"]);
    expect(await readdir(join(path, ".."))).toEqual([]);
  });

  test("removes a lock that was abandoned a minute ago", async () => {
    const path = join(await folder(), "a.lock");
    await writeFile(path, "of a process that is gone");
    const leftAt = systemPorts.clock.wallTime() / 1_000 - 61;
    await utimes(path, leftAt, leftAt);
    expect(await withLockFile(path, { clock: clockAhead(aheadMs), signal }, () => Promise.resolve("done"))).toBe("done");
    expect(await readdir(join(path, ".."))).toEqual([]);
  });
});

test("a process that waits for a lock asks the file system for its time once, and leaves no file behind", async () => {
  const path = join(await folder(), "a.lock");
  await writeFile(`${path}.time`, ""); // of a process that was killed
  const made: string[] = [];
  const watcher = watch(dirname(path), (_event, name) => void made.push(String(name)));
  onTestFinished(() => watcher.close());
  const [began, ends] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = withLockFile(path, { clock: systemPorts.clock, signal }, async () => {
    began.resolve();
    await ends.promise;
  });
  await began.promise;
  let looks = 0;
  const clock: Clock = {
    ...systemPorts.clock,
    timer(fire) {
      if (++looks === 20) ends.resolve();
      return systemPorts.clock.timer(fire, 1);
    },
  };
  await Promise.all([first, withLockFile(path, { clock, signal }, () => Promise.resolve())]);
  await vi.waitFor(() => expect(made).toContain("a.lock.time"));
  const besides = made.filter((name) => name !== "a.lock");
  expect(new Set(besides)).toEqual(new Set(["a.lock.time"]));
  expect(besides.length).toBeLessThan(8);
  expect(await readdir(dirname(path))).toEqual([]);
});

test("a lock is not removed if the file system's clock was set back since the lock was first read", async () => {
  const path = join(await folder(), "a.lock");
  await writeFile(path, "of a process that runs");
  const gaveUp = new AbortController();
  let looks = 0;
  const clock: Clock = {
    ...systemPorts.clock,
    now: () => systemPorts.clock.now() + (looks > 0 ? 3_600_000 : 0), // the files' clock stays behind
    timer(fire) {
      if (++looks === 3) gaveUp.abort(new Error("in use"));
      return systemPorts.clock.timer(fire, 1);
    },
  };
  await expect(withLockFile(path, { clock, signal: gaveUp.signal }, () => Promise.resolve())).rejects.toThrow("in use");
  expect(await readdir(dirname(path))).toEqual(["a.lock"]);
});
