import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ApprovalSettings } from "../../../src/policy/approval/approval-gate.ts";
import type { ApprovalRecord } from "../../../src/core/store/approval-store.ts";
import { pure } from "../../../src/core/resources/effects.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { tool } from "../bench-runtime.ts";

test("I12 a snapshot of a session that another process has taken over is rejected, and has nothing the other wrote", async () => {
  const folder = mkdtempSync(join(tmpdir(), "haft-taken-over-"));
  const release = Promise.withResolvers<void>();
  const tools = [tool("note", (input) => input, { effects: pure }), tool("hang", () => release.promise, { effects: pure })];
  const open = (): Runtime => createRuntime({ tools, store: sqliteStore({ path: join(folder, "a.db") }), timeoutMs: 0 });
  const [first, second] = [open(), open()];
  try {
    const one = first.session("s");
    await one.execute({ name: "note", input: { n: 1 } });
    const other = await second.resume("s", { takeOver: true });
    const running = other.execute([{ name: "hang" }, { name: "hang" }]);
    while ((await countOf(other.events())) < 5) await new Promise(setImmediate);
    const [executed, snapped] = await Promise.allSettled([one.execute({ name: "note" }), one.snapshot()]);
    expect(executed).toMatchObject({ status: "rejected", reason: { code: "conflict" } });
    expect(snapped).toMatchObject({ status: "rejected", reason: { code: "conflict" } });
    release.resolve();
    await running;
  } finally {
    release.resolve();
    await Promise.all([first.close(), second.close()]);
    rmSync(folder, { recursive: true });
  }
});

test.each(["cancelled", "late", "refused by an approver that fails"] as const)(
  "I12 a call that is %s in a process that lost its session does not end the other's question",
  async (how) => {
    const folder = mkdtempSync(join(tmpdir(), "haft-taken-question-"));
    const pay = tool("pay", () => "paid", { effects: { writes: ["account"], external: true } });
    let fail = (): void => {};
    const failing = (): Promise<never> => new Promise((_, reject) => (fail = () => reject(new Error("the approver has no connection"))));
    const open = (timeoutMs: number, approve: ApprovalSettings["approve"] = "inbox"): Runtime =>
      createRuntime({
        tools: [pay],
        store: sqliteStore({ path: join(folder, "a.db"), busyTimeoutMs: 50 }),
        approval: { approve, always: ["*"], timeoutMs },
      });
    const [first, second] = [open(how === "late" ? 1_000 : 0, how.startsWith("refused") ? failing : "inbox"), open(0)];
    const asked = async (): Promise<ApprovalRecord> => {
      for (let tries = 0; tries < 200; tries++) {
        const [question] = await second.approvals.pending();
        if (question !== undefined) return question;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return expect.fail("no question is open");
    };
    try {
      const lost = (await first.resume("s", { create: true })).execute({ name: "pay" });
      lost.catch(() => {}); // as the test says below
      const { position, callId } = await asked();
      const resumed = second.resume("s", { takeOver: true });
      while ((await asked()).position === position) await new Promise((resolve) => setTimeout(resolve, 10));
      if (how === "cancelled") first.cancel(callId);
      fail();
      await expect(lost).rejects.toMatchObject({ code: "conflict" });
      const { id, digest } = await asked();
      expect(await second.approvals.answer({ id, digest, answer: "allow-once" })).toBe(true);
      expect((await resumed).history.map(({ result }) => result?.status)).toEqual(["ok"]);
    } finally {
      await Promise.allSettled([first.close(), second.close()]);
      rmSync(folder, { recursive: true });
    }
  },
);

describe("I12 committing a branch that another process has taken over", () => {
  test("is rejected once the other process has continued it: the session and its log stay unchanged", async () => {
    const world = openWorld();
    try {
      const { parent, branch, other } = await world.takenBranch();
      await other.execute({ name: "set", input: { value: "theirs" } });
      const before = parent.length;
      await expect(branch.commit()).rejects.toMatchObject({ code: "conflict" });
      expect([parent.length, await countOf(parent.events()), parent.state("default", "value")]).toEqual([before, before, "parent"]);
      expect((await parent.execute({ name: "set", input: { value: "still open" } })).status).toBe("ok");
      await expect(branch.execute({ name: "set", input: { value: "lost" } })).rejects.toMatchObject({ code: "conflict" });
      expect(other.state("default", "value")).toBe("theirs");
    } finally {
      await world.close();
    }
  });

  test("resolves while the other process has done nothing, and leaves the branch to it", async () => {
    const world = openWorld();
    try {
      const { parent, branch, other } = await world.takenBranch();
      await branch.commit();
      expect(parent.state("default", "value")).toBe("branch");
      expect(parent.history.map(({ result }) => result?.status)).toEqual(["ok", "ok"]);
      expect((await other.execute({ name: "set", input: { value: "theirs" } })).status).toBe("ok");
      expect(parent.state("default", "value")).toBe("branch");
    } finally {
      await world.close();
    }
  });
});

interface World {
  /** A session with a branch, each with one call, and the branch as another process has it. */
  takenBranch(): Promise<{ parent: RuntimeSession; branch: RuntimeSession; other: RuntimeSession }>;
  close(): Promise<void>;
}

function openWorld(): World {
  const folder = mkdtempSync(join(tmpdir(), "haft-taken-branch-"));
  const set = tool("set", ({ value }, { state }) => state.update("value", () => String(value)), { effects: pure });
  const open = (): Runtime => createRuntime({ tools: [set], store: sqliteStore({ path: join(folder, "a.db") }) });
  const [first, second] = [open(), open()];
  return {
    async takenBranch() {
      const parent = first.session("s");
      await parent.execute({ name: "set", input: { value: "parent" } });
      const branch = parent.fork({ id: "branch" });
      await branch.execute({ name: "set", input: { value: "branch" } });
      return { parent, branch, other: await second.resume("branch", { takeOver: true }) };
    },
    async close() {
      await Promise.all([first.close(), second.close()]);
      rmSync(folder, { recursive: true });
    },
  };
}

async function countOf(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of items) count++;
  return count;
}

