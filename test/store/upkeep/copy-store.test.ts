import { existsSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectStore } from "../../../src/store/connect-store.ts";
import { checkStore } from "../../../src/store/upkeep/check-store.ts";
import { COPIED_TABLES, UNCOPIED_TABLES, copyStore } from "../../../src/store/upkeep/copy-store.ts";
import { withCopyTarget, withConnection } from "../../../src/store/upkeep/copy-target.ts";
import { expectedShape } from "../../../src/store/upkeep/schema-drift.ts";
import type { UpkeepOptions } from "../../../src/store/upkeep/upkeep-options.ts";
import { messageEvents } from "../../../src/testing/store-case.ts";
import { temporaryFile } from "../temporary-file.ts";
import { LONG_TEXT, ODD_IDS, PICTURE, SUBJECTS, append, fill, inFile, inFiles, type Kept, type KeptMaker } from "./kept-store.ts";

const START = 120_000;

async function copy(source: Kept, target: Kept, options: UpkeepOptions = {}) {
  return copyStore({ from: await source.connection(), to: await target.connection() }, options);
}

async function filled(kept: Kept, text?: string): Promise<Kept> {
  const store = kept.store();
  await fill(store, text);
  await store.close();
  return kept;
}

/** All rows of a file, read by SQLite itself. */
function rowsOf(path: string): ReadonlyMap<string, unknown> {
  const file = new DatabaseSync(path, { readOnly: true });
  const rows = new Map<string, unknown>(
    COPIED_TABLES.map(({ name, key }) => [name, file.prepare(`select * from ${name} order by ${key.join(", ")}`).all()]),
  );
  rows.set("last number", file.prepare("select seq from sqlite_sequence where name = 'haft_event'").get());
  file.close();
  return rows;
}

test("issue 21.1 every table is either copied or listed as left out", async () => {
  const names = [...COPIED_TABLES.map(({ name }) => name), ...UNCOPIED_TABLES];
  expect(names.toSorted()).toEqual([...(await expectedShape()).tables.keys()].toSorted());
});

