/** Sessions that ended calls left open in a crash, when the first claim of the session around them comes to nothing. */
import { expect, test } from "vitest";
import type { Store, StoredSession } from "../../../src/core/store/store.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { pauseStoredTrigger } from "../../../src/runtime/stored-triggers.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { tool } from "../bench-runtime.ts";

const erase = tool("erase", () => "erased", { effects: { writes: ["notes"] } });

const delegate: Tool = {
  name: "delegate",
  description: "Has others work.",
  inputSchema: { type: "object" },
  composite: true,
  async execute(_input, context) {
    const session = await sessionWithin(context);
    return (await session.execute({ name: "erase" })).status;
  },
};

/** Never ends. */
const wait = tool("wait", () => new Promise(() => {}), { mode: "background", timeoutMs: 0 });

async function eventsOf(store: Store, id: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of storedEvents(store, id)) events.push(event);
  return events;
}

function runtimeOver(store: Store): Runtime {
  return createRuntime({ store, tools: [erase, delegate, wait] });
}

/** A store as a crash left it behind the end of a call whose inner session was not settled yet, and with a job that ran. */
async function crashed() {
  const before = memoryStore();
  const runtime = runtimeOver(before);
  const session = runtime.session("s");
  const { callId } = await session.execute({ name: "delegate" });
  const { id: jobId } = await session.submit({ name: "wait" });
  await session.eventLog?.whenDurable();
  const inner = `s/${callId}`;
  const [outerEvents, innerEvents] = [await eventsOf(before, "s"), await eventsOf(before, inner)];
  await runtime.close();
  const store = memoryStore();
  const write = async (id: string, events: readonly SessionEvent[]): Promise<void> => {
    const log = store.create(id, { at: 0, durability: "async" });
    log.append(events);
    await log.close();
  };
  await write("s", outerEvents);
  await write(
    inner,
    innerEvents.slice(
      0,
      innerEvents.findIndex(({ type }) => type === "call-end"),
    ),
  );
  const left = new Set(["s", inner]); // their process is gone
  const busy = new Set<string>(); // another process has them
  const [list, claim] = [store.list.bind(store), store.claim.bind(store)];
  let failures = 0;
  Object.assign(store, {
    claim: async (id: string, options: object) => {
      if (busy.has(id)) throw new ToolError("resource_busy", "It is open in another process.");
      const leaveOpen = () => void left.add(id);
      return Object.defineProperties(await claim(id, options), {
        wasLeftOpen: { value: left.delete(id), configurable: true },
        leaveOpen: { value: leaveOpen, configurable: true },
      });
    },
    list: async (options: object) => {
      if (failures-- > 0) throw new ToolError("store_failed", "no");
      return (await list(options)).map((one) => (left.has(one.sessionId) ? { ...one, isLeftOpen: true } : one));
    },
  });
  const innerTypes = async () => (await eventsOf(store, inner)).map(({ type }) => type);
  return { store, jobId, inner, innerTypes, busy, left, failNext: () => void (failures = 1) };
}

test("nested sessions of interrupted calls are settled by the next resume when the first could not read the store", async () => {
  const { store, innerTypes, failNext } = await crashed();
  const runtime = runtimeOver(store);
  failNext();
  await expect(runtime.resume("s")).rejects.toMatchObject({ code: "store_failed" });
  await runtime.resume("s");
  expect((await innerTypes()).at(-1)).toBe("call-end");
  await runtime.close();
});

/** What claims the session around them, and lets go of it again. */
const LOOKS: Readonly<
  Record<
    string,
    (runtime: Runtime, known: { readonly store: Store; readonly stored: StoredSession; readonly jobId: string }) => Promise<unknown>
  >
> = {
  "a resume": async (runtime) => (await runtime.resume("s")).close(),
  "the cancel of a job": (runtime, { jobId: id }) => runtime.jobs.cancelStored({ id }),
  "the pause of a trigger": (_runtime, { store, stored }) =>
    pauseStoredTrigger(store, stored, { id: "none", paused: true, ports: systemPorts }),
};

