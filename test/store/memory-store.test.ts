import { expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import { accessStoreContract } from "../../src/testing/access-store-contract.ts";
import { approvalStoreContract } from "../../src/testing/approval-store-contract.ts";
import { jobStoreContract } from "../../src/testing/job-store-contract.ts";
import { messageEvent } from "../../src/testing/store-case.ts";
import { storeContract } from "../../src/testing/store-contract.ts";

const contract = [...storeContract, ...jobStoreContract, ...accessStoreContract, ...approvalStoreContract].filter(
  (one) => !one.needsSecond,
);

test.each(contract)("the memory store fulfils the contract: $title", async ({ run }) => {
  await run({ store: memoryStore(), createSecond: () => expect.fail("the data of a memory store is its own") });
});

test("F0.28 the memory store has nothing to wait for: whenDurable() returns undefined", async () => {
  const store = memoryStore();
  const log = store.create("a", { at: 1, durability: "sync" });
  log.append([messageEvent("a", 1)]);
  expect([store.kind, store.outlivesProcess, log.whenDurable()]).toEqual(["memory", false, undefined]);
});

test("a thousand nested branches share one log", async () => {
  const store = memoryStore();
  store.create("0", { at: 0, durability: "sync" }).append([messageEvent("0", 0)]);
  for (let depth = 1; depth <= 1_000; depth++) {
    const parent = { sessionId: String(depth - 1), length: depth };
    store.create(String(depth), { at: depth, durability: "sync", parent }).append([messageEvent(String(depth), depth)]);
  }
  const { events } = await store.read("1000", { limit: 2_000 });
  expect(events).toEqual(Array.from({ length: 1_001 }, (_, depth) => messageEvent(String(depth), depth)));
});
