/** Stores for tests of the upkeep: each in a place that the store, a bare connection and statements of a test reach. */
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import { artifactOf } from "../../../src/core/artifact.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { connectStore } from "../../../src/store/connect-store.ts";
import { connectPostgres } from "../../../src/store/postgres/postgres-connection.ts";
import { checkPostgresSettings } from "../../../src/store/postgres/postgres-settings.ts";
import { openPostgresDatabase } from "../../../src/store/postgres/postgres-database.ts";
import { postgresStore } from "../../../src/store/postgres-store.ts";
import type { SqlConnection } from "../../../src/store/sql/sql-connection.ts";
import { createPostgresStore } from "../../../src/store/postgres/create-postgres-store.ts";
import { messageEvents } from "../../../src/testing/store-case.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { localStore } from "../local-store.ts";
import { pgliteDatabase } from "../postgres/pglite-pool.ts";
import { postgresPrograms, startPostgres } from "../postgres/server.ts";
import { temporaryFile } from "../temporary-file.ts";

/** The data of one store. */
export interface Kept {
  /** Another store over it, closed with the test. */
  store(): Store;
  /** Another connection to it, closed with the test. */
  connection(): Promise<SqlConnection>;
  execute(statements: string): Promise<void>;
}

export interface KeptMaker {
  /** The data of a new store, without tables. */
  keep(): Kept;
  close(): Promise<void>;
}

/** PostgreSQL is left to CI; PGlite stands in for a server that is not installed. */
export const SUBJECTS = [
  { name: "SQLite", start: async () => inFiles, isRun: true },
  postgresPrograms === undefined
    ? { name: `PGlite ${IN_CI}`, start: onPglite, isRun: inCI }
    : { name: `a PostgreSQL server ${IN_CI}`, start: onServer, isRun: inCI },
];

export const inFiles: KeptMaker = { keep: () => inFile(temporaryFile()), close: async () => {} };

export function inFile(path: string): Kept {
  return {
    store() {
      const { store } = localStore(path);
      onTestFinished(() => store.close());
      return store;
    },
    connection: async () => closedWithTest(await connectStore({ path })),
    async execute(statements) {
      const file = new DatabaseSync(path, { enableForeignKeyConstraints: false });
      file.exec(statements);
      file.close();
    },
  };
}

let schemas = 0;

async function onServer(): Promise<KeptMaker> {
  const server = await startPostgres();
  return {
    keep() {
      const place = { url: server.url, schema: `kept_${++schemas}` };
      return {
        store() {
          const store = postgresStore(place);
          onTestFinished(() => store.close());
          return store;
        },
        connection: async () => closedWithTest(await connectStore(place)),
        execute: async (statements) => void (await server.execute(`set search_path = ${place.schema}; ${statements}`)),
      };
    },
    close: () => server.remove(),
  };
}

async function onPglite(): Promise<KeptMaker> {
  const database = await pgliteDatabase();
  return {
    keep() {
      const settings = checkPostgresSettings({ url: "postgres://pglite/memory", schema: `kept_${++schemas}` });
      return {
        store() {
          const connect = async () => openPostgresDatabase(settings, async () => database.pool());
          const store = createPostgresStore(settings, { connect, maxBufferedBytes: 64e6 });
          onTestFinished(() => store.close());
          return store;
        },
        connection: async () => closedWithTest(connectPostgres(settings, async () => database.pool())),
        execute: (statements) => database.execute(`set search_path = ${settings.schema}; ${statements}; reset search_path`),
      };
    },
    close: () => database.close(),
  };
}

function closedWithTest(connection: SqlConnection): SqlConnection {
  onTestFinished(() => connection.close());
  return connection;
}

export const DAY_MS = 86_400_000;
export const ODD_IDS = ["a\u0000b", "\ud800 lone \udc00", "'; drop table haft_event; --", "__proto__", "👩‍👩‍👧 \u202e e\u0301"] as const;
/** NULs, a lone surrogate and four million characters. */
export const LONG_TEXT = `\u0000\ud800${"naïve ".repeat(700_000)}`;
export const PICTURE = artifactOf("image/png", Buffer.from("a picture"));

export async function append(store: Store, sessionId: string, events: readonly SessionEvent[]): Promise<void> {
  const log = store.create(sessionId, { at: events[0]?.at ?? 1, durability: "sync" });
  log.append(events);
  await log.close();
}

/** Something in every table: sessions with odd ids and texts, a branch, a job, a key, a refusal, a call of no session, a first answer, a question, a rule, a webhook, a file, a cached result. */
export async function fill(store: Store, text: string = "short"): Promise<void> {
  await append(store, "a", messageEvents("a", 1, 5));
  for (const id of ODD_IDS)
    await append(store, id, [{ type: "message-add", sessionId: id, at: 1, message: { role: "user", content: `${id} in a text` } }]);
  await append(store, "long", [{ type: "message-add", sessionId: "long", at: 2, message: { role: "user", content: text } }]);
  await append(store, "gone", messageEvents("gone", 1, 3));
  await store.remove("gone");
  const branch = store.create("0 branch", { at: 6, durability: "async", parent: { sessionId: "a", length: 3 } });
  const call = { sessionId: "0 branch", callId: "call_1", turnId: "turn_1" } as const;
  branch.append([
    { type: "job-start", ...call, at: 7, toolName: "files::copy", mode: "background", notify: true },
    { type: "message-add", sessionId: "0 branch", at: 8, message: { role: "user", content: `see artifact:${PICTURE.id}` } },
  ]);
  await branch.close();
  await store.artifacts.put({ artifact: PICTURE, at: 8 });
  await store.access.addKey({ id: "k", name: "CI \u0000", salt: "00", hash: "ff", scopes: ["read"], createdAt: 1 });
  await store.access.addRefusals([{ at: 2, status: 401, reason: "no key", method: "GET", path: "/v1/tools" }]);
  await store.access.addCalls({ calls: [{ at: 2, toolName: "a\u0000", via: "api", outcome: "ok", principal: "\ud800" }], keep: 10 });
  await store.access.beginRequest({ key: "once", fingerprint: "f", at: 3, holder: "one" });
  await store.access.answerRequest({ key: "once", answer: "first \ud800" });
  const sent = { channel: "news \u0000\ud800", body: "{}", sender: "Ann", senderId: "\ud800" };
  for (const capacity of [1, 2]) await store.channels?.send({ ...sent, capacity, keep: 10 });
  await store.webhooks.setEndpoints([{ id: "hook", types: ["approval.asked"] }]);
  const question = { id: "q", sessionId: "a", callId: "call_9", turnId: "t", toolName: "files::remove", description: "Removes \u0000" };
  const asked = { input: { path: "\ud800" }, digest: "d", definition: "f", reason: "destructive", simulated: false, askedAt: 4 };
  await store.approvals.put({ ...question, ...asked });
  await store.approvals.addRule({ id: "r", pattern: "files::*", scope: "rule", createdAt: 5 });
  await store.cache.put({ key: "weather", body: '"sunny"', resources: ["city:a"], versions: [0], storedAt: 9, expiresAt: undefined });
}
