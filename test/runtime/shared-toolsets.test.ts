import { expect, onTestFinished, test, vi } from "vitest";
import { createRuntime, defineTool, type RuntimeEvent, type ToolContext, type Toolset } from "../../src/index.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import type { Store } from "../../src/core/store/store.ts";

/** A toolset whose calls run until they are told to end. */
function gated(more: Partial<Toolset> = {}) {
  const running: { readonly input: unknown; readonly context: ToolContext; readonly end: () => void }[] = [];
  const write = defineTool({
    name: "write",
    description: "Writes one thing.",
    inputSchema: { type: "object", properties: { key: { type: "string" } }, required: ["key"] },
    effects: { writes: "thing:{key}" },
    execute: (input, context) => new Promise<string>((resolve) => running.push({ input, context, end: () => resolve("written") })),
  });
  return { running, toolset: { name: "things", shared: true, tools: [write], ...more } satisfies Toolset };
}

function runtimeOn(store: Store, toolset: Toolset) {
  const events: RuntimeEvent[] = [];
  const runtime = createRuntime({ store, toolsets: [toolset], onEvent: (event) => events.push(event) });
  onTestFinished(() => void runtime.close());
  return { events, write: (key: string) => runtime.execute({ name: "things::write", input: { key } }) };
}

test("issue 21.4 calls of a shared toolset wait for other runtimes, get their fence, and name the holder", async () => {
  const store = memoryStore();
  const [one, other] = [gated(), gated()];
  const [first, second] = [runtimeOn(store, one.toolset), runtimeOn(store, other.toolset)];
  const held = first.write("a");
  await expect.poll(() => one.running.length).toBe(1);
  const waiting = second.write("a");
  const free = second.write("b");
  await expect.poll(() => other.running.length).toBe(1);
  expect(other.running[0]?.input).toEqual({ key: "b" });
  other.running[0]?.end();
  await free;
  await new Promise((resolve) => setTimeout(resolve, 20));
  one.running[0]?.end();
  const { callId } = await held;
  await expect.poll(() => other.running.length).toBe(2);
  other.running[1]?.end();
  expect((await waiting).status).toBe("ok");
  expect(other.running[1]?.context.fence).toBeGreaterThan(one.running[0]?.context.fence ?? Infinity);
  const waits = second.events.filter((event) => event.type === "call-wait" && event.waitedFor.length > 0);
  expect(waits).toMatchObject([{ reason: "lock", waitedFor: [callId] }]);
  await expect.poll(() => store.leases.list()).toEqual([]);
});

test("issue 21.4 maxConcurrent of a shared toolset counts the calls of all runtimes", async () => {
  const store = memoryStore();
  const [one, other] = [gated({ maxConcurrent: 1 }), gated({ maxConcurrent: 1 })];
  const [first, second] = [runtimeOn(store, one.toolset), runtimeOn(store, other.toolset)];
  const held = first.write("a");
  await expect.poll(() => one.running.length).toBe(1);
  const waiting = second.write("b");
  await expect.poll(async () => (await store.leases.list()).filter(({ fence }) => fence === undefined).length).toBe(1);
  expect(other.running).toEqual([]);
  one.running[0]?.end();
  await held;
  await expect.poll(() => other.running.length).toBe(1);
  other.running[0]?.end();
  expect((await waiting).status).toBe("ok");
  await expect.poll(() => store.leases.list()).toEqual([]);
});

test("issue 21.4 toolsets that are not shared are local to their process, and have no fence", async () => {
  const store = memoryStore();
  const [one, other] = [gated({ shared: false }), gated({ shared: false })];
  const calls = [runtimeOn(store, one.toolset).write("a"), runtimeOn(store, other.toolset).write("a")];
  await expect.poll(() => one.running.length + other.running.length).toBe(2);
  for (const { context, end } of [...one.running, ...other.running]) {
    expect(context.fence).toBe(undefined);
    end();
  }
  await Promise.all(calls);
});

test("issue 21.4 a deadline ends the wait for a lease, and leaves no row", async () => {
  const store = memoryStore();
  const [one, other] = [gated(), gated({ defaults: { deadlineMs: 50 } })];
  const [first, second] = [runtimeOn(store, one.toolset), runtimeOn(store, other.toolset)];
  const held = first.write("a");
  await expect.poll(() => one.running.length).toBe(1);
  const { error } = await second.write("a");
  const { callId } = one.running[0]?.context ?? expect.fail("it runs");
  expect(error).toMatchObject({ code: "resource_busy", message: expect.stringContaining(callId) });
  // a request that is on its way at the deadline is answered first
  await expect.poll(async () => (await store.leases.list()).map((lease) => lease.callId)).toEqual([callId]);
  one.running[0]?.end();
  await held;
});

test("issue 21.4 a shared toolset without a store is rejected at once", () => {
  const { toolset } = gated();
  expect(() => createRuntime({ toolsets: [toolset] })).toThrow('The toolset "things" is shared, and the runtime has no store.');
  expect(() => createRuntime({ store: memoryStore(), toolsets: [{ ...toolset, shared: "yes" as never }] })).toThrow("shared of");
});

test.each([
  ["a lock", { writes: "thing" }, "could not be opened"],
  ["a slot", { reads: [], writes: [] }, "could not be opened"],
  ["a lock of a store that does not answer", { writes: "thing" }, "The store has not answered yet."],
])("a deadline that ends the wait for %s reports an unreachable store, and gives the operator the cause", async (_, effects, why) => {
  const store = sqliteStore({ path: "/dev/null/haft.db" });
  if (why.includes("opened")) await expect(store.open()).rejects.toThrow(why);
  else vi.spyOn(store.leases, "update").mockReturnValue(new Promise(() => {}));
  const write = defineTool({
    name: "write",
    description: "",
    inputSchema: { type: "object" },
    effects,
    deadlineMs: 1_500,
    execute: () => 1,
  });
  const { error } = await runtimeOn(store, { name: "things", shared: true, maxConcurrent: 1, tools: [write] }).write("a");
  expect(error).toEqual({
    code: "unavailable",
    message: "things::write was not started: the store through which its toolset is shared could not be reached in time.",
    retryable: true,
    outcome: "not_started",
    operatorHint: expect.stringContaining(why),
  });
});

test.each(["does not answer", "has not been asked"])(
  "a deadline that ends the wait for a runtime slot does not blame a shared toolset's store that %s",
  async (how) => {
    const store = memoryStore();
    vi.spyOn(store.leases, "update").mockReturnValue(new Promise(() => {}));
    const shared = { description: "", inputSchema: { type: "object" }, deadlineMs: 100 };
    const look = defineTool({ ...shared, name: "look", effects: { reads: [], writes: [] }, execute: () => 1 });
    const write = defineTool({ ...shared, name: "write", effects: { writes: "thing" }, execute: () => 1 });
    const block = defineTool({
      ...shared,
      name: "block",
      deadlineMs: 60_000,
      effects: { reads: [], writes: [] },
      execute: () => new Promise(() => {}),
    });
    const runtime = createRuntime({
      store,
      maxConcurrent: 1,
      tools: [block],
      toolsets: [{ name: "things", shared: true, tools: [look, write] }],
    });
    onTestFinished(() => void runtime.close());
    void runtime.execute({ name: "block" });
    if (how === "does not answer") void runtime.execute({ name: "things::write" });
    const { error } = await runtime.execute({ name: "things::look" });
    expect(error).toMatchObject({ code: "resource_busy", message: "things::look waited for a free slot until its deadline." });
  },
);
