/** What a crash leaves of a session, case by case: each was once done wrongly. */
import { expect, test } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import type { ToolError } from "../../src/core/error.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { sessionWithin } from "../../src/runtime/session-within.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { countingIds, fakePorts, settle } from "../../src/testing/fake-ports.ts";
import { CrashDisk, type CrashStore } from "./crash-disk.ts";

/** Writes all that the process still has to write, and lets it continue after each write. */
async function flushAll(store: CrashStore): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await settle();
    store.flush();
  }
}

const described = { description: "d", inputSchema: { type: "object" } } as const;

test("I03 changes that two interrupted calls made alternately to one value are all rolled back", async () => {
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

test("F4.26 I03 a rollback that a crash cuts off anywhere has happened completely or not at all", async () => {
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

test("I10 an idempotency key belongs to its session: it is new to a fork, before and after a crash", async () => {
  const disk = new CrashDisk();
  const submit = async (store: CrashStore, session: RuntimeSession, n: number): Promise<unknown> => {
    const submitted = session.execute([{ name: "put", input: { n } }], { idempotencyKey: "k" }).then(
      (results) => results[0]?.callId,
      (error: ToolError) => error.code,
    );
    for (let times = 0; times < 3; times++) {
      await settle();
      store.flush();
    }
    return submitted;
  };
  const ports = fakePorts();
  const store = disk.store();
  const session = createRuntime({ store, ports, tools: [PUT] }).session("s");
  expect(await submit(store, session, 1)).toBe("call_1");
  const [before, after] = [session.fork({ id: "before" }), session.fork({ id: "after" })];
  expect(await submit(store, before, 2)).toBe("call_2");
  store.die(1);

  const next = disk.store();
  const runtime = createRuntime({ store: next, ports, tools: [PUT] });
  expect(await submit(next, await runtime.resume("s"), 1)).toBe("call_1");
  expect(await submit(next, await runtime.resume("before"), 1)).toBe("conflict");
  expect(await submit(next, await runtime.resume(after.id), 3)).toBe("call_3");
});

test("I09 a call resumed as a background job runs only once its start is recorded, so a crash in it is counted", async () => {
  const disk = new CrashDisk();
  let runs = 0;
  const poison: Tool = {
    ...described,
    name: "poison",
    effects: { reads: [], writes: [] },
    mode: "background",
    execute: () => (runs++, new Promise(() => {})),
  };
  const begun = disk.store();
  createRuntime({ tools: [poison], store: begun }).session("s");
  begun.flush();
  const callStart = { sessionId: "s", at: 0, type: "call-start", callId: "c", turnId: "t", call: { name: "poison", input: {} } };
  disk.written.get("s")?.lines.push(JSON.stringify(callStart)); // the process ended before more was written
  const resume = async (starts: number): Promise<RuntimeSession | undefined> => {
    const store = disk.store();
    const resuming = createRuntime({ tools: [poison], store, ports: fakePorts() }).resume("s");
    await settle();
    expect(runs).toBe(starts);
    for (let writes = 0; writes < 3; writes++) {
      store.flush();
      await settle();
    }
    return starts < 3 ? undefined : await resuming;
  };
  for (const starts of [0, 1, 2]) await resume(starts);
  expect((await resume(3))?.history.at(-1)?.result).toMatchObject({ callId: "c", error: { code: "job_parked" } });
  expect(runs).toBe(3);
});

test.each<readonly [string, Partial<Tool>, string, number]>([
  ["only reads", { effects: { reads: [] } }, "outcome_unknown", 1],
  ["is composite", { composite: true }, "done", 1],
  ["declares idempotent writes", { effects: { writes: ["orders"], idempotent: true } }, "done", 2],
])(
  "B07 a call whose handler had made a call that may not be repeated, after a crash, if its tool %s: its end, and how often that call was made",
  async (_, more, end, charges) => {
    const disk = new CrashDisk();
    const ports = fakePorts(); // of both processes: ids must not be given twice
    let made = 0;
    const tools = (isDoomed: boolean): readonly Tool[] => [
      { ...described, name: "charge", effects: { writes: ["money"] }, execute: () => ++made },
      {
        ...described,
        ...more,
        name: "outer",
        execute: async (_input: unknown, { execute }: ToolContext) => {
          await execute({ name: "charge" });
          return isDoomed ? new Promise(() => {}) : "done";
        },
      },
    ];
    const store = disk.store();
    void createRuntime({ store, ports, tools: tools(true) })
      .session("s")
      .execute({ name: "outer" });
    await flushAll(store);
    store.die(1);

    const next = disk.store();
    const resuming = createRuntime({ store: next, ports, tools: tools(false) }).resume("s");
    await flushAll(next);
    const result = (await resuming).history.find(({ call }) => call.name === "outer")?.result;
    expect([result?.error?.code ?? result?.output, made]).toEqual([end, charges]);
  },
);

test.each<readonly [string, Partial<Tool>, readonly [string, number]]>([
  ["only reads", { effects: { reads: [] } }, ["done", 1]],
  ["only reads, in the background", { effects: { reads: [] }, mode: "background" }, ["done", 1]],
  ["is composite", { composite: true }, ["done", 1]],
])(
  "B07 a call that waited for a lock in a handler when the process ended is made once, by itself or by the handler, if the handler's tool %s",
  async (_, more, end) => {
    const disk = new CrashDisk();
    const ports = fakePorts();
    let made = 0;
    const tools = (isDoomed: boolean): readonly Tool[] => [
      { ...described, name: "hold", effects: { writes: ["money"] }, execute: () => (isDoomed ? new Promise(() => {}) : "held") },
      { ...described, name: "charge", effects: { writes: ["money"] }, execute: () => ++made },
      {
        ...described,
        ...more,
        name: "outer",
        execute: async (_input: unknown, { execute }: ToolContext) => (await execute({ name: "charge" }), "done"),
      },
    ];
    const store = disk.store();
    const session = createRuntime({ store, ports, tools: tools(true) }).session("s");
    void session.execute([{ name: "hold" }, { name: "outer" }]);
    await flushAll(store);
    store.die(1);
    expect(made).toBe(0);

    const next = disk.store();
    const resuming = createRuntime({ store: next, ports, tools: tools(false) }).resume("s");
    await flushAll(next);
    const resumed = await resuming;
    await flushAll(next);
    const ended = resumed.log.flatMap((event) =>
      event.type === "call-end" && event.result.name === "default::outer" ? [event.result] : [],
    );
    expect([ended.map(({ error, output }) => error?.code ?? output), made]).toEqual([[end[0]], end[1]]);
  },
);

test.each<readonly [string, Partial<Tool>, number]>([
  ["only reads makes it again", { effects: { reads: [] } }, 1],
  ["is composite gets its result", { composite: true }, 1],
])(
  "B07 a call that waited for approval when its process ended runs once after a crash: a handler whose tool %s",
  async (_, more, charges) => {
    const disk = new CrashDisk();
    let made = 0;
    let asked = 0;
    const ids = countingIds();
    const tools: readonly Tool[] = [
      { ...described, name: "charge", effects: { writes: ["money"], destructive: true }, execute: () => ++made },
      {
        ...described,
        ...more,
        name: "outer",
        execute: async (_input: unknown, { execute }: ToolContext) => (await execute({ name: "charge" })).status,
      },
    ];
    const store = disk.store();
    const first = createRuntime({ store, ports: { ...fakePorts(), ids }, tools, approval: { approve: () => new Promise(() => {}) } });
    void first.session("s").execute({ name: "outer" });
    await flushAll(store);
    store.die(1);

    const next = disk.store();
    const approve = (): "allow-once" => (asked++, "allow-once");
    const resuming = createRuntime({ store: next, ports: { ...fakePorts(), ids }, tools, approval: { approve } }).resume("s");
    await flushAll(next);
    const { history } = await resuming;
    expect([history.find(({ call }) => call.name === "outer")?.result?.output, made, asked]).toEqual(["ok", charges, charges]);
  },
);

test.each(["after it ended", "while it ran"])(
  "B07 a handler that had called a composite tool, whose own session made a payment, is not run again after a crash %s",
  async (when) => {
    let made = 0;
    const never = new Promise(() => {});
    const tools = (isDoomed: boolean): readonly Tool[] => [
      { ...described, name: "charge", effects: { writes: ["money"] }, execute: () => ++made },
      {
        ...described,
        name: "helper",
        composite: true,
        execute: async (_input: unknown, context: ToolContext) => {
          const session = await sessionWithin(context);
          await session.execute({ name: "charge" });
          if (isDoomed && when === "while it ran") await never;
          await session.close();
        },
      },
      {
        ...described,
        name: "outer",
        effects: { reads: [] },
        execute: async (_input: unknown, { execute }: ToolContext) => {
          await execute({ name: "helper" });
          return isDoomed ? never : "done";
        },
      },
    ];
    const [store, ids] = [memoryStore(), countingIds()];
    const begin = (isDoomed: boolean) => createRuntime({ store, ports: { ...fakePorts(), ids }, tools: tools(isDoomed) });
    void begin(true).session("s").execute({ name: "outer" });
    for (let round = 0; round < 10; round++) await settle();
    const { history } = await begin(false).resume("s", { takeOver: true });
    expect([history.find(({ call }) => call.name === "outer")?.result?.error?.code, made]).toEqual(["outcome_unknown", 1]);
  },
);

test.each<readonly [string, Partial<RuntimeOptions>]>([
  ["its approval is refused", { approval: { always: ["put"], approve: () => "deny" } }],
  ["its tool is denied", { permission: { deny: ["*put"] } }],
  ["its tool is gone", { tools: [] }],
])(
  "B07 the outcome of a call that may have run before a crash, was asked about after it and crashed again, is unknown if %s",
  async (_, third) => {
    const disk = new CrashDisk();
    const ports = fakePorts();
    const store = disk.store();
    const put: Tool = { ...PUT, execute: () => new Promise(() => {}) };
    void createRuntime({ store, ports, tools: [put] })
      .session("s")
      .execute({ name: "put" });
    await flushAll(store);
    store.die(1);

    const second = disk.store();
    const approval: RuntimeOptions["approval"] = { always: ["put"], approve: () => new Promise(() => {}) };
    void createRuntime({ store: second, ports, tools: [put], approval }).resume("s");
    await flushAll(second);
    expect(disk.events("s").map(({ type }) => type)).toContain("approval-ask");
    second.die(1);

    const last = disk.store();
    const resuming = createRuntime({ store: last, ports, tools: [put], ...third }).resume("s");
    await flushAll(last);
    expect((await resuming).history.at(-1)?.result?.error?.outcome).toBe("unknown");
  },
);
