/** Questions that outlive the process that asked them, and answers from another one: real processes on one file. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { StoredApprovals } from "../../../src/policy/approval/stored-approvals.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { bundledProgram } from "../../bundled-program.ts";
import { inCI } from "../../ci.ts";
import { testInCI } from "../../test-in-ci.ts";

const PROGRAM = bundledProgram("runtime/approvals/approval-process");

/** Starts a process; `next` is the next thing that it says, undefined when it has ended. */
function start(action: "ask" | "resume" | "within" | "simulate" | "alone", path: string, description?: string) {
  const args = description === undefined ? [PROGRAM, action, path] : [PROGRAM, action, path, description];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return {
    async next(): Promise<unknown> {
      const { value, done } = await lines.next();
      return done === true ? undefined : JSON.parse(value);
    },
    async kill(): Promise<void> {
      child.kill("SIGKILL");
      await ended;
    },
    ended,
  };
}

/** The inbox as a process sees it that asks nothing itself. */
function inboxOf(path: string): StoredApprovals {
  const store = sqliteStore({ path });
  onTestFinished(() => store.close());
  return new StoredApprovals({ store: store.approvals });
}

const done = (path: string): string => (existsSync(`${path}.done`) ? readFileSync(`${path}.done`, "utf8") : "");

test("issue 19.4 another process answers the question of a waiting process, which continues", async () => {
  const path = temporaryFile();
  const asking = start("ask", path);
  expect(await asking.next()).toMatchObject({ asked: expect.stringMatching(/^approval_/u) });
  const inbox = inboxOf(path);
  const [open] = await eventually(() => inbox.list({ status: "open" }));
  expect(open).toMatchObject({ toolName: "default::remove", input: { year: 2019 }, sessionId: "trip", askedIn: expect.any(String) });
  const { id = "", digest = "" } = open ?? {};
  expect(
    await Promise.all([inbox.answer({ id, digest, answer: "allow-once", by: "anna" }), inbox.answer({ id, digest, answer: "deny" })]),
  ).toEqual([true, false]);
  expect([await asking.next(), await asking.next()]).toEqual([{ answered: "allowed", by: "anna" }, { ended: "ok" }]);
  await asking.ended;
  expect(done(path)).toBe("2019\n");
});

test.each(inCI ? (["simulate", "alone"] as const) : (["alone"] as const))(
  "a question of a session without a store is withdrawn after its process was killed, as no one can answer it (%s)",
  async (action) => {
    const path = temporaryFile();
    const asking = start(action, path);
    const inbox = inboxOf(path);
    const [open] = await eventually(() => inbox.list({ status: "open" }));
    expect(open?.askedIn).toEqual(expect.any(String));
    await asking.kill();
    const { id = "", digest = "" } = open ?? {};
    expect([await inbox.list({ status: "open" }), await inbox.answer({ id, digest, answer: "allow-once" })]).toEqual([[], false]);
    expect((await inbox.get(id))?.status).toBe("withdrawn");
  },
);

const SETTLED_AFTER = [
  ["run", 1],
  ["settle", 10_000],
  ["run", 10_000],
] as const;

test.each(inCI ? SETTLED_AFTER : SETTLED_AFTER.slice(0, 1))(
  "a resume (%s) settles a session begun by a call whose process was killed after its result, with %i events in memory",
  async (interrupted, keepEvents) => {
    const path = temporaryFile();
    const asking = start("within", path);
    expect(await asking.next()).toMatchObject({ asked: expect.any(String) });
    expect(await asking.next()).toMatchObject({ ended: "ok" });
    expect(await asking.next()).toMatchObject({ sessions: ["trip", expect.stringContaining("trip/")] });
    await asking.kill();
    const runtime = createRuntime({ store: sqliteStore({ path }), approval: { approve: "inbox" }, keepEvents });
    onTestFinished(async () => void (await runtime.close()));
    const { store } = runtime;
    const eventsOf = async (id: string): Promise<readonly SessionEvent[]> => {
      const events: SessionEvent[] = [];
      if (store !== undefined) for await (const event of storedEvents(store, id)) events.push(event);
      return events;
    };
    await runtime.resume("trip", { interrupted });
    const ends = (await eventsOf("trip")).filter((event) => event.type === "call-end");
    expect(ends).toMatchObject([{ result: { name: "default::leave_running", status: "ok", output: "left" } }]);
    const types = (await eventsOf(`trip/${ends[0]?.callId}`)).map(({ type }) => type);
    expect(types).toEqual(["session-start", "call-start", "approval-ask", "call-end"]);
    expect(await runtime.approvals.pending()).toEqual([]);
    expect(
      (await store?.list())?.map(({ sessionId, openedBy, isLeftOpen }) => [sessionId === "trip", openedBy !== undefined, isLeftOpen]),
    ).toEqual(
      expect.arrayContaining([
        [true, true, undefined],
        [false, false, undefined],
      ]),
    );
  },
);