test.each(Object.entries(LOOKS).flatMap(([what, look]) => [false, true].map((isBusy) => [what, isBusy, look] as const)))(
  "nested sessions are settled by another process where %s did not, because another process had them (%s) or the store failed",
  async (_what, isBusy, look) => {
    const { store, jobId, inner, innerTypes, busy, failNext } = await crashed();
    const [first, next] = [runtimeOver(store), runtimeOver(store)];
    const [stored] = await store.list({ sessionId: "s" });
    if (stored === undefined) throw new Error("it is not there");
    if (isBusy) busy.add(inner);
    else failNext();
    await look(first, { store, stored, jobId }).catch(() => {});
    expect((await innerTypes()).at(-1)).toBe("call-intent");
    busy.clear();
    await next.resume("s");
    expect((await innerTypes()).at(-1)).toBe("call-end");
    await next.close();
  },
);

test("nested sessions stay unchanged if their outer session has a branch and cannot be removed, and its next resume settles them", async () => {
  const { store, innerTypes } = await crashed();
  const { length = 0 } = (await store.list({ sessionId: "s" }))[0] ?? {};
  await store.create("branch", { at: 0, durability: "async", parent: { sessionId: "s", length } }).close();
  const runtime = runtimeOver(store);
  await expect(runtime.sessions.forget("s")).rejects.toMatchObject({ code: "conflict" });
  expect((await innerTypes()).at(-1)).toBe("call-intent");
  await runtime.resume("s");
  expect((await innerTypes()).at(-1)).toBe("call-end");
  await runtime.close();
});

test("nested sessions are ended when their outer session is removed", async () => {
  const { store, innerTypes } = await crashed();
  const runtime = runtimeOver(store);
  expect(await runtime.sessions.forget("s")).toBe(true);
  expect((await innerTypes()).at(-1)).toBe("call-end");
  await runtime.close();
});

test("nested sessions that a resume could not settle are ended when the same process removes their outer session", async () => {
  const { store, inner, innerTypes, busy } = await crashed();
  const runtime = runtimeOver(store);
  busy.add(inner);
  await runtime.resume("s");
  busy.clear();
  expect(await runtime.sessions.forget("s")).toBe(true);
  expect((await innerTypes()).at(-1)).toBe("call-end");
  await runtime.close();
});

/** A session like the inner one, with an open call, that another call is said to have begun. */
async function alike(store: Store, inner: string, { id, callId }: { readonly id: string; readonly callId: string }): Promise<void> {
  const log = store.create(id, { at: 0, durability: "async" });
  const parentCall = { sessionId: "s", callId };
  log.append(
    (await eventsOf(store, inner)).map((event) => ({ ...event, sessionId: id, ...(event.type === "session-start" ? { parentCall } : {}) })),
  );
  await log.close();
}

test("a nested session that cannot be claimed does not stop the others from being ended when their outer session is removed", async () => {
  const { store, jobId, inner } = await crashed();
  const other = `s/${jobId}`;
  await alike(store, inner, { id: other, callId: jobId });
  const claim = store.claim.bind(store);
  const failing = async (id: string, options: object) =>
    id === inner ? Promise.reject(new ToolError("store_failed", "no")) : claim(id, options);
  Object.assign(store, { claim: failing });
  const runtime = runtimeOver(store);
  await expect(runtime.sessions.forget("s")).rejects.toMatchObject({ code: "store_failed" });
  expect((await eventsOf(store, other)).at(-1)?.type).toBe("call-end");
  Object.assign(store, { claim });
  expect(await runtime.sessions.forget("s")).toBe(true); // the session has stayed, so that the rest is found again
  expect((await eventsOf(store, inner)).at(-1)?.type).toBe("call-end");
  await runtime.close();
});

test("nested sessions are ended before their outer session is removed, so that a crash in between leaves none open", async () => {
  const { store, innerTypes } = await crashed();
  const before: unknown[] = [];
  const remove = store.remove.bind(store);
  Object.assign(store, { remove: async (id: string) => (before.push([id, (await innerTypes()).at(-1)]), remove(id)) });
  const runtime = runtimeOver(store);
  expect(await runtime.sessions.forget("s")).toBe(true);
  expect(before).toEqual([["s", "call-end"]]);
  await runtime.close();
});

