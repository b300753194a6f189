/** Lists of stored jobs by state, while calls wait for approval. */
import { expect, test } from "vitest";
import type { ListStoredJobsOptions, StoredJob } from "../../../src/core/store/job-store.ts";
import { listStoredJobs } from "../../../src/runtime/list-stored-jobs.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { testRuntime, tool } from "../bench-runtime.ts";

/** A store with a question that is open. */
async function askedStore() {
  const store = memoryStore();
  const erase = tool("erase", () => "erased", { effects: { writes: ["disk"], destructive: true } });
  const { runtime } = testRuntime({ store, tools: [erase], approval: { approve: "inbox" } });
  void runtime.session("s").execute([{ name: "erase", input: {} }]);
  await expect.poll(async () => (await store.approvals.list({ now: 0, statuses: ["open"], first: "newest", limit: 2 })).length).toBe(1);
  return { store, runtime };
}

test.each([{ limit: 0 }, { limit: -1 }, { offset: -1 }, { offset: 0.5 }])(
  "listing waiting jobs with %o is rejected, even while a question is open",
  async (options) => {
    const { store, runtime } = await askedStore();
    await expect(listStoredJobs(store, { states: ["waiting"], ...options }, 0)).rejects.toMatchObject({ code: "invalid_argument" });
    await runtime.close();
  },
);

test("a job is listed once, even if another starts while running jobs are being listed", async () => {
  const { store, runtime } = await askedStore();
  const row = (id: string): StoredJob => ({
    id,
    sessionId: "t",
    toolName: "default::wait",
    mode: "background",
    notify: false,
    state: "running",
    startedAt: 0,
    starts: 1,
  });
  const rows = Array.from({ length: 501 }, (_, index) => row(`j${index}`));
  const expected = rows.map(({ id }) => id);
  store.jobs.list = async ({ limit = 100, offset = 0 }: ListStoredJobsOptions = {}) => {
    if (offset === 500) rows.unshift(row("late"));
    return rows.slice(offset, offset + limit);
  };
  const listed = await listStoredJobs(store, { states: ["running"], limit: 1_000 }, 0);
  expect(listed.map(({ id }) => id)).toEqual(expected);
  await runtime.close();
});
