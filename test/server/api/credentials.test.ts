/** Streams end with the credentials of their reader. */
import { createRuntime } from "haft";
import { Keys, createServer, openServerAccess, staticToken, type ServerAccessOptions } from "haft/server";
import { FakeClock } from "haft/testing";
import { expect, onTestFinished, test } from "vitest";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";
import { LoopbackIssuer } from "../auth/loopback-issuer.ts";
import { TOKEN } from "./api-server.ts";

async function openDoor(options: ServerAccessOptions = {}) {
  const clock = new FakeClock();
  const { access } = memoryStore();
  const auth = await openServerAccess({ access, others: [staticToken({ token: TOKEN })], ...options }, { clock, log: new MemoryLog() });
  const runtime = createRuntime({});
  const server = createServer(runtime, { auth, ports: { clock } });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const follow = async (token: string, path = "/v1/events") => {
    const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream, application/json" };
    const response = await server.fetch(new Request(`http://localhost${path}`, { headers }));
    expect(response.status).toBe(200);
    return endOf(response);
  };
  return { clock, keys: new Keys(access, { clock }), follow };
}

/** Whether a stream has ended, read all the while. */
function endOf(response: Response): { isOver: boolean } {
  const state = { isOver: false };
  void (async () => {
    for await (const _ of response.body ?? []);
    state.isOver = true;
  })();
  return state;
}

test("issue 19.5 E05 revoking a key ends its open streams within a second, and not those of other keys", async () => {
  const { clock, keys, follow } = await openDoor();
  const [one, other] = [await keys.add({ name: "one", scopes: ["read"] }), await keys.add({ name: "other", scopes: ["read"] })];
  const streams = [await follow(one.key), await follow(one.key), await follow(other.key), await follow(TOKEN)];
  await clock.advance(10_000);
  expect(streams.map(({ isOver }) => isOver)).toEqual([false, false, false, false]);
  await keys.revoke(one.stored.id);
  await clock.advance(1_000);
  expect(streams.map(({ isOver }) => isOver)).toEqual([true, true, false, false]);
});

test("issue 19.5 streams end when their key or token expires", async () => {
  const clockOfIssuer = { seconds: Date.UTC(2026, 0, 1) / 1_000 };
  const issuer = await LoopbackIssuer.start(() => clockOfIssuer.seconds);
  const { clock, keys, follow } = await openDoor({
    resource: "http://localhost",
    issuers: [{ issuer: issuer.url, allowPrivate: [issuer.host], clockToleranceSeconds: 0 }],
  });
  const { key } = await keys.add({ name: "CI", scopes: ["read"], ttlMs: 60_000 });
  const token = await issuer.token({ claims: { aud: "http://localhost", scope: "read", exp: clockOfIssuer.seconds + 120 } });
  const streams = [await follow(key), await follow(token)];
  await clock.advance(59_000);
  expect(streams.map(({ isOver }) => isOver)).toEqual([false, false]);
  await clock.advance(1_000);
  expect(streams.map(({ isOver }) => isOver)).toEqual([true, false]);
  await clock.advance(60_000);
  expect(streams.map(({ isOver }) => isOver)).toEqual([true, true]);
});
