/** Channels: queues and broadcasts, room and no room, readers and observers that fail. */
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import { fakePorts, settle } from "../../src/testing/fake-ports.ts";

const from = (sender: string) => ({ sender });

describe("F1.57 channels", () => {
  test("removing a channel cancels sends that wait for room, unless the channel was given to an agent", async () => {
    for (const isGiven of [false, true]) {
      const channels = createChannels();
      const channel = channels.open("work", { capacity: 1 });
      if (isGiven) channels.give(channel, "agent");
      await channel.send("one", { sender: "a" });
      const waiting = [2, 3].map((content) =>
        channel.send(String(content), { sender: "a" }).then(
          ({ content }) => content,
          ({ code, outcome }) => [code, outcome],
        ),
      );
      expect(channels.remove("work")).toBe(true);
      if (!isGiven)
        expect(await Promise.all(waiting)).toEqual([
          ["cancelled", "not_started"],
          ["cancelled", "not_started"],
        ]);
      else {
        const subscription = channels.get("work", "agent").subscribe("b");
        for (const content of ["one", "2", "3"]) expect(await subscription.receive()).toMatchObject({ content });
        expect(await Promise.all(waiting)).toEqual(["2", "3"]);
      }
    }
  });

  test.each([
    ["content", "x".repeat(8 * 1024 * 1024 + 1), {}, "too_large"],
    ["metadata", "x", { metadata: { large: "x".repeat(8 * 1024 * 1024 + 1) } }, "too_large"],
    ["metadata of many values", "x", { metadata: { many: Array.from({ length: 100_001 }, () => 0) } }, "too_large"],
    ["sender", "x", { sender: "s".repeat(1_025) }, "invalid_argument"],
    ["senderId", "x", { senderId: "s".repeat(1_025) }, "invalid_argument"],
  ])("a message is refused if it is too large for its readers: %s", async (_what, content, more, code) => {
    const store = memoryStore();
    for (const channels of [createChannels(), createChannels({ store })]) {
      const news = channels.open("news");
      await expect(news.send(content, { sender: "a", ...more })).rejects.toMatchObject({ code });
      expect([news.history, await news.countWaiting()]).toEqual([[], 0]);
    }
  });

  test("the largest message reaches a reader of a store", async () => {
    const news = createChannels({ store: memoryStore() }).open("news");
    const subscription = news.subscribe("b");
    const largest = "\u0001".repeat(8 * 1024 * 1024);
    await news.send(largest, { sender: "a", metadata: { x: largest.slice(1) } });
    const { content, metadata } = await subscription.receive();
    expect([content === largest, metadata["x"] === largest.slice(1)]).toEqual([true, true]);
    subscription.close();
  });

  test("a queue gives each message to one receiver, in order, and none to its sender", async () => {
    const tasks = createChannels().open("tasks");
    const [one, other, sender] = [tasks.subscribe("one"), tasks.subscribe("other"), tasks.subscribe("boss")];
    const waits = [one.receive(), other.receive()];
    const seen: unknown[] = [];
    void sender.receive().then((message) => seen.push(message));
    for (const content of ["a", "b", "c"]) await tasks.send(content, from("boss"));
    expect((await Promise.all(waits)).map((message) => message.content)).toEqual(["a", "b"]);
    await settle();
    expect([seen, tasks.waiting]).toEqual([[], 1]);
    expect((await other.receive()).content).toBe("c");
  });

  test("a broadcast gives each message to every subscriber but its sender, from the subscription on", async () => {
    const news = createChannels().open("news", { kind: "broadcast" });
    await news.send("before", from("a"));
    const [a, b, c] = ["a", "b", "c"].map((name) => news.subscribe(name));
    await news.send("hello", from("a"));
    expect([a, b, c].map((one) => one?.poll()?.content)).toEqual([undefined, "hello", "hello"]);
    expect([a, b, c].map((one) => one?.poll())).toEqual([undefined, undefined, undefined]);
  });

  test("the history has the latest 200 messages", async () => {
    const news = createChannels().open("news", { kind: "broadcast" });
    for (let n = 1; n <= 10_000; n++) await news.send(String(n), from("a"));
    expect([news.history.length, news.history[0]?.content, news.history.at(-1)?.content]).toEqual([200, "9801", "10000"]);
  });

  test("a full queue makes senders wait in order, or refuses them if so configured, and drops a cancelled send", async () => {
    const queue = createChannels().open("queue", { capacity: 2 });
    await queue.send("1", from("a"));
    await queue.send("2", from("a"));
    const cancel = new AbortController();
    const sent: string[] = [];
    const three = queue.send("3", { ...from("a"), signal: cancel.signal });
    const four = queue.send("4", from("a")).then(({ content }) => sent.push(content));
    await expect(queue.send("5", { ...from("a"), whenFull: "refuse" })).rejects.toMatchObject({ code: "resource_busy", retryable: true });
    cancel.abort();
    await expect(three).rejects.toMatchObject({ code: "cancelled" });
    await settle();
    expect(sent).toEqual([]);
    const reader = queue.subscribe("b");
    expect((await reader.receive()).content).toBe("1");
    await four;
    expect(queue.history.map(({ content }) => content)).toEqual(["1", "2", "4"]);
    expect([await reader.receive(), await reader.receive()].map(({ content }) => content)).toEqual(["2", "4"]);
    const busy = createChannels().open("busy", { capacity: 1, whenFull: "refuse" });
    await busy.send("1", from("a"));
    await expect(busy.send("2", from("a"))).rejects.toMatchObject({ code: "resource_busy" });
  });

  test("a full broadcast waits for its slowest subscriber, or until that one leaves", async () => {
    const news = createChannels().open("news", { kind: "broadcast", capacity: 1 });
    const slow = news.subscribe("slow");
    const quick = news.subscribe("quick");
    await news.send("1", from("a"));
    expect(quick.poll()?.content).toBe("1");
    const waits = news.send("2", from("a"));
    await settle();
    expect([quick.poll(), news.waiting]).toEqual([undefined, 1]);
    slow.close();
    await waits;
    expect(quick.poll()?.content).toBe("2");
  });

  test("10,000 messages through a queue of capacity 1 arrive once and in order, whichever receiver asks", async () => {
    const queue = createChannels().open("queue", { capacity: 1 });
    const readers = ["x", "y", "z"].map((name) => queue.subscribe(name));
    const got: string[] = [];
    const reading = readers.map(async (reader) => {
      for await (const { content } of reader) got.push(content);
    });
    for (let n = 0; n < 10_000; n++) await queue.send(String(n), from("a"));
    await settle();
    for (const reader of readers) reader.close();
    await Promise.all(reading);
    expect(got).toEqual(Array.from({ length: 10_000 }, (_, n) => String(n)));
  });

  test("sends waiting for a full channel reach waiting receivers, and none is lost", async () => {
    const queue = createChannels().open("queue", { capacity: 1 });
    const sends = ["1", "2", "3"].map((content) => queue.send(content, from("a")));
    const reader = queue.subscribe("b", { accepts: ({ content }) => content !== "1" });
    const one = reader.receive();
    const two = reader.receive();
    expect(queue.subscribe("c").poll()?.content).toBe("1");
    expect([(await one).content, (await two).content]).toEqual(["2", "3"]);
    await Promise.all(sends);
  });

  test("a cancelled receive takes no message, and a closed receiver rejects", async () => {
    const queue = createChannels().open("queue");
    const reader = queue.subscribe("b");
    const cancel = new AbortController();
    const wait = reader.receive({ signal: cancel.signal });
    cancel.abort();
    await expect(wait).rejects.toMatchObject({ code: "cancelled" });
    await expect(reader.receive({ signal: cancel.signal })).rejects.toMatchObject({ code: "cancelled" });
    await queue.send("1", from("a"));
    expect(queue.waiting).toBe(1);
    const message = await reader.receive();
    reader.release(message);
    expect(queue.waiting).toBe(1);
    expect(await reader.receive()).toBe(message);
    const last = reader.receive();
    reader.close();
    await expect(last).rejects.toMatchObject({ code: "unavailable" });
    await expect(reader.receive()).rejects.toMatchObject({ code: "unavailable" });
  });

  test("observers and filters that throw do not affect delivery, and are logged", async () => {
    const ports = fakePorts();
    const queue = createChannels({ ports }).open("queue");
    const seen: string[] = [];
    queue.observe(() => {
      throw new Error("boom");
    });
    queue.observe(() => Promise.reject(new Error("later")) as unknown as undefined);
    const end = queue.observe(({ content }) => seen.push(content));
    const picky = queue.subscribe("picky", {
      accepts: () => {
        throw new Error("picky");
      },
    });
    await queue.send("1", from("a"));
    end();
    await queue.send("2", from("a"));
    await settle();
    expect([seen, queue.waiting, picky.poll()]).toEqual([["1"], 2, undefined]);
    const lines = ports.log.lines.map(({ message }) => message);
    for (const word of ["boom", "later", "picky"]) expect(lines.some((line) => line.includes(word))).toBe(true);
  });

  test("a message has its sender, its id and a copy of its metadata", async () => {
    const ports = fakePorts();
    const queue = createChannels({ ports }).open("queue");
    const metadata = { deep: { n: 1 } };
    const message = await queue.send("hi", { sender: "Ann", senderId: "s1", metadata });
    metadata.deep.n = 2;
    expect(message).toEqual({
      id: "message_1",
      channel: "queue",
      sender: "Ann",
      senderId: "s1",
      content: "hi",
      metadata: { deep: { n: 1 } },
      at: ports.clock.wallTime(),
    });
  });
});

