/** Channels whose messages are kept in a store that several processes share. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent } from "../../src/compose/agent.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import type { ChannelKind, ChannelOptions, Channel } from "../../src/triggers/channel.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import { createTriggers } from "../../src/triggers/triggers.ts";
import { expect, onTestFinished, test } from "vitest";
import { useSqliteThreads } from "../bundled-threads.ts";
import { testInCI } from "../test-in-ci.ts";

useSqliteThreads();

/** Processes of one SQLite file look for what others sent once a second. */
const SOON = { timeout: 20_000 };

interface Process {
  readonly runtime: Runtime;
  readonly channel: Channel;
  /** Runs an agent that watches the channel, and returns the contents that are in its inbox or were sent to its model. */
  agent(name: string): Promise<{ contents(): string[]; stop(): Promise<void> }>;
  end(): Promise<void>;
}

async function newPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "haft-kept-channels-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "haft.db");
}

function startProcess(path: string, options: ChannelOptions): Process {
  const store = sqliteStore({ path, synchronous: "normal" });
  const triggers = createTriggers({ channels: createChannels({ store }) });
  const channel = triggers.channels.open("news", options);
  triggers.declare({ type: "channel", name: "watch", channel: "news", prompt: "{content}" });
  const runtime = createRuntime({ store });
  const end = async (): Promise<void> => void (await runtime.close());
  onTestFinished(end);
  return {
    runtime,
    channel,
    async agent(name) {
      const session = await runtime.resume(name, { create: true });
      const agent = createAgent({ session, triggers, model: scriptedModel(Array.from({ length: 100 }, () => ({ text: "ok" }))) });
      agent.start();
      const contents = (): string[] =>
        session.log.flatMap((event) => (event.type === "inbox-add" && event.triggerId === "watch" ? [textOf(event.message.content)] : []));
      const isWatching = (): boolean => session.trigger("watch") !== undefined;
      await expect.poll(isWatching).toBe(true);
      const stop = async (): Promise<void> => {
        await agent.stop();
        await session.close();
      };
      return { contents, stop };
    },
    end,
  };
}

function textOf(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}

const send = ({ channel }: Process, content: string) => channel.send(content, { sender: "station" });

testInCI("a broadcast sent while an agent's process was down reaches its next process, once and in order", async () => {
  const path = await newPath();
  const [one, other] = [startProcess(path, { kind: "broadcast" }), startProcess(path, { kind: "broadcast" })];
  const [clerk, smith] = [await one.agent("clerk"), await other.agent("smith")];
  await send(other, "1");
  await expect.poll(() => [clerk.contents(), smith.contents()], SOON).toEqual([["1"], ["1"]]);
  await one.end();
  for (const content of ["2", "3"]) await send(other, content);
  const next = startProcess(path, { kind: "broadcast" });
  const again = await next.agent("clerk");
  await send(next, "4");
  await expect.poll(() => [again.contents(), smith.contents()], SOON).toEqual([0, 1].map(() => ["1", "2", "3", "4"]));
});

test("a queue message that an ended process had taken goes to another process, and a received one does not", async () => {
  const path = await newPath();
  const [one, other] = [startProcess(path, {}), startProcess(path, {})];
  for (const content of ["1", "2", "3"]) await send(one, content);
  const subscription = one.channel.subscribe("desk");
  expect((await subscription.receive()).content).toBe("1"); // it has the next one ready
  await one.end();
  const clerk = await other.agent("clerk");
  await expect.poll(() => clerk.contents(), SOON).toEqual(["2", "3"]);
  await expect.poll(() => other.channel.countWaiting(), SOON).toBe(0); // it ends behind its place in the inbox
});

test.each<ChannelKind>(["queue", "broadcast"])(
  "a %s without readers stores its messages, and shows them in every process",
  async (kind) => {
    const path = await newPath();
    const [one, other] = [startProcess(path, { kind }), startProcess(path, { kind })];
    for (const content of ["1", "2"]) await send(one, content);
    expect((await other.channel.latest()).map(({ content, sender }) => [content, sender])).toEqual([
      ["1", "station"],
      ["2", "station"],
    ]);
    expect([await other.channel.countWaiting(), other.channel.history]).toEqual([kind === "queue" ? 2 : 0, []]);
  },
);

test("subscribers and observers in other processes get the messages sent from their subscription on", async () => {
  const path = await newPath();
  const [one, other] = [startProcess(path, { kind: "broadcast" }), startProcess(path, { kind: "broadcast" })];
  await send(one, "before");
  const seen: string[] = [];
  const stop = other.channel.observe(({ content }) => seen.push(content));
  const subscription = other.channel.subscribe("clerk", { accepts: ({ content }) => content !== "2" });
  expect(other.channel.subscribers).toBe(1);
  await send(other, "1");
  for (const content of ["2", "3"]) await send(one, content);
  expect([(await subscription.receive()).content, (await subscription.receive()).content]).toEqual(["1", "3"]);
  await expect.poll(() => seen, SOON).toEqual(["1", "2", "3"]);
  stop();
  subscription.close();
  expect(other.channel.subscribers).toBe(0);
});

test("a full queue makes a sender in another process wait for room, or rejects it if so configured", async () => {
  const path = await newPath();
  const [one, other] = [startProcess(path, { capacity: 1 }), startProcess(path, { capacity: 1 })];
  await send(one, "1");
  await expect(other.channel.send("2", { sender: "station", whenFull: "refuse" })).rejects.toMatchObject({ code: "resource_busy" });
  const waiting = send(other, "2");
  const subscription = one.channel.subscribe("desk");
  expect((await subscription.receive()).content).toBe("1");
  expect((await waiting).content).toBe("2");
  const gaveUp = new AbortController();
  const late = other.channel.send("3", { sender: "station", signal: gaveUp.signal });
  gaveUp.abort();
  await expect(late).rejects.toMatchObject({ code: "cancelled" });
});

test("a message that cannot be stored is rejected", async () => {
  const process = startProcess(await newPath(), { kind: "broadcast" });
  await process.end();
  await expect(send(process, "1")).rejects.toMatchObject({ code: "store_failed" });
});

test("a channel of one agent stays in memory, as do all channels without a store", async () => {
  const store = memoryStore();
  const channels = createChannels({ store });
  const own = channels.open("own", { sessionId: "clerk" });
  await own.send("1", { sender: "station" });
  expect([own.history.length, await store.channels?.last("own")]).toEqual([1, 0]);
  expect(() => channels.open("tasks").subscribe("clerk", { accepts: () => true })).toThrow("accepts is not supported");
});
