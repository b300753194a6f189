/** A batch that begins twice in its log, as a full disk kept some of its calls from starting the first time: crashes at each event, and what reads such a log. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { ToolCall } from "../../src/core/call.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import { writeRecording } from "../../src/core/recording/recording.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { Store } from "../../src/core/store/store.ts";
import type { Tool } from "../../src/core/tool.ts";
import { importRecording } from "../../src/runtime/import-recording.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { storedEvents } from "../../src/session/read-events.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { localStore } from "../store/local-store.ts";
import { onPglite } from "../store/postgres/stores.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { testInCI } from "../test-in-ci.ts";
import { tool } from "./bench-runtime.ts";

const KEY = { idempotencyKey: "order 1" };
const CALLS: readonly ToolCall[] = [
  { id: "c1", name: "label", input: { text: "x".repeat(20_000) } },
  { id: "c2", name: "nothing" },
  { id: "c3", name: "pay", input: { sum: 5 } },
  { id: "c4", name: "pay", input: { sum: 6 } },
];

/** A process over a store, and what was paid in it. */
function start(store: Store, onLabel = (): void => {}): { readonly runtime: Runtime; readonly paid: unknown[] } {
  const paid: unknown[] = [];
  const tools: readonly Tool[] = [
    tool("label", () => (onLabel(), "labelled"), { effects: { writes: ["label"], idempotent: true } }),
    tool("pay", ({ sum }) => (paid.push(sum), { sum }), { effects: { writes: ["money"] } }),
  ];
  const ids = { next: (kind: string) => `${kind}_${crypto.randomUUID()}` };
  const runtime = createRuntime({ store, tools, ports: { ids, log: new MemoryLog() } });
  onTestFinished(async () => void (await runtime.close()));
  return { runtime, paid };
}

async function eventsOf(store: Store, id: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of storedEvents(store, id)) events.push(event);
  return events;
}

/** The disk is full while the first call runs, and has room again when the batch is sent again. */
async function begunTwice(): Promise<readonly SessionEvent[]> {
  const { store, file } = localStore(temporaryFile());
  const { runtime } = start(store, () => file.exec("PRAGMA max_page_count = 1"));
  const session = runtime.session("s");
  await session.addMessage({ role: "user", content: "x".repeat(100_000) }); // takes the pages that are free
  await expect(session.execute(CALLS, KEY)).rejects.toMatchObject({ code: "store_failed" });
  file.exec("PRAGMA max_page_count = 100000");
  await session.execute(CALLS, KEY);
  return eventsOf(store, "s");
}

/** How many events a crash may leave: a batch is written with the beginnings of its calls. */
function cutsOf(events: readonly SessionEvent[]): readonly number[] {
  return Array.from({ length: events.length + 1 }, (_, length) => length).filter((length) => events[length]?.type !== "call-start");
}

async function storeCut(store: Store, events: readonly SessionEvent[]): Promise<void> {
  if (events.length === 0) return;
  const log = store.create("s", { at: 0, durability: "sync" });
  log.append(events);
  await log.close();
}

/** What may have been paid by a process that ended behind these events. */
function paidBefore(events: readonly SessionEvent[]): readonly unknown[] {
  const refused = new Set(
    events.map((event) => (event.type === "call-end" && event.result.error?.code === "store_failed" ? event.callId : "")),
  );
  return events.flatMap((event) => (event.type === "call-intent" && !refused.has(event.callId) ? [event.input["sum"]] : []));
}

const codesOf = (results: readonly ToolResult[]): readonly string[] => results.map(({ status, error }) => error?.code ?? status);

async function recordingOf(store: Store): Promise<string> {
  const lines: string[] = [];
  for await (const line of writeRecording(storedEvents(store, "s"), { sessionId: "s", exportedAt: 1 })) lines.push(line);
  return lines.join("");
}

/** Resumes the session, sends its batch again, and so does the next process. @returns the answer that both got */
async function sendAgain(store: Store, before: readonly SessionEvent[]): Promise<readonly ToolResult[]> {
  const { runtime, paid } = start(store);
  const session = await runtime.resume("s", { create: true });
  const answer = await session.execute(CALLS, KEY);
  expect(await session.execute(CALLS, KEY)).toEqual(answer);
  const all = [...paidBefore(before), ...paid];
  expect([all.length, new Set(all)]).toEqual([2, new Set([5, 6])]);
  const inDoubt = before.at(-1)?.type === "call-intent"; // it was told to the store, and perhaps done
  expect(codesOf(answer).toSorted()).toEqual(["not_found", "ok", "ok", inDoubt ? "outcome_unknown" : "ok"]);
  await session.close();
  const next = start(store);
  const resumed = await next.runtime.resume("s");
  expect([await resumed.execute(CALLS, KEY), next.paid]).toEqual([answer, []]);
  await resumed.close();
  const events = await eventsOf(store, "s");
  const ids = (type: "call-start" | "call-end") => events.flatMap((event) => (event.type === type ? [event.callId] : [])).toSorted();
  expect(ids("call-end")).toEqual(ids("call-start"));
  return answer;
}

/** Of the session that was recorded the key is known, under its own id alone. */
async function checkImports(recording: string, answer: readonly ToolResult[]): Promise<void> {
  for (const id of ["s", "other"]) {
    const store = memoryStore();
    await importRecording(store, recording, { id });
    const { runtime, paid } = start(store);
    const results = await (await runtime.resume(id)).execute(CALLS, KEY);
    if (id === "s") expect([results, paid]).toEqual([answer, []]);
    else
      expect([codesOf(results), paid]).toEqual([
        ["ok", "not_found", "ok", "ok"],
        [5, 6],
      ]);
  }
}

/** A branch has keys of its own, wherever it begins, and takes none from the session. */
async function checkBranches(store: Store, answer: readonly ToolResult[]): Promise<void> {
  const { runtime } = start(store);
  const session = await runtime.resume("s");
  for (let length = 1; length <= session.length; length++) {
    const branch = await session.forkAt(length).catch(() => undefined); // where a turn was under way there is none
    if (branch === undefined) continue;
    expect(codesOf(await branch.execute(CALLS, KEY))).toEqual(["ok", "not_found", "ok", "ok"]);
    await branch.discard();
  }
  const { runtime: other, paid } = start(memoryStore());
  const restored = other.session("s", { from: await session.snapshot() });
  expect([await session.execute(CALLS, KEY), await restored.execute(CALLS, KEY), paid]).toEqual([answer, answer, []]);
  await session.close();
}

describe("I11 F0.12 a batch repeated after a full disk pays once and is answered alike after a crash at each of its events", () => {
  const checkAll = async (storeFor: (length: number) => Store): Promise<void> => {
    const events = await begunTwice();
    expect(events.filter(({ type }) => type === "batch-start")).toHaveLength(2);
    for (const length of cutsOf(events)) {
      const store = storeFor(length);
      const before = events.slice(0, length);
      await storeCut(store, before);
      const answer = await sendAgain(store, before);
      await checkImports(await recordingOf(store), answer);
      await checkBranches(store, answer);
    }
  };

  test("in memory", () => checkAll(() => memoryStore()));
  test("in SQLite", () => checkAll(() => localStore(temporaryFile()).store));
  testInCI(
    "in PostgreSQL",
    async () => {
      const maker = await onPglite();
      onTestFinished(() => maker.close());
      await checkAll((length) => maker.store(`cut_${length}`));
    },
    120_000,
  );
});
