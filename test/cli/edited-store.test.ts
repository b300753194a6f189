/** A store whose rows were edited by hand: what is wrong is named, and what is whole can still be read. */
import { copyFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, test } from "vitest";
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { repeated } from "../ci.ts";
import { internalsIn } from "./mutated-file.ts";
import { PATIENCE_MS, type Finished } from "./run-haft.ts";
import { SessionProject } from "./session-project.ts";

const COMMANDS = [
  ["sessions", "list"],
  ["sessions", "show", "one"],
  ["sessions", "check"],
  ["sessions", "export", "one"],
  ["jobs", "list"],
  ["approvals", "list"],
  ["keys", "list"],
  ["schedules", "list"],
  ["audit"],
  ["fleet"],
  ["store", "check"],
  ["store", "prune", "--dry-run"],
] as const;
const NUMBERS = [-1, 0, 0.5, 1e300, 9_007_199_254_740_993n, -9_223_372_036_854_775_808n] as const;
const TEXTS = [
  "",
  "text",
  "[]",
  "{}",
  '"x"',
  '"one"',
  '"two"',
  '{"a":1}',
  "null",
  "{",
  "\0",
  '"\\ud800"',
  "x".repeat(100_000),
  "[".repeat(5_000),
];
const VALUES: readonly (null | number | bigint | string | Uint8Array)[] = [null, ...NUMBERS, ...TEXTS, new Uint8Array([0, 255, 254])];
/** Besides what the commands below write. */
const ROWS = `insert into haft_owner (id, host, pid, seen_at) values ('gone', 'host', 1, 1);
  insert into haft_process (owner, started_at, about) values ('gone', 1, '{}');
  insert into haft_job (session, id, tool, mode, notify, state, started_at, starts, cancel_reason)
    values ('"one"', '"job"', '"shop::mail"', 'background', 1, 'running', 1000, 1, '"why"');
  insert into haft_artifact (id, media_type, stored_at, data) values ('${"ab".repeat(32)}', 'text/plain', 5, 'aGk=')`;
const QUESTION = { callId: "c", turnId: "t", toolName: "shop::mail", description: "d", input: { a: 1 }, digest: "d", definition: "x" };

interface Column {
  readonly table: string;
  readonly name: string;
}

const columnsOf = (database: DatabaseSync): readonly Column[] =>
  database
    .prepare(
      "select m.name as 'table', c.name from sqlite_schema m join pragma_table_info(m.name) c where m.type = 'table' and m.name like 'haft_%'",
    )
    .all()
    .map(({ table, name }) => ({ table: String(table), name: String(name) }))
    .filter(({ table }) => database.prepare(`select 1 from ${table} limit 1`).get() !== undefined);

/** Sets one cell, or removes its row, and says which; undefined where the tables do not allow that. */
function edit(path: string, seed: number): string | undefined {
  const random = seededRandom(seed);
  const draw = (count: number): number => Math.floor(random.next() * count);
  const database = new DatabaseSync(path);
  try {
    database.exec("pragma foreign_keys = off");
    const columns = columnsOf(database);
    const { table = "", name = "" } = columns[draw(columns.length)] ?? {};
    const value = VALUES[draw(VALUES.length)] ?? null;
    const count = Number(database.prepare(`select count(*) as count from ${table}`).get()?.["count"]);
    const row = `rowid = (select rowid from ${table} order by rowid limit 1 offset ${draw(count)})`;
    if (draw(10) === 0) database.exec(`delete from ${table} where ${row}`);
    else database.prepare(`update ${table} set ${name} = ? where ${row}`).run(value);
    return `${table}.${name} = ${String(value).slice(0, 30)}`;
  } catch {
    return undefined;
  } finally {
    database.close();
  }
}

describe("an edited store", { timeout: 10 * PATIENCE_MS }, () => {
  let project: SessionProject;
  beforeAll(async () => {
    project = new SessionProject();
    await project.play("one");
    await project.play("two");
    await project.haft(["keys", "add", "ci", "--scope", "read"]);
    const store = sqliteStore({ path: project.path("haft.db") });
    await store.open();
    const asked = { ...QUESTION, sessionId: "one", reason: "r", simulated: false, askedAt: 1 };
    await store.approvals?.put({ ...asked, id: "open" });
    await store.close();
    const database = new DatabaseSync(project.path("haft.db"));
    database.exec(ROWS);
    database.exec("pragma journal_mode = delete");
    database.close();
    copyFileSync(project.path("haft.db"), project.path("whole.db"));
  }, PATIENCE_MS);

  const run = async (...args: readonly string[]): Promise<Finished> => await project.haft(args);

  test.each(["9007199254740993", "-9223372036854775808", "9223372036854775807"])(
    "lists and checks all other sessions when one has the number %s, and names that one",
    async (number) => {
      copyFileSync(project.path("whole.db"), project.path("haft.db"));
      const database = new DatabaseSync(project.path("haft.db"));
      database.exec(`update haft_session set updated_at = ${number} where id = '"one"'`);
      database.close();

      expect(await run("sessions", "list")).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^two\b/mu) });
      for (const args of [
        ["sessions", "check"],
        ["store", "check"],
      ])
        expect(await run(...args)).toMatchObject({ stdout: expect.stringMatching(/\bone\b.*the session's own record/su) });
    },
  );

  test("is read up to the damage, and every problem is reported in readable words", async () => {
    const complaints: object[] = [];
    for (let seed = 0; seed < repeated(30); seed++) {
      copyFileSync(project.path("whole.db"), project.path("haft.db"));
      const edited = edit(project.path("haft.db"), seed);
      for (const args of edited === undefined ? [] : COMMANDS) {
        const finished = await run(...args);
        const internal = internalsIn(finished);
        if (internal !== undefined) complaints.push({ seed, edited, args, internal, ...finished });
      }
    }
    expect(complaints).toEqual([]);
  });
});
