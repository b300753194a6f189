import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { storedEvents } from "../../src/session/read-events.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { repeated } from "../ci.ts";

const folder = mkdtempSync(join(tmpdir(), "haft-accounting-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Every hundredth call fails, in turn by a throw, by an answer that breaks its schema, by an answer that is not JSON. */
const work: Tool = {
  name: "work",
  description: "Works.",
  inputSchema: { type: "object", properties: { n: { type: "integer" } } },
  outputSchema: { type: "integer" },
  effects: { writes: ["session:n"] },
  maxAttempts: 1,
  execute: ({ n }: { readonly n: number }, { state }) => {
    state.update("n", () => n);
    if (n % 100 !== 0) return n;
    if (n % 300 === 0) throw new ToolError("execution_failed", "broken");
    return n % 200 === 0 ? "no integer" : 1n;
  },
};

async function listOf(events: AsyncIterable<SessionEvent>): Promise<readonly SessionEvent[]> {
  const list: SessionEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

function statuses(events: readonly SessionEvent[]): ReadonlyMap<number, string> {
  const ends = new Map(events.flatMap((event) => (event.type === "call-end" ? [[event.callId, event.result] as const] : [])));
  const starts = events.flatMap((event) => (event.type === "call-start" ? [event] : []));
  expect(ends.size).toBe(starts.length);
  return new Map(
    starts.map(({ callId, call }) => {
      const result = ends.get(callId);
      return [(call.input as { readonly n: number }).n, result?.error?.code ?? result?.status ?? "none"];
    }),
  );
}

const expected = (n: number): string =>
  n % 100 !== 0 ? "ok" : n % 300 === 0 ? "execution_failed" : n % 200 === 0 ? "invalid_output" : "not_json";

/** Each of 200 calls. */
const SESSIONS = repeated(20);

test("L02 results acknowledged by a SQLite store are there after reopening: each call once, in order, with its result", async () => {
  const path = join(folder, "l02.db");
  const runtime = createRuntime({ store: sqliteStore({ path }), tools: [work], circuit: false });
  const acknowledged = new Map<number, string>();
  await Promise.all(
    Array.from({ length: SESSIONS }, async (_, index) => {
      const session = runtime.session(`s${index}`);
      for (let at = 0; at < 200; at += 10) {
        const calls = Array.from({ length: 10 }, (_, offset) => ({ name: "work", input: { n: index * 200 + at + offset } }));
        const results = await session.execute(calls);
        for (const [offset, result] of results.entries()) acknowledged.set(index * 200 + at + offset, result.error?.code ?? result.status);
      }
    }),
  );
  await runtime.close();
  const store = sqliteStore({ path });
  const found = new Map<number, string>();
  const ids: string[] = [];
  for (let index = 0; index < SESSIONS; index++) {
    const events = await listOf(storedEvents(store, `s${index}`));
    ids.push(...events.flatMap((event) => (event.type === "call-end" ? [event.callId] : [])));
    for (const [n, status] of statuses(events)) found.set(n, status);
  }
  await store.close();
  expect([...found.keys()]).toEqual(Array.from({ length: SESSIONS * 200 }, (_, n) => n));
  expect(new Set(ids).size).toBe(SESSIONS * 200);
  expect([...found]).toEqual([...acknowledged].sort(([one], [other]) => one - other));
  expect([...found.values()]).toEqual(Array.from({ length: SESSIONS * 200 }, (_, n) => expected(n)));
}, 60_000);

test("C11 L10 a long session keeps the latest events in memory, and all of them can be paged through and resumed", async () => {
  const path = join(folder, "l10.db");
  const runtime = createRuntime({ store: sqliteStore({ path }), tools: [work], circuit: false, keepEvents: 100, durability: "async" });
  const session = runtime.session("long");
  for (let n = 0; n < 3_000; n += 50)
    await session.execute(Array.from({ length: 50 }, (_, offset) => ({ name: "work", input: { n: n + offset } })));
  expect(session.log.length).toBeLessThan(200 + 150);
  expect(session.firstKept + session.log.length).toBe(session.length);
  const events = await listOf(session.events());
  expect(events.length).toBe(session.length);
  expect(events.slice(session.firstKept)).toEqual(session.log);
  expect([...statuses(events).keys()]).toEqual(Array.from({ length: 3_000 }, (_, n) => n));
  await runtime.close();
  const next = createRuntime({ store: sqliteStore({ path }), tools: [work], keepEvents: 100 });
  const resumed = await next.resume("long");
  expect([resumed.length, resumed.state("default", "n"), resumed.log.length < 350]).toEqual([events.length, 2_999, true]);
  await next.close();
}, 60_000);
