import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pure } from "../../../src/core/effects.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
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

async function countOf(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of items) count++;
  return count;
}
