/** Messages that are kept in a store: what fails, what is full, and readers that are far behind. */
import { expect, test } from "vitest";
import type { ChannelStore } from "../../src/core/store/channel-store.ts";
import { ToolError } from "../../src/core/error.ts";
import { explainPostgres } from "../../src/store/postgres/postgres-error.ts";
import { MemoryChannels } from "../../src/store/memory/memory-channels.ts";
import type { StoreChange } from "../../src/core/store/store-changes.ts";
import { fakePorts, type FakePorts } from "../../src/testing/fake-ports.ts";
import type { Channel, ChannelOptions } from "../../src/triggers/channel.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import { getHeldQueues } from "../../src/triggers/held-messages.ts";

const SECOND_MS = 1_000;
const NEVER = new AbortController().signal;

interface Bench {
  readonly ports: FakePorts;
  readonly channel: Channel;
  /** The same channel by another `createChannels` over the same store. */
  readonly twin: Channel;
  readonly kept: MemoryChannels;
  /** The store of both channels. */
  readonly channels: ChannelStore;
  /** The queues of which this process remembers anything. */
  remembered(): readonly string[];
  /** How often each method was called. */
  readonly calls: Record<string, number>;
  /** The next call of this method fails; with `retryable: false` as of a file that is not there. */
  failNext(method: keyof ChannelStore, retryable?: boolean): void;
  /** The next call of this method is done; its answer comes once this settles, and is lost where that rejects. */
  answerNext(method: keyof ChannelStore, answered: Promise<void>): void;
  /** Another process says what it has written. */
  tell(change: StoreChange): void;
  warnings(): readonly string[];
}

function bench(options: ChannelOptions = {}): Bench {
  const ports = fakePorts();
  const kept = new MemoryChannels(ports.clock);
  const failing = new Map<string, boolean>();
  const late = new Map<string, Promise<void>>();
  const calls: Record<string, number> = {};
  const call = async <Answer>(method: keyof ChannelStore, run: () => Promise<Answer>): Promise<Answer> => {
    calls[method] = (calls[method] ?? 0) + 1;
    const retryable = failing.get(method);
    failing.delete(method);
    if (retryable !== undefined) throw new ToolError("store_failed", "The disk is full.", { retryable });
    const answered = late.get(method);
    late.delete(method);
    const answer = await run();
    await answered;
    return answer;
  };
  const channels: ChannelStore = {
    send: (message) => call("send", () => kept.send(message)),
    read: (query) => call("read", () => kept.read(query)),
    latest: (query) => call("latest", () => kept.latest(query)),
    last: (name) => call("last", () => kept.last(name)),
    waiting: (name) => call("waiting", () => kept.waiting(name)),
    take: (query) => call("take", () => kept.take(query)),
    release: (key) => call("release", () => kept.release(key)),
    end: (key) => call("end", () => kept.end(key)),
  };
  const listeners = new Set<(change: StoreChange) => void>();
  const follow = (listener: (change: StoreChange) => void) => {
    listeners.add(listener);
    return { isLive: false, stop: () => void listeners.delete(listener) };
  };
  const [channel, twin] = [0, 1].map(() => createChannels({ ports, store: { channels, follow } }).open("news", options));
  if (channel === undefined || twin === undefined) throw new Error("two were opened");
  const tell = (change: StoreChange): void => listeners.forEach((listener) => listener(change));
  const warnings = () => ports.log.lines.map(({ message }) => message);
  const failNext = (method: string, retryable = true): void => void failing.set(method, retryable);
  const answerNext = (method: string, answered: Promise<void>): void => void late.set(method, answered);
  const remembered = () => [...getHeldQueues(channels).keys()];
  return { ports, channel, twin, kept, channels, remembered, calls, failNext, answerNext, tell, warnings };
}

const send = (channel: Channel, content: string) => channel.send(content, { sender: "station" });

/** Lets everything that waits for no clock happen. */
const settle = ({ ports }: Bench) => ports.clock.advance(0);

test("a subscriber and an observer recover from a store that failed when they started", async () => {
  const own = bench({ kind: "broadcast" });
  own.failNext("last");
  const subscription = own.channel.subscribe("desk");
  await settle(own);
  const seen: string[] = [];
  own.failNext("last");
  own.channel.observe(({ content }) => seen.push(content));
  await settle(own);
  await own.ports.clock.advance(SECOND_MS);
  await send(own.channel, "1");
  await settle(own);
  expect([subscription.poll()?.content, seen]).toEqual(["1", ["1"]]);
});

