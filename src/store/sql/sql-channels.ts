/** Messages on channels in SQL tables. */
import { sql, type Transaction } from "kysely";
import type { ChannelEntry, ChannelEntryKey, ChannelStore, NewChannelEntry, ReadChannel, TakeEntry } from "../../core/channel-store.ts";
import { evaluateExpression } from "./database-time.ts";
import type { Owner } from "./owner.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { toStoredText } from "../records/stored-text.ts";
import type { Tables } from "./tables.ts";

/** Old messages are removed with one in so many sent messages. */
const REMOVE_EVERY = 64;
/** Maximum number of channels whose messages are counted; for others, the number of the message decides whether to remove old ones. */
const MAX_COUNTED_CHANNELS = 1_000;
/** 2³² divided by the golden ratio. Its multiples are spread evenly, even for numbers at equal distances. */
const SPREAD = 0x9e3779b1;

/** Thrown to roll back a refused message, including its number. */
const QUEUE_FULL = new Error("The queue is full.");

export class SqlChannels implements ChannelStore {
  readonly #connection: SqlConnection;
  readonly #owner: Owner;
  /** Number of messages sent on each channel. */
  readonly #sent = new Map<string, number>();

  constructor(connection: SqlConnection, owner: Owner) {
    this.#connection = connection;
    this.#owner = owner;
  }

