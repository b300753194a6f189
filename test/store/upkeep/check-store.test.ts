import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkStore } from "../../../src/store/upkeep/check-store.ts";
import { migrate } from "../../../src/store/sql/migrate.ts";
import { SUBJECTS, fill, type Kept, type KeptMaker } from "./kept-store.ts";

const START = 120_000;

async function findings(kept: Kept): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { kind, what, wayOut } of checkStore(await kept.connection())) {
    expect(wayOut).not.toBe("");
    found.push(`${kind}: ${what}`);
  }
  return found;
}

/** Damage by one statement, and what is then found. */
const DAMAGES: readonly (readonly [damage: string, finding: string])[] = [
  ["drop index haft_job_by_start", "schema: the index haft_job_by_start of haft_job (started_at) is missing"],
  [
    "drop index haft_job_by_end; create index haft_job_by_end on haft_job (id)",
    "schema: the index haft_job_by_end of haft_job (ended_at) is over (id)",
  ],
  ["create unique index mine on haft_event (checksum)", "schema: haft_event has a unique index (checksum) that is not one of Haft's"],
  ["alter table haft_key add column note text", "schema: the column note of haft_key is not one of Haft's"],
  ["drop table haft_refusal", "schema: the table haft_refusal is missing"],
  ["alter table haft_delivery drop column attempts", "schema: the column attempts of haft_delivery is missing"],
  [
    `update haft_event set body = '{}' where session = '"a"' and position = 2`,
    'session: session "a" is damaged: event 2: its checksum is wrong',
  ],
  [`delete from haft_event where session = '"a"' and position = 4`, 'session: session "a" is damaged: event 4: it is missing'],
  [`delete from haft_event where session = '"a"' and position = 5`, 'session: session "a" is damaged: event 5: it is missing'],
  [
    `insert into haft_event (session, position, at, type, body, checksum) values ('"a"', 6, 1, 'message-add', '{}', 'x')`,
    'session: session "a" is damaged: event 6: the record of the session does not count it',
  ],
  [
    `update haft_session set length = 4 where id = '"long"'`,
    `session: session "long" is damaged: the checksum of the session's own record is wrong`,
  ],
  ["update haft_artifact set data = 'AAAA'", "artifact: the bytes of the artifact"],
  ["update haft_cache set body = '\"rain\"'", "cache: 1 cached results are damaged, and are not used"],
  ["update haft_counter set value = value + 7", "cache: the cache has 30 bytes but counts 37"],
];
const OF_POSTGRES: typeof DAMAGES = [
  [
    "alter table haft_event disable trigger haft_mark_writer",
    "schema: the store lacks the trigger haft_mark_writer of haft_event, switched on",
  ],
  ["drop function haft_settled_event()", "schema: the store lacks the function haft_settled_event"],
  [
    "alter table haft_key alter column body drop not null",
    "schema: the column body of haft_key is text, may be null; it should be text, required",
  ],
  [
    "alter table haft_job alter column notify type smallint",
    "schema: the column notify of haft_job is of another type, required; it should be integer, required",
  ],
  ["alter table haft_event drop constraint haft_event_place", "schema: haft_event has no key (session, position)"],
  [
    "alter table haft_event drop constraint haft_event_session_fkey1",
    "schema: the reference session -> haft_session.id of haft_event is missing",
  ],
];

for (const { name, start, isRun } of SUBJECTS)
  describe.skipIf(!isRun)(`issue 21.1 haft store check, on ${name}:`, { timeout: START }, () => {
    let maker: KeptMaker | undefined;
    beforeAll(async () => {
      maker = await start();
    }, START);
    afterAll(() => maker?.close());

    async function filled(): Promise<Kept> {
      const kept = maker?.keep() ?? expect.fail("the database did not start");
      const store = kept.store();
      await fill(store);
      await store.close();
      return kept;
    }

    test("a sound store has no findings", async () => {
      expect(await findings(await filled())).toEqual([]);
    });

    test.each(name === "SQLite" ? DAMAGES : [...DAMAGES, ...OF_POSTGRES])("%s is reported as: %s", async (damage, finding) => {
      const kept = await filled();
      await kept.execute(damage);
      const found = await findings(kept);
      expect(found.filter((one) => !one.startsWith(finding))).toEqual([]);
      expect(found).toHaveLength(1);
    });

    test("missing tables and an earlier version are findings; the tables of that version are not schema drift", async () => {
      const kept = maker?.keep() ?? expect.fail("the database did not start");
      expect(await findings(kept)).toEqual([expect.stringContaining("has no tables yet")]);
      await migrate(await kept.connection(), { upTo: 7 });
      expect(await findings(kept)).toEqual([
        expect.stringMatching(/^version: the store has format version 7; this version of Haft works with \d+$/u),
      ]);
    });

    test("an aborted check rejects with the abort reason", async () => {
      const connection = await (await filled()).connection();
      const stop = new AbortController();
      const onProgress = (): void => stop.abort(new Error("enough"));
      const checking = checkStore(connection, { signal: stop.signal, onProgress });
      await expect(checking.next()).rejects.toThrow("enough");
    });
  });
