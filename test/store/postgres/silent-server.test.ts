/** A server that takes connections and never answers. */
import { once } from "node:events";
import { createServer, Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { InThreadDatabase } from "../../../src/store/database/in-thread-database.ts";
import { explainPostgres } from "../../../src/store/postgres/postgres-error.ts";
import { postgresStore } from "../../../src/store/postgres-store.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";

async function silentServer(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `postgres://haft@127.0.0.1:${typeof address === "object" ? address?.port : 0}/app`;
}

test("the error of a store that cannot be opened says what it waited for, and how long", async () => {
  const store = postgresStore({ url: await silentServer(), connectTimeoutMs: 50, retryMs: 0, notify: false });
  onTestFinished(() => store.close().catch(() => {}));
  await expect(store.open()).rejects.toMatchObject({
    code: "store_failed",
    retryable: true,
    message: expect.stringContaining("no connection was made or became free within 50 ms (connectTimeoutMs)"),
    operatorHint: expect.stringContaining("answers"),
  });
});

test("issue 21 the system probes every connection after seconds of silence, so that one whose other end is gone fails soon", async () => {
  const accepted = createServer((socket) => void socket.on("error", () => {}).once("data", () => socket.destroy()));
  accepted.listen(0, "127.0.0.1");
  await once(accepted, "listening");
  onTestFinished(() => void accepted.close());
  const address = accepted.address();
  const url = `postgres://haft@127.0.0.1:${typeof address === "object" ? address?.port : 0}/app`;
  const probing = vi.spyOn(Socket.prototype, "setKeepAlive");
  onTestFinished(() => probing.mockRestore());
  const store = postgresStore({ url, retryMs: 0 });
  onTestFinished(() => store.close().catch(() => {}));
  const follower = store.follow(() => {});
  for (const open of [() => store.open(), () => store.queue?.open()]) await expect(open()).rejects.toMatchObject({ code: "store_failed" });
  follower.stop();
  expect(probing.mock.calls.length).toBeGreaterThanOrEqual(3); // of the pool, the notifier and the queue
  expect(new Set(probing.mock.calls.map(([isOn, delayMs]) => `${isOn} ${delayMs}`))).toEqual(new Set(["true 5000"]));
});

test("the error of an unanswered statement says how long it waited", () => {
  const error = explainPostgres(new Error("Query read timeout"), "The store a could not be read", {
    answerTimeoutMs: 60_000,
    connectTimeoutMs: 5_000,
  });
  expect(error.message).toBe("The store a could not be read: it did not answer a statement within 60000 ms (answerTimeoutMs).");
});

test("an opening that takes more than two seconds logs once what it waits for; one that succeeds or fails sooner logs nothing", async () => {
  const ports = { clock: new FakeClock(), log: new MemoryLog() };
  const open = (connect: () => Promise<never>) => new InThreadDatabase({ place: "The store a", heartbeatMs: 5_000, connect, ports }).open();
  await expect(open(() => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
  await ports.clock.advance(10_000);
  expect(ports.log.lines).toEqual([]);
  const connecting = Promise.withResolvers<never>();
  const opening = open(() => connecting.promise);
  await ports.clock.advance(10_000);
  expect(ports.log.lines.map(({ message }) => message)).toEqual(["The store a has not answered for 2 s; the call is still waiting."]);
  connecting.reject(new Error("refused"));
  await expect(opening).rejects.toThrow("refused");
});
