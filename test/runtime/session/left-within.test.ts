/** Sessions that belong to a call, while the call's own session is left and resumed in the same process, or the call is tried again. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import type { EventLog, Store } from "../../../src/core/store.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { handedOver } from "../../../src/runtime/session-errors.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { gate, tool } from "../bench-runtime.ts";

/** A store in memory whose first claim of a session within another waits. */
class HeldStore {
  readonly store: Store = memoryStore();
  readonly claimed = gate();
  readonly held = gate();
  #claims = 0;

  constructor() {
    const claim = this.store.claim.bind(this.store);
    Object.assign(this.store, {
      claim: (...[id, options]: Parameters<Store["claim"]>): Promise<EventLog> => this.#claim(id, () => claim(id, options)),
    });
  }

  async #claim(id: string, claim: () => Promise<EventLog>): Promise<EventLog> {
    if (!id.includes("/") || this.#claims++ > 0) return claim();
    this.claimed.open();
    await this.held.promise;
    return claim();
  }
}

interface Scene {
  readonly store?: Store;
  readonly maxAttempts?: number;
  readonly timeoutMs?: number;
  work(context: ToolContext, attempt: number): unknown;
}

/** A runtime with a job whose handler begins a session, and counts how often it was run. */
function scene({ store, work, maxAttempts = 1, timeoutMs = 0 }: Scene): Runtime {
  let runs = 0;
  // Only a call that says what it touches is tried again.
  const kind = maxAttempts === 1 ? { composite: true } : { effects: { reads: ["a"] }, maxAttempts };
  const runtime = createRuntime({
    ...(store === undefined ? {} : { store }),
    retry: { delayMs: 1 },
    tools: [
      tool("look", () => "seen"),
      {
        name: "delegate",
        description: "Has others work.",
        inputSchema: { type: "object" },
        mode: "background",
        timeoutMs,
        ...kind,
        execute: (_input, context) => work(context, ++runs),
      },
    ],
  });
  onTestFinished(async () => void (await runtime.close()));
  return runtime;
}

async function looked(context: ToolContext): Promise<unknown> {
  const session = await sessionWithin(context);
  try {
    return (await session.execute({ name: "look" })).output;
  } finally {
    await session.close();
  }
}

const soon = async (): Promise<void> => {
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
};

/** What became of the calls of a session once its jobs have ended. */
async function ends(session: RuntimeSession): Promise<unknown> {
  await vi.waitFor(() => expect(session.jobs).toEqual([]));
  return session.history.map(({ result }) => result?.error?.message ?? result?.output);
}

describe("a session that a job's call has begun, when its own is handed over and resumed in the same process,", () => {
  test("is waited for while the store is asked for it", async () => {
    const { store, claimed, held } = new HeldStore();
    const runtime = scene({ store, work: looked });
    await runtime.session("s").submit({ name: "delegate" });
    await claimed.promise;
    const resumed = runtime.sessions.handOver("s").then(() => runtime.resume("s"));
    await soon();
    held.open();
    expect(await ends(await resumed)).toEqual(["seen"]);
  });

  test("is closed, also where its handler does not do that", async () => {
    const begun = gate();
    const runtime = scene({
      store: memoryStore(),
      async work(context, run) {
        if (run > 1) return looked(context);
        const session = await sessionWithin(context);
        await session.execute({ name: "look" });
        begun.open();
        return new Promise(() => {});
      },
    });
    await runtime.session("s").submit({ name: "delegate" });
    await begun.promise;
    await runtime.sessions.handOver("s");
    expect(runtime.sessions.list()).toEqual([]);
    expect(await ends(await runtime.resume("s"))).toEqual(["seen"]);
  });

  test("is not begun any more by a handler that did not end with its call", async () => {
    const late = gate();
    const refused = gate<unknown>();
    const runtime = scene({
      store: memoryStore(),
      async work(context, run) {
        if (run > 1) {
          const session = await sessionWithin(context);
          late.open();
          await refused.promise;
          const { output } = await session.execute({ name: "look" });
          await session.close();
          return output;
        }
        await late.promise;
        sessionWithin(context).then(refused.fail, refused.open);
        return undefined;
      },
    });
    await runtime.session("s").submit({ name: "delegate" });
    await soon();
    await runtime.sessions.handOver("s");
    expect(await ends(await runtime.resume("s"))).toEqual(["seen"]);
    expect(await refused.promise).toMatchObject({ code: "conflict", message: expect.stringContaining("given to another process") });
  });
});

