/** Owners of open sessions: when they count as alive, and when not. */
import type { KyselyPlugin } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { connectStore } from "../../src/store/connect-store.ts";
import { migrate } from "../../src/store/sql/migrate.ts";
import { Owner } from "../../src/store/sql/owner.ts";
import { temporaryFile } from "./temporary-file.ts";

test("issue 21.2 an owner that leaves in the middle of a beat is gone for good: what it had is free at once", async () => {
  const connection = await connectStore({ path: temporaryFile() });
  onTestFinished(() => connection.close());
  await migrate(connection);
  const owner = new Owner(connection);
  await connection.tables.transaction().execute((transaction) => owner.register(transaction));
  owner.confirm();
  const answered = Promise.withResolvers<void>();
  const slow: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await answered.promise;
      return result;
    },
  };
  const beat = owner.beat(connection.tables.withPlugin(slow));
  const left = owner.leave(connection.tables);
  await new Promise((resolve) => setImmediate(resolve));
  answered.resolve();
  await Promise.all([beat, left]);
  expect(await connection.tables.selectFrom("haft_owner").select("id").execute()).toEqual([]);
  expect(await new Owner(connection).living(connection.tables)).toEqual([]);
});