test("a log that throws does not end a subscription or an observer when the store fails", async () => {
  const own = bench({ kind: "broadcast" });
  own.ports.log.warn = () => {
    throw new Error("The log is full.");
  };
  const subscription = own.channel.subscribe("desk");
  await settle(own);
  const seen: string[] = [];
  own.channel.observe(({ content }) => seen.push(content));
  await settle(own);
  for (const content of ["1", "2"]) {
    own.failNext("read");
    await send(own.channel, content);
    await settle(own);
    own.failNext("read");
    await own.ports.clock.advance(2 * SECOND_MS);
  }
  await own.ports.clock.advance(2 * SECOND_MS);
  expect([subscription.poll()?.content, seen]).toEqual(["1", ["1", "2"]]);
});

test("a store that throws at once when it is polled does not end the reading of a channel", async () => {
  const own = bench({ kind: "broadcast" });
  const subscription = own.channel.subscribe("desk");
  await settle(own);
  let polls = 0;
  Object.assign(own.channels, {
    last: () => {
      polls++;
      throw new Error("The store is closed.");
    },
  });
  await own.ports.clock.advance(3 * SECOND_MS);
  await own.kept.send({ channel: "news", body: JSON.stringify({ content: "1" }), sender: "station", senderId: "station", keep: 10 });
  await own.ports.clock.advance(3 * SECOND_MS);
  expect([polls > 1, subscription.poll()?.content]).toEqual([true, "1"]);
});

test("a message of another process that sends no notifications arrives, however long nothing came before", async () => {
  for (const kind of ["queue", "broadcast"] as const) {
    const own = bench({ kind });
    const received = own.channel.subscribe("desk").receive();
    await settle(own);
    for (let seconds = 0; seconds < 12; seconds++) await own.ports.clock.advance(SECOND_MS);
    await own.kept.send({ channel: "news", body: JSON.stringify({ content: kind }), sender: "s", senderId: "s", keep: 10 });
    for (let seconds = 0; seconds < 2; seconds++) await own.ports.clock.advance(SECOND_MS);
    expect(await Promise.race([received, settle(own)])).toMatchObject({ content: kind });
  }
});

test("a message that is sent while the store is asked where a subscription starts reaches this subscription", async () => {
  const own = bench({ kind: "broadcast" });
  const asked = Promise.withResolvers<void>();
  const { last } = own.channels;
  Object.assign(own.channels, { last: (name: string) => asked.promise.then(() => last(name)) });
  const subscription = own.channel.subscribe("desk");
  const sent = send(own.channel, "1");
  await settle(own);
  asked.resolve();
  await sent;
  await settle(own);
  expect(subscription.poll()?.content).toBe("1");
});

test("a sender that gives up while others wait for room before it ends at once, and its message is not sent", async () => {
  const own = bench({ capacity: 1 });
  await send(own.channel, "0");
  const first = send(own.channel, "1");
  const gaveUp = new AbortController();
  const given = own.channel.send("2", { sender: "station", signal: gaveUp.signal }).catch((error: ToolError) => error.code);
  await settle(own);
  gaveUp.abort();
  expect(await Promise.race([given, settle(own)])).toBe("cancelled");
  const reader = own.channel.reader({ reader: "desk" });
  const received: unknown[] = [];
  for (let at = 0; at < 2; at++) {
    const read = await reader.next(NEVER);
    received.push(read?.message.content);
    await read?.done();
    await settle(own);
  }
  await first;
  expect([received, await own.channel.countWaiting()]).toEqual([["0", "1"], 0]);
});

test("senders that wait for room in a full queue are admitted in order, and only the first of them polls the store", async () => {
  const own = bench({ capacity: 1 });
  const reader = own.channel.reader({ reader: "desk" });
  await send(own.channel, "0");
  const sending = Array.from({ length: 50 }, (_, index) => send(own.channel, String(index + 1)));
  await settle(own);
  const received: string[] = [];
  for (let at = 0; at <= 50; at++) {
    const read = await reader.next(NEVER);
    received.push(read?.message.content ?? "");
    await read?.done();
    if (at === 0) sending.push(send(own.channel, "late"));
    await settle(own);
  }
  expect(received).toEqual(Array.from({ length: 51 }, (_, index) => String(index)));
  expect((await reader.next(NEVER))?.message.content).toBe("late");
  await Promise.all(sending);
  expect(own.calls["send"]).toBeLessThan(4 * 50);
});