test("a session that a job's call has begun is settled with the call: its calls have an end, and nobody is asked about them", async () => {
  const erase = { effects: { writes: ["notes"], destructive: true } };
  const store = memoryStore();
  const runtime = createRuntime({
    store,
    approval: { approve: "inbox" },
    tools: [
      tool("erase", () => "erased", erase),
      {
        name: "delegate",
        description: "Has others work.",
        inputSchema: { type: "object" },
        mode: "background",
        timeoutMs: 0,
        composite: true,
        async execute(_input, context) {
          const session = await sessionWithin(context);
          return (await session.execute({ name: "erase" })).status;
        },
      },
    ],
  });
  onTestFinished(async () => void (await runtime.close()));
  const { id } = await runtime.session("s").submit({ name: "delegate" });
  await vi.waitFor(async () => expect(await runtime.approvals.pending()).toHaveLength(1));
  await runtime.sessions.handOver("s");
  await runtime.resume("s", { interrupted: "settle" });
  const types: string[] = [];
  for await (const { type } of storedEvents(store, `s/${id}`)) types.push(type);
  expect([await runtime.approvals.pending(), types]).toEqual([[], ["session-start", "call-start", "approval-ask", "call-end"]]);
});

test("no call begins a session while its own is being left", async () => {
  const go = gate();
  const refused = gate<unknown>();
  const runtime = scene({
    store: memoryStore(),
    async work(context) {
      await go.promise;
      sessionWithin(context).then(refused.fail, refused.open);
      return undefined;
    },
  });
  const session = runtime.session("s");
  await session.submit({ name: "delegate" });
  await soon();
  session.leave(handedOver("s"));
  go.open();
  expect(await refused.promise).toMatchObject({ code: "conflict", message: expect.stringContaining("given to another process") });
});

describe.each(["stored", "unstored"] as const)("a session of a call that is tried again, %s,", (kind) => {
  test("is waited for while the attempt before closes it", async () => {
    const busy = gate();
    const runtime = scene({
      ...(kind === "stored" ? { store: memoryStore() } : {}),
      maxAttempts: 2,
      async work(context, run) {
        if (run > 1) {
          setImmediate(() => setImmediate(busy.open));
          return looked(context);
        }
        const session = await sessionWithin(context);
        void session.turn(() => busy.promise); // its close waits for this
        void session.close();
        throw Object.assign(new Error("It broke."), { code: "ECONNRESET" });
      },
    });
    const session = runtime.session("s");
    await session.submit({ name: "delegate" });
    expect(await ends(session)).toEqual(["seen"]);
  });
});

test("a session that was still asked for when its attempt timed out is not given to it, and the next attempt has it", async () => {
  const { store, claimed, held } = new HeldStore();
  const refused = gate<unknown>();
  const runtime = scene({
    store,
    maxAttempts: 2,
    timeoutMs: 20,
    async work(context, run) {
      if (run > 1) {
        setImmediate(() => held.open());
        return looked(context);
      }
      sessionWithin(context).then(refused.fail, refused.open);
      await claimed.promise;
      return new Promise(() => {});
    },
  });
  const session = runtime.session("s");
  await session.submit({ name: "delegate" });
  expect(await ends(session)).toEqual(["seen"]);
  expect(await refused.promise).toMatchObject({
    message: expect.stringContaining("had ended (it returned, failed, timed out or was cancelled)"),
  });
});

test("a resumed session of an attempt that timed out does not hold up the next: its calls are cancelled, and their handlers not waited for", async () => {
  const clock = new FakeClock();
  const store = memoryStore();
  const begun = gate();
  let waits = 0;
  const runtime = createRuntime({
    store,
    retry: { delayMs: 1 },
    ports: { clock },
    tools: [
      tool("hang", () => new Promise(() => void (waits++ === 0 && begun.open())), { effects: { reads: ["b"] }, timeoutMs: 0 }),
      {
        name: "delegate",
        description: "Has others work.",
        inputSchema: { type: "object" },
        mode: "background",
        timeoutMs: 1_000,
        effects: { reads: ["a"] },
        maxAttempts: 2,
        async execute(_input, context) {
          const session = await sessionWithin(context);
          try {
            if (waits === 0) await session.execute({ name: "hang" });
            return session.history.map(({ result }) => result?.status);
          } finally {
            await session.close();
          }
        },
      },
    ],
  });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.session("s").submit({ name: "delegate" });
  await begun.promise;
  await runtime.sessions.handOver("s");
  const session = await runtime.resume("s");
  await vi.waitFor(() => expect(waits).toBe(2), { timeout: 30_000 });
  await clock.advance(1_000);
  await clock.advance(1_000 / 2);
  await soon();
  expect(session.history.map(({ result }) => [result?.status, result?.attempts, result?.output])).toEqual([["ok", 2, ["cancelled"]]]);
  expect(runtime.running).toEqual([]);
});
