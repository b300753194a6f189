/** Streams of events over HTTP on loopback. */
import { afterEach, expect, test } from "vitest";
import { StreamClient } from "../../../scripts/stream-client.ts";
import { fanOut, resumeOverRestarts } from "../../../scripts/stream-load.ts";
import { serveEvents } from "../../../scripts/stream-server.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { EventHub } from "../../../src/server/events/event-hub.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { tool } from "../../runtime/bench-runtime.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { testInCI } from "../../test-in-ci.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function newRuntime(path: string = temporaryFile()): Runtime {
  const steps = tool("steps", (_input, context) => context.progress({ message: "half" }));
  const runtime = createRuntime({ tools: [tool("echo", (input) => input), steps], store: sqliteStore({ path }) });
  closing.push(() => runtime.close());
  return runtime;
}

async function serve(runtime: Runtime, options: ConstructorParameters<typeof EventHub>[1] = {}) {
  const hub = new EventHub(runtime, options);
  const served = await serveEvents(hub);
  closing.push(() => served.close());
  return { hub, ...served };
}

test("issue 19.3 the id of an event is its position, and unlogged events have no id, in their order", async () => {
  const runtime = newRuntime();
  const { url } = await serve(runtime);
  const session = runtime.session("s");
  await session.execute({ name: "echo" });
  const client = new StreamClient();
  await client.read(`${url}?session=s`, ({ id }) => {
    if (id === "3") void session.execute({ name: "steps" });
    return id === "5";
  });
  expect(client.messages.map(({ id, event }) => [id, event])).toEqual([
    ["1", "session-start"],
    ["2", "call-start"],
    ["3", "call-end"],
    ["4", "call-start"],
    [undefined, "call-attempt"],
    [undefined, "call-progress"],
    ["5", "call-end"],
  ]);
  expect(client.retry).toBe(1_000);
});

test("issue 19.3 E09 a reader that stops reading does not make the buffer grow, however long it stays", async () => {
  const clock = new FakeClock();
  const hub = new EventHub(newRuntime(), { clock, keepAliveMs: 15_000 });
  const reader = (await hub.open()).getReader();
  await reader.read(); // how long to wait before it connects again
  for (let n = 0; n < 500; n++) await clock.advance(15_000);
  hub.close();
  const waiting: string[] = [];
  for (let next = await reader.read(); !next.done; next = await reader.read()) waiting.push(new TextDecoder().decode(next.value));
  expect(waiting.length).toBeLessThan(5);
  expect(waiting.at(-1)).toContain("draining");
});

test("issue 19.3 a client resumes with the header Last-Event-ID, which overrides ?after", async () => {
  const runtime = newRuntime();
  const { url } = await serve(runtime);
  await runtime.session("s").execute([{ name: "echo" }, { name: "echo" }]);
  for (const [lastEventId, query, first] of [
    ["2", "&after=4", "3"],
    [undefined, "&after=4", "5"],
    [undefined, "", "1"],
  ] as const) {
    const client = new StreamClient();
    client.lastEventId = lastEventId;
    await client.read(`${url}?session=s${query}`, () => true);
    expect(client.messages[0]?.id).toBe(first);
  }
});

