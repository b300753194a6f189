/** What a crash leaves of a session, case by case: each was once done wrongly. */
import { expect, test } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts, settle } from "../../src/testing/fake-ports.ts";
import { CrashDisk } from "./crash-disk.ts";

const described = { description: "d", inputSchema: { type: "object" } } as const;

test("I03 changes that two interrupted calls made in turn to one value are all taken back", async () => {
  const disk = new CrashDisk();
  const store = disk.store();
  const contexts: ToolContext[] = [];
  const pay: Tool = { ...described, name: "pay", effects: { writes: (input) => [`to:${String(input["to"])}`] } };
  const ports = fakePorts();
  const runtime = createRuntime({
    store,
    ports,
    tools: [{ ...pay, execute: (_, context) => (contexts.push(context), new Promise(() => {})) }],
  });
  const session = runtime.session("s");
  store.flush();
  await settle();
  void session.execute([
    { name: "pay", input: { to: 1 } },
    { name: "pay", input: { to: 2 } },
  ]);
  await settle();
  store.flush();
  await settle();
  const [one, two] = contexts;
  for (const context of [one, two, one])
    context?.state.update("paid", (before) => [...(Array.isArray(before) ? before : []), context.callId]);
  expect(session.state("default", "paid")).toEqual([one?.callId, two?.callId, one?.callId]);
  store.die(1);

  const next = disk.store();
  const resuming = createRuntime({ store: next, ports, tools: [pay] }).resume("s");
  await settle();
  next.flush();
  const resumed = await resuming;
  expect(resumed.history.map((entry) => entry.result?.error?.code)).toEqual(["outcome_unknown", "outcome_unknown"]);
  expect(resumed.state("default", "paid")).toBe(undefined);
});

/** A process that ran a batch which failed and was rolled back, dead before more than `written` of its last appends were on the disk. */
async function rolledBack(written: number): Promise<{ readonly disk: CrashDisk; readonly waiting: number }> {
  const disk = new CrashDisk();
  const store = disk.store();
  const ports = fakePorts();
  const session = createRuntime({ store, ports, tools: [PUT, FAIL] }).session("s");
  store.flush();
  await settle();
  const failed = session.execute([{ name: "put" }, { name: "fail" }], { onError: "throw", idempotencyKey: "k" });
  void failed.catch(() => {});
  await settle();
  const { waiting } = store;
  store.die(written / waiting);
  return { disk, waiting };
}

const PUT: Tool = {
  ...described,
  name: "put",
  effects: { writes: ["place"], idempotent: true },
  execute: (_: unknown, { state }) => {
    for (const key of ["one", "two", "three"]) state.update(key, () => key);
  },
};
const FAIL: Tool = { ...described, name: "fail", effects: { reads: [] }, execute: () => Promise.reject(new Error("no")) };

test("F4.26 I03 wherever a crash cuts a rollback off, either all of it happened or nothing", async () => {
  const { waiting } = await rolledBack(0);
  const left = new Set<string>();
  for (let written = 1; written <= waiting; written++) {
    const { disk } = await rolledBack(written);
    const store = disk.store();
    const resuming = createRuntime({ store, ports: fakePorts(), tools: [PUT, FAIL] }).resume("s");
    await settle();
    store.flush();
    const session = await resuming;
    const state = ["one", "two", "three"].map((key) => session.state("default", key) ?? "-").join(" ");
    left.add(`${session.history.map((entry) => entry.result?.status).join(" ")}: ${state}`);
  }
  expect([...left]).toEqual(["ok error: one two three", ": - - -"]);
});