describe("F1.56 F1.57 a set of channels", () => {
  test("opens a channel once, and rejects different options for one that is open", () => {
    const channels = createChannels();
    const tasks = channels.open("tasks", { capacity: 5 });
    expect(channels.open("tasks")).toBe(tasks);
    expect(() => channels.open("tasks", { kind: "broadcast" })).toThrow(/is open with kind queue, not broadcast/u);
    expect(() => channels.open("tasks", { whenFull: "refuse" })).toThrow(/is open with whenFull wait, not refuse/u);
    expect(() => channels.open("tasks", { capacity: 6 })).toThrow(/capacity 5, not 6/u);
  });

  test("finds the agent's own channel before the shared one, and lists the existing channels for an unknown name", () => {
    const channels = createChannels();
    const shared = channels.open("notes");
    const own = channels.open("notes", { sessionId: "s1" });
    channels.open("news");
    expect([channels.get("notes", "s1"), channels.get("notes", "s2"), channels.get("notes")]).toEqual([own, shared, shared]);
    expect(channels.list("s1")).toEqual([own, channels.get("news")]);
    expect(() => channels.get("nwes", "s1")).toThrow(expect.objectContaining({ code: "not_found", hint: "Channels: notes, news." }));
    expect(() => createChannels().get("__proto__")).toThrow(expect.objectContaining({ code: "not_found", hint: "There are no channels." }));
    channels.forget("s1");
    expect(channels.get("notes", "s1")).toBe(shared);
  });

  test("removes a shared channel only without subscribers, and its name can be used again", () => {
    const channels = createChannels();
    const tasks = channels.open("tasks");
    const subscription = tasks.subscribe("reader");
    expect(() => channels.remove("tasks")).toThrow(
      expect.objectContaining({ code: "conflict", message: 'The channel "tasks" has 1 subscriber: it cannot be removed.' }),
    );
    subscription.close();
    expect([channels.remove("tasks"), channels.remove("tasks"), channels.list()]).toEqual([true, false, []]);
    expect(channels.open("tasks", { kind: "broadcast" })).not.toBe(tasks);
  });

  test.each([
    ["", {}],
    [" x", {}],
    ["x\u0000", {}],
    ["x".repeat(129), {}],
    ["x", { kind: "pipe" }],
    ["x", { capacity: 0 }],
    ["x", { capacity: 1.5 }],
    ["x", { whenFull: "drop" }],
    ["x", { size: 5 }],
    [5, {}],
  ])("rejects a channel %j with %j", (name, options) => {
    expect(() => createChannels().open(name as string, options as never)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });

  test.each([
    [5, { sender: "a" }],
    ["x", { sender: "" }],
    ["x", {}],
    ["x", { sender: "a", metadata: [] }],
    ["x", { sender: "a", whenFull: "drop" }],
    ["x", { sender: "a", priority: 1 }],
  ])("rejects the message %j with %j", async (content, options) => {
    const channel = createChannels().open("c");
    await expect(channel.send(content as string, options as { sender: string })).rejects.toMatchObject({ code: "invalid_argument" });
    expect(channel.history).toEqual([]);
  });
});
