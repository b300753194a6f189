import { expect, test } from "vitest";
import { writeRecording } from "../../src/core/recording/recording.ts";
import type { Tool } from "../../src/core/tool.ts";
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

test("I15 I03 a call that had no result when it was recorded is never run by whoever imports it: nobody knows what became of it", async () => {
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

test("I15 importing a recording again changes nothing, also when its session has gone on; another one of the same id is refused", async () => {
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
