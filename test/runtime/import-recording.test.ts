import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import { readRecording, writeRecording } from "../../src/core/recording/recording.ts";
import type { Store } from "../../src/core/store/store.ts";
import type { Tool } from "../../src/core/tool.ts";
import { replayEngine } from "../../src/engine/replay.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { importRecording } from "../../src/runtime/import-recording.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { fakePorts, settle } from "../../src/testing/fake-ports.ts";

const HEADER = { sessionId: "s", exportedAt: 5 };

function payTool(paid: string[], isDeaf: boolean): Tool {
  return {
    name: "pay",
    description: "Pays.",
    inputSchema: true,
    effects: { writes: ["money"] },
    execute: () => (paid.push("paid"), isDeaf ? new Promise(() => {}) : "done"),
  };
}

/** A session with one call that ended and one that runs while it is recorded. */
async function recordingOf(paid: string[]): Promise<string> {
  const runtime = createRuntime({ ports: fakePorts(), tools: [payTool(paid, true), { ...payTool([], false), name: "look" }] });
  const session = runtime.session("s");
  await session.execute({ name: "look" });
  void session.execute({ id: "p1", name: "pay" });
  await settle();
  let text = "";
  for await (const line of writeRecording(session.events(), HEADER)) text += line;
  return text;
}

test("I15 I03 a call without a result in a recording never runs where it is imported: its outcome is unknown", async () => {
  const paid: string[] = [];
  const store = memoryStore();
  expect(await importRecording(store, await recordingOf(paid))).toEqual({ sessionId: "s", events: 3, isNew: true });
  const session = await createRuntime({ ports: fakePorts(), store, tools: [payTool(paid, false)] }).resume("s");
  expect(session.history.map(({ call, result }) => [call.id, result?.status, result?.error?.code])).toEqual([
    [undefined, "ok", undefined],
    ["p1", "error", "outcome_unknown"],
  ]);
  expect(paid).toEqual(["paid"]);
});

test("I15 importing a recording again changes nothing, even if its session has continued; another one of that id is rejected", async () => {
  const store = memoryStore();
  const recording = await recordingOf([]);
  await importRecording(store, recording);
  const runtime = createRuntime({ ports: fakePorts(), store, tools: [] });
  await (await runtime.resume("s")).addMessage({ role: "user", content: "Go on." });
  expect(await importRecording(store, recording)).toEqual({ sessionId: "s", events: 3, isNew: false });
  const other = createRuntime({ ports: fakePorts() }).session("s");
  await other.addMessage({ role: "user", content: "Another." });
  let text = "";
  for await (const line of writeRecording(other.events(), HEADER)) text += line;
  await expect(importRecording(store, text)).rejects.toMatchObject({ code: "duplicate" });
  expect(await importRecording(store, text, { id: "t" })).toEqual({ sessionId: "t", events: 1, isNew: true });
});

/** A session with a background job that ended and one that runs while it is recorded. */
async function jobRecording(): Promise<string> {
  const look = { ...payTool([], false), name: "look" };
  const runtime = createRuntime({ ports: fakePorts(), tools: [payTool([], true), look] });
  const session = runtime.session("s");
  await session.submit({ id: "l1", name: "look" });
  await session.submit({ id: "p1", name: "pay" });
  let text = "";
  for await (const line of writeRecording(session.events(), HEADER)) text += line;
  await runtime.close();
  return text;
}

test("I09 a background job without a result in a recording has one end where it is imported", async () => {
  const store = memoryStore();
  await importRecording(store, await jobRecording(), { id: "t" });
  const runtime = createRuntime({ ports: fakePorts(), store, tools: [payTool([], false)] });
  const session = await runtime.resume("t");
  expect(session.messages().map((message) => (message.role === "job" ? message.result?.status : message.role))).toEqual([
    "call",
    "result",
    "ok",
    "call",
    "result",
    "error",
  ]);
  expect(session.log.filter(({ type }) => type === "job-end")).toHaveLength(2);
  expect(runtime.jobs.list()).toEqual([]);
});

test("a recorded background job is replayed with its result, and not with its placeholder", async () => {
  const { events } = await readRecording(await jobRecording());
  const recorded: SessionEvent[] = [];
  for await (const event of events) recorded.push(event);
  const toolset = { name: "default", tools: [{ name: "look", description: "Looks.", inputSchema: true }], engine: replayEngine(recorded) };
  const session = createRuntime({ ports: fakePorts(), toolsets: [toolset] }).session();
  expect(await session.execute({ name: "look" })).toMatchObject({ status: "ok", output: "done", origin: "replay" });
});

test("a snapshot taken while a job ran can be restored: the call stays unfinished there", async () => {
  const runtime = createRuntime({ ports: fakePorts(), tools: [payTool([], true)] });
  const session = runtime.session("s");
  await session.submit({ id: "p1", name: "pay" });
  const snapshot: unknown = JSON.parse(JSON.stringify(await session.snapshot()));
  const other = createRuntime({ ports: fakePorts(), tools: [payTool([], true)] });
  const restored = other.session("s", { from: snapshot });
  expect(restored.messages().map(({ role }) => role)).toEqual(["call", "result"]);
  expect([restored.jobs, other.running]).toEqual([[], []]);
  await runtime.close();
});