test("a sender that gives up, whatever its place in the line, does not block those behind it", async () => {
  const own = bench({ capacity: 1 });
  await send(own.channel, "0");
  const gaveUp = [new AbortController(), new AbortController()];
  const [first, second] = gaveUp.map(({ signal }) => own.channel.send("never", { sender: "station", signal }));
  await settle(own);
  const last = send(own.channel, "1");
  await settle(own);
  for (const one of gaveUp.toReversed()) one.abort();
  await expect(second).rejects.toMatchObject({ code: "cancelled" });
  await expect(first).rejects.toMatchObject({ code: "cancelled" });
  await expect(own.channel.send("2", { sender: "station", whenFull: "refuse" })).rejects.toMatchObject({ code: "resource_busy" });
  const reader = own.channel.reader({ reader: "desk" });
  await (await reader.next(NEVER))?.done();
  expect((await last).content).toBe("1");
});

test("a waiting sender finds room made by another process at its next poll", async () => {
  const own = bench({ capacity: 1 });
  await send(own.channel, "0");
  const waiting = send(own.channel, "1");
  await own.ports.clock.advance(2 * SECOND_MS);
  const taken = await own.kept.take({ channel: "news", reader: "desk" });
  await own.kept.end({ channel: "news", number: taken?.number ?? 0 });
  await own.ports.clock.advance(SECOND_MS);
  expect((await waiting).content).toBe("1");
});

test("a message that the store failed to acknowledge is acknowledged before the next one is taken", async () => {
  const own = bench({ capacity: 2 });
  await send(own.channel, "1");
  await send(own.channel, "2");
  const read = await own.channel.reader({ reader: "desk" }).next(NEVER);
  own.failNext("end");
  await expect(read?.done()).rejects.toMatchObject({ code: "store_failed" });
  const next = await own.channel.reader({ reader: "desk" }).next(NEVER); // that of a trigger that began again
  expect([next?.message.content, await own.channel.countWaiting()]).toEqual(["2", 1]);
});

test("a reader that falls behind the stored messages logs that it may have missed some, and other readers do not", async () => {
  const own = bench({ kind: "broadcast", capacity: 200 });
  const contents = Array.from({ length: 250 }, (_, index) => String(index));
  const readAll = async (after: number): Promise<string | undefined> => {
    const reader = own.channel.reader({ reader: "desk", after });
    const read = await reader.next(NEVER);
    for (let at = 1; at < 150; at++) {
      const one = await reader.next(NEVER);
      await one?.done();
    }
    reader.close();
    return read?.message.content;
  };
  const numbers: number[] = [];
  for (const content of contents) {
    await send(own.channel, content);
    numbers.push(await own.kept.last("news"));
  }
  expect([await readAll(numbers[60] ?? 0), own.warnings()]).toEqual(["61", []]);
  expect(await readAll(numbers[20] ?? 0)).toBe("50");
  expect(own.warnings()).toEqual([
    'A reader of the channel "news" is more than 200 messages behind: it may have missed older ones. A larger capacity keeps more.',
  ]);
});

test("a subscription that is closed while a message arrives returns it to the queue", async () => {
  const own = bench();
  for (let turns = 0; turns < 12; turns++) {
    const subscription = own.channel.subscribe("desk");
    if (turns === 0) await send(own.channel, "1");
    subscription.poll(); // it asks the store
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    subscription.close();
    await settle(own);
    const taken = await own.kept.take({ channel: "news", reader: "other" });
    expect([turns, taken?.number]).toEqual([turns, await own.kept.last("news")]);
    await own.kept.release({ channel: "news", number: taken?.number ?? 0 });
  }
});

