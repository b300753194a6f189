/** PostgreSQL in this process, for where no server is installed: one connection, which its users have one after the other. */
import { PGlite } from "@electric-sql/pglite";
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";

const INT8 = 20;
const NUMERIC = 1700;

export interface PgliteDatabase {
  readonly pool: () => PostgresPool;
  readonly execute: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The pools of several stores over one database. */
export async function pgliteDatabase(): Promise<PgliteDatabase> {
  const database = await PGlite.create({ parsers: { [INT8]: Number, [NUMERIC]: Number } });
  let last: Promise<void> = Promise.resolve();
  return {
    execute: async (text) => void (await database.exec(text)),
    close: () => database.close(),
    pool: () => ({
      options: {},
      async connect() {
        const before = last;
        const { promise, resolve } = Promise.withResolvers<void>();
        last = promise;
        await before;
        return new PgliteClient(database, resolve);
      },
      end: async () => {},
    }),
  };
}

class PgliteClient implements PostgresPoolClient {
  readonly #database: PGlite;
  readonly release: () => void;

  constructor(database: PGlite, release: () => void) {
    this.#database = database;
    this.release = release;
  }

  query<Row>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
  query(): never;
  async query(text = "", parameters: readonly unknown[] = []): Promise<unknown> {
    const { rows, affectedRows } = await this.#database.query(text, [...parameters]);
    return { command: text.trimStart().split(/\s/u, 1)[0]?.toUpperCase(), rowCount: affectedRows ?? rows.length, rows };
  }
}
