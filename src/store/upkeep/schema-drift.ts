/** Compares the tables of a store with those that its version should have. */
import { pushAll } from "../../core/collections/push-all.ts";
import { migrate } from "../sql/migrate.ts";
import type { ColumnShape, SchemaShape, TableShape } from "../sql/schema-shape.ts";
import { connectSqlite } from "../sqlite/sqlite-connection.ts";
import type { Finding } from "./finding.ts";

const RESTORE =
  "Restore the tables from a backup, or copy the sessions that are intact into a new store with haft sessions export and import.";

/** The tables as the migrations make them, which are the same for every database. */
export async function expectedShape(version?: number): Promise<SchemaShape> {
  const settings = { path: ":memory:", readOnly: false, busyTimeoutMs: 0, synchronous: "normal", maxCacheBytes: 0 } as const;
  const model = connectSqlite(settings);
  try {
    await migrate(model, version === undefined ? {} : { upTo: version });
    return await model.readShape(model.tables);
  } finally {
    await model.close();
  }
}

export function findSchemaDrift(expected: SchemaShape, found: SchemaShape): readonly Finding[] {
  const findings: Finding[] = found.missing.map((lack) => createFinding(`the store lacks ${lack}`, RESTORE));
  for (const [name, table] of expected.tables) {
    const actual = found.tables.get(name);
    if (actual === undefined) findings.push(createFinding(`the table ${name} is missing`, RESTORE));
    else pushAll(findings, [...findColumnDrift(name, table, actual), ...findIndexDrift(name, table, actual)]);
  }
  return findings;
}

function findColumnDrift(table: string, expected: TableShape, found: TableShape): readonly Finding[] {
  const findings: Finding[] = [];
  for (const [name, column] of expected.columns) {
    const actual = found.columns.get(name);
    if (actual === undefined) findings.push(createFinding(`the column ${name} of ${table} is missing`, RESTORE));
    else if (!isSame(column, actual))
      findings.push(
        createFinding(`the column ${name} of ${table} is ${formatColumn(actual)}; it should be ${formatColumn(column)}`, RESTORE),
      );
  }
  for (const name of found.columns.keys())
    if (!expected.columns.has(name))
      findings.push(
        createFinding(
          `the column ${name} of ${table} is not one of Haft's`,
          `Once nothing needs it: alter table ${table} drop column "${name}"`,
        ),
      );
  return findings;
}

function findIndexDrift(table: string, expected: TableShape, found: TableShape): readonly Finding[] {
  const findings: Finding[] = [];
  for (const columns of expected.keys)
    if (!found.keys.has(columns))
      findings.push(createFinding(`${table} has no key (${columns})`, `create unique index ${table}_key_again on ${table} (${columns})`));
  for (const columns of found.keys)
    if (!expected.keys.has(columns))
      findings.push(
        createFinding(`${table} has a unique index (${columns}) that is not one of Haft's`, "Drop that index: it makes writes fail."),
      );
  for (const [name, columns] of expected.indexes) {
    const actual = found.indexes.get(name);
    if (actual === columns) continue;
    const what = actual === undefined ? "is missing" : `is over (${actual})`;
    const drop = actual === undefined ? "" : `drop index ${name}; `;
    findings.push(
      createFinding(`the index ${name} of ${table} (${columns}) ${what}`, `${drop}create index ${name} on ${table} (${columns})`),
    );
  }
  for (const reference of expected.references)
    if (!found.references.has(reference)) findings.push(createFinding(`the reference ${reference} of ${table} is missing`, RESTORE));
  return findings;
}

function isSame(one: ColumnShape, other: ColumnShape): boolean {
  return one.kind === other.kind && one.isRequired === other.isRequired;
}

function formatColumn({ kind, isRequired }: ColumnShape): string {
  return `${kind === "other" ? "of another type" : kind}, ${isRequired ? "required" : "may be null"}`;
}

function createFinding(what: string, wayOut: string): Finding {
  return { kind: "schema", what, wayOut };
}