  send(message: NewChannelEntry): Promise<number> {
    const channel = toStoredText(message.channel);
    const isQueue = message.capacity !== undefined;
    const sent = this.#sent.get(channel) ?? (this.#sent.size < MAX_COUNTED_CHANNELS ? 0 : undefined);
    if (sent !== undefined) this.#sent.set(channel, sent + 1);
    const sending = this.#connection.tables.transaction().execute(async (tables) => {
      const number = await this.#nextNumber(tables, channel);
      if (message.capacity !== undefined && (await countOpen(tables, channel)) >= message.capacity) throw QUEUE_FULL;
      const [sender, senderId] = [toStoredText(message.sender), toStoredText(message.senderId)];
      await tables
        .insertInto("haft_channel_message")
        .values({ channel, number, sender, sender_id: senderId, body: message.body, holder: null, ended: 0 })
        .execute();
      if (sent === undefined ? shouldRemoveOld(number) : sent % REMOVE_EVERY === 0)
        await removeOld(tables, { channel, isQueue, keep: message.keep });
      return number;
    });
    return sending.catch((thrown: unknown) => {
      if (thrown === QUEUE_FULL) return 0;
      throw thrown;
    });
  }

  async read({ channel, after, limit }: ReadChannel): Promise<readonly ChannelEntry[]> {
    return (await this.#entries(channel).where("number", ">", after).orderBy("number").limit(limit).execute()).map(toEntry);
  }

  async latest({ channel, limit }: Omit<ReadChannel, "after">): Promise<readonly ChannelEntry[]> {
    return (await this.#entries(channel).orderBy("number", "desc").limit(limit).execute()).toReversed().map(toEntry);
  }

  async last(channel: string): Promise<number> {
    const own = this.#connection.tables.selectFrom("haft_channel").select("last").where("name", "=", toStoredText(channel));
    return (await own.executeTakeFirst())?.last ?? 0;
  }

  waiting(channel: string): Promise<number> {
    return countOpen(this.#connection.tables, toStoredText(channel));
  }

  async take(query: TakeEntry): Promise<ChannelEntry | undefined> {
    const found = await this.#connection.tables.transaction().execute(async (tables) => {
      if ((await this.#findFirstFree(tables, query)) === undefined) return undefined; // checked before the lock, so that a fruitless take blocks no other
      await this.#owner.register(tables);
      const name = toStoredText(query.channel);
      await tables
        .updateTable("haft_channel")
        .set("last", sql<number>`last`)
        .where("name", "=", name)
        .execute(); // locks the channel
      const first = await this.#findFirstFree(tables, query);
      if (first !== undefined)
        await updateMessage(tables, { ...query, ...first })
          .set("holder", this.#owner.id ?? "")
          .execute();
      return { first };
    });
    if (found !== undefined) this.#owner.confirmRegistration();
    return found?.first === undefined ? undefined : toEntry(found.first);
  }

  async release(key: ChannelEntryKey): Promise<void> {
    const { id = "" } = this.#owner;
    await updateMessage(this.#connection.tables, key).set("holder", null).where("holder", "=", id).execute();
  }

  async end(key: ChannelEntryKey): Promise<void> {
    await updateMessage(this.#connection.tables, key).set("ended", 1).execute();
  }

  /** Returns the next number, and locks the channel until the transaction ends, so that messages become visible in order. */
  async #nextNumber(tables: Transaction<Tables>, name: string): Promise<number> {
    const now = await evaluateExpression(this.#connection.databaseTime, tables);
    const { last } = await tables
      .insertInto("haft_channel")
      .values({ name, last: now })
      .onConflict((conflict) =>
        conflict
          .column("name")
          .doUpdateSet({ last: sql<number>`case when haft_channel.last >= ${now} then haft_channel.last + 1 else ${now} end` }),
      )
      .returning("last")
      .executeTakeFirstOrThrow();
    return last;
  }

  async #findFirstFree(tables: Transaction<Tables>, { channel, reader, from }: TakeEntry): Promise<ChannelEntry | undefined> {
    const living = await this.#owner.listLiving(tables);
    const holders = this.#owner.id === undefined ? living : [...living, this.#owner.id];
    return tables
      .selectFrom("haft_channel_message")
      .select(["number", "body"])
      .where("channel", "=", toStoredText(channel))
      .where("ended", "=", 0)
      .where("sender_id", "!=", toStoredText(reader))
      .$if(holders.length > 0, (query) => query.where((row) => row.or([row("holder", "is", null), row("holder", "not in", holders)])))
      .$if(from !== undefined, (query) =>
        query.where((row) => row.or([row("sender", "=", toStoredText(from ?? "")), row("sender_id", "=", toStoredText(from ?? ""))])),
      )
      .orderBy("number")
      .limit(1)
      .executeTakeFirst();
  }

  #entries(channel: string) {
    return this.#connection.tables
      .selectFrom("haft_channel_message")
      .select(["number", "body"])
      .where("channel", "=", toStoredText(channel));
  }
}

function shouldRemoveOld(number: number): boolean {
  return Math.imul(number, SPREAD) >>> 0 < 2 ** 32 / REMOVE_EVERY;
}

/** Makes a plain object, because SQLite returns rows without a prototype. */
function toEntry({ number, body }: ChannelEntry): ChannelEntry {
  return { number, body };
}

async function countOpen(tables: SqlConnection["tables"], channel: string): Promise<number> {
  const { count } = await tables
    .selectFrom("haft_channel_message")
    .select((row) => row.fn.countAll<number | string>().as("count"))
    .where("channel", "=", channel)
    .where("ended", "=", 0)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Removes old messages. In a queue, messages that have not ended stay. */
async function removeOld(
  tables: Transaction<Tables>,
  { channel, isQueue, keep }: { readonly channel: string; readonly isQueue: boolean; readonly keep: number },
): Promise<void> {
  const all = tables.selectFrom("haft_channel_message").select("number").where("channel", "=", channel);
  const kept = isQueue ? all.where("ended", "=", 1) : all;
  const oldest = await kept.orderBy("number", "desc").offset(keep).limit(1).executeTakeFirst();
  if (oldest === undefined) return;
  const old = tables.deleteFrom("haft_channel_message").where("channel", "=", channel).where("number", "<=", oldest.number);
  await (isQueue ? old.where("ended", "=", 1) : old).execute();
}

function updateMessage(tables: SqlConnection["tables"], { channel, number }: ChannelEntryKey) {
  return tables.updateTable("haft_channel_message").where("channel", "=", toStoredText(channel)).where("number", "=", number);
}
