/** What is tried again over PostgreSQL, on a clock of its own. */
import { expect, test } from "vitest";
import { warnOfWaits, withRetries } from "../../../src/store/postgres/postgres-connection.ts";
import { explainPostgres } from "../../../src/store/postgres/postgres-error.ts";
import { checkPostgresSettings } from "../../../src/store/postgres/postgres-settings.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";
import type { Clock } from "../../../src/core/ports.ts";

/** Waits take no time, and are counted. */
function quickClock(): Clock & { pass(ms: number): void } {
  let now = 0;
  return {
    now: () => now,
    wallTime: () => now,
    timer(fire, delayMs) {
      now += delayMs;
      queueMicrotask(fire);
      return () => {};
    },
    pass: (ms) => void (now += ms),
  };
}

const lost = Object.assign(new Error("the database system is starting up"), { code: "57P03" });
const conflict = Object.assign(new Error("deadlock detected"), { code: "40P01" });

test("issue 21 a statement is tried again even if its lost connection is noticed after retryMs", async () => {
  const clock = quickClock();
  let tries = 0;
  const work = async (): Promise<string> => {
    if (++tries > 1) return "done";
    clock.pass(60_000); // nothing answered for so long
    throw lost;
  };
  expect(await withRetries(work, { retryMs: 10_000, clock })).toBe("done");
});

test("issue 21 a server that is up for only a quarter of a second at a time is reached within seconds", async () => {
  const clock = quickClock();
  const work = async (): Promise<number> => {
    if (clock.now() % 3_000 < 2_750) throw lost;
    return clock.now();
  };
  expect(await withRetries(work, { retryMs: 15_000, clock })).toBeLessThan(3_000);
});

test("issue 21 a server that stays unreachable is given up after retryMs, and at once if retryMs is 0", async () => {
  const clock = quickClock();
  const never = async (): Promise<never> => {
    throw lost;
  };
  await expect(withRetries(never, { retryMs: 0, clock })).rejects.toBe(lost);
  expect(clock.now()).toBe(0);
  await expect(withRetries(never, { retryMs: 5_000, clock })).rejects.toBe(lost);
  expect(clock.now()).toBeGreaterThan(4_500);
  expect(clock.now()).toBeLessThanOrEqual(5_000);
});

test("issue 21 requests that wait for the server for two seconds say once what they wait for and what to do; shorter waits say nothing", async () => {
  const [clock, log] = [quickClock(), new MemoryLog()];
  const readOnly = Object.assign(new Error("cannot execute INSERT in a read-only transaction"), { code: "25006" });
  const onLongWait = warnOfWaits({ clock, log }, (thrown) => explainPostgres(thrown, "The store a cannot be used now"));
  const never = (): Promise<never> => Promise.reject(readOnly);
  await expect(withRetries(never, { retryMs: 1_500, clock, onLongWait })).rejects.toBe(readOnly);
  expect(log.lines).toEqual([]);
  for (let times = 0; times < 2; times++) await expect(withRetries(never, { retryMs: 15_000, clock, onLongWait })).rejects.toBe(readOnly);
  expect(log.lines.map(({ message }) => message)).toEqual([
    "The store a cannot be used now: cannot execute INSERT in a read-only transaction (25006). Requests wait for it, and are tried again. The server accepts no writes: it is a standby, or read-only. url must point to the primary; waiting writes are retried.",
  ]);
});

test("issue 21 conflicting transactions are retried at once, and lost connections after that still wait", async () => {
  const clock = quickClock();
  const failures = [conflict, conflict, lost, lost];
  const work = async (): Promise<string> => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return "done";
  };
  expect(await withRetries(work, { retryMs: 5_000, clock })).toBe("done");
  expect(clock.now()).toBe(20 + 40);
});

test.each(["57P05", "25P03", "25P04", "25006"])(
  "a connection that the server ends or that is read-only is replaced and the work is retried: %s",
  async (code) => {
    const failures = [Object.assign(new Error("as the server says"), { code })];
    const work = async (): Promise<string> => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return "done";
    };
    expect(await withRetries(work, { retryMs: 5_000, clock: quickClock() })).toBe("done");
  },
);

