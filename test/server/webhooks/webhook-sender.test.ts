/** Webhooks against a real receiver on loopback, which fails, hangs and redirects. */
import { spawnSync } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { expect, onTestFinished, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { WebhookSender } from "../../../src/server/webhooks.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { fakePorts, settle, type FakePorts } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";

const SECRET = `whsec_${randomBytes(32).toString("base64")}`;

interface Received {
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Answers each request as the next of the scripts says, the last one again and again. */
async function receiver(...scripts: readonly ((response: ServerResponse) => void)[]) {
  const received: Received[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      received.push({ headers: request.headers, body });
      (scripts[Math.min(received.length, scripts.length) - 1] ?? ok)(response);
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}/hook`,
    host: `127.0.0.1:${port}`,
    received,
    count: (wanted: number) =>
      new Promise<void>((resolve) => {
        const look = (): void => void (received.length >= wanted && resolve());
        waiting.push(look);
        look();
      }),
  };
}

const ok = (response: ServerResponse): void => void response.writeHead(204).end();
const fails = (response: ServerResponse): void => void response.writeHead(500).end("no");

const remove: Tool = {
  name: "remove",
  description: "Removes.",
  inputSchema: { type: "object" },
  effects: { writes: ["disk"], destructive: true },
  execute: () => "removed",
};
const copy: Tool = { name: "copy", description: "Copies.", inputSchema: { type: "object" }, mode: "background", execute: () => "copied" };

function senderTo({ url, host }: { readonly url: string; readonly host: string }, store = memoryStore(), ports?: FakePorts): WebhookSender {
  const sender = new WebhookSender({
    store,
    webhooks: [{ url, secret: SECRET }],
    allowPrivate: [host],
    ...(ports === undefined ? {} : { ports }),
  });
  onTestFinished(() => sender.close());
  return sender;
}

test("issue 19.4 a call that waits for approval is sent, signed, without its input", async () => {
  const place = await receiver();
  const store = memoryStore();
  await senderTo(place, store).start();
  const runtime = createRuntime({ tools: [remove, copy], store, approval: { approve: "inbox" } });
  const session = runtime.session("trip");
  const job = await session.submit({ name: "copy", input: { path: "/secret" } });
  await runtime.jobs.wait(job.id);
  const made = session.execute({ name: "remove", input: { path: "/secret" } });
  await place.count(2);
  await runtime.close();
  await made;
  const told = new Map(place.received.map(({ body }) => [JSON.parse(body).type, JSON.parse(body)]));
  expect(told.get("job.ended")).toEqual({
    type: "job.ended",
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/u),
    data: { id: job.id, sessionId: "trip", toolName: "default::copy", state: "done", errorCode: null },
  });
  expect(told.get("approval.asked")).toEqual({
    type: "approval.asked",
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/u),
    data: {
      id: expect.stringMatching(/^approval_/u),
      sessionId: "trip",
      callId: expect.any(String),
      toolName: "default::remove",
      reason: "default::remove may destroy something.",
      digest: expect.any(String),
    },
  });
  const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
  for (const { headers, body } of place.received) {
    const expected = createHmac("sha256", key)
      .update(`${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`)
      .digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${expected}`);
  }
});

test("issue 19.4 the webhook for the end of a job is stored with it, and survives the process that ran the job", async () => {
  const path = temporaryFile();
  const place = await receiver();
  const first = sqliteStore({ path });
  await senderTo(place, first).close(); // one that never sends
  const named = senderTo(place, first);
  await named.start();
  await named.close();
  const runtime = createRuntime({ tools: [copy], store: first });
  const job = await runtime.session("trip").submit({ name: "copy" });
  await runtime.jobs.wait(job.id);
  await runtime.close();
  expect(place.received).toEqual([]);
  const second = sqliteStore({ path });
  onTestFinished(() => second.close());
  await senderTo(place, second).start();
  await place.count(1);
  expect(JSON.parse(place.received[0]?.body ?? "")).toMatchObject({
    type: "job.ended",
    data: { id: job.id, sessionId: "trip", toolName: "default::copy", state: "done", errorCode: null },
  });
});