testInCI(
  "issue 19.4 kill -9 between question and answer: an answer given in the meantime is used when the session is resumed",
  async () => {
    const path = temporaryFile();
    const asking = start("ask", path);
    await asking.next();
    const inbox = inboxOf(path);
    const [open] = await eventually(() => inbox.list({ status: "open" }));
    await asking.kill();
    const { id = "", digest = "" } = open ?? {};
    expect((await inbox.get(id))?.status).toBe("open");
    expect(await inbox.answer({ id, digest, answer: "allow-once", by: "anna" })).toBe(true);
    expect(done(path)).toBe("");
    const resumed = start("resume", path);
    expect([await resumed.next(), await resumed.next(), await resumed.next()]).toEqual([
      { asked: id, digest },
      { answered: "allowed", by: "anna" },
      { ended: "ok" },
    ]);
    await resumed.ended;
    expect(done(path)).toBe("2019\n");
  },
);

testInCI("issue 19.4 kill -9 before the answer: the question is asked again under the same id, and answered once", async () => {
  const path = temporaryFile();
  const asking = start("ask", path);
  await asking.next();
  const inbox = inboxOf(path);
  const [before] = await eventually(() => inbox.list({ status: "open" }));
  await asking.kill();
  const resumed = start("resume", path);
  await resumed.next();
  const [again] = await eventually(async () =>
    (await inbox.list({ status: "open" })).filter(({ position }) => position !== before?.position),
  );
  expect(again).toMatchObject({ id: before?.id, digest: before?.digest, askedIn: expect.any(String) });
  const { id = "", digest = "" } = again ?? {};
  expect(await inbox.answer({ id, digest, answer: "deny" })).toBe(true);
  expect([await resumed.next(), await resumed.next()]).toEqual([{ answered: "denied" }, { ended: "error", code: "approval_denied" }]);
  await resumed.ended;
  expect(done(path)).toBe("");
});

testInCI("issue 19.4 D02 a tool whose definition changed after the crash invalidates the answer, and is asked about again", async () => {
  const path = temporaryFile();
  const asking = start("ask", path);
  await asking.next();
  const inbox = inboxOf(path);
  const [open] = await eventually(() => inbox.list({ status: "open" }));
  await asking.kill();
  const { id = "", digest = "" } = open ?? {};
  expect(await inbox.answer({ id, digest, answer: "allow-always" })).toBe(true);
  const resumed = start("resume", path, "Deletes every report there is.");
  expect(await resumed.next()).toMatchObject({ asked: id, digest: expect.not.stringMatching(digest) });
  const [again] = await eventually(() => inbox.list({ status: "open" }));
  expect(again).toMatchObject({ id, description: "Deletes every report there is." });
  expect(await inbox.answer({ id, digest, answer: "allow-once" })).toBe(false);
  expect(await inbox.answer({ id, digest: again?.digest ?? "", answer: "deny" })).toBe(true);
  expect(await resumed.next()).toEqual({ answered: "denied" });
  await resumed.ended;
  expect(done(path)).toBe("");
});

/** The first answer that has something in it; the process writes it when it is ready. */
async function eventually<Item>(look: () => Promise<readonly Item[]>): Promise<readonly Item[]> {
  for (;;) {
    const found = await look();
    if (found.length > 0) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
