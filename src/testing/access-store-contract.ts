/** The contract for keys, refused requests, audited calls and keyed requests of every store, as cases for any test runner. */
import { deepEqual, equal } from "node:assert/strict";
import {
  MAX_REFUSALS,
  type AuditedCall,
  type AuditedCallPage,
  type AuditedCallQuery,
  type KeyQuery,
  type KeyedRequest,
  type NewKeyedRequest,
  type RefusedRequest,
  type RequestHold,
  type StoredKey,
} from "../core/store/access-store.ts";
import type { Store } from "../core/store/store.ts";
import { singleStoreCase, twoStoreCase, assertRejects, type StoreCase } from "./store-case.ts";

const DAY_MS = 86_400_000;
const ODD_IDS: readonly string[] = ["a\u0000b", "\ud800", "'; drop table haft_key; --", "__proto__", "constructor"];

const alone: readonly StoreCase[] = [
  singleStoreCase("a key is found by its id, with every field as it was added", async ({ access }) => {
    const full: StoredKey = { ...keyOf("a", 1), allow: ["files::*"], deny: ["*::delete"], createdBy: "local", expiresAt: 50 };
    const maker = { name: "ann", claims: { groups: ["ops"] }, allow: ["files::*"], deny: ["files::delete"] };
    const made: StoredKey = { ...keyOf("m", 3), sessionId: "trip", createdBy: "key:a", maker };
    await access.addKey(full);
    await access.addKey(made);
    deepEqual(await access.key("m"), made);
    await access.addKey(keyOf("b", 2));
    deepEqual([await access.key("a"), await access.key("b"), await access.key("c")], [full, keyOf("b", 2), undefined]);
  }),
  singleStoreCase("an id that is in use is refused, and the first key stays", async ({ access }) => {
    await access.addKey(keyOf("a", 1));
    await assertRejects(() => access.addKey({ ...keyOf("a", 2), hash: "other" }), "duplicate");
    deepEqual(await access.key("a"), keyOf("a", 1));
  }),
  singleStoreCase("a write that is repeated because its answer was lost counts as written", async ({ access }) => {
    for (let times = 0; times < 2; times++) {
      await access.addKey(keyOf("a", 1));
      equal(await access.beginRequest({ key: "k", fingerprint: "f", at: 1, holder: "a" }), undefined);
    }
    equal((await access.keys()).length, 1);
  }),
  singleStoreCase("a key that is written again after it was revoked stays revoked", async ({ access }) => {
    await access.addKey(keyOf("a", 1));
    await access.revokeKey({ id: "a", at: 5 });
    await access.addKey(keyOf("a", 1));
    deepEqual(await access.key("a"), { ...keyOf("a", 1), revokedAt: 5 });
  }),
  singleStoreCase("a key without an id, a name, a salt or a hash is refused", async ({ access }) => {
    for (const field of ["id", "name", "salt", "hash"])
      await assertRejects(() => access.addKey({ ...keyOf("a", 1), [field]: "" }), "invalid_argument");
    deepEqual(await access.keys(), []);
  }),
  singleStoreCase("a key is revoked once, for good, and stays in the list", async ({ access }) => {
    await access.addKey(keyOf("a", 1));
    deepEqual([await access.revokeKey({ id: "a", at: 5 }), await access.revokeKey({ id: "a", at: 9 })], [true, false]);
    equal(await access.revokeKey({ id: "none", at: 5 }), false);
    deepEqual(await access.key("a"), { ...keyOf("a", 1), revokedAt: 5 });
    deepEqual(await access.keys(), [{ ...keyOf("a", 1), revokedAt: 5 }]);
  }),
  singleStoreCase("keys are listed newest first, those of sessions only on request", async ({ access }) => {
    for (const [index, id] of ["a", "b", "c"].entries()) await access.addKey(keyOf(id, index));
    await access.addKey({ ...keyOf("s", 10), sessionId: "trip" });
    const ids = (keys: readonly StoredKey[]): readonly string[] => keys.map(({ id }) => id);
    deepEqual(ids(await access.keys()), ["c", "b", "a"]);
    deepEqual(ids(await access.keys({ sessionKeys: true, limit: 2 })), ["s", "c"]);
    deepEqual([ids(await access.keys({ sessionId: "trip" })), ids(await access.keys({ sessionId: "other" }))], [["s"], []]);
    await assertRejects(() => access.keys({ limit: 0 }), "invalid_argument");
    await assertRejects(() => access.keys({ limits: 1 } as KeyQuery), "invalid_argument");
  }),
  singleStoreCase("session keys are forgotten a day after they expired, other keys stay", async ({ access }) => {
    await access.addKey({ ...keyOf("session", 1), sessionId: "trip", expiresAt: 10 });
    await access.addKey({ ...keyOf("key", 1), expiresAt: 10 });
    await access.addKey(keyOf("soon", 10 + DAY_MS));
    equal((await access.keys({ sessionKeys: true })).length, 3);
    await access.addKey(keyOf("later", 11 + DAY_MS));
    deepEqual([await access.key("session"), (await access.key("key"))?.id], [undefined, "key"]);
  }),
  singleStoreCase("ids and names are any text", async ({ access }) => {
    for (const [index, id] of ODD_IDS.entries()) await access.addKey({ ...keyOf(id, index), name: id });
    for (const id of ODD_IDS) equal((await access.key(id))?.name, id);
  }),
  singleStoreCase("refusals are listed newest first, by time and principal", async ({ access }) => {
    const refusals = [1, 2, 3].map((at): RefusedRequest => ({ ...refusalAt(at), principal: at === 2 ? "key:b" : "key:a" }));
    await access.addRefusals(refusals);
    await access.addRefusals([]);
    const last = { ...refusalAt(4), from: "10.0.0.1", toolNames: ["notes::add", "a\u0000"], missed: 7 };
    await access.addRefusals([last]);
    const times = async (query?: Parameters<typeof access.refusals>[0]): Promise<readonly number[]> =>
      (await access.refusals(query)).map(({ at }) => at);
    deepEqual(await times(), [4, 3, 2, 1]);
    deepEqual([await times({ since: 3 }), await times({ principal: "key:a" }), await times({ limit: 1 })], [[4, 3], [3, 1], [4]]);
    deepEqual((await access.refusals({ limit: 1 }))[0], last);
  }),
  singleStoreCase("the oldest refusals are dropped when there are too many", async ({ access }) => {
    const refusals = Array.from({ length: MAX_REFUSALS + 3 }, (_, index) => refusalAt(index + 1));
    await access.addRefusals(refusals.slice(0, MAX_REFUSALS));
    await access.addRefusals(refusals.slice(MAX_REFUSALS));
    const found = await access.refusals({ limit: 2 * MAX_REFUSALS });
    deepEqual([found.length, found[0]?.at, found.at(-1)?.at], [MAX_REFUSALS, MAX_REFUSALS + 3, 4]);
  }),
  singleStoreCase("a call is listed with every field as it was added", async ({ access }) => {
    const made = { at: 1, toolName: "files::read\u0000", via: "mcp", outcome: "error", errorCode: "timeout", durationMs: 1.5 } as const;
    const about = { callId: "c\ud800", sessionId: "s", parentCallId: "p", principal: "key:a", approvedBy: "ann", traceId: "0f" };
    const full: AuditedCall = { ...made, ...about, simulated: true, missed: 7 };
    await access.addCalls({ calls: [full], keep: 10 });
    await access.addCalls({ calls: [], keep: 10 });
    deepEqual(await access.calls(), { calls: [full] });
  }),
  singleStoreCase("calls are listed by their start, newest first, in pages, by time and principal", async ({ access }) => {
    const times = [3, 1, 2, 2, 5, 4];
    const calls = times.map((at, index): AuditedCall => ({ ...callAt(at), callId: `c${index}`, principal: at === 2 ? "key:b" : "key:a" }));
    await access.addCalls({ calls: calls.slice(0, 2), keep: 10 });
    await access.addCalls({ calls: calls.slice(2), keep: 10 });
    const ids = ({ calls: found }: AuditedCallPage): readonly (string | undefined)[] => found.map(({ callId }) => callId);
    const listed = async (query: AuditedCallQuery): Promise<readonly (string | undefined)[]> => ids(await access.calls(query));
    deepEqual(await listed({}), ["c4", "c5", "c0", "c3", "c2", "c1"]);
    deepEqual(
      [await listed({ since: 4 }), await listed({ until: 2 }), await listed({ principal: "key:b" })],
      [["c4", "c5"], ["c1"], ["c3", "c2"]],
    );
    const first = await access.calls({ limit: 4 });
    deepEqual(ids(first), ["c4", "c5", "c0", "c3"]);
    await access.addCalls({ calls: [{ ...callAt(6), callId: "later" }], keep: 10 });
    deepEqual(first.next === undefined ? [] : await listed({ after: first.next, limit: 2 }), ["c2", "c1"]);
    equal((await access.calls({ limit: 7 })).next, undefined);
    await assertRejects(() => access.calls({ limit: 0 }), "invalid_argument");
    await assertRejects(() => access.calls({ limits: 1 } as AuditedCallQuery), "invalid_argument");
  }),
  singleStoreCase("the oldest calls are dropped when there are too many", async ({ access }) => {
    await access.addCalls({ calls: [5, 4, 3].map(callAt), keep: 4 });
    await access.addCalls({ calls: [1, 2].map(callAt), keep: 4 });
    deepEqual((await access.calls()).calls, [4, 3, 2, 1].map(callAt));
    await assertRejects(() => access.addCalls({ calls: [], keep: 0 }), "invalid_argument");
  }),
  singleStoreCase("a keyed request is begun once, and its first answer is kept for a day", async ({ access }) => {
    const request = { key: "k\u0000", fingerprint: "one", at: 1_000 };
    const begin = (more: Partial<NewKeyedRequest> = {}): Promise<unknown> => access.beginRequest({ ...request, holder: "a", ...more });
    equal(await begin(), undefined);
    deepEqual(await begin({ fingerprint: "two", at: 2_000, holder: "b" }), { ...request, hold: { holder: "a", beats: 0 } });
    equal(await access.answerRequest({ key: request.key, answer: '{"text":"\ud800"}' }), undefined);
    equal(await access.answerRequest({ key: "never begun", answer: "{}" }), undefined);
    equal(await access.answerRequest({ key: request.key, answer: "a second one" }), '{"text":"\ud800"}');
    deepEqual(await begin({ at: 1_000 + DAY_MS }), { ...request, answer: '{"text":"\ud800"}' });
    equal(await begin({ fingerprint: "two", at: 1_001 + DAY_MS, holder: "c" }), undefined);
    const second = { ...request, fingerprint: "two", at: 1_001 + DAY_MS, hold: { holder: "c", beats: 0 } };
    deepEqual(await begin({ at: 1_002 + DAY_MS }), second);
  }),
  singleStoreCase("a keyed request that its holder releases can be begun again at once, with the same content only", async ({ access }) => {
    const request = { key: "k", fingerprint: "f", at: 1 };
    const begin = (holder: string, fingerprint = "f"): Promise<unknown> => access.beginRequest({ ...request, fingerprint, holder });
    equal(await begin("a"), undefined);
    await access.releaseRequest({ key: "k", holder: "b" });
    deepEqual(await begin("b"), { ...request, hold: { holder: "a", beats: 0 } });
    await access.releaseRequest({ key: "k", holder: "a" });
    deepEqual(await begin("b", "other"), request);
    equal(await begin("b"), undefined);
    deepEqual(await begin("a"), { ...request, hold: { holder: "b", beats: 0 } });
  }),
  singleStoreCase("a hold with a heartbeat is kept, one unchanged since it was seen is taken over once", async ({ access }) => {
    const request = { key: "k", fingerprint: "f", at: 1 };
    const begin = (holder: string, after?: RequestHold): Promise<unknown> =>
      access.beginRequest({ ...request, holder, ...(after === undefined ? {} : { after }) });
    equal(await begin("a"), undefined);
    deepEqual([await access.holdRequest({ key: "k", holder: "a" }), await access.holdRequest({ key: "k", holder: "b" })], [true, false]);
    const hold = { holder: "a", beats: 1 };
    deepEqual(await begin("b", { holder: "a", beats: 0 }), { ...request, hold });
    equal(await begin("b", hold), undefined);
    deepEqual(await begin("c", hold), { ...request, hold: { holder: "b", beats: 0 } });
    equal(await access.holdRequest({ key: "k", holder: "a" }), false);
    await access.answerRequest({ key: "k", answer: "done" });
    deepEqual(await begin("c", { holder: "b", beats: 0 }), { ...request, answer: "done" });
    equal(await access.holdRequest({ key: "k", holder: "b" }), false);
  }),
  singleStoreCase("keyed requests that were begun before a time are forgotten, later ones stay", async ({ access }) => {
    for (const at of [1, 2, 3]) await access.beginRequest({ key: `k${at}`, fingerprint: "f", at, holder: "a" });
    await access.forgetRequests(3);
    const known = async (key: string): Promise<boolean> =>
      (await access.beginRequest({ key, fingerprint: "f", at: 4, holder: "b" })) !== undefined;
    deepEqual([await known("k1"), await known("k2"), await known("k3")], [false, false, true]);
  }),
  singleStoreCase("nothing is answered after closing", async (store) => {
    await store.close();
    await assertRejects(() => store.access.key("a"), "store_failed");
    await assertRejects(() => store.access.addKey(keyOf("a", 1)), "store_failed");
    await assertRejects(() => store.access.refusals(), "store_failed");
    await assertRejects(() => store.access.calls(), "store_failed");
  }),
];

