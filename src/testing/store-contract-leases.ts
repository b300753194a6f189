/** The part of the store contract about leases. Which calls exclude each other is tested by the contract of locks, which leases satisfy too. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { LeaseAnswer, LeaseRequest } from "../core/store/lease-store.ts";
import type { Store } from "../core/store/store.ts";
import { singleStoreCase, twoStoreCase, type StoreCase } from "./store-case.ts";

function requestOf(ticket: string, wish: Partial<LeaseRequest>): LeaseRequest {
  return { ticket, callId: ticket, reads: [], writes: [], commutative: false, overtakes: false, within: ticket, ...wish };
}

async function take({ leases }: Store, ...wanted: readonly LeaseRequest[]): Promise<readonly LeaseAnswer[]> {
  return leases.update({ released: [], requested: wanted });
}

async function fenceOf(store: Store, request: LeaseRequest): Promise<number> {
  const [answer] = await take(store, request);
  ok(answer?.granted, `${request.ticket} is granted`);
  return answer.fence;
}

function waits(...waitsFor: readonly string[]): LeaseAnswer {
  return { granted: false, waitsFor, isDeadlock: false };
}

const a = { writes: ["a:/x"] };

export const leaseCases: readonly StoreCase[] = [
  singleStoreCase("leases of one key go from one to the next, with a fence that grows", async (store) => {
    const [one, two] = [requestOf("one", a), requestOf("two", a)];
    const first = await fenceOf(store, one);
    deepEqual(await take(store, two), [waits("one")]);
    const [second] = await store.leases.update({ released: ["one"], requested: [two] });
    ok(second?.granted === true && second.fence > first);
    await store.leases.update({ released: ["two"], requested: [] });
    ok((await fenceOf(store, requestOf("around", { reads: ["a:"] }))) > second.fence);
  }),
  singleStoreCase("the fence of several keys is greater than that of each", async (store) => {
    for (let round = 0; round < 5; round++) {
      await fenceOf(store, requestOf(`${round}`, a));
      await store.leases.update({ released: [`${round}`], requested: [] });
    }
    const both = await fenceOf(store, requestOf("both", { writes: ["a:/x", "b:"] }));
    await store.leases.update({ released: ["both"], requested: [] });
    ok(both > 5);
    ok((await fenceOf(store, requestOf("b", { writes: ["b:"] }))) > both);
  }),
  singleStoreCase("an update that is repeated changes nothing, and unknown tickets are given back without an error", async (store) => {
    const one = requestOf("one", a);
    deepEqual(await take(store, one), await take(store, one));
    await store.leases.update({ released: ["unknown", "", "__proto__"], requested: [] });
    deepEqual(await take(store, requestOf("two", a), one), [waits("one"), ...(await take(store, one))]);
  }),
  singleStoreCase("any text is a key, and holders and waiters are listed", async (store) => {
    const odd = ["", "/", "a\u0000", "\ud800", "'; drop table haft_lease; --", "__proto__", "x".repeat(1_024)];
    const fence = await fenceOf(store, requestOf("odd", { writes: odd }));
    await take(store, requestOf("next", { reads: odd.slice(2, 3) }));
    deepEqual(
      (await store.leases.list()).map(({ callId, reads, writes, fence: held }) => [callId, reads, writes, held]),
      [
        ["odd", [], odd, fence],
        ["next", ["a\u0000"], [], undefined],
      ],
    );
  }),
  singleStoreCase("a limit grants its number at a time, and a limit with another number is counted separately", async (store) => {
    const limited = (ticket: string, most: number): LeaseRequest => requestOf(ticket, { limit: { name: "toolset:a", most } });
    const answers = await take(store, limited("one", 2), limited("two", 2), limited("three", 2), limited("alone", 1));
    deepEqual(
      answers.map(({ granted }) => granted),
      [true, true, false, true],
    );
    const [third] = await store.leases.update({ released: ["one"], requested: [limited("three", 2)] });
    equal(third?.granted, true);
  }),
  singleStoreCase("a call may have any number of keys, and its leases are one", async (store) => {
    const reads = Array.from({ length: 1_100 }, (_, key) => `k${key}:`);
    const fence = await fenceOf(store, requestOf("many", { reads }));
    deepEqual(await take(store, requestOf("next", { writes: ["k7:", "k1099:"] })), [waits("many")]);
    equal(await fenceOf(store, requestOf("many", { reads })), fence);
  }),
  singleStoreCase("one update takes leases for many calls with many keys each", async (store) => {
    const [calls, keys] = [400, 30];
    const wanted = Array.from({ length: calls }, (_, call) =>
      requestOf(`call ${call}`, { reads: Array.from({ length: keys }, (_, key) => `k${(call * 7 + key * 13) % 5_000}:`) }),
    );
    ok((await take(store, ...wanted)).every(({ granted }) => granted));
    await store.leases.update({ released: wanted.map(({ ticket }) => ticket), requested: [] });
    deepEqual(await store.leases.list(), []);
  }),
  twoStoreCase("several stores take leases in one queue, and those of a store that closes are freed", async (one, other) => {
    await fenceOf(one, requestOf("reader", { reads: ["a:"] }));
    deepEqual(await take(other, requestOf("writer", a)), [waits("reader")]);
    deepEqual(await take(one, requestOf("late", { reads: ["a:/x/y"] })), [waits("writer")]);
    deepEqual(
      (await other.leases.list()).map(({ callId }) => callId),
      ["reader", "writer", "late"],
    );
    await one.close();
    await fenceOf(other, requestOf("writer", a));
  }),
];
