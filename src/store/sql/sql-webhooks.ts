/** Webhooks in SQL tables: the endpoints, and the messages to send. */
import type { CompiledQuery, Kysely, Transaction } from "kysely";
import type { DeliveryKey, WebhookClaim, WebhookDelivery, WebhookEndpoint, WebhookStore } from "../../core/store/webhook-store.ts";
import { evaluateExpression, databaseTimeAfter } from "./database-time.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Tables } from "./tables.ts";
import type { WebhookMessage } from "../records/webhook-messages.ts";

/** A due time that has passed by any clock. Other due times are by the database's clock. */
const DUE_NOW = 0;

export class SqlWebhooks implements WebhookStore {
  readonly #connection: SqlConnection;

  constructor(connection: SqlConnection) {
    this.#connection = connection;
  }

  setEndpoints(endpoints: readonly WebhookEndpoint[]): Promise<void> {
    return this.#connection.tables.transaction().execute(async (tables) => {
      await tables.deleteFrom("haft_webhook").execute();
      const rows = endpoints.flatMap(({ id: endpoint, types }) => [...new Set(types)].map((type) => ({ endpoint, type })));
      if (rows.length > 0) await tables.insertInto("haft_webhook").values(rows).execute();
      const known = tables.selectFrom("haft_webhook").select("endpoint");
      await tables.deleteFrom("haft_delivery").where("endpoint", "not in", known).execute();
    });
  }

  claim({ now, until, limit, endpoint }: WebhookClaim): Promise<readonly WebhookDelivery[]> {
    return this.#connection.tables.transaction().execute(async (tables) => {
      const all = tables
        .selectFrom("haft_delivery")
        .selectAll()
        .where("due_at", "<=", await evaluateExpression(this.#connection.databaseTime, tables));
      const due = endpoint === undefined ? all : all.where("endpoint", "=", endpoint);
      const rows = await due.orderBy("created_at").orderBy("message").limit(limit).execute();
      const again = databaseTimeAfter(until - now, this.#connection);
      const claimed: typeof rows = [];
      for (const row of rows) {
        const own = updateDelivery(tables, { endpoint: row.endpoint, messageId: row.message }).where("due_at", "=", row.due_at);
        const { numUpdatedRows } = await own.set({ due_at: again, attempts: row.attempts + 1 }).executeTakeFirst();
        if (numUpdatedRows === 1n) claimed.push(row); // otherwise another process claimed it first
      }
      return claimed.map(({ endpoint, message, payload, attempts }) => ({ endpoint, messageId: message, payload, attempts: attempts + 1 }));
    });
  }

  async retry({ attempts, now, dueAt, ...key }: Parameters<WebhookStore["retry"]>[0]): Promise<void> {
    await updateDelivery(this.#connection.tables, key)
      .where("attempts", "=", attempts) // otherwise another sender has it
      .set({ due_at: databaseTimeAfter(dueAt - now, this.#connection) })
      .execute();
  }

  async remove({ endpoint, messageId }: DeliveryKey): Promise<void> {
    await this.#connection.tables.deleteFrom("haft_delivery").where("endpoint", "=", endpoint).where("message", "=", messageId).execute();
  }
}

/** Stores a message for each endpoint that receives its type. */
export async function enqueueMessage(tables: Transaction<Tables>, message: WebhookMessage): Promise<void> {
  await tables.executeQuery(enqueueStatement(tables, message));
}

/** The statement that stores a message, with its parameters in the order of `messageValues`. */
export function enqueueStatement(tables: Kysely<Tables>, { id, payload, at, type }: WebhookMessage): CompiledQuery {
  return tables
    .insertInto("haft_delivery")
    .columns(["endpoint", "message", "payload", "attempts", "created_at", "due_at"])
    .expression((build) =>
      build
        .selectFrom("haft_webhook")
        .select((row) => [
          "endpoint",
          row.val(id).as("message"),
          row.val(payload).as("payload"),
          row.val(0).as("attempts"),
          row.val(at).as("created_at"),
          row.val(DUE_NOW).as("due_at"),
        ])
        .where("type", "=", type),
    )
    .onConflict((conflict) => conflict.columns(["endpoint", "message"]).doNothing())
    .compile();
}

export function messageValues({ id, payload, at, type }: WebhookMessage): readonly unknown[] {
  return [id, payload, 0, at, DUE_NOW, type];
}

function updateDelivery(tables: Kysely<Tables>, { endpoint, messageId }: DeliveryKey) {
  return tables.updateTable("haft_delivery").where("endpoint", "=", endpoint).where("message", "=", messageId);
}
