/** Messages on channels in SQL tables. */
import { sql, type Transaction } from "kysely";
import type {
  ChannelEntry,
  ChannelEntryKey,
  ChannelStore,
  NewChannelEntry,
  ReadChannel,
  TakeEntry,
} from "../../core/store/channel-store.ts";
import { evaluateExpression } from "./database-time.ts";
import { DoubtfulTakes } from "./doubtful-takes.ts";
import type { Owner } from "./owner.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { OperationTries } from "../records/store-operations.ts";
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
  readonly #doubtful = new DoubtfulTakes();

  constructor(connection: SqlConnection, owner: Owner) {
    this.#connection = connection;
    this.#owner = owner;
  }

  send(message: NewChannelEntry, tries: OperationTries = { count: 1 }): Promise<number> {
    const channel = toStoredText(message.channel);
    const isQueue = message.capacity !== undefined;
    const sent = this.#sent.get(channel) ?? (this.#sent.size < MAX_COUNTED_CHANNELS ? 0 : undefined);
    if (sent !== undefined) this.#sent.set(channel, sent + 1);
    const sending = this.#connection.tables.transaction().execute(async (tables) => {
      const number = await this.#nextNumber(tables, channel);
      const row = { channel, sender: toStoredText(message.sender), sender_id: toStoredText(message.senderId), body: message.body };
      if (tries.number !== undefined && (await isSent(tables, { ...row, number: tries.number }))) return tries.number;
      if (message.capacity !== undefined && (await countOpen(tables, channel)) >= message.capacity) throw QUEUE_FULL;
      await tables
        .insertInto("haft_channel_message")
        .values({ ...row, number, holder: null, ended: 0 })
        .execute();
      tries.number = number;
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
    const name = toStoredText(query.channel);
    let taking: { readonly number: number; readonly take: symbol } | undefined;
    const taken = this.#take(query, (number) => (taking = { number, take: this.#doubtful.begin(name, number) }));
    try {
      const entry = await taken;
      if (taking !== undefined) this.#doubtful.succeed(name, taking.number, taking.take);
      return entry;
    } catch (thrown: unknown) {
      if (taking !== undefined) this.#doubtful.fail(name, taking.number, taking.take);
      throw thrown;
    }
  }

  /** @param onTake called with the number of the message, before the transaction commits */
  async #take(query: TakeEntry, onTake: (number: number) => void): Promise<ChannelEntry | undefined> {
    const found = await this.#connection.tables.transaction().execute(async (tables) => {
      if ((await this.#findFirstFree(tables, query)) === undefined) return undefined; // checked before the lock, so that a fruitless take blocks no other
      await this.#owner.register(tables);
      await lockChannel(tables, toStoredText(query.channel));
      const first = await this.#findFirstFree(tables, query);
      if (first !== undefined) {
        onTake(first.number);
        await updateMessage(tables, { ...query, ...first })
          .set("holder", this.#owner.id ?? "")
          .execute();
      }
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

  /** Releases messages that this process may have taken although the answer was lost, so that others can take them. */
  async releaseDoubtful(): Promise<void> {
    for (const channel of this.#doubtful.channels) {
      const released = await this.#connection.tables.transaction().execute(async (tables) => {
        await lockChannel(tables, channel);
        const numbers = this.#doubtful.numbers(channel);
        if (numbers.length > 0)
          await tables
            .updateTable("haft_channel_message")
            .set("holder", null)
            .where("channel", "=", channel)
            .where("number", "in", numbers)
            .where("holder", "=", this.#owner.id ?? "")
            .execute();
        return numbers;
      });
      this.#doubtful.forget(channel, released);
    }
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
    const { id: own } = this.#owner;
    const holders = own === undefined ? living : [...living, own];
    const name = toStoredText(channel);
    const doubtful = this.#doubtful.numbers(name);
    return tables
      .selectFrom("haft_channel_message")
      .select(["number", "body"])
      .where("channel", "=", name)
      .where("ended", "=", 0)
      .where("sender_id", "!=", toStoredText(reader))
      .$if(holders.length > 0, (query) =>
        query.where((row) => {
          const free = [row("holder", "is", null), row("holder", "not in", holders)];
          const isDoubtful = row.and([row("holder", "=", own ?? ""), row("number", "in", doubtful)]);
          return row.or(doubtful.length === 0 ? free : [...free, isDoubtful]);
        }),
      )
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

/** Makes other transactions that take or send messages on the channel wait until this one ends. */
async function lockChannel(tables: Transaction<Tables>, name: string): Promise<void> {
  await tables
    .updateTable("haft_channel")
    .set("last", sql<number>`last`)
    .where("name", "=", name)
    .execute();
}

/** Whether an earlier try has sent the message: the answer to its commit was lost. */
async function isSent(
  tables: Transaction<Tables>,
  {
    channel,
    number,
    sender_id,
    body,
  }: { readonly channel: string; readonly number: number; readonly sender_id: string; readonly body: string },
): Promise<boolean> {
  const row = await tables
    .selectFrom("haft_channel_message")
    .select(["sender_id", "body"])
    .where("channel", "=", channel)
    .where("number", "=", number)
    .executeTakeFirst();
  return row?.sender_id === sender_id && row.body === body;
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
