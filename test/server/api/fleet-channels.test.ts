/** Messages on a channel that is kept in the store, sent to a server that does not run the agents that read it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "haft";
import { createClient, type HaftClient } from "haft/client";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { createChannels, createTriggers, type Channel, type ChannelKind } from "haft/triggers";
import { expect, onTestFinished, test } from "vitest";
import { useSqliteThreads } from "../../bundled-threads.ts";
import { testInCI } from "../../test-in-ci.ts";

useSqliteThreads();
/** Processes of one SQLite file look for what others sent once a second. */
const SOON = { timeout: 20_000 };
const TOKEN = "a-token-for-the-tests";

interface Node {
  readonly path: string;
  readonly url: string;
  readonly channel: Channel;
  readonly client: HaftClient;
  readonly warnings: readonly string[];
  /** What a reader has got. */
  read(subscriber: string): string[];
}

async function nodesOf(kind: ChannelKind, count: number): Promise<readonly Node[]> {
  const folder = await mkdtemp(join(tmpdir(), "haft-channels-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const nodes: Node[] = [];
  for (let index = 0; index < count; index++) nodes.push(await startNode(join(folder, "haft.db"), kind));
  return nodes;
}

async function startNode(path: string, kind: ChannelKind): Promise<Node> {
  const store = sqliteStore({ path, synchronous: "normal" });
  const triggers = createTriggers({ channels: createChannels({ store }) });
  const channel = triggers.channels.open("news", { kind, capacity: 2 });
  const warnings: string[] = [];
  const log = { debug() {}, warn: (line: string) => void warnings.push(line) };
  const runtime = createRuntime({ store, ports: { log } });
  await runtime.open();
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), triggers, ports: { log } });
  const { url } = await server.listen({ port: 0, address: true });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const client = createClient({ url, token: TOKEN, maxAttempts: 1 });
  return { path, url, channel, client, warnings, read: (subscriber) => reader(channel, subscriber) };
}

function reader(channel: Channel, subscriber: string): string[] {
  const got: string[] = [];
  const subscription = channel.subscribe(subscriber);
  onTestFinished(() => subscription.close());
  void (async () => {
    for await (const { content } of subscription) got.push(content);
  })();
  return got;
}

function tell({ client }: Node, content: string): Promise<{ readonly content: string }> {
  const body = { content, sender: "station" };
  return client.call("sendToChannel", { params: { channelName: "news" }, body, idempotencyKey: content });
}

testInCI("a broadcast reaches the readers in every process of the store once, whichever server receives it", async () => {
  const nodes = await nodesOf("broadcast", 3);
  const [, two, three] = nodes;
  const read = [two?.read("clerk"), three?.read("smith")];
  for (const [index, node] of nodes.entries()) {
    expect(await tell(node, `rain ${index}`)).toMatchObject({ content: `rain ${index}` });
    await tell(node, `rain ${index}`); // the same request again
  }
  await expect.poll(() => read, SOON).toEqual([0, 1].map(() => ["rain 0", "rain 1", "rain 2"]));
  expect(nodes.flatMap(({ warnings }) => warnings)).toEqual([]);
});

test("a queue message goes to one process with a reader, and waits for the first reader if there is none", async () => {
  const [one, two, three] = await nodesOf("queue", 3);
  if (one === undefined || two === undefined || three === undefined) return expect.fail("a node is missing");
  await tell(one, "early");
  const lists = await Promise.all([one, two].map(({ client }) => client.call("listChannels")));
  expect(lists.map(({ channels }) => channels[0]?.waiting)).toEqual([1, 1]);
  const read = [two.read("clerk"), three.read("smith")];
  await tell(one, "later");
  await expect.poll(() => read.flat().toSorted(), SOON).toEqual(["early", "later"]);
  await expect.poll(async () => (await one.client.call("listChannels")).channels[0]?.waiting, SOON).toBe(0);
});

test("a full queue rejects a message, and accepts the same request once there is room", async () => {
  const [one, two] = await nodesOf("queue", 2);
  if (one === undefined || two === undefined) return expect.fail("a node is missing");
  await tell(one, "1");
  await tell(two, "2");
  await expect(tell(one, "3")).rejects.toMatchObject({ status: 409, problem: { code: "resource_busy" } });
  const subscription = two.channel.subscribe("clerk");
  onTestFinished(() => subscription.close());
  await subscription.receive();
  await expect.poll(() => two.channel.countWaiting(), SOON).toBe(1);
  expect(await tell(one, "3")).toMatchObject({ content: "3" }); // a refusal is not kept as its answer
});

test("every server lists the latest messages of a channel, whichever server received them", async () => {
  const [one, two] = await nodesOf("broadcast", 2);
  if (one === undefined || two === undefined) return expect.fail("a node is missing");
  await tell(one, "rain");
  await tell(two, "snow");
  const lists = await Promise.all([one, two].map(({ client }) => client.call("listChannelMessages", { params: { channelName: "news" } })));
  expect(lists.map(({ messages }) => messages.map(({ content }) => content))).toEqual([0, 1].map(() => ["rain", "snow"]));
});
