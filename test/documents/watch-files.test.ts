import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { watchFiles } from "../../src/documents/watch-files.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";

interface Watched {
  readonly folder: string;
  readonly clock: FakeClock;
  readonly changes: () => number;
  /** Waits until the system has told of a change, then lets the pause pass. */
  readonly settle: () => Promise<void>;
  readonly end: () => void;
}

function watched(make: (folder: string) => void, files: (folder: string) => readonly string[]): Watched {
  const folder = mkdtempSync(join(tmpdir(), "haft-watch-"));
  make(folder);
  const clock = new FakeClock();
  let changes = 0;
  const end = watchFiles(
    () => files(folder),
    () => changes++,
    { clock },
  );
  onTestFinished(() => {
    end();
    rmSync(folder, { recursive: true });
  });
  const settle = async (): Promise<void> => {
    await vi.waitUntil(() => clock.pending > 0, { timeout: 5_000 });
    await clock.advance(100);
  };
  return { folder, clock, changes: () => changes, settle, end };
}

const oneFile = (): Watched =>
  watched(
    (folder) => writeFileSync(join(folder, "tools.yaml"), "a"),
    (folder) => [join(folder, "tools.yaml")],
  );

test("F0.11 writes to a file in place are reported as one change", async () => {
  const { folder, changes, settle } = oneFile();
  writeFileSync(join(folder, "tools.yaml"), "bb");
  writeFileSync(join(folder, "tools.yaml"), "ccc");
  await settle();

  expect(changes()).toBe(1);
});

test("F0.11 a file that an editor replaces is watched further, repeatedly", async () => {
  const { folder, changes, settle } = oneFile();
  for (const text of ["bb", "ccc"]) {
    writeFileSync(join(folder, "new"), text);
    renameSync(join(folder, "new"), join(folder, "tools.yaml"));
    await settle();
  }

  expect(changes()).toBe(2);
});

test("a file that is created or deleted, or whose link changes its target, is reported as changed", async () => {
  const { folder, changes, settle } = watched(
    (path) => {
      mkdirSync(join(path, "one"));
      mkdirSync(join(path, "two"));
      writeFileSync(join(path, "one/tools.yaml"), "a");
      writeFileSync(join(path, "two/tools.yaml"), "bb");
      symlinkSync("one", join(path, "now"));
      symlinkSync("now/tools.yaml", join(path, "tools.yaml"));
    },
    (path) => [join(path, "tools.yaml"), join(path, "late.yaml")],
  );
  symlinkSync("two", join(folder, "next"));
  renameSync(join(folder, "next"), join(folder, "now"));
  await settle();
  writeFileSync(join(folder, "late.yaml"), "a");
  await settle();
  unlinkSync(join(folder, "late.yaml"));
  await settle();

  expect(changes()).toBe(3);
});

test("changes to another file of the folder, or with an equal modification time, are not reported", async () => {
  const { folder, changes, settle } = watched(
    (path) => {
      writeFileSync(join(path, "tools.yaml"), "a");
      utimesSync(join(path, "tools.yaml"), 1, 1);
    },
    (path) => [join(path, "tools.yaml")],
  );
  writeFileSync(join(folder, "other.yaml"), "b");
  utimesSync(join(folder, "tools.yaml"), 1, 1);
  await settle();

  expect(changes()).toBe(0);
});

test("no change is reported after the end, and a missing folder is not an error", async () => {
  const { folder, clock, changes, end } = oneFile();
  writeFileSync(join(folder, "tools.yaml"), "bb");
  await vi.waitUntil(() => clock.pending > 0, { timeout: 5_000 });
  end();
  await clock.advance(100);

  expect(changes()).toBe(0);
  watchFiles(
    () => ["/none/at/all.yaml"],
    () => undefined,
    { clock },
  )();
});