const shared: readonly StoreCase[] = [
  twoStoreCase("a key that another process adds and revokes is found at once", async (one, other) => {
    await one.access.addKey(keyOf("a", 1));
    deepEqual(await other.access.key("a"), keyOf("a", 1));
    equal(await other.access.revokeKey({ id: "a", at: 5 }), true);
    equal((await one.access.key("a"))?.revokedAt, 5);
  }),
  twoStoreCase("refusals that many processes add at once are all kept", async (one, other) => {
    const times = Array.from({ length: 60 }, (_, index) => index + 1);
    await Promise.all(times.map((at) => (at % 2 === 0 ? one : other).access.addRefusals([refusalAt(at), refusalAt(at)])));
    equal((await one.access.refusals()).length, 2 * times.length);
  }),
  twoStoreCase("calls that many processes add at once are all kept", async (one, other) => {
    const times = Array.from({ length: 60 }, (_, index) => index + 1);
    await Promise.all(times.map((at) => (at % 2 === 0 ? one : other).access.addCalls({ calls: [callAt(at), callAt(at)], keep: 1_000 })));
    equal((await one.access.calls()).calls.length, 2 * times.length);
  }),
  twoStoreCase("of several processes that begin a keyed request, one does", async (one, other) => {
    const request = { key: "k", fingerprint: "f", at: 1 };
    const begin = ({ access }: Store, index: number, after?: RequestHold): Promise<KeyedRequest | undefined> =>
      access.beginRequest({ ...request, holder: `h${index}`, ...(after === undefined ? {} : { after }) });
    const stores = [one, other, one, other];
    const begun = await Promise.all(stores.map((store, index) => begin(store, index)));
    equal(begun.filter((known) => known === undefined).length, 1);
    const hold = begun.find((known) => known !== undefined)?.hold;
    const taken = await Promise.all(stores.map((store, index) => begin(store, index + 4, hold)));
    equal(taken.filter((known) => known === undefined).length, 1);
    await one.access.answerRequest({ key: "k", answer: "done" });
    deepEqual(await begin(other, 9), { ...request, answer: "done" });
  }),
];

function keyOf(id: string, createdAt: number): StoredKey {
  return { id, name: `key ${createdAt}`, salt: "00", hash: "ff", scopes: ["read"], createdAt };
}

function refusalAt(at: number): RefusedRequest {
  return { at, status: 401, reason: "There are no credentials.", method: "GET", path: "/v1/tools" };
}

function callAt(at: number): AuditedCall {
  return { at, toolName: "notes::add", via: "api", outcome: "ok", durationMs: 1 };
}

/** The cases. Each needs a subject of its own. */
export const accessStoreContract: readonly StoreCase[] = [...alone, ...shared];