for (const { name, start, isRun } of SUBJECTS)
  describe.skipIf(!isRun)(`issue 21.1 haft store copy between SQLite and ${name}:`, { timeout: START }, () => {
    let maker: KeptMaker | undefined;
    beforeAll(async () => {
      maker = await start();
    }, START);
    afterAll(() => maker?.close());

    function keep(): Kept {
      return maker?.keep() ?? expect.fail("the database did not start");
    }

    test("a copy there and back has equal rows: odd ids and texts, branches, event numbers, all tables", async () => {
      const [first, last] = [temporaryFile(), temporaryFile()];
      const middle = keep();
      const there = await copy(await filled(inFile(first), LONG_TEXT), middle);
      const back = await copy(middle, inFile(last));
      expect(back).toEqual(there);
      expect(there.every(({ rows }) => rows > 0)).toBe(true);
      expect(rowsOf(last)).toEqual(rowsOf(first));
      expect(rowsOf(first).get("last number")).toEqual({ seq: 16 }); // three of them are of the session that was removed
    });

    test("the copy is fully usable: it can be read and written, passes the check, and feed cursors stay valid", async () => {
      const source = inFile(temporaryFile());
      await filled(source, LONG_TEXT);
      const mark = await source.store().feed.latest();
      const target = keep();
      await copy(source, target);
      const store = target.store();
      for (const id of ODD_IDS) expect((await store.read(id)).events).toHaveLength(1);
      expect((await store.read("long")).events[0]).toMatchObject({ message: { content: LONG_TEXT } });
      expect((await store.read("0 branch")).events).toHaveLength(5);
      expect(await store.artifacts.get(PICTURE.id)).toEqual(PICTURE);
      const log = await store.claim("a");
      log.append(messageEvents("a", 6, 7));
      await log.close();
      expect((await store.feed.read({ after: mark })).entries.map(({ sessionId, position }) => [sessionId, position])).toEqual([
        ["a", 6],
        ["a", 7],
      ]);
      for await (const finding of checkStore(await target.connection())) expect.fail(finding.what);
    });

    test("a session that a process had open, or had left open, is left open in the copy", async () => {
      const [source, target] = [keep(), inFile(temporaryFile())];
      const store = source.store();
      const logs = ["closed", "left", "open"].map((id) => store.create(id, { at: 1, durability: "sync" }));
      for (const log of logs) log.append(messageEvents(log.sessionId, 1, 2));
      logs[1]?.leaveOpen?.();
      await logs[0]?.close();
      await logs[1]?.close();
      await logs[2]?.whenDurable();
      await copy(source, target);
      const copied = target.store();
      const claimed = await Promise.all(logs.map(({ sessionId }) => copied.claim(sessionId)));
      expect(claimed.map(({ wasLeftOpen }) => wasLeftOpen)).toEqual([false, true, true]);
      await copied.close();
      await store.close();
    });

    test("a target that is not empty is refused and left unchanged; one with empty tables is accepted", async () => {
      const source = await filled(inFile(temporaryFile()));
      const target = keep();
      const store = target.store();
      await store.open();
      await store.close();
      await copy(source, target);
      await expect(copy(source, target)).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining("is not empty") });
      expect(await target.store().list()).toHaveLength(ODD_IDS.length + 3);
    });

    test("a copy that is aborted, or whose source is damaged, leaves the target unchanged", async () => {
      const source = inFile(temporaryFile());
      await filled(source);
      const target = keep();
      for (const stage of ["haft_event", "haft_artifact compared", "sessions"]) {
        const stop = new AbortController();
        const onProgress = (subject: string): void => {
          if (subject === stage) stop.abort(new Error("enough"));
        };
        await expect(copy(source, target, { signal: stop.signal, onProgress }), stage).rejects.toThrow("enough");
      }
      await source.execute("update haft_event set body = '{}' where position = 2");
      await expect(copy(source, target)).rejects.toMatchObject({
        code: "corrupt_record",
        message: expect.stringMatching(/^Nothing was copied: in the store .* session "a" is damaged: event 2/u),
      });
      const connection = await target.connection();
      expect(await connection.tableNames(connection.tables)).toEqual([]);
    });

    test.skipIf(name === "SQLite")(
      "an id that PostgreSQL cannot store fails the copy, names the row and leaves nothing in the target",
      async () => {
        const source = inFiles.keep();
        await append(source.store(), `long ${Array.from({ length: 900 }, (_, n) => n * 7919).join("-")}`, []);
        const target = keep();
        const refusal = { code: "too_large", message: expect.stringContaining('haft_session, probably "long 0-79') };
        await expect(copy(source, target)).rejects.toMatchObject(refusal);
        const connection = await target.connection();
        expect(await connection.tableNames(connection.tables)).toEqual([]);
      },
    );

    test("a media type that PostgreSQL cannot store does not fail the copy", async () => {
      const [source, target] = [inFiles.keep(), keep()];
      await filled(source);
      await source.execute("update haft_artifact set media_type = 'image/png' || char(0)");
      await copy(source, target);
      // The SQLite of Node 22 gives a text up to its first NUL.
      const mediaType = Number.parseInt(process.versions.node) < 24 ? "image/png" : "application/octet-stream";
      expect(await target.store().artifacts.get(PICTURE.id)).toEqual({ ...PICTURE, mediaType });
    });

    test.skipIf(name === "SQLite")(
      "a text that PostgreSQL cannot store fails the copy with the reason and leaves nothing in the target",
      async () => {
        const [source, target] = [inFiles.keep(), keep()];
        await filled(source);
        await source.execute("update haft_refusal set body = body || char(0)");
        await expect(copy(source, target)).rejects.toMatchObject({
          code: "too_large",
          message: expect.stringMatching(/cannot hold a row of haft_refusal: .*0x00/u),
          operatorHint: "Nothing was copied.",
        });
        const connection = await target.connection();
        expect(await connection.tableNames(connection.tables)).toEqual([]);
      },
    );

    test("a copy is a snapshot of one moment, even while other processes write to the source", async () => {
      const source = keep();
      const store = source.store();
      await append(store, "a", messageEvents("a", 1, 3));
      const target = inFile(temporaryFile());
      let written: Promise<void> | undefined;
      const onProgress = (): void => {
        written ??= name === "PGlite" ? Promise.resolve() : append(store, "late", messageEvents("late", 1, 3));
      };
      await copy(source, target, { onProgress });
      await written;
      expect((await target.store().list()).map(({ sessionId }) => sessionId)).toEqual(["a"]);
    });
  });

test("issue 21.1 a file gets its name only when it is complete: before that, and after a failure, it does not exist", async () => {
  const sourcePath = temporaryFile();
  const source = await filled(inFile(sourcePath));
  const path = temporaryFile("copy.db");
  const failing = withConnection(await connectStore({ path: sourcePath }), (from) =>
    withCopyTarget({ path }, {}, async (to) => {
      await copyStore({ from, to });
      expect([existsSync(path), readdirSync(dirname(path)).length]).toEqual([false, 1]);
      throw new Error("no more");
    }),
  );
  await expect(failing).rejects.toThrow("no more");
  expect(readdirSync(dirname(path))).toEqual([]);
  await withCopyTarget({ path }, {}, async (to) => copyStore({ from: await source.connection(), to }));
  expect(readdirSync(dirname(path))).toEqual(["copy.db"]);
  await expect(withCopyTarget({ path }, {}, async () => {})).rejects.toMatchObject({ code: "conflict" });
});
