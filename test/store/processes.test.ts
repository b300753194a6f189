import { spawn } from "node:child_process";
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { messageEvents } from "../../src/testing/store-case.ts";
import { runCrashDrill, type KillReport } from "./crash-drill.ts";
import { localStore } from "./local-store.ts";
import { readAllOutput, readOutput, startTogether, startProcess } from "./run-process.ts";
import { temporaryFile } from "./temporary-file.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

const SLOW = { timeout: 240_000 };

/** `node scripts/crash-drill.mjs 1000` kills more often. */
const KILLS = inCI ? 20 : 1;
/** Sessions that two processes race for. */
const RACED = inCI ? 12 : 4;

test("I03 L03 killing a process at any moment leaves every acknowledged event once and in order", { timeout: 300_000 }, async () => {
  const reports: KillReport[] = [];
  await runCrashDrill({ path: temporaryFile(), kills: KILLS, seed: 7, mostLines: 60, onKill: (report) => reports.push(report) });
  expect(reports).toHaveLength(KILLS);
  expect(reports.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBeGreaterThan(KILLS * 50);
});

describe("two simultaneous processes:", SLOW, () => {
  testInCI("I12 a take-over fails with the name of the process that holds the lock, if that was suspended during a write", async () => {
    const path = temporaryFile();
    const holder = startProcess("hold", path, ["a"]);
    expect(await readOutput(holder)).toBe("holding");
    holder.child.kill("SIGSTOP");
    const store = sqliteStore({ path, busyTimeoutMs: 10 });
    await expect(store.claim("a", { takeOver: true })).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringMatching(new RegExp(`The lock is held by process ${holder.child.pid} on host .+, last seen \\d+ s ago`, "u")),
      operatorHint: expect.stringContaining("until it continues or ends"),
    });
    holder.child.kill("SIGKILL");
    await holder.ended;
    expect((await store.claim("a", { takeOver: true })).length).toBe(0);
    await store.close();
  });

  testInCI("I13 both open a new file, one creates the tables, and both write", async () => {
    const path = temporaryFile();
    const names = [
      ["a1", "a2"],
      ["b1", "b2"],
      ["c1", "c2"],
    ];
    const writers = names.map((ids) => startProcess("write", path, ids));
    await startTogether(writers);
    expect(await Promise.all(writers.map(readAllOutput))).toEqual(names);
    expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    const { store, file } = localStore(path);
    await store.open();
    for (const id of names.flat()) expect((await store.read(id)).events).toEqual(messageEvents(id, 1, 100));
    const steps = file.prepare("select count(*) as all_of_them, count(distinct version) as versions from haft_migration").get();
    expect(steps?.["all_of_them"]).toBe(steps?.["versions"]);
    await store.close();
  });

  testInCI("F0.28 both create the same sessions: of each, one wins, and the other gets an error", async () => {
    const path = temporaryFile();
    await localStore(path).store.open();
    const ids = Array.from({ length: RACED }, (_, index) => `session ${index}`);
    const outcomes = await race("create", path, ids);
    expect(outcomes).toEqual(ids.map(() => ["duplicate", "won"]));
    const { store } = localStore(path);
    await store.open();
    for (const id of ids) expect((await store.read(id)).events).toHaveLength(1);
    await store.close();
  });

  testInCI("both claim the same sessions: one wins each, and holds it until it exits", async () => {
    const path = temporaryFile();
    const ids = Array.from({ length: RACED }, (_, index) => `session ${index}`);
    const { store } = localStore(path);
    await store.open();
    for (const id of ids) await store.create(id, { at: 1, durability: "sync" }).close();
    expect(await race("claim", path, ids)).toEqual(ids.map(() => ["resource_busy", "won"]));
    for (const id of ids) expect((await store.claim(id)).length).toBe(0); // both were killed
    await store.close();
  });

  async function race(action: string, path: string, ids: readonly string[]): Promise<readonly (readonly string[])[]> {
    const racers = [startProcess(action, path, ids), startProcess(action, path, ids)];
    await startTogether(racers);
    const outcomes: (readonly unknown[])[] = [];
    for (let id = 0; id < ids.length; id++) outcomes.push(await Promise.all(racers.map(readOutput)));
    for (const { child } of racers) child.kill("SIGKILL");
    for (const { ended } of racers) await ended;
    return outcomes.map((pair) => pair.map(String).toSorted());
  }
});