test("a composite call that was made in a lost session starts no session of its own, so its calls have no effect", async () => {
  const folder = mkdtempSync(join(tmpdir(), "haft-taken-call-"));
  const paid: string[] = [];
  const pay = tool("pay", () => paid.push("pay"), { effects: { writes: ["bank"], external: true } });
  const agent = tool(
    "agent",
    async (_input, context) => {
      const own = await sessionWithin(context);
      try {
        return (await own.execute({ name: "pay" })).status;
      } finally {
        await own.close();
      }
    },
    { composite: true, effects: undefined as never },
  );
  const open = (): Runtime => createRuntime({ tools: [pay, agent], store: sqliteStore({ path: join(folder, "a.db") }) });
  const [first, second] = [open(), open()];
  try {
    const lost = first.session("s");
    await lost.execute({ name: "pay" });
    await second.resume("s", { takeOver: true });

    // The first process finds out only when the store refuses to write the call.
    await expect(lost.execute({ name: "agent" })).rejects.toMatchObject({ code: "conflict" });

    expect(paid).toEqual(["pay"]);
    expect((await second.store?.list({}))?.map(({ sessionId }) => sessionId)).toEqual(["s"]);
  } finally {
    await Promise.all([first.close(), second.close()]);
    rmSync(folder, { recursive: true });
  }
});

test("L07 a process that continues after another has taken over its call leaves the session of that call to the other", async () => {
  const folder = mkdtempSync(join(tmpdir(), "haft-taken-session-"));
  const worlds = (["first", "second"] as const).map((name) => {
    const [entered, suspended, begun, release] = [1, 2, 3, 4].map(() => Promise.withResolvers<void>());
    const look = tool("look", async () => (begun?.resolve(), await release?.promise, `seen by the ${name}`), { effects: pure });
    const agent = tool(
      "agent",
      async (_input, context) => {
        entered?.resolve();
        if (name === "first") await suspended?.promise;
        const own = await sessionWithin(context);
        try {
          return (await own.execute({ name: "look" })).output;
        } finally {
          await own.close();
        }
      },
      { composite: true, effects: undefined as never },
    );
    const runtime = createRuntime({ tools: [look, agent], store: sqliteStore({ path: join(folder, "a.db") }), timeoutMs: 0 });
    return { runtime, entered, suspended, begun, release };
  });
  const [first, second] = worlds as [(typeof worlds)[0], (typeof worlds)[0]];
  try {
    const session = first.runtime.session("s");
    const lost = session.execute({ name: "agent" });
    lost.catch(() => {}); // as the test says below
    await first.entered?.promise;
    await session.eventLog?.whenDurable();
    const resumed = second.runtime.resume("s", { takeOver: true });
    await second.begun?.promise;

    first.release?.resolve();
    first.suspended?.resolve(); // the process does not know yet that it has lost the session
    await expect(lost).rejects.toMatchObject({ code: "conflict" });
    second.release?.resolve();

    expect((await resumed).history.map(({ result }) => result?.output)).toEqual(["seen by the second"]);
  } finally {
    for (const { release } of worlds) release?.resolve();
    await Promise.allSettled(worlds.map(({ runtime }) => runtime.close()));
    rmSync(folder, { recursive: true });
  }
});
