import { expect, test, vi } from "vitest";
import type { NewApproval } from "../../src/core/store/approval-store.ts";
import { MemoryApprovals } from "../../src/store/memory/memory-approvals.ts";

const asked = (id: string): NewApproval => ({
  id,
  callId: `call of ${id}`,
  sessionId: "s",
  turnId: "t",
  toolName: "default::ask",
  description: "Asks.",
  simulated: false,
  input: {},
  digest: "digest",
  reason: "always",
  askedAt: 1,
  definition: "",
});

test("questions that are looked up by their ids are found in the order they were asked, without a look at any other", async () => {
  const approvals = new MemoryApprovals();
  for (let number = 0; number < 50; number++) await approvals.put(asked(`q${number}`));
  await approvals.put(asked("q7")); // asked again
  const all = vi.spyOn(Map.prototype, "values");
  const list = async (first: "oldest" | "newest", ids: readonly string[], limit = 10): Promise<readonly string[]> =>
    (await approvals.list({ now: 2, first, limit, ids, statuses: ["open"] })).map(({ id }) => id);
  const found = [
    await list("oldest", ["q9", "q7", "none", "q3", "q9"]),
    await list("newest", ["q9", "q7", "q3"], 2),
    await list("newest", []),
  ];
  expect(all.mock.calls.length).toBe(0);
  all.mockRestore();
  expect(found).toEqual([["q3", "q9", "q7"], ["q7", "q9"], []]);
});
