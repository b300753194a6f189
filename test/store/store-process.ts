/**
 * A process that uses a store: `node store-process.ts <action> <file or url> <id>…`. It says "ready", waits for a line on standard
 * input, does what it is to do and prints a line of JSON for each thing done.
 */
import { once } from "node:events";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { isToolError } from "../../src/core/error.ts";
import { connectStore } from "../../src/store/connect-store.ts";
import { migrate } from "../../src/store/sql/migrate.ts";
import { isPostgresUrl } from "../../src/store/postgres/postgres-settings.ts";
import { postgresStore } from "../../src/store/postgres-store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { messageEvent } from "../../src/testing/store-case.ts";

const [action = "", path = "", ...ids] = process.argv.slice(2);
/** A short lease, so that a test need not wait long for its end. */
const leaseMs = 500;
const store = isPostgresUrl(path) ? postgresStore({ url: path, leaseMs }) : sqliteStore({ path });

function say(what: unknown): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

async function goAhead(): Promise<void> {
  say("ready");
  await once(process.stdin, "data");
  process.stdin.destroy();
}

/** "won", or the code with which it was refused. */
async function outcome(attempt: () => Promise<unknown>): Promise<string> {
  try {
    await attempt();
    return "won";
  } catch (error: unknown) {
    return isToolError(error) ? error.code : String(error);
  }
}

/** Has a function called before each call of these methods. */
function beforeEach(prototype: object, methods: readonly string[], before: () => void): void {
  for (const method of methods) {
    const original: unknown = Reflect.get(prototype, method);
    if (typeof original !== "function") throw new Error(`There is no ${method}().`);
    const changed = function (this: unknown, ...values: readonly unknown[]): unknown {
      before();
      return Reflect.apply(original, this, values);
    };
    Reflect.set(prototype, method, changed);
  }
}

const actions: Readonly<Record<string, () => Promise<void>>> = {
  async create() {
    await store.open();
    await goAhead();
    for (const id of ids) {
      say(
        await outcome(async () => {
          const log = store.create(id, { at: 1, durability: "sync" });
          log.append([messageEvent(`${process.pid}`, 1)]);
          await log.whenDurable();
        }),
      );
    }
    await store.close();
  },
  async claim() {
    await store.open();
    await goAhead();
    for (const id of ids) say(await outcome(() => store.claim(id)));
    await new Promise(() => setInterval(() => {}, 60_000)); // holds on to what it has until it is killed
  },
  /** Opens a file at the same time as others do, and writes sessions of its own. */
  async write() {
    await goAhead();
    await store.open();
    for (const id of ids) {
      const log = store.create(id, { at: 1, durability: "sync" });
      for (let number = 1; number <= 100; number++) {
        log.append([messageEvent(id, number)]);
        await log.whenDurable();
      }
      say(id);
    }
    await store.close();
  },
  /** Migrates a file, and is killed before the statement with the given number; says how many statements there were if it is not. */
  async migrate() {
    let statements = 0;
    const count = (): void => {
      if (++statements === Number(ids[0])) process.kill(process.pid, "SIGKILL");
    };
    beforeEach(DatabaseSync.prototype, ["exec"], count);
    beforeEach(StatementSync.prototype, ["run", "all", "get", "iterate"], count);
    const connection = await connectStore({ path });
    await migrate(connection);
    await connection.close();
    say(statements);
  },
  /** Has a session open, and is in the middle of a write until it is killed. */
  async hold() {
    await store.open();
    for (const id of ids) await store.create(id, { at: 1, durability: "sync" }).whenDurable();
    const other = new DatabaseSync(path);
    other.exec("begin immediate");
    say("holding");
    await new Promise(() => setInterval(() => other.isTransaction, 60_000));
  },
  /** Writes one session until it may no longer, and says why. */
  async endless() {
    await store.open();
    const [id = ""] = ids;
    const log = store.create(id, { at: 1, durability: "sync" });
    for (let said = "won"; said === "won"; say(said))
      said = await outcome(async () => {
        log.append([messageEvent(id, log.length + 1)]);
        await log.whenDurable();
      });
    await store.close();
  },
  /** Appends, and neither waits nor closes. */
  async leave() {
    await store.open();
    for (const id of ids) store.create(id, { at: 1, durability: "sync" }).append([messageEvent(id, 1)]);
  },
  /** Writes two sessions by turns until it is killed, and says how long they are whenever it is durable. */
  async drill() {
    say("started");
    await store.open();
    say("open");
    const logs = await Promise.all(
      ids.map(async (id) => {
        const claimed = await outcome(() => store.read(id));
        return claimed === "not_found" ? store.create(id, { at: 1, durability: "sync" }) : store.claim(id);
      }),
    );
    for (let step = 0; ; step++) {
      for (const log of logs) {
        const from = log.length + 1;
        log.append(Array.from({ length: 1 + (step % 3) }, (_, index) => messageEvent(log.sessionId, from + index)));
      }
      for (const log of logs) await log.whenDurable();
      say(logs.map((log) => log.length));
    }
  },
};

await actions[action]?.();