test("issue 19.4 a receiver that fails, redirects or hangs is retried with the same id, after growing waits", async () => {
  const elsewhere = await receiver();
  const redirects = (response: ServerResponse): void => void response.writeHead(302, { location: elsewhere.url }).end();
  const hangs = (): void => {};
  const place = await receiver(fails, redirects, hangs, ok);
  const ports = fakePorts();
  const store = memoryStore();
  const failed = retriesOf(store);
  const sender = senderTo(place, store, ports);
  await sender.start();
  await store.approvals.put(question(ports.clock.wallTime()));
  await ports.clock.advance(1_000);
  await failed(1);
  await settle();
  await ports.clock.advance(6_000);
  await failed(2);
  await settle();
  await ports.clock.advance(301_000);
  await place.count(3);
  await ports.clock.advance(15_000); // the wait for an answer
  await failed(3);
  await settle();
  await ports.clock.advance(1_801_000);
  await place.count(4);
  expect(new Set(place.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(elsewhere.received).toEqual([]);
  for (let tries = 0; tries < 200 && (await store.webhooks.claim({ now: Infinity, until: Infinity, limit: 9 })).length > 0; tries++)
    await settle();
  expect(await store.webhooks.claim({ now: Infinity, until: Infinity, limit: 9 })).toEqual([]);
});

test("issue 19.4 private addresses, invalid secrets and unknown types are rejected", async () => {
  const place = await receiver();
  const store = memoryStore();
  const webhook = { url: place.url, secret: SECRET };
  const refusals = [
    [{ ...webhook, secret: "whsec_c2hvcnQ" }],
    [{ ...webhook, types: ["all" as never] }],
    [{ ...webhook, url: "ftp://x" }],
    [{ ...webhook, url: "https://u:p4ssw0rd@x" }],
    [{ ...webhook, url: "https://p4ssw0rd@x" }],
    [{ ...webhook, url: "https://:p4ssw0rd@x" }],
    [webhook, webhook],
  ].map((webhooks) => {
    try {
      return String(new WebhookSender({ store, webhooks }));
    } catch (error: unknown) {
      return JSON.stringify(error, ["message", "hint", "operatorHint", "details"]);
    }
  });
  expect(refusals).toEqual([
    expect.stringMatching(/"The secret of a webhook must be/u),
    expect.stringContaining(String.raw`A webhook cannot have the type \"all\"`),
    expect.stringContaining("http or https address"),
    expect.stringContaining("must not contain a user name or password"),
    expect.stringContaining("must not contain a user name or password"),
    expect.stringContaining("must not contain a user name or password"),
    expect.stringContaining("Two webhooks have the same url."),
  ]);
  for (const secret of [SECRET, SECRET.slice("whsec_".length), "c2hvcnQ", "p4ssw0rd"]) expect(refusals.join("\n")).not.toContain(secret);
  const ports = fakePorts();
  const failed = retriesOf(store);
  const sender = new WebhookSender({ store, webhooks: [webhook], ports });
  onTestFinished(() => sender.close());
  await sender.start();
  await store.approvals.put(question(ports.clock.wallTime()));
  await ports.clock.advance(1_000);
  await failed(1);
  expect(place.received).toEqual([]);
});

test.each([
  ["429 without a time", 429, {}, 5_000],
  ["429 with less than the wait between tries", 429, { "retry-after": "1" }, 5_000],
  ["429 with more", 429, { "retry-after": "600" }, 600_000],
  ["503 with a date", 503, { date: "Tue, 01 Jan 2030 00:00:00 GMT", "retry-after": "Tue, 01 Jan 2030 01:00:00 GMT" }, 3_600_000],
  ["429 with more than a day", 429, { "retry-after": "99999999" }, 86_400_000],
  ["429 with a time that is none", 429, { "retry-after": "soon" }, 5_000],
])("after %s, a message is tried again no earlier than its receiver asks for, and within a day", async (_what, status, headers, waitMs) => {
  const place = await receiver((response) => void response.writeHead(status, headers).end());
  const [store, ports] = [memoryStore(), fakePorts()];
  const failed = retriesOf(store);
  await senderTo(place, store, ports).start();
  const now = ports.clock.wallTime();
  await store.approvals.put(question(now));
  await ports.clock.advance(1_000);
  await failed(1);
  const due = async (ms: number): Promise<number> => {
    const claimed = await store.webhooks.claim({ now: ports.clock.wallTime() + ms, until: now, limit: 1 });
    return claimed.length;
  };
  expect([await due(waitMs - 1), await due(waitMs)]).toEqual([0, 1]);
});

test("a webhook that is given up is logged with the reason and what would work", async () => {
  const place = await receiver();
  const store = memoryStore();
  const ports = fakePorts();
  const sender = new WebhookSender({ store, webhooks: [{ url: place.url, secret: SECRET }], ports });
  onTestFinished(() => sender.close());
  await sender.start();
  const now = ports.clock.wallTime();
  await store.approvals.put(question(now));
  for (let tries = 1; tries < 10; tries++) expect(await store.webhooks.claim({ now, until: now, limit: 1 })).toHaveLength(1);
  await ports.clock.advance(1_000);
  for (let turns = 0; turns < 200 && ports.log.lines.length === 0; turns++) await settle();
  expect(ports.log.lines.map(({ message }) => message).join()).toContain(
    `to ${place.host} was given up after 10 tries: Calls to ${place.host} are not allowed: 127.0.0.1 `,
  );
  expect(ports.log.lines.map(({ message }) => message).join()).toContain(`list "${place.host}" in allowPrivate`);
  expect(JSON.stringify(ports.log.lines)).not.toContain(SECRET.slice("whsec_".length));
});

test.each([
  [410, 1, "1 try: it was answered with status 410"],
  [308, 10, "10 tries: it was answered with status 308, and redirects are not followed"],
])("the log says why a message that is answered with %i is given up after %i tries", async (status, tries, said) => {
  const place = await receiver((response) => void response.writeHead(status, { location: "/elsewhere", "retry-after": "1" }).end());
  const [store, ports] = [memoryStore(), fakePorts()];
  await senderTo(place, store, ports).start();
  const now = ports.clock.wallTime();
  await store.approvals.put(question(now));
  for (let before = 1; before < tries; before++) await store.webhooks.claim({ now, until: now, limit: 1 });
  await ports.clock.advance(1_000);
  await expect.poll(() => ports.log.lines.length, { interval: 5, timeout: 30_000 }).toBe(1);
  expect(ports.log.lines.map(({ message }) => message)).toEqual([expect.stringContaining(` to ${place.host} was given up after ${said}`)]);
  expect(await store.webhooks.claim({ now: Infinity, until: Infinity, limit: 9 })).toEqual([]);
});

test.each([
  [200, 0],
  [299, 0],
  [300, 1],
])("a message that is answered with %i is sent again %i times", async (status, retries) => {
  const place = await receiver((response) => void response.writeHead(status).end());
  const [store, ports] = [memoryStore(), fakePorts()];
  const failed = retriesOf(store);
  await senderTo(place, store, ports).start();
  await store.approvals.put(question(ports.clock.wallTime()));
  await ports.clock.advance(1_000);
  await place.count(1);
  if (retries > 0) await failed(retries);
  else await expect.poll(() => leftIn(store, ports)).toBe(0);
});

/** How many messages are not delivered yet. */
async function leftIn(store: Store, ports: FakePorts): Promise<number> {
  const now = ports.clock.wallTime() + 86_400_000;
  return (await store.webhooks.claim({ now, until: now - 1, limit: 5 })).length;
}

test("a payload has no lone surrogate, which strict receivers reject every time", async () => {
  const store = memoryStore();
  await store.webhooks.setEndpoints([{ id: "one", types: ["approval.asked"] }]);
  await store.approvals.put({ ...question(1), reason: "half \ud800" });
  const [message] = await store.webhooks.claim({ now: 1, until: 2, limit: 1 });
  expect(parseJson(message?.payload ?? "")).toMatchObject({ data: { reason: "half \ufffd" } });
});

function question(askedAt: number) {
  const text = { sessionId: "s", callId: "c", turnId: "t", toolName: "a::b", description: "", reason: "It may do harm." };
  return { id: "approval_1", ...text, input: { path: "/secret" }, digest: "d", definition: "f", simulated: false, askedAt };
}

/** Counts the tries that have failed. */
function retriesOf(store: ReturnType<typeof memoryStore>): (wanted: number) => Promise<void> {
  const { retry } = store.webhooks;
  let retries = 0;
  const waiting: (() => void)[] = [];
  Object.assign(store.webhooks, {
    retry: async (request: Parameters<typeof retry>[0]) => {
      await retry(request);
      retries++;
      for (const look of waiting) look();
    },
  });
  return (wanted) =>
    new Promise((resolve) => {
      const look = (): void => void (retries >= wanted && resolve());
      waiting.push(look);
      look();
    });
}

test.each([
  ["memory", memoryStore],
  ["SQLite", () => sqliteStore({ path: temporaryFile() })],
])(
  "in %s, a receiver that does not answer delays no other, and a sender uses no attempt of an endpoint that it does not know",
  async (_, open) => {
    const [dead, healthy] = [await receiver(() => {}), await receiver()];
    const [store, ports] = [open(), fakePorts()];
    onTestFinished(() => store.close());
    const webhooks = [dead, healthy].map(({ url }) => ({ url, secret: SECRET }));
    const sender = new WebhookSender({ store, webhooks, allowPrivate: [dead.host, healthy.host], ports });
    onTestFinished(() => sender.close());
    await sender.start();
    const ask = async (id: string): Promise<unknown> => store.approvals.put({ ...question(ports.clock.wallTime()), id });
    /** A store may take longer than the clock here, which moves on in steps that are small beside the time that a receiver has. */
    const comes = (count: number) =>
      expect.poll(() => ports.clock.advance(20).then(() => healthy.received.length), { interval: 5, timeout: 30_000 }).toBe(count);
    await ask("one");
    await comes(1);
    await dead.count(1);
    await ask("two");
    await comes(2);

    await store.webhooks.setEndpoints([{ id: "of-another-process", types: ["approval.asked"] }]);
    await ask("three");
    await ports.clock.advance(5_000);
    const now = ports.clock.wallTime() + 60_000;
    expect((await store.webhooks.claim({ now, until: now, limit: 5 })).map(({ attempts }) => attempts)).toEqual([1]);
  },
);

test("a log that throws when a webhook is given up keeps neither this webhook nor the next ones from being handled", async () => {
  const place = await receiver((response) => void response.writeHead(410).end(), ok);
  const [store, { clock }] = [memoryStore(), fakePorts()];
  const warn = (): never => {
    throw new Error("The log is full.");
  };
  const webhooks = [{ url: place.url, secret: SECRET }];
  const sender = new WebhookSender({ store, webhooks, allowPrivate: [place.host], ports: { clock, log: { debug() {}, warn } } });
  onTestFinished(() => sender.close());
  await sender.start();
  await store.approvals.put({ ...question(clock.wallTime()), id: "first" });
  await clock.advance(1_000);
  await place.count(1);
  await store.approvals.put({ ...question(clock.wallTime()), id: "second" });
  const countLater = async (): Promise<number> => {
    await clock.advance(1_000);
    return place.received.length;
  };
  await expect.poll(countLater, { interval: 5, timeout: 5_000 }).toBe(2);
  expect(place.received.map(({ body }) => body.includes("second"))).toEqual([false, true]);
});

test("close waits for all requests under way, also after the store could not record the end of one", async () => {
  const hangs = (): void => {};
  const place = await receiver(ok, hangs);
  const [store, ports] = [memoryStore(), fakePorts()];
  const released: string[] = [];
  Object.assign(store.webhooks, {
    remove: () => Promise.reject(new ToolError("store_failed", "The disk is full.")),
    async retry({ messageId }: { readonly messageId: string }) {
      for (let turns = 0; turns < 20; turns++) await settle(); // a slow store
      released.push(messageId);
    },
  });
  const sender = senderTo(place, store, ports);
  await sender.start();
  for (const id of ["one", "two"]) await store.approvals.put({ ...question(ports.clock.wallTime()), id });
  await ports.clock.advance(1_000);
  await place.count(2);
  await settle();
  await sender.close();
  expect(released).toHaveLength(1);
});

test("an unknown setting of a receiver is refused with the setting that was meant", () => {
  const webhooks = [{ url: "https://hooks.example", secret: SECRET, events: ["job.ended"] }];
  expect(() => new WebhookSender({ store: memoryStore(), webhooks })).toThrow(
    expect.objectContaining({ message: 'A webhook has no option "events".', hint: 'Did you mean "types"?' }),
  );
});

test("an unknown option of a sender is refused with the option that was meant", () => {
  const options = { store: memoryStore(), webhooks: [], endpoints: [] };
  expect(() => new WebhookSender(options)).toThrow(expect.objectContaining({ message: expect.stringContaining('no option "endpoints"') }));
});

test("the command that the refusal of a secret names makes a secret, in a shell", { skip: process.platform === "win32" }, () => {
  const refused = (secret: string): ToolError | undefined => {
    try {
      void new WebhookSender({ store: memoryStore(), webhooks: [{ url: "https://hooks.example", secret }] });
      return undefined;
    } catch (error: unknown) {
      return ToolError.fromUnknown(error);
    }
  };
  const command = refused("mine")?.hint?.slice("Make one: ".length) ?? "";
  const { stdout } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
  expect(refused(stdout.trim())).toBeUndefined();
});
