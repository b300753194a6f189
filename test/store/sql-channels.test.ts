import { sql, type KyselyPlugin } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { migrate } from "../../src/store/sql/migrate.ts";
import { Owner } from "../../src/store/sql/owner.ts";
import { SqlChannels } from "../../src/store/sql/sql-channels.ts";
import type { SqlConnection } from "../../src/store/sql/sql-connection.ts";
import { connectSqlite } from "../../src/store/sqlite/sqlite-connection.ts";

test("with more channels than are counted, old messages are pruned every few messages of a channel, not with every one", async () => {
  const sqlite = connectSqlite({ path: ":memory:", readOnly: false, busyTimeoutMs: 0, synchronous: "normal", maxCacheBytes: 1e6 });
  onTestFinished(() => sqlite.close());
  await migrate(sqlite);
  let looks = 0;
  const counter: KyselyPlugin = {
    transformQuery({ node }) {
      if (node.kind === "SelectQueryNode" && node.offset !== undefined) looks++;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const connection: SqlConnection = Object.create(sqlite, {
    tables: { value: sqlite.tables.withPlugin(counter) },
    databaseTime: { value: sql<number>`1` }, // each number is the one after the last
  });
  const channels = new SqlChannels(connection, new Owner(connection));
  const send = (channel: string) => channels.send({ channel, body: "{}", sender: "Ann", senderId: "a", keep: 10 });
  const names = Array.from({ length: 1_100 }, (_, index) => `channel ${index}`);
  for (const name of names) await send(name);
  looks = 0;
  for (const name of [...names.slice(0, 100), ...names.slice(-100)]) await send(name);
  expect(looks).toBeLessThan(20);
  for (const name of ["channel 0", "channel 1099"]) {
    for (let sent = 0; sent < 200; sent++) await send(name);
    const left = await channels.read({ channel: name, after: 0, limit: 1_000 });
    expect(left.length).toBeLessThan(110);
  }
});
