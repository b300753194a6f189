/** Fields that no event can hold, from a propagator or a program: refused or left out before they are recorded, so that every log is read again. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { propagation, trace } from "@opentelemetry/api";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../src/compose/agent.ts";
import type { Tracing } from "../../src/core/tracing.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { channelsToolset } from "../../src/toolsets/channels.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import { createTriggers } from "../../src/triggers/triggers.ts";
import { useSqliteThreads } from "../bundled-threads.ts";

useSqliteThreads();

const UNFIT: readonly [what: string, traceparent: string][] = [
  ["an empty text", ""],
  ["a text that is too long", "x".repeat(1_025)],
];
const HELLO = { role: "user", content: "Hello." } as const;

const count = defineTool({
  name: "count",
  description: "Counts.",
  inputSchema: { type: "object" },
  effects: { reads: [] },
  mode: "background",
  execute: () => 1,
});

afterEach(() => {
  for (const api of [trace, propagation]) api.disable();
});

async function newPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "haft-unfit-traceparent-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "haft.db");
}

/** The contents of the inbox, as another process reads them. */
async function readAgain(path: string): Promise<readonly unknown[]> {
  const runtime = createRuntime({ tools: [count], store: sqliteStore({ path }) });
  const { inbox } = await runtime.resume("one");
  await runtime.close();
  return inbox.map(({ message }) => message.content);
}

function traced(runtime: Runtime, traceparent: string): Runtime {
  const inject = (_context: unknown, carrier: unknown): void => void Object.assign(carrier as object, { traceparent });
  propagation.setGlobalPropagator({ fields: () => ["traceparent"], extract: (context) => context, inject });
  const span = trace.wrapSpanContext({ traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 });
  telemetry(runtime, { tracerProvider: { getTracer: () => ({ startSpan: () => span }) as never } });
  return runtime;
}

test.each(UNFIT)("a propagator that writes %s does not prevent a session from being read again", async (_what, traceparent) => {
  const path = await newPath();
  const store = sqliteStore({ path });
  const channels = createChannels({ store });
  channels.open("news");
  const toolsets = [channelsToolset({ channels })];
  const runtime = traced(createRuntime({ tools: [count], toolsets, store, approval: { never: ["*"] } }), traceparent);
  const session = runtime.session("one");
  await session.receive(HELLO);
  const sent = await session.execute({ name: "channels::send_message", input: { channel: "news", message: "It rains." } });
  await session.execute({ name: "count", input: {} });
  const kept = await channels.get("news").latest();
  await runtime.close();
  expect([sent.status, kept.map((message) => message.traceparent)]).toEqual(["ok", [undefined]]);
  expect(await readAgain(path)).toEqual(expect.arrayContaining(["Hello."]));
});

test.each([...UNFIT, ["a number", 7 as never] as const])(
  "a program that passes %s as a span is refused, and nothing is recorded",
  async (_what, traceparent) => {
    const runtime = createRuntime({ store: memoryStore() });
    onTestFinished(async () => void (await runtime.close()));
    const session = runtime.session("one");
    const channel = createChannels().open("news");
    const refused = { code: "invalid_argument", message: expect.stringContaining("traceparent") as string };
    await expect(session.receive(HELLO, { traceparent })).rejects.toMatchObject(refused);
    await expect(channel.send("It rains.", { sender: "me", traceparent })).rejects.toMatchObject(refused);
    expect([session.inbox, channel.history]).toEqual([[], []]);
  },
);

test.each(UNFIT)("a message on a channel that a store keeps with %s wakes its agent, without a link", async (_what, traceparent) => {
  const store = memoryStore();
  const channels = createChannels({ store });
  const channel = channels.open("news");
  const triggers = createTriggers({ channels });
  const runtime = createRuntime({ store });
  onTestFinished(async () => void (await runtime.close()));
  const session = runtime.session("reader");
  const reader = createAgent({ session, model: scriptedModel(Array.from({ length: 4 }, () => ({ text: "So it does." }))), triggers });
  await triggers.of(session).add({ type: "channel", channel: "news" });
  const message = { id: "m", channel: "news", sender: "me", senderId: "me", content: "It rains.", metadata: {}, at: 0, traceparent };
  await store.channels?.send({ channel: "news", body: JSON.stringify(message), sender: "me", senderId: "me", keep: 1 });
  reader.start();
  await channel.send("It still rains.", { sender: "me" });
  const received = (): unknown => JSON.stringify(session.messages());
  await expect.poll(received, { timeout: 20_000 }).toMatch(/It rains\..*It still rains\./u);
  await reader.stop();
});

test.each(UNFIT)("custom tracing that returns %s does not prevent a message from being received", async (_what, traceparent) => {
  const path = await newPath();
  const runtime = createRuntime({ store: sqliteStore({ path }) });
  runtime.trace({ headersOf: () => ({ traceparent }) } as Partial<Tracing> as Tracing);
  await runtime.session("one").receive(HELLO);
  await runtime.close();
  expect(await readAgain(path)).toEqual(["Hello."]);
});