testInCI("a process that does not wait exits by itself once its appended events are written", SLOW, async () => {
  const path = temporaryFile();
  const writer = startProcess("leave", path, ["a", "b"]);
  expect(await writer.ended).toBe(0);
  const { store } = localStore(path);
  await store.open();
  for (const id of ["a", "b"]) expect((await store.read(id)).events).toEqual(messageEvents(id, 1, 1));
  await store.close();
});

describe("I04 I08 another process cannot claim a session", () => {
  const cases = [
    { title: "while the owner's process lives and is heard of", change: "", isFree: false },
    { title: "while an owner on another machine is heard of", change: "host = 'elsewhere', pid = 1", isFree: false },
    { title: "until its process is gone", change: "pid = 2147483646", isFree: true },
    { title: "until it was silent for 15 seconds, though its process number is in use", change: "seen_at = seen_at - 16000", isFree: true },
    {
      title: "until an owner on another machine was silent for 15 seconds",
      change: "host = 'elsewhere', seen_at = seen_at - 16000",
      isFree: true,
    },
    { title: "even when the clock was put back", change: "seen_at = seen_at + 3600000", isFree: false },
  ];
  test.each(cases)("$title", async ({ change, isFree }) => {
    const path = temporaryFile();
    const [first, second] = [localStore(path), localStore(path)];
    await first.store.open();
    await second.store.open();
    await first.store.create("a", { at: 1, durability: "sync" }).whenDurable();
    if (change !== "") execute(path, `update haft_owner set ${change}`);
    const claimed = second.store.claim("a");
    if (isFree) expect((await claimed).length).toBe(0);
    else
      await expect(claimed).rejects.toMatchObject({
        code: "resource_busy",
        message: expect.stringMatching(/"a" is open in process \d+ on host ./u),
      });
    await second.store.close();
    await first.store.close();
  });

  test.runIf(process.platform === "linux")("until its process was killed, though its parent never waits for it", async () => {
    const path = temporaryFile();
    const [first, second] = [localStore(path), localStore(path)];
    await first.store.open();
    await second.store.open();
    await first.store.create("a", { at: 1, durability: "sync" }).whenDurable();
    const parent = spawn("sh", ["-c", "sleep 0.2 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const zombie = Number(String((await once(parent.stdout, "data"))[0]));
    execute(path, `update haft_owner set pid = ${zombie}`);
    await vi.waitFor(async () => expect((await second.store.claim("a")).length).toBe(0), { timeout: 20_000 });
    expect(process.kill(zombie, 0)).toBe(true);
    await second.store.close();
    await first.store.close();
  });

  test("of this process in another store; the error names this case", async () => {
    const path = temporaryFile();
    const [first, second] = [localStore(path), localStore(path)];
    await first.store.open();
    await first.store.create("a", { at: 1, durability: "sync" }).whenDurable();
    await second.store.open();
    await expect(second.store.claim("a")).rejects.toMatchObject({
      code: "resource_busy",
      operatorHint: expect.stringMatching(/this process, or a container.*globalThis.*takeOver/u),
    });
    await second.store.close();
    await first.store.close();
  });

  test("whose owner keeps sending heartbeats, even after it was taken for dead", async () => {
    const path = temporaryFile();
    const [first, second] = [localStore(path), localStore(path)];
    await first.store.open();
    await second.store.open();
    await first.store.create("a", { at: 1, durability: "sync" }).whenDurable();
    execute(path, "delete from haft_owner");
    await first.log.sendHeartbeat();
    await expect(second.store.claim("a")).rejects.toMatchObject({ code: "resource_busy" });
    execute(path, "update haft_owner set seen_at = 0");
    await first.log.sendHeartbeat();
    await expect(second.store.claim("a")).rejects.toMatchObject({ code: "resource_busy" });
    await second.store.close();
    await first.store.close();
  });
});

function execute(path: string, statement: string): void {
  const file = new DatabaseSync(path);
  file.exec(statement);
  file.close();
}
