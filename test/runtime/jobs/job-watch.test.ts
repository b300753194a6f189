/** When the store is read for jobs that other processes cancel. */
import { expect, test } from "vitest";
import type { EndedJob } from "../../../src/core/jobs/job-status.ts";
import type { StoreChange } from "../../../src/core/store/store-changes.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { localStore } from "../../store/local-store.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { testRuntime, tool } from "../bench-runtime.ts";

const CANCELLED: StoreChange = { parts: ["jobs"], sessionIds: undefined };

/** A job of a runtime whose store announces what the test says; each read of it waits until the test lets it go on. */
async function watched() {
  const path = temporaryFile();
  const { store } = localStore(path);
  const reads: PromiseWithResolvers<void>[] = [];
  let announce = (_change: StoreChange): void => {};
  const { cancelRequests } = store.jobs;
  Object.assign(store, {
    follow(listener: typeof announce) {
      announce = listener;
      return { isLive: true, stop() {} };
    },
  });
  Object.assign(store.jobs, {
    async cancelRequests() {
      const found = await cancelRequests();
      const read = Promise.withResolvers<void>();
      reads.push(read);
      await read.promise;
      return found;
    },
  });
  const tools = [tool("wait", () => new Promise(() => {}), { effects: { reads: [], writes: [] } })];
  const { runtime } = testRuntime({ store, tools });
  const { id } = await runtime.session("s").submit({ name: "wait" });
  await runtime.sessions.findById("s")?.eventLog?.whenDurable();
  const elsewhere = testRuntime({ store: localStore(path).store, tools }).runtime;
  return { runtime, elsewhere, id, reads, announce: (change: StoreChange) => announce(change) };
}

test("a cancellation from another process during a read triggers another read at once, and no other change does", async () => {
  const { runtime, elsewhere, id, reads, announce } = await watched();
  announce(CANCELLED);
  await expect.poll(() => reads.length).toBe(1);
  announce({ ...CANCELLED, parts: ["events"] });
  reads[0]?.resolve();
  await settle();
  expect(reads).toHaveLength(1);
  announce(CANCELLED);
  await expect.poll(() => reads.length).toBe(2);
  expect(await elsewhere.jobs.cancelStored({ id })).toBe("asked");
  for (let hints = 0; hints < 3; hints++) announce(CANCELLED);
  reads[1]?.resolve(); // of what was there before the wish
  await expect.poll(() => reads.length).toBe(3);
  reads[2]?.resolve();
  expect(((await runtime.jobs.wait(id)) as EndedJob).state).toBe("cancelled");
  expect(reads).toHaveLength(3);
  for (const one of [elsewhere, runtime]) await one.close();
});

test("a cancellation announced during a read triggers no further read once the last job has ended", async () => {
  const { runtime, elsewhere, id, reads, announce } = await watched();
  announce(CANCELLED);
  await expect.poll(() => reads.length).toBe(1);
  announce(CANCELLED);
  runtime.jobs.cancel(id);
  await runtime.jobs.wait(id);
  reads[0]?.resolve();
  await settle();
  for (const one of [elsewhere, runtime]) await one.close();
  expect(reads).toHaveLength(1);
});