test("a session begun by something else stays left open when the call whose id it has ends", async () => {
  const { store, jobId, inner, left } = await crashed();
  const other = `s/${jobId}`;
  await alike(store, inner, { id: other, callId: "another" });
  left.add(other);
  const runtime = runtimeOver(store);
  expect(await runtime.jobs.cancelStored({ id: jobId })).toBe("ended");
  expect(left).toEqual(new Set([other]));
  await runtime.close();
});

test.each(["is damaged", "another call has begun"])(
  "resumes stop looking for nested sessions if one cannot be settled that %s",
  async (what) => {
    const { store, inner, left } = await crashed();
    const claim = store.claim.bind(store);
    const read = () => Promise.reject(new ToolError("corrupt_record", "It is damaged."));
    if (what !== "is damaged") {
      await store.remove(inner);
      await alike(store, "s", { id: inner, callId: "another" });
    }
    const claims: string[] = [];
    const claimed = async (id: string, options: object) => {
      claims.push(id);
      const log = await claim(id, options);
      return id === inner && what === "is damaged" ? Object.defineProperty(log, "read", { value: read }) : log;
    };
    Object.assign(store, { claim: claimed });
    const runtime = runtimeOver(store);
    await (await runtime.resume("s")).close();
    expect([left, claims]).toEqual([new Set([inner]), ["s", inner]]);
    await (await runtime.resume("s")).close();
    expect(claims).toEqual(["s", inner, "s"]);
    await runtime.close();
  },
);

test("nested sessions are settled after an abandoned resume", async () => {
  const { store, innerTypes } = await crashed();
  const runtime = runtimeOver(store);
  const resumed = runtime.resume("s");
  await runtime.sessions.handOver("s");
  await expect(resumed).rejects.toMatchObject({ code: "conflict" });
  await runtime.resume("s");
  expect((await innerTypes()).at(-1)).toBe("call-end");
  await runtime.close();
});

test("nested sessions are settled when a job of their outer session is cancelled before any process resumes it", async () => {
  const { store, jobId, innerTypes } = await crashed();
  const runtime = runtimeOver(store);
  expect(await runtime.jobs.cancelStored({ id: jobId })).toBe("ended");
  await runtime.resume("s");
  expect((await innerTypes()).at(-1)).toBe("call-end");
  await runtime.close();
});
test("nested sessions are settled when a trigger of their outer session is paused before any process resumes it", async () => {
  const { store, innerTypes } = await crashed();
  const [stored] = await store.list({ sessionId: "s" });
  if (stored === undefined) throw new Error("it is not there");
  const pausing = pauseStoredTrigger(store, stored, { id: "none", paused: true, ports: systemPorts });
  await expect(pausing).rejects.toMatchObject({ code: "not_found" });
  expect((await innerTypes()).at(-1)).toBe("call-end");
});

test.each(["that had ended", "that is cancelled"])(
  "a damaged nested session of the call %s does not prevent the job from being cancelled",
  async (which) => {
    const { store, jobId, inner } = await crashed();
    const damaged = which === "that had ended" ? inner : `s/${jobId}`;
    if (damaged !== inner) await store.create(damaged, { at: 0, durability: "async" }).close();
    const claim = store.claim.bind(store);
    Object.assign(store, {
      claim: async (id: string, options: object) => {
        const log = await claim(id, options);
        const read = () => Promise.reject(new ToolError("corrupt_record", "It is damaged."));
        return id === damaged ? Object.defineProperty(log, "read", { value: read }) : log;
      },
    });
    const runtime = runtimeOver(store);
    expect(await runtime.jobs.cancelStored({ id: jobId })).toBe("ended");
    await runtime.close();
  },
);

test("nested sessions are settled by a resume", async () => {
  const { store, innerTypes } = await crashed();
  const runtime = runtimeOver(store);
  expect((await innerTypes()).at(-1)).toBe("call-intent");
  await runtime.resume("s");
  expect((await innerTypes()).at(-1)).toBe("call-end");
  await runtime.close();
});