test.each([
  ["22021", false],
  ["54000", false],
  ["53100", true],
  ["57P03", true],
  ["ECONNREFUSED", true],
  ["ENOTFOUND", true],
  ["28P01", false],
  ["28000", false],
  ["3D000", false],
  ["42501", false],
  ["EACCES", false],
  ["SELF_SIGNED_CERT_IN_CHAIN", false],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", false],
  ["CERT_HAS_EXPIRED", false],
  ["ERR_TLS_CERT_ALTNAME_INVALID", false],
])("an error with %s has retryable set by whether a second attempt can help: %j", (code, retryable) => {
  const error = explainPostgres(Object.assign(new Error("as the server says"), { code }), "The store could not be used");
  expect(error).toMatchObject({ code: "store_failed", retryable });
});

test.each([
  [{}, 15_000],
  [{ leaseMs: 4_000 }, 4_000],
  [{ readOnly: true }, 1_000],
  [{ readOnly: true, retryMs: 5_000 }, 5_000],
])("an unreachable server is retried for a default time, shorter if the store is read-only: %j", (options, retryMs) => {
  expect(checkPostgresSettings({ url: "postgres://haft@db.example/app", ...options }).retryMs).toBe(retryMs);
});

/** As PgBouncer 1.18 and pg 8.23 say it, and `open` of a file that sslrootcert names. */
test.each([
  ["transaction blocks not allowed in statement pooling mode", "08P01", "session or transaction"],
  ["SASL authentication failed", "08P01", "the user or the password"],
  ["password authentication failed", "08P01", "the user or the password"],
  ["no such user: nobody", "08P01", "the user or the password"],
  ["no such database: nowhere", "08P01", "the name of the database"],
  ['database "nowhere" does not exist', "08P01", "the name of the database"],
  ["unsupported startup parameter: options", "08P01", "ignore_startup_parameters"],
  ["SSL required", "08P01", "sslmode"],
  ["The server does not support SSL connections", undefined, "client_tls_sslmode"],
  ["ENOENT: no such file or directory, open '/nowhere.pem'", "ENOENT", "sslrootcert"],
])("an error that no retry can fix is reported at once, with a hint: %s", async (text, code, hint) => {
  const clock = quickClock();
  const refused = Object.assign(new Error(text), { code, ...(code === "ENOENT" ? { syscall: "open" } : {}) });
  const work = (): Promise<never> => Promise.reject(refused);
  await expect(withRetries(work, { retryMs: 15_000, clock })).rejects.toBe(refused);
  expect(clock.now()).toBe(0);
  expect(explainPostgres(refused, "The store could not be opened")).toMatchObject({
    code: "store_failed",
    retryable: false,
    message: `The store could not be opened: ${text}${code === "08P01" ? " (08P01)" : ""}.`,
    operatorHint: expect.stringContaining(hint),
  });
});

test.each([
  ["query_wait_timeout", "08P01", undefined],
  ["server login has been failing, try again later (server_login_retry)", "08P01", undefined],
  ["no more connections allowed (max_client_conn)", "08P01", undefined],
  ["connect ENOENT /run/postgresql/.s.PGSQL.5432", "ENOENT", "connect"],
])("a transient error is retried: %s", async (text, code, syscall) => {
  const clock = quickClock();
  const passing = Object.assign(new Error(text), { code, syscall });
  await expect(withRetries(() => Promise.reject(passing), { retryMs: 5_000, clock })).rejects.toBe(passing);
  expect(clock.now()).toBeGreaterThan(4_500);
});

test.each([
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "sslrootcert"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "sslrootcert"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "sslrootcert"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "sslrootcert"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "the host in url"],
])("an untrusted certificate is reported with its code and a hint: %s", (code, hint) => {
  const error = explainPostgres(Object.assign(new Error("not trusted"), { code }), "The store could not be opened");
  expect(error).toMatchObject({
    message: `The store could not be opened: not trusted (${code}).`,
    operatorHint: expect.stringContaining(hint),
  });
});