test("a queue subscriber that is not receiving holds no message, and one that stopped waiting returns what arrives", async () => {
  const own = bench();
  const idle = own.channel.subscribe("idle");
  await settle(own);
  await send(own.channel, "1");
  await settle(own);
  const other = own.channel.subscribe("other");
  expect((await other.receive()).content).toBe("1");
  const gaveUp = new AbortController();
  const waiting = idle.receive({ signal: gaveUp.signal });
  await settle(own);
  gaveUp.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  await send(own.channel, "2");
  await settle(own);
  expect((await other.receive()).content).toBe("2");
});

test("a polling queue subscriber has the requested message ready, and returns it when it is closed", async () => {
  const own = bench();
  const subscription = own.channel.subscribe("desk");
  expect(subscription.poll()).toBeUndefined(); // it asks the store
  for (const content of ["1", "2"]) await send(own.channel, content);
  await settle(own);
  expect(subscription.poll()?.content).toBe("1");
  expect(subscription.poll()).toBeUndefined();
  await settle(own);
  subscription.close();
  await settle(own);
  expect((await own.channel.subscribe("other").receive()).content).toBe("2");
});

test("a message whose return the store failed to record is returned at a retry, even with no reader left in this process", async () => {
  const own = bench();
  await send(own.channel, "1");
  const read = await own.channel.reader({ reader: "desk" }).next(NEVER);
  for (let time = 0; time < 2; time++) {
    own.failNext("release");
    if (time === 0) await expect(read?.release()).rejects.toMatchObject({ code: "store_failed" });
    else await own.ports.clock.advance(SECOND_MS);
  }
  expect(await own.kept.take({ channel: "news", reader: "other" })).toBeUndefined();
  await own.ports.clock.advance(SECOND_MS);
  expect(await own.kept.take({ channel: "news", reader: "other" })).toMatchObject({ number: await own.kept.last("news") });
});

