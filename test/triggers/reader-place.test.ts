/** Where a trigger of a kept broadcast begins to read, when the clocks of its process and of the store differ. */
import { expect, test } from "vitest";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { Store } from "../../src/core/store/store.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { FakeClock, MemoryLog, countingIds } from "../../src/testing/fake-ports.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import type { NamedTrigger } from "../../src/triggers/session-triggers.ts";
import { createTriggers } from "../../src/triggers/triggers.ts";

const HOUR_MS = 3_600_000;
const TYPE = { type: "channel", name: "watch", channel: "news", prompt: "{content}" } as const;

/** A process whose clock is off by so much from that of the store, and that ends without closing the store. */
async function startProcess(store: Store, offMs: number, declared: readonly NamedTrigger[] = []) {
  const clock = new FakeClock({ wallTime: systemPorts.clock.wallTime() + offMs });
  const ports = { clock, log: new MemoryLog(), ids: countingIds() };
  const triggers = createTriggers({ channels: createChannels({ store, ports }) });
  const channel = triggers.channels.open("news", { kind: "broadcast" });
  for (const one of declared) triggers.declare(one);
  const lasting: Store = new Proxy(store, { get: (own, key) => (key === "close" ? async () => {} : valueOf(own, key)) });
  const runtime: Runtime = createRuntime({ store: lasting, ports });
  const session: RuntimeSession = await runtime.resume("clerk", { create: true });
  const own = triggers.of(session);
  own.start(() => {});
  const contents = (): unknown[] => session.log.flatMap((event) => (event.type === "inbox-add" ? [event.message.content] : []));
  const send = (content: string) => channel.send(content, { sender: "station" });
  const end = async (): Promise<void> => {
    await own.stop();
    await runtime.close();
  };
  return { clock, own, contents, send, end };
}

function valueOf(own: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(own, key);
  return typeof value === "function" ? value.bind(own) : value;
}

test.each([HOUR_MS, 0, -HOUR_MS])(
  "a resumed trigger reads the messages sent since then, with a clock that is off by %i ms",
  async (offMs) => {
    const { own, clock, contents, send } = await startProcess(memoryStore(), offMs);
    await own.add(TYPE);
    await own.pause("watch");
    await send("while it was paused");
    await own.resume("watch");
    await send("1");
    await send("2");
    await clock.advance(0);
    expect(contents()).toEqual(["1", "2"]);
  },
);

test.each([HOUR_MS, 0, -HOUR_MS])(
  "a trigger without messages before a restart reads those sent since it was added, with a clock that is off by %i ms",
  async (offMs) => {
    const store = memoryStore();
    const first = await startProcess(store, offMs);
    await first.send("before");
    await first.own.add(TYPE);
    await first.end();
    const second = await startProcess(store, offMs);
    await second.clock.advance(0);
    await second.end();
    const sender = createChannels({ store }).open("news", { kind: "broadcast" });
    for (const content of ["1", "2"]) await sender.send(content, { sender: "station" });
    const third = await startProcess(store, offMs);
    await third.clock.advance(0);
    expect(third.contents()).toEqual(["1", "2"]);
  },
);

test("adding or resuming a trigger fails when the store cannot determine its position", async () => {
  const store = memoryStore();
  let fails = true;
  const last = async (name: string): Promise<number> => {
    if (fails) throw new Error("The disk is gone.");
    return (await store.channels?.last(name)) ?? 0;
  };
  const channels = new Proxy(store.channels ?? {}, { get: (own, key) => (key === "last" ? last : valueOf(own, key)) });
  const failing: Store = new Proxy(store, { get: (own, key) => (key === "channels" ? channels : valueOf(own, key)) });
  const { own } = await startProcess(failing, 0);
  await expect(own.add(TYPE)).rejects.toThrow("The disk is gone.");
  fails = false;
  await own.add(TYPE);
  await own.pause("watch");
  fails = true;
  await expect(own.resume("watch")).rejects.toThrow("The disk is gone.");
  expect(own.list()).toMatchObject([{ id: "watch", paused: true }]);
});

test.each([HOUR_MS, 0, -HOUR_MS])(
  "a declared trigger with only a new prompt reads each message sent meanwhile once, with a clock that is off by %i ms",
  async (offMs) => {
    const store = memoryStore();
    const first = await startProcess(store, offMs, [{ ...TYPE, prompt: "old {content}" }]);
    await expect.poll(() => first.own.list().length).toBe(1);
    await first.end();
    const sender = createChannels({ store }).open("news", { kind: "broadcast" });
    for (const content of ["1", "2"]) await sender.send(content, { sender: "station" });
    const second = await startProcess(store, offMs, [{ ...TYPE, prompt: "new {content}" }]);
    for (const content of ["3", "4"]) await second.send(content);
    await expect.poll(() => second.contents().length).toBeGreaterThanOrEqual(4);
    await second.clock.advance(0);
    expect(second.contents()).toEqual(["new 1", "new 2", "new 3", "new 4"]);
  },
);

test("a declared trigger with a new filter reads only the messages sent since the change", async () => {
  const store = memoryStore();
  const first = await startProcess(store, 0, [{ ...TYPE, filterSender: "nobody" }]);
  await expect.poll(() => first.own.list().length).toBe(1);
  await first.send("before");
  await first.end();
  const second = await startProcess(store, 0, [TYPE]);
  await expect.poll(() => second.own.get("watch")?.settings).not.toHaveProperty("filterSender");
  await second.send("after");
  await expect.poll(() => second.contents()).toEqual(["after"]);
});
