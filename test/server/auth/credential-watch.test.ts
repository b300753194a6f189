import { expect, test } from "vitest";
import { CredentialWatch } from "../../../src/server/auth/credential-watch.ts";
import type { Principal } from "../../../src/server/auth/principal.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";

function watchOf(isValid: (principal: Principal) => Promise<boolean>) {
  const clock = new FakeClock();
  const log = new MemoryLog();
  const authenticator = { authenticate: () => Promise.resolve(undefined), isValid };
  const watch = new CredentialWatch({ authenticator, clock, log });
  const ended: string[] = [];
  const open = (id: string, expiresAt?: number) =>
    watch.watch({ id, name: id, scopes: new Set(), ...(expiresAt === undefined ? {} : { expiresAt }) }, () => void ended.push(id));
  return { clock, log, watch, ended, open };
}

test("E05 streams end within a second of the end of their credentials, which are looked up once however many streams they have", async () => {
  const revoked = new Set<string>();
  const lookUps: string[] = [];
  const { clock, ended, open } = watchOf(async ({ id }) => {
    lookUps.push(id);
    return !revoked.has(id);
  });
  const stops = [open("a"), open("a"), open("b"), open("token", clock.wallTime() + 1_500)];
  await clock.advance(1_000);
  expect([ended, lookUps]).toEqual([[], ["a", "b", "token"]]);
  revoked.add("a");
  await clock.advance(1_000);
  expect(ended.toSorted()).toEqual(["a", "a", "token"]);
  for (const stop of stops) stop();
  await clock.advance(10_000);
  expect([ended.length, clock.pending]).toEqual([3, 0]);
});

test("E05 streams whose credentials have expired end even while the look-up of others does not return", async () => {
  const { clock, ended, open } = watchOf(() => new Promise(() => {}));
  open("key");
  open("token", clock.wallTime() + 5_000);
  await clock.advance(4_000);
  expect(ended).toEqual([]);
  await clock.advance(1_000);
  expect(ended).toEqual(["token"]);
});

test("E05 a stream that cannot be ended does not keep other streams open", async () => {
  let isRevoked = false;
  const { clock, log, watch, ended, open } = watchOf(async () => !isRevoked);
  watch.watch({ id: "broken", name: "broken", scopes: new Set() }, () => {
    throw new Error("The socket is closed.");
  });
  open("a");
  isRevoked = true;
  await clock.advance(1_000);
  open("later");
  await clock.advance(1_000);
  expect(ended).toEqual(["a", "later"]);
  expect(log.lines.map(({ message }) => message)).toEqual([
    "A stream of broken could not be ended with its credentials: The socket is closed.",
  ]);
});

test("E05 streams stay open while it is not known whether their credentials are valid, and the log says so", async () => {
  let isDown = true;
  const { clock, log, ended, open } = watchOf(async () => {
    if (isDown) throw new Error("The store is locked.");
    return false;
  });
  open("a");
  await clock.advance(1_000);
  expect([ended, log.lines.map(({ message }) => message)]).toEqual([
    [],
    ["It is not known whether the credentials of a are still valid: The store is locked."],
  ]);
  isDown = false;
  await clock.advance(1_000);
  expect(ended).toEqual(["a"]);
});
