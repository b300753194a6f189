import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { pure } from "../../../src/core/effects.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { tool } from "../bench-runtime.ts";

test("I12 a snapshot of a session that another process has taken over is refused, and holds nothing that the other wrote", async () => {
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

describe("I12 committing a branch that another process has taken over", () => {
  test("is refused once the other has gone on with it: the session and its log stay as they were", async () => {
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

  test("resolves while the other has done nothing there, and leaves the branch to it", async () => {
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
