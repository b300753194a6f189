/** A process is killed in the middle of the migration of a file, and the next one continues. */
import { copyFileSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { CURRENT_VERSION } from "../../src/store/sql/migrate.ts";
import { checkStore } from "../../src/store/upkeep/check-store.ts";
import { connectStore } from "../../src/store/connect-store.ts";
import { inCI } from "../ci.ts";
import { readAllOutput, startProcess } from "./run-process.ts";
import { temporaryFile } from "./temporary-file.ts";

/** Statements between two kills. */
const EVERY = inCI ? 1 : 25;

/** A file of version 1 with some sessions, jobs and cached results. */
function earlierFile(): string {
  const path = temporaryFile();
  const file = new DatabaseSync(path);
  file.exec(readFileSync(new URL("version-1.sql", import.meta.url), "utf8"));
  file.close();
  return path;
}

/** Migrates the file in a process that is killed before the statement with this number; with 0 it is not, and returns the number of statements. */
async function migrateIn(path: string, killedAt: number): Promise<unknown> {
  const migrating = startProcess("migrate", path, [String(killedAt)]);
  const [statements] = await readAllOutput(migrating);
  await migrating.ended;
  return statements;
}

/** All tables and rows, in a fixed order. */
function contentOf(path: string): Readonly<Record<string, readonly unknown[]>> {
  const file = new DatabaseSync(path);
  try {
    const tables = file.prepare("select name, type, sql from sqlite_schema order by name").all();
    const named = tables.filter(({ type }) => type === "table").map(({ name }) => String(name));
    const rows = named.map((name) => [name, file.prepare(`select * from "${name}" order by 1, 2`).all()] as const);
    return { tables, ...Object.fromEntries(rows) };
  } finally {
    file.close();
  }
}

function versionOf(path: string): number {
  return contentOf(path)["haft_migration"]?.length ?? 0;
}

test("L31 a migration from version 1 that is killed before any of its statements is continued, to the same file", async () => {
  const whole = earlierFile();
  const statements = Number(await migrateIn(whole, 0));
  expect([versionOf(whole), statements > 2 * CURRENT_VERSION]).toEqual([CURRENT_VERSION, true]);
  const expected = contentOf(whole);
  const before = earlierFile();
  const found = new Set<number>();
  for (let killedAt = 1; killedAt <= statements; killedAt += EVERY) {
    const path = temporaryFile();
    copyFileSync(before, path);
    expect(await migrateIn(path, killedAt)).toBeUndefined();
    found.add(versionOf(path));
    await migrateIn(path, 0);
    expect(contentOf(path), `after a kill before statement ${killedAt}`).toEqual(expected);
    const connection = await connectStore({ path });
    for await (const finding of checkStore(connection)) expect.fail(finding.what);
    await connection.close();
  }
  expect(found.size).toBeGreaterThanOrEqual(inCI ? CURRENT_VERSION - 1 : 3); // the last version has no statement after it
}, 180_000);
