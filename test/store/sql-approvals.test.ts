import { onTestFinished, expect, test } from "vitest";
import type { NewApproval } from "../../src/core/store/approval-store.ts";
import { migrate } from "../../src/store/sql/migrate.ts";
import { Owner } from "../../src/store/sql/owner.ts";
import { SqlApprovals } from "../../src/store/sql/sql-approvals.ts";
import { connectSqlite } from "../../src/store/sqlite/sqlite-connection.ts";
import { temporaryFile } from "./temporary-file.ts";

const text = { sessionId: "s", callId: "c", turnId: "t", toolName: "a::b", description: "", reason: "It may do harm." };
const question: NewApproval = { id: "q", ...text, input: {}, digest: "d", definition: "f", simulated: false, askedAt: 1 };

/** An owner that does something after it has looked which owners live. */
class LookingOwner extends Owner {
  afterLook: () => Promise<unknown> = async () => {};

  override async describe(...parameters: Parameters<Owner["describe"]>): ReturnType<Owner["describe"]> {
    const found = await super.describe(...parameters);
    await this.afterLook();
    return found;
  }
}

test.each([
  ["a session is resumed", (approvals: SqlApprovals) => approvals.withdrawAbandoned({ sessionId: "s", at: 2 })],
  ["old questions are forgotten", (approvals: SqlApprovals) => approvals.prune({ keep: 9, now: 2 })],
])("a question that is asked again while %s remains open", async (_, withdraw) => {
  const connection = connectSqlite({ path: temporaryFile(), readOnly: false, busyTimeoutMs: 0, synchronous: "normal", maxCacheBytes: 1e6 });
  onTestFinished(() => connection.close());
  await migrate(connection);
  const [gone, asking, looking] = [new Owner(connection), new Owner(connection), new LookingOwner(connection)];
  await new SqlApprovals(connection, gone).put(question);
  await gone.unregister(connection.tables);
  looking.afterLook = () => new SqlApprovals(connection, asking).put(question);
  const approvals = new SqlApprovals(connection, looking);
  await withdraw(approvals);
  looking.afterLook = async () => {};
  const found = await approvals.list({ now: 3, first: "oldest", limit: 9 });
  expect(found.map(({ status, position }) => [status, position])).toEqual([["open", 2]]);
});