test("issue 19.3 an unknown position returns 410, an unknown session 404, and an invalid parameter is rejected", async () => {
  const runtime = newRuntime();
  const { url, hub } = await serve(runtime);
  await runtime.session("s").execute({ name: "echo" });
  const statusOf = async (query: string): Promise<number> => (await fetch(`${url}?${query}`)).status;
  expect(await statusOf("session=s&after=99")).toBe(410);
  expect(await statusOf("after=99-abc")).toBe(410);
  expect(await statusOf("session=nobody")).toBe(404);
  for (const query of ["after=x", "session=s&after=1e3", `after=${"1".repeat(200)}`])
    expect([query, await statusOf(query)]).toEqual([query, 500]); // invalid_argument: a server says 400
  const reader = hub.stream({ sessionId: "s" }, { after: 99 }).getReader();
  await reader.read();
  expect(new TextDecoder().decode((await reader.read()).value)).toMatch(/^event: gap\ndata: \{"code":"gone",/u);
  expect((await reader.read()).done).toBe(true);
});

test("issue 19.3 pages use the same positions as streams, and never wait", async () => {
  const runtime = newRuntime();
  const { hub } = await serve(runtime);
  await runtime.session("s").execute([{ name: "echo" }, { name: "echo" }]);
  const first = await hub.readPage("s", { limit: 2 });
  expect(first.events.map(({ position }) => position)).toEqual([1, 2]);
  expect(first.next).toBe(2);
  const rest = await hub.readPage("s", { after: 2 });
  expect(rest.events.map(({ position, event }) => [position, event.type])).toEqual([
    [3, "call-start"],
    [4, "call-end"],
    [5, "call-end"],
  ]);
  expect(rest.next).toBeUndefined();
  expect(await hub.readPage("s", { after: 5 })).toEqual({ events: [] });
  await expect(hub.readPage("s", { after: 6 })).rejects.toMatchObject({ code: "gone" });
  await expect(hub.readPage("s", { limit: 0 })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("issue 19.3 a stopping server sends draining to every stream and ends it, and the next server resumes it", async () => {
  const path = temporaryFile();
  const runtime = newRuntime(path);
  const { url, hub } = await serve(runtime);
  await runtime.session("s").execute({ name: "echo" });
  const client = new StreamClient();
  const status = await client.read(`${url}?session=s`, ({ id }) => {
    if (id === "3") hub.close();
    return false;
  });
  expect([status, client.messages.at(-1)?.event, client.lastEventId]).toEqual([200, "draining", "3"]);
  expect(hub.streams).toBe(0);
  await expect(hub.open()).rejects.toMatchObject({ code: "unavailable" });
  await runtime.close();
  const next = newRuntime(path);
  const again = await serve(next);
  const session = await next.resume("s");
  await session.execute({ name: "echo" });
  await client.read(`${again.url}?session=s`, ({ event }) => event === "call-end");
  expect(client.messages.flatMap(({ id }) => id ?? [])).toEqual(["1", "2", "3", "4", "5"]);
});

test("issue 19.3 a quiet stream gets keep-alives, and the position that a filter has reached", async () => {
  const runtime = newRuntime();
  const clock = new FakeClock();
  const { hub } = await serve(runtime, { clock, keepAliveMs: 15_000 });
  await runtime.session("s").execute({ name: "echo" });
  const reader = (await hub.open({ sessionId: "s", types: ["job-end"] })).getReader();
  const decoder = new TextDecoder();
  const next = async (): Promise<string> => decoder.decode((await reader.read()).value);
  expect(await next()).toBe("retry: 1000\n\n");
  const texts: string[] = [];
  while (texts.at(-1) !== "id: 3\n\n") {
    const text = next();
    await clock.advance(15_000);
    await new Promise((resolve) => setImmediate(resolve));
    texts.push(await text);
  }
  expect(texts.every((text) => text === ": keep-alive\n\n" || text.startsWith("id: "))).toBe(true);
  await reader.cancel();
  expect([hub.streams, clock.pending]).toEqual([0, 0]);
});

test("issue 19.3 a client that disconnects does not cancel any call", async () => {
  const runtime = newRuntime();
  const { url, hub } = await serve(runtime);
  const session = runtime.session("s");
  await session.execute({ name: "echo" });
  await new StreamClient().read(`${url}?session=s`, () => true);
  expect((await session.execute({ name: "echo" })).status).toBe("ok");
  while (hub.streams > 0) await new Promise((resolve) => setImmediate(resolve));
});

testInCI("issue 19.3 L11 readers get every event in order, and slow readers do not delay others", { timeout: 240_000 }, async () => {
  const { events, received } = await fanOut({ idle: 50, readers: 3, slow: 10, eventsPerSecond: 400, seconds: 1 });
  expect(received).toEqual([events / 2, events / 2]);
});

// 10,000 events over 50 kills: node --conditions=haft-source scripts/stream-load.ts restarts 50 10000
testInCI("issue 19.3 streams continue across kills of the server, 1,000 events over 5 kills", { timeout: 300_000 }, async () => {
  const { events, ...counts } = await resumeOverRestarts({ kills: 5, events: 1_000 });
  expect(counts).toEqual({ kills: 5, missing: 0, repeated: 0, missingOfAll: 0, repeatedOfAll: 0 });
  expect(events).toBeGreaterThanOrEqual(1_000);
});
