/** Messages on a channel, sent to a server that does not run the agents that read it. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createPortFinder } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "haft";
import { createClient, type HaftClient } from "haft/client";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { createTriggers, type Channel, type ChannelKind } from "haft/triggers";
import { expect, onTestFinished, test } from "vitest";
import { useSqliteThreads } from "../../bundled-threads.ts";

useSqliteThreads();
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

async function nodesOf(kind: ChannelKind, count: number, address: string | true = true): Promise<readonly Node[]> {
  const folder = await mkdtemp(join(tmpdir(), "haft-channels-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const nodes: Node[] = [];
  for (let index = 0; index < count; index++) nodes.push(await startNode(join(folder, "haft.db"), kind, index === 0 ? true : address));
  return nodes;
}

async function startNode(path: string, kind: ChannelKind, address: string | true): Promise<Node> {
  const triggers = createTriggers();
  const channel = triggers.channels.open("news", { kind, capacity: 2 });
  const warnings: string[] = [];
  const log = { debug() {}, warn: (line: string) => void warnings.push(line) };
  const runtime = createRuntime({ store: sqliteStore({ path, synchronous: "normal" }), ports: { log } });
  await runtime.open();
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), triggers, ports: { log } });
  const { url } = await server.listen({ port: 0, address });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const client = createClient({ url, token: TOKEN, maxAttempts: 1 });
  return { path, url, channel, client, warnings, read: (subscriber) => reader(channel, subscriber) };
}

async function addressOfNothing(): Promise<string> {
  const finder = createPortFinder();
  await new Promise<void>((resolve) => finder.listen(0, "127.0.0.1", resolve));
  const address = finder.address();
  await new Promise((resolve) => finder.close(resolve));
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
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

test("a broadcast reaches the readers in every process of the store once, whichever server it is sent to", async () => {
  const nodes = await nodesOf("broadcast", 3);
  const [, two, three] = nodes;
  const read = [two?.read("clerk"), three?.read("smith")];
  for (const [index, node] of nodes.entries()) {
    expect(await tell(node, `rain ${index}`)).toMatchObject({ content: `rain ${index}` });
    await tell(node, `rain ${index}`); // the same request again
  }
  await expect.poll(() => read).toEqual([0, 1].map(() => ["rain 0", "rain 1", "rain 2"]));
  expect(nodes.flatMap(({ warnings }) => warnings)).toEqual([]);
});

test("a broadcast reaches a reader once where processes that were killed had the addresses of those that replaced them", async () => {
  const [asked, reading] = await nodesOf("broadcast", 2);
  if (asked === undefined || reading === undefined) return expect.fail("a node is missing");
  for (const { url } of [asked, reading]) await startNode(asked.path, "broadcast", url); // each seems to live still, at an address that is another's now
  const read = [asked.read("clerk"), reading.read("smith")];
  await tell(asked, "rain");
  await expect.poll(() => read.map(({ length }) => length)).toEqual([1, 1]);
  await tell(asked, "snow");
  await expect.poll(() => read).toEqual([0, 1].map(() => ["rain", "snow"]));
});

test("a message on a queue goes to one process that reads it, and stays in the server that it was sent to where none does", async () => {
  const [one, two, three] = await nodesOf("queue", 3);
  if (one === undefined || two === undefined || three === undefined) return expect.fail("a node is missing");
  await tell(one, "early");
  expect([one, two, three].map(({ channel }) => channel.waiting)).toEqual([1, 0, 0]);
  const read = [two.read("clerk"), three.read("smith")];
  await tell(one, "later");
  await expect.poll(() => read.flat()).toEqual(["later"]);
  const here = one.read("desk");
  await expect.poll(() => here).toEqual(["early"]);
  await tell(one, "now");
  await expect.poll(() => here).toEqual(["early", "now"]);
  expect(read.flat()).toEqual(["later"]);
});

test("a channel that is full where it is read refuses, and the server that was asked answers so", async () => {
  const [one, two] = await nodesOf("broadcast", 2);
  if (one === undefined || two === undefined) return expect.fail("a node is missing");
  const subscription = two.channel.subscribe("clerk");
  onTestFinished(() => subscription.close());
  await tell(one, "1");
  await tell(one, "2");
  await expect(tell(one, "3")).rejects.toMatchObject({ status: 409, problem: { code: "resource_busy" } });
  expect(one.channel.history).toEqual([]);
  await subscription.receive();
  expect(await tell(one, "3")).toMatchObject({ content: "3" }); // the same request again: a refusal is not kept as its answer
});

test.each(["broadcast", "queue"] as const)(
  "a message on a %s that no reader got is not accepted while a process that may read it cannot be reached",
  async (kind) => {
    const [one] = await nodesOf(kind, 2, await addressOfNothing());
    if (one === undefined) return expect.fail("a node is missing");
    await expect(tell(one, "rain")).rejects.toMatchObject({ status: 503, problem: { code: "unavailable", outcome: "not_started" } });
    expect(one.channel.history).toEqual([]);
    const here = one.read("clerk");
    await tell(one, "snow");
    await expect.poll(() => here).toEqual(["snow"]);
    const words =
      'A message on the channel "news" did not reach all of its readers: The channel may be read in another process, which could not be reached.';
    expect(one.warnings).toEqual(kind === "queue" ? [] : [words]);
  },
);
