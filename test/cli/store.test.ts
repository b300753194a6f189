/** Issue 21.1: `haft store`. */
import { copyFileSync, existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CURRENT_VERSION } from "../../src/store/sql/migrate.ts";
import { messageEvents } from "../../src/testing/store-case.ts";
import { PASSWORD, postgresPrograms, startPostgres, type PostgresServer } from "../store/postgres/server.ts";
import { IN_CI, inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";
import { haft, PATIENCE_MS, type Control } from "./run-haft.ts";
import { SessionProject, jsonLines } from "./session-project.ts";

const VERSION_1 = new URL("../store/version-1.sql", import.meta.url);

/** A project whose store is one of version 1. */
function earlierProject(): SessionProject {
  const project = new SessionProject();
  const file = new DatabaseSync(project.path("haft.db"));
  file.exec(readFileSync(VERSION_1, "utf8"));
  file.close();
  return project;
}

test("issue 21.1 migrate lists its steps and runs them once; --dry-run changes nothing", async () => {
  const project = earlierProject();
  const place = project.path("haft.db");
  const planned = await project.haft(["store", "migrate", "--dry-run"]);
  expect([planned.exitCode, planned.stdout]).toEqual([
    0,
    expect.stringMatching(
      new RegExp(`^${place} has format version 1: ${CURRENT_VERSION - 1} steps to do\n  2  jobs\n  3  keys, refusals\n`, "u"),
    ),
  ]);
  expect((await project.haft(["store", "check"])).stdout).toContain("✗ the store has format version 1;");
  const done = await project.haft(["store", "migrate"]);
  expect(done.stdout).toContain("steps to do\n✓ 2  jobs\n✓ 3  keys, refusals\n");
  const again = await project.haft(["store", "migrate", "--json"]);
  expect(jsonLines(again.stdout)).toEqual([{ store: place, version: CURRENT_VERSION, pending: [] }]);
  expect(await project.haft(["store", "check"])).toEqual({ exitCode: 0, stdout: `${place}: all is well\n`, stderr: "" });
});

testInCI("issue 21.1 two simultaneous migrations in two processes both succeed", { timeout: PATIENCE_MS }, async () => {
  const project = earlierProject();
  const migration = () => haft(["store", "migrate"], { folder: project.folder, ownProcess: true });
  const ended = await Promise.all([migration(), migration()]);
  expect(ended.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([
    [0, ""],
    [0, ""],
  ]);
  const steps = ended.flatMap(({ stdout }) => [...stdout.matchAll(/✓ (\d+)/gu)].map(([, version]) => Number(version)));
  expect(steps.toSorted((one, other) => one - other)).toEqual(Array.from({ length: CURRENT_VERSION - 1 }, (_, index) => index + 2));
});

test("issue 21.1 check exits with 1 if it finds problems, and prints a remedy for each", async () => {
  const project = new SessionProject();
  await project.play("travel");
  const file = new DatabaseSync(project.path("haft.db"));
  file.exec("drop index haft_job_by_start; delete from haft_event where position = 3");
  file.close();
  const checked = await project.haft(["store", "check"]);
  expect([checked.exitCode, checked.stdout]).toEqual([
    1,
    `✗ the index haft_job_by_start of haft_job (started_at) is missing
    create index haft_job_by_start on haft_job (started_at)
✗ session "travel" is damaged: event 3: it is missing
    Save what can be read to a file with haft sessions export, import it under a new id, and remove the session; or restore a backup.
${project.path("haft.db")}: 2 findings\n`,
  ]);
  expect(jsonLines((await project.haft(["store", "check", "--json"])).stdout)).toMatchObject([{ kind: "schema" }, { kind: "session" }]);
});

test("issue 21.5 prune reports what it would remove, and removes it", async () => {
  const project = earlierProject();
  await project.haft(["store", "migrate"]);
  const place = project.path("haft.db");
  const prune = ["store", "prune", "--older-than", "90d"];
  expect((await project.haft([...prune, "--only", "sessions", "--dry-run"])).stdout).toBe(`${place}: would remove 3 sessions\n`);
  expect((await project.haft(prune)).stdout).toBe(
    `${place}: removed 2 jobs, 3 sessions, 0 artifacts, 0 first answers, 0 audited calls, 0 cached results\n`,
  );
  expect(jsonLines((await project.haft([...prune, "--json"])).stdout)).toMatchObject([{ dryRun: false, sessions: 0, cache: 0 }]);
});

test("issue 21.1 copy writes a complete file, or none if it is stopped", async () => {
  const project = new SessionProject();
  await project.play("travel");
  const copied = project.path("copy.db");
  const stopped = await project.haft(["store", "copy", copied], { signal: AbortSignal.abort(new Error("Ctrl-C")) });
  expect([stopped.exitCode, existsSync(copied)]).toEqual([expect.any(Number), false]);
  expect(stopped.exitCode).not.toBe(0);
  expect(readdirSync(project.folder).filter((name) => name.includes("copy"))).toEqual([]);
  const done = await project.haft(["store", "copy", copied]);
  expect([done.exitCode, done.stdout]).toEqual([0, expect.stringMatching(/^haft_session +[0-9a-f]{32} {2}1 row\n/u)]);
  expect(done.stdout).toContain(`✓ ${copied} holds the same data, and every session is intact\n`);
  expect((await project.haft(["sessions", "check", "--store", copied])).exitCode).toBe(0);
  expect(await project.haft(["store", "copy", copied])).toMatchObject({ exitCode: 7, stderr: expect.stringContaining("already exists") });
});

test.each([
  [["store", "prune"], "--older-than is missing."],
  [["store", "prune", "--older-than", "soon"], '--older-than takes a span of time, not "soon".'],
  [["store", "prune", "--older-than", "9d", "--only", "session"], "--only takes one of jobs, sessions, artifacts, answers, calls, cache"],
  [["store", "copy", "x.db", "--schema", "s"], "--schema belongs to a postgres:// address, not to a file."],
  [["store", "check", "--schema", "s"], "--schema belongs to an address of --store."],
  [["store", "copy", "postgres://"], "url"],
])("issue 21 invalid arguments: haft %j", async (args, said) => {
  const project = new SessionProject();
  await project.play("travel");
  const ended = await project.haft(args);
  expect([ended.exitCode, ended.stderr]).toEqual([2, expect.stringContaining(said)]);
});

test("issue 21 a missing file is reported, and not created", async () => {
  const project = new SessionProject();
  for (const args of [["migrate"], ["check"], ["prune", "--older-than", "9d"], ["copy", project.path("x.db")]])
    expect(await project.haft(["store", ...args])).toMatchObject({ exitCode: 4, stderr: expect.stringContaining("There is no store") });
  expect(readdirSync(project.folder).filter((name) => name.endsWith(".db"))).toEqual([]);
});

describe.skipIf(postgresPrograms === undefined || !inCI)(
  `issue 21.1 haft store on a PostgreSQL server ${IN_CI}:`,
  { timeout: PATIENCE_MS },
  () => {
    let running: PostgresServer | undefined;
    beforeAll(async () => {
      running = await startPostgres();
    }, PATIENCE_MS);
    afterAll(() => running?.remove());

    function server(): PostgresServer {
      return running ?? expect.fail("the server did not start");
    }

    test("copies a file into an empty schema of the server; an unmigrated source and a schema that is not empty are refused", async () => {
      const project = new SessionProject();
      await project.play("travel");
      const { url } = server();
      const there = await project.haft(["store", "copy", url, "--schema", "moved"]);
      expect([there.exitCode, there.stderr]).toEqual([0, ""]);
      expect(there.stdout).not.toContain(PASSWORD);
      expect((await project.haft(["store", "check", "--store", url, "--schema", "moved"])).stdout).toContain("(schema moved): all is well");
      const back = await project.haft(["store", "copy", project.path("back.db"), "--store", url]);
      expect(back).toMatchObject({ exitCode: 3, stderr: expect.stringContaining("haft store migrate") }); // the schema haft has no tables
      const again = await project.haft(["store", "copy", url, "--schema", "moved"]);
      expect(again).toMatchObject({ exitCode: 7, stderr: expect.stringContaining("is not empty") });
    });

    test("a role that may not create tables is pointed to haft store migrate, which works with a role that may", async () => {
      await server().execute(`create role worker login password '${PASSWORD}'`);
      const worker = server().url.replace("haft:", "worker:");
      const project = new SessionProject({ "haft.toml": `store = "env:PLACE"\n` });
      const list = () => project.haft(["sessions", "list", "--store", worker]);
      expect(await project.haft(["store", "migrate", "--dry-run", "--store", worker])).toMatchObject({
        stdout: expect.stringContaining("has no tables yet"),
        stderr: expect.stringMatching(/worker may not create a schema in this database[^]*haft store migrate/u),
      });
      expect((await project.haft(["keys", "list", "--store", worker])).exitCode).not.toBe(0);
      await project.haft(["store", "migrate", "--store", server().url]);
      await server().execute(
        "grant usage on schema haft to worker; grant select, insert, update, delete on all tables in schema haft to worker",
      );
      expect(await list()).toMatchObject({ exitCode: 0 });
      await server().execute(`delete from haft.haft_migration where version = ${CURRENT_VERSION}`);
      const refused = await project.haft(["keys", "revoke", "x", "--store", worker]);
      expect(refused.stderr).toMatch(
        /but its role may not do that: worker may not create tables in the schema haft[^]*haft store migrate/u,
      );
    });
  },
);

/** Kills the command again and again, each time a little later. Resolves to how often it was hit before its end. */
async function killOften(project: SessionProject, command: (attempt: number) => readonly string[], look: (attempt: number) => void) {
  let killed = 0;
  for (let attempt = 0; attempt < 20; attempt++) {
    const onStart = ({ signal }: Control): void => void setTimeout(() => signal("SIGKILL"), 150 + 40 * attempt);
    const { exitCode } = await haft(["store", ...command(attempt)], { folder: project.folder, onStart });
    if (exitCode === 137) killed++;
    look(attempt);
  }
  return killed;
}

/** Reads a copy: the file itself stays as the killed command left it, for the next. */
function countSessions(path: string): unknown {
  const copy = `${path}.seen`;
  for (const end of ["", "-journal", "-wal"]) {
    rmSync(copy + end, { force: true });
    if (existsSync(path + end)) copyFileSync(path + end, copy + end);
  }
  const file = new DatabaseSync(copy);
  const found = [file.prepare("pragma integrity_check").get(), file.prepare("select count(*) as n from haft_session").get()];
  file.close();
  return found;
}

testInCI(
  "issue 21.5 kill -9 at any moment of a migration loses nothing, and the next run completes it",
  { timeout: PATIENCE_MS },
  async () => {
    const project = earlierProject();
    const path = project.path("haft.db");
    const file = new DatabaseSync(path);
    file.exec(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 100000)
    insert into haft_session select '"s' || n || '"', null, 0, 1, 'sync', 1, 0, '', '', null from numbers`);
    file.close();
    const look = (): void => expect(countSessions(path)).toEqual([{ integrity_check: "ok" }, { n: 100_003 }]);
    expect(await killOften(project, () => ["migrate"], look)).toBeGreaterThan(0);
    expect((await project.haft(["store", "migrate"])).exitCode).toBe(0);
    look();
  },
);

testInCI("issue 21.1 kill -9 at any moment of a copy leaves a complete copy or none", { timeout: PATIENCE_MS }, async () => {
  const project = new SessionProject();
  await project.withStore(async (store) => {
    for (let n = 0; n < 2_000; n++) store.create(`s${n}`, { at: 1, durability: "sync" }).append(messageEvents(`s${n}`, 1, 4));
  });
  const pathOf = (attempt: number): string => project.path(`copy-${attempt}.db`);
  const look = (attempt: number): void => {
    if (existsSync(pathOf(attempt))) expect(countSessions(pathOf(attempt))).toEqual([{ integrity_check: "ok" }, { n: 2_000 }]);
  };
  expect(await killOften(project, (attempt) => ["copy", pathOf(attempt)], look)).toBeGreaterThan(0);
});
