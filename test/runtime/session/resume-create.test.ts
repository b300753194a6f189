/** Going on with a session, or beginning it when the store has none. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";
import { useSqliteThreads } from "../../bundled-threads.ts";
import { testInCI } from "../../test-in-ci.ts";

useSqliteThreads();

const tools = [
  tool("count", (_, { state }) => (state.update("n", (n) => Number(n ?? 0) + 1), state.get("n")), { effects: { writes: ["session:n"] } }),
];

test("F3.15 `create` creates a session that the store does not have, and resumes one that it has", async () => {
  const disk = new FailingStore();
  const first = testRuntime({ store: disk, tools }).runtime;
  await expect(first.resume("s")).rejects.toMatchObject({ code: "not_found" });
  const begun = await first.resume("s", { create: true });
  expect([begun.id, (await begun.execute({ name: "count" })).output]).toEqual(["s", 1]);

  const second = testRuntime({ store: disk.crash(), tools }).runtime;
  const again = await second.resume("s", { create: true });
  expect(again.history).toEqual(begun.history);
  expect((await again.execute({ name: "count" })).output).toBe(2);

  const third = testRuntime({ store: new FailingStore(disk.disk), tools }).runtime;
  await expect(third.resume("s", { create: true })).rejects.toMatchObject({ code: "resource_busy" });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "haft-create-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test("F3.15 of several concurrent creations one succeeds, and the others get the holder in their error", async () => {
  const path = join(folder(), "store.db");
  const runtimes = [0, 1, 2].map(() => testRuntime({ store: sqliteStore({ path }), tools }).runtime);
  for (let round = 0; round < 5; round++) {
    const begun = await Promise.allSettled(runtimes.map((runtime) => runtime.resume(`s${round}`, { create: true })));
    const refused = begun.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    expect(refused).toEqual(
      [0, 1].map(() => expect.objectContaining({ code: "resource_busy", message: expect.stringMatching(/is open in process \d+/u) })),
    );
    for (const one of begun) if (one.status === "fulfilled") expect((await one.value.execute({ name: "count" })).output).toBe(1);
  }
  for (const runtime of runtimes) await runtime.close();
});

test("F3.15 the later one resumes what the first created, if the first has closed it or is taken over", async () => {
  class Late extends FailingStore {
    /** What another process does between the look and the beginning. */
    before: () => Promise<void> = async () => {};
    override async claim(...args: Parameters<FailingStore["claim"]>): ReturnType<FailingStore["claim"]> {
      return super.claim(...args).catch(async (thrown: unknown) => {
        await this.before();
        throw thrown;
      });
    }
  }
  for (const options of [{ create: true }, { create: true, takeOver: true }]) {
    const disk = new FailingStore();
    const first = testRuntime({ store: disk, tools }).runtime;
    const late = new Late(disk.disk);
    late.before = async () => {
      late.before = async () => {};
      const session = await first.resume("s", { create: true });
      await session.execute({ name: "count" });
      if (!("takeOver" in options)) await session.close();
    };
    const session = await testRuntime({ store: late, tools }).runtime.resume("s", options);
    expect((await session.execute({ name: "count" })).output).toBe(2);
  }
});

testInCI("F3.15 a session created while its store could not be opened works once it can be", async () => {
  const place = join(folder(), "not-there-yet");
  const { runtime } = testRuntime({ store: sqliteStore({ path: join(place, "store.db") }), tools });
  const session = runtime.session("s");
  const call = { name: "count" };
  for (let tries = 0; tries < 2; tries++) await expect(session.execute(call)).rejects.toMatchObject({ code: "store_failed" });
  mkdirSync(place);
  expect([(await session.execute(call)).output, (await session.execute(call)).output]).toEqual([1, 2]);
  await runtime.close();
  const again = testRuntime({ store: sqliteStore({ path: join(place, "store.db") }), tools }).runtime;
  expect((await again.resume("s")).history).toHaveLength(2);
  await again.close();
});