test.each([
  ["has", "channel"],
  ["is getting", "channel"],
  ["has", "twin"],
  ["is getting", "twin"],
] as const)("a message is not returned twice where another reader here %s it by then, by the %s", async (how, by) => {
  const own = bench();
  const [first, second] = [own.channel.reader({ reader: "desk" }), own[by].reader({ reader: "office" })];
  await send(own.channel, "1");
  const read = await first.next(NEVER);
  const [lost, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  own.answerNext("release", lost.promise);
  const given = read?.release();
  given?.catch(() => {}); // it may have been taken back, and the store did not say so
  if (how === "is getting") own.answerNext("take", taken.promise);
  const next = second.next(NEVER);
  await settle(own);
  lost.reject(new ToolError("store_failed", "The connection was lost.", { retryable: true }));
  await own.ports.clock.advance(2 * SECOND_MS);
  taken.resolve();
  expect((await next)?.message.content).toBe("1");
  await own.ports.clock.advance(2 * SECOND_MS);
  expect(await own.kept.take({ channel: "news", reader: "third" })).toBeUndefined();
});

test("a message is not returned twice while another reader gets it, whenever two readers ask", async () => {
  const starts = Array.from({ length: 144 }, (_, index) => [index % 12, Math.floor(index / 12)]);
  const received = await Promise.all(
    starts.map(async ([first = 0, second = 0]) => {
      const own = bench();
      await send(own.channel, "1");
      const read = await own.channel.reader({ reader: "desk" }).next(NEVER);
      const lost = Promise.withResolvers<void>();
      own.answerNext("release", lost.promise);
      read?.release().catch(() => {}); // it was taken back, and the store did not say so
      await settle(own);
      lost.reject(new ToolError("store_failed", "The connection was lost.", { retryable: true }));
      const messages: unknown[] = [];
      const next = async (reader: string, after: number): Promise<void> => {
        for (let tick = 0; tick < after; tick++) await Promise.resolve();
        messages.push(await own.channel.reader({ reader }).next(NEVER));
      };
      void next("office", first);
      void next("hall", second);
      await own.ports.clock.advance(10 * SECOND_MS);
      return messages.length;
    }),
  );
  expect(received).toEqual(starts.map(() => 1));
});

test("a failed acknowledgement is retried until it is stored, even with no reader left in this process", async () => {
  const own = bench();
  await send(own.channel, "1");
  const read = await own.channel.reader({ reader: "desk" }).next(NEVER);
  own.failNext("end");
  await expect(read?.done()).rejects.toMatchObject({ code: "store_failed" });
  expect(await own.kept.waiting("news")).toBe(1);
  await own.ports.clock.advance(SECOND_MS);
  expect(await own.kept.waiting("news")).toBe(0);
});

test("an acknowledgement that failed at the database login is retried, even with no reader left in this process", async () => {
  const own = bench();
  await send(own.channel, "1");
  const read = await own.channel.reader({ reader: "desk" }).next(NEVER);
  const refusal = Object.assign(new Error("password authentication failed"), { code: "28P01" });
  own.answerNext("end", Promise.reject(explainPostgres(refusal, "The store could not be used")));
  await expect(read?.done()).rejects.toMatchObject({ code: "store_failed", retryable: false });
  await own.ports.clock.advance(SECOND_MS);
  expect(own.calls["end"]).toBe(2);
});

test("a message whose return failed while the file was missing is returned before the next one is taken", async () => {
  const own = bench();
  await send(own.channel, "1");
  const reader = own.channel.reader({ reader: "desk" });
  const read = await reader.next(NEVER);
  own.failNext("release", false);
  await expect(read?.release()).rejects.toMatchObject({ code: "store_failed" });
  expect(own.ports.clock.pending).toBe(0);
  const next = own.channel.reader({ reader: "desk" }).next(NEVER);
  await settle(own);
  expect(own.calls["release"]).toBe(2);
  expect((await next)?.message.content).toBe("1");
});

test.each([
  ["received", "done", undefined],
  ["received, which the store did not take at first", "done", "end"],
  ["given back", "release", undefined],
  ["given back, which the store did not take at first", "release", "release"],
] as const)("a queue is tracked only until its message is %s", async (_how, settlement, failing) => {
  const own = bench();
  expect(own.remembered()).toEqual([]);
  await send(own.channel, "1");
  const left = new AbortController();
  const read = await own.channel.reader({ reader: "desk" }).next(left.signal);
  const idle = own.twin.reader({ reader: "office" }).next(left.signal); // finds nothing
  await settle(own);
  left.abort();
  await idle;
  expect(own.remembered()).toEqual(["news"]);
  if (failing !== undefined) own.failNext(failing);
  await read?.[settlement]().catch(() => {});
  expect(own.remembered()).toEqual(failing === undefined ? [] : ["news"]);
  await own.ports.clock.advance(SECOND_MS);
  expect(own.remembered()).toEqual([]);
  await own.channel.reader({ reader: "desk" }).next(AbortSignal.abort());
  expect(own.remembered()).toEqual([]);
});

test("a message of another process wakes the readers of its channel, or of all channels where none is named", async () => {
  const own = bench({ kind: "broadcast" });
  const reader = own.channel.reader({ reader: "desk", after: 0 });
  const next = reader.next(NEVER);
  await settle(own);
  const looks: (number | undefined)[] = [];
  for (const channels of [["weather"], [], undefined, ["weather", "news"]]) {
    own.tell({ parts: ["channels"], sessionIds: [], channels });
    await settle(own);
    looks.push(own.calls["read"]);
  }
  expect(looks).toEqual([1, 1, 2, 3]);
  await send(own.channel, "1");
  expect((await next)?.message.content).toBe("1");
});

test.each(["before", "after"] as const)(
  "a message that is released %s its subscription is closed is received by another reader",
  async (when) => {
    const own = bench({ capacity: 1 });
    await send(own.channel, "1");
    const subscription = own.channel.subscribe("desk");
    const message = await subscription.receive();
    await settle(own);
    await send(own.channel, "2"); // the queue is full again
    if (when === "before") subscription.release(message);
    subscription.close();
    if (when === "after") subscription.release(message);
    await settle(own);
    const reader = own.twin.reader({ reader: "desk" });
    const received: unknown[] = [];
    for (let at = 0; at < 2; at++) {
      const read = await reader.next(NEVER);
      received.push(read?.message.content);
      await read?.done();
    }
    expect([received, await own.channel.countWaiting()]).toEqual([["2", "1"], 0]);
  },
);

test("a released message that the store does not take back is named in a warning", async () => {
  const own = bench();
  await send(own.channel, "1");
  const subscription = own.channel.subscribe("desk");
  const message = await subscription.receive();
  subscription.release(message);
  own.failNext("send");
  subscription.close();
  await settle(own);
  expect(own.warnings()).toEqual(["A message that was released could not be given back to its channel: The disk is full."]);
});
