import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { artifactOf } from "../../../src/core/artifact.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { Owner } from "../../../src/store/sql/owner.ts";
import { checkStore } from "../../../src/store/upkeep/check-store.ts";
import { pruneStore } from "../../../src/store/upkeep/prune-store.ts";
import type { PruneOptions } from "../../../src/store/upkeep/pruned-parts.ts";
import { messageEvent, messageEvents } from "../../../src/testing/store-case.ts";
import { DAY_MS, PICTURE, SUBJECTS, append, fill, type Kept, type KeptMaker } from "./kept-store.ts";

const START = 120_000;
const NOW = 100 * DAY_MS;
/** Ten days before. */
const BEFORE = 90 * DAY_MS;

async function prune(kept: Kept, options: Partial<PruneOptions> = {}) {
  return pruneStore(await kept.connection(), { before: BEFORE, now: NOW, ...options });
}

async function ids(store: Store): Promise<readonly string[]> {
  return (await store.list({ limit: 1_000 })).map(({ sessionId }) => sessionId).toSorted();
}

for (const { name, start, isRun } of SUBJECTS)
  describe.skipIf(!isRun)(`issue 21.5 haft store prune, on ${name}:`, { timeout: START }, () => {
    let maker: KeptMaker | undefined;
    beforeAll(async () => {
      maker = await start();
    }, START);
    afterAll(() => maker?.close());

    function keep(): Kept {
      return maker?.keep() ?? expect.fail("the database did not start");
    }

    test("a dry run counts what the same run then deletes, and changes nothing", async () => {
      const kept = keep();
      const store = kept.store();
      await fill(store);
      await append(store, "new", [messageEvent("new", NOW)]);
      const before = await ids(store);
      const counted = await prune(kept, { dryRun: true });
      expect(counted).toEqual({ jobs: 0, sessions: before.length - 1, artifacts: 1, answers: 1, calls: 1, cache: 1 });
      expect(await ids(store)).toEqual(before);
      expect(await prune(kept)).toEqual(counted);
      expect(await ids(store)).toEqual(["new"]);
      expect([await store.jobs.list(), await store.artifacts.get(PICTURE.id)]).toEqual([[], undefined]);
      expect(await store.cache.get("weather", NOW)).toBeUndefined();
      expect((await store.access.keys()).map(({ id }) => id)).toEqual(["k"]);
      expect(await prune(kept)).toEqual({ jobs: 0, sessions: 0, artifacts: 0, answers: 0, calls: 0, cache: 0 });
      for await (const finding of checkStore(await kept.connection())) expect.fail(finding.what);
    });

    test("issue 19.5 the keys of a deleted session are revoked, and no others", async () => {
      const kept = keep();
      const store = kept.store();
      await append(store, "old", [messageEvent("old", 1)]);
      await append(store, "new", [messageEvent("new", NOW)]);
      const key = { name: "page", salt: "salt", hash: "hash", scopes: ["read"], createdAt: NOW, expiresAt: NOW + DAY_MS } as const;
      for (const sessionId of ["old", "new"]) await store.access.addKey({ ...key, id: `of ${sessionId}`, sessionId });
      await store.access.addKey({ ...key, id: "of none" });
      expect(await prune(kept, { parts: ["sessions"] })).toEqual({ sessions: 1 });
      const revokedAt = async (id: string): Promise<number | undefined> => (await store.access.key(id))?.revokedAt;
      expect([await revokedAt("of old"), await revokedAt("of new"), await revokedAt("of none")]).toEqual([NOW, undefined, undefined]);
    });

    test("a session with its files is retained while it is open, or while a retained session branches off it", async () => {
      const kept = keep();
      const store = kept.store();
      await append(store, "parent", messageEvents("parent", 1, 3));
      await append(store, "old", [{ ...messageEvent("old", 4) }]);
      for (const [id, parent, at] of [
        ["middle", "parent", 5],
        ["leaf", "middle", NOW],
        ["old leaf", "middle", 6],
        ["old leaf of leaf", "old leaf", 7],
      ] as const) {
        const log = store.create(id, { at, durability: "sync", parent: { sessionId: parent, length: 1 } });
        const content = `see artifact:${artifactOf("text/plain", Buffer.from(id)).id}`;
        log.append([{ type: "message-add", sessionId: id, at, message: { role: "user", content } }]);
        await log.close();
        await store.artifacts.put({ artifact: artifactOf("text/plain", Buffer.from(id)), at: 5 });
      }
      const open = store.create("open", { at: 8, durability: "sync" });
      open.append(messageEvents("open", 8, 9));
      await open.whenDurable();

      expect(await prune(kept, { dryRun: true })).toMatchObject({ sessions: 3, artifacts: 2 });
      expect(await prune(kept, { parts: ["sessions"] })).toEqual({ sessions: 3 });
      expect(await ids(store)).toEqual(["leaf", "middle", "open", "parent"]);
      expect(await prune(kept, { parts: ["artifacts"] })).toEqual({ artifacts: 2 });
      expect(await store.artifacts.get(artifactOf("text/plain", Buffer.from("middle")).id)).toBeDefined();
      open.append([messageEvent("open", 10)]);
      await open.close();
      expect((await store.read("open")).events).toEqual(messageEvents("open", 8, 10));
    });

    test.runIf(name === "a PostgreSQL server")("a session is retained that a newly started process claims in the meantime", async () => {
      const kept = keep();
      await append(kept.store(), "old", messageEvents("old", 1, 2));
      const other = await kept.connection();
      const owner = new Owner(other);
      const waiting = sql<{ rows: number }>`select count(*)::int as rows from pg_locks where not granted`;
      const pruned = await other.tables.transaction().execute(async (transaction) => {
        await owner.register(transaction);
        await transaction
          .updateTable("haft_session")
          .set({ owner: owner.id ?? null, epoch: 2 })
          .execute();
        const pruning = prune(kept, { parts: ["sessions"] });
        await expect.poll(async () => (await waiting.execute(other.tables)).rows[0]?.rows, { timeout: START }).toBe(1);
        return { pruning };
      });
      expect(await pruned.pruning).toEqual({ sessions: 0 });
      const found = await other.tables.selectFrom("haft_session").select(["owner", "epoch"]).execute();
      expect(found).toEqual([{ owner: owner.id, epoch: 2 }]);
    });

    test("audited calls that began before the time are deleted, later ones are retained", async () => {
      const kept = keep();
      const { access } = kept.store();
      const calls = [49, 50, 51].map((at) => ({ at, toolName: "t", via: "mcp", outcome: "ok" }) as const);
      await access.addCalls({ calls, keep: 10 });
      expect(await prune(kept, { before: 50, parts: ["calls"] })).toEqual({ calls: 1 });
      expect((await access.calls()).calls.map(({ at }) => at)).toEqual([51, 50]);
    });

    test("stored answers of requests are retained for a day however early the limit, and so are files of retained sessions", async () => {
      const kept = keep();
      const store = kept.store();
      await fill(store);
      await store.access.beginRequest({ key: "today", fingerprint: "f", at: NOW - DAY_MS / 2, holder: "one" });
      expect(await prune(kept, { before: NOW, parts: ["answers", "artifacts"] })).toEqual({ artifacts: 0, answers: 1 });
      expect(await store.access.beginRequest({ key: "today", fingerprint: "f", at: NOW, holder: "two" })).toBeDefined();
    });

    test("ended jobs are deleted by their end time, and a store of an earlier version is refused with the command that helps", async () => {
      const kept = keep();
      const store = kept.store();
      await fill(store);
      await kept.execute("update haft_job set ended_at = 50, state = 'done'");
      expect(await prune(kept, { before: 50, parts: ["jobs"] })).toEqual({ jobs: 0 });
      expect(await prune(kept, { before: 51, parts: ["jobs"] })).toEqual({ jobs: 1 });
      await kept.execute("delete from haft_migration where version > 8");
      await expect(prune(kept)).rejects.toMatchObject({
        code: "corrupt_record",
        operatorHint: expect.stringContaining("haft store migrate"),
      });
    });

    test("a run that is aborted has deleted only whole sessions", async () => {
      const kept = keep();
      const store = kept.store();
      for (let n = 0; n < 250; n++) store.create(`s${n}`, { at: 1, durability: "sync" }).append(messageEvents(`s${n}`, 1, 2));
      await store.close();
      const stop = new AbortController();
      const onProgress = (): void => stop.abort(new Error("enough"));
      await expect(prune(kept, { signal: stop.signal, onProgress })).rejects.toThrow("enough");
      const again = kept.store();
      expect(await ids(again)).toHaveLength(50);
      for await (const finding of checkStore(await kept.connection())) expect.fail(finding.what);
      expect(await prune(kept)).toMatchObject({ sessions: 50 });
    });
  });
