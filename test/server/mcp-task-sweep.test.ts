/** Tasks whose time is over leave nothing in the store, also those of earlier processes that nobody asks for. */
import { expect, onTestFinished, test, vi } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { listenMcp } from "../../src/server/mcp.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { messageEvent } from "../../src/testing/store-case.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { raw } from "./mcp-raw.ts";

const NOW = Date.UTC(2026, 0, 1);
const TTL_MS = 600_000;

test("issue 19.7 only expired tasks of earlier processes are removed", async () => {
  const path = temporaryFile();
  const earlier = sqliteStore({ path });
  for (const [id, at] of [
    ["mcp-task-old", NOW - TTL_MS - 1],
    ["mcp-task-young", NOW - TTL_MS + 60_000],
    ["travel", NOW - 10 * TTL_MS],
  ] as const) {
    const log = earlier.create(id, { at, durability: "sync" });
    log.append([{ ...messageEvent(id, 1), at }]);
    await log.whenDurable();
  }
  const held = sqliteStore({ path });
  const heldLog = held.create("mcp-task-held", { at: NOW - TTL_MS - 1, durability: "sync" });
  heldLog.append([{ ...messageEvent("mcp-task-held", 1), at: NOW - TTL_MS - 1 }]);
  await heldLog.whenDurable();
  await earlier.close();

  const store = sqliteStore({ path });
  const clock = new FakeClock({ wallTime: NOW });
  const runtime = createRuntime({ store, tools: [] });
  await runtime.open();
  const listener = await listenMcp(runtime, { port: 0, ports: { clock }, tasks: { ttlMs: TTL_MS } });
  onTestFinished(async () => {
    await listener.close();
    await runtime.close();
    await held.close();
  });
  const ids = async (): Promise<readonly string[]> => (await store.list()).map(({ sessionId }) => sessionId).toSorted();
  await raw(listener.url, "tools/list", {});
  await vi.waitFor(async () => expect(await ids()).toEqual(["mcp-task-held", "mcp-task-young", "travel"]), { timeout: 10_000 });
  await heldLog.close();
  await clock.advance(TTL_MS);
  await vi.waitFor(async () => expect(await ids()).toEqual(["travel"]), { timeout: 10_000 });
});