test("concurrent imports of one recording import it once, even if the first is cut short", async () => {
  const store = memoryStore();
  const text = await recordingOf([]);
  const cut = text.slice(0, text.length / 2);
  const imports = [cut, text, text, text].map((given) => importRecording(store, given));
  const [broken, ...others] = await Promise.allSettled(imports);
  expect(broken?.status).toBe("rejected");
  expect(others.map((one) => (one.status === "fulfilled" ? one.value.isNew : one.reason))).toEqual([true, false, false]);
});

/** A store with the first events of a recording, as an import leaves it whose process dies. */
async function withBeginning(text: string, count: number, createdAt: number = HEADER.exportedAt): Promise<Store> {
  const store = memoryStore();
  const log = store.create("s", { at: createdAt, durability: "sync" });
  const { events } = await readRecording(text);
  const first: SessionEvent[] = [Object.freeze({ type: "session-start", sessionId: "s", at: HEADER.exportedAt })];
  for await (const event of events) if (first.length <= count) first.push(event);
  log.append(first);
  await log.close();
  return store;
}

async function storedIn(store: Store): Promise<readonly SessionEvent[]> {
  return (await store.read("s", { limit: 100 })).events;
}

test("I15 I03 an import whose process died is completed by importing the same recording again", async () => {
  const text = await recordingOf([]);
  const whole = memoryStore();
  await importRecording(whole, text);
  for (const count of [0, 1, 2, 3]) {
    const store = await withBeginning(text, count);
    const isNew = count < 3;
    expect(await importRecording(store, text)).toEqual({ sessionId: "s", events: 3, isNew });
    if (isNew) expect(await storedIn(store)).toEqual(await storedIn(whole));
    expect(await importRecording(store, text)).toEqual({ sessionId: "s", events: 3, isNew: false });
  }
});

test("I15 another session that happens to be the beginning of a recording stays as it is", async () => {
  const text = await recordingOf([]);
  const older = await withBeginning(text, 2, 1);
  await expect(importRecording(older, text)).rejects.toMatchObject({ code: "duplicate" });
  const open = await withBeginning(text, 2);
  const log = await open.claim("s");
  await expect(importRecording(open, text)).rejects.toMatchObject({ code: "resource_busy" });
  await log.close();
  const continued = await withBeginning(text, 2);
  await (await createRuntime({ ports: fakePorts(), store: continued }).resume("s")).addMessage({ role: "user", content: "Go on." });
  await expect(importRecording(continued, text)).rejects.toMatchObject({ code: "duplicate" });
  expect([await storedIn(older), await storedIn(open), await storedIn(continued)].map(({ length }) => length)).toEqual([3, 3, 4]);
});

/** A store that notes which events are appended together. */
function notingStore(): { readonly store: Store; readonly appended: string[][] } {
  const store = memoryStore();
  const appended: string[][] = [];
  const create = store.create.bind(store);
  store.create = (...args) => {
    const log = create(...args);
    const append = log.append.bind(log);
    log.append = (events) => (appended.push(events.map(({ type }) => type)), append(events));
    return log;
  };
  return { store, appended };
}

test("I15 the ends of unfinished calls become durable together with the calls", async () => {
  const { store, appended } = notingStore();
  await importRecording(store, await recordingOf([]));
  expect(appended).toEqual([["session-start", "call-start", "call-end", "call-start", "call-end"]]);
});

test.each([10, 520])("I15 the last event of a snapshot of %d becomes durable together with those that the import adds", async (count) => {
  const first = createRuntime({ ports: fakePorts() });
  const before = first.session("s");
  for (let sent = 0; sent < count; sent++) await before.addMessage({ role: "user", content: "Again." });
  const session = createRuntime({ ports: fakePorts(), store: memoryStore() }).session("s", { from: await before.snapshot() });
  let text = "";
  for await (const line of writeRecording(session.events(), { sessionId: session.id, exportedAt: 5 })) text += line;
  const { store, appended } = notingStore();
  await importRecording(store, text, { id: "copy" });
  const last = appended.at(-1) ?? [];
  expect([last.at(-1), last.length > 1]).toEqual(["session-start", true]); // the latter says of which session it is a copy
});

test("I15 jobs from a snapshot are not listed by the store into which a long recording is imported", async () => {
  const first = createRuntime({ ports: fakePorts(), tools: [{ ...payTool([], false), mode: "background" }] });
  const before = first.session("s");
  for (let count = 0; count < 520; count++) await before.addMessage({ role: "user", content: "Again." });
  const { id } = await before.submit({ name: "pay" });
  await first.jobs.wait(id);
  const second = createRuntime({ ports: fakePorts(), store: memoryStore() });
  const session = second.session("s", { from: await before.snapshot() });
  expect(await second.store?.jobs.list()).toEqual([]);
  let text = "";
  for await (const line of writeRecording(session.events(), HEADER)) text += line;
  const store = memoryStore();
  await importRecording(store, text);
  expect(await store.jobs.list()).toEqual([]);
});
