/** A server whose sessions have calls of every kind, for tests of the dashboard: waits, retries, repairs, approvals, jobs, calls in calls. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createAgent, createRuntime, defineTool, pure, readOnly, ToolError } from "haft";
import { createClient } from "haft/client";
import type { Model } from "haft/model";
import { createServer, type Authenticator } from "haft/server";
import { exampleEngine } from "haft/simulation";
import { sqliteStore } from "haft/sqlite";
import { scriptedModel } from "haft/testing";
import { createTriggers } from "haft/triggers";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { hostileTools } from "./hostile-scene.ts";
import { Keys } from "../../src/server/auth/keys.ts";
import { openServerAccess } from "../../src/server/auth/server-access.ts";

export interface Scene {
  readonly url: string;
  /** Of all scopes, and of `read` alone. */
  readonly key: string;
  readonly readerKey: string;
  readonly runtime: ReturnType<typeof createRuntime>;
  /** Listens on the same port again, with the same runtime. */
  restart(whileAway: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** @param options the path of its address, such as `/haft` */
export async function openScene({ basePath }: { readonly basePath?: string } = {}): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), "haft-dashboard-"));
  const store = sqliteStore({ path: join(folder, "haft.db"), synchronous: "normal" });
  const runtime = createRuntime({
    store,
    retry: { delayMs: 120, factor: 2, jitter: false },
    approval: { approve: () => new Promise(() => {}) },
    maxResultBytes: 4_000,
    standIn: exampleEngine({ seed: 7 }),
    toolsets: [
      { name: "shop", tools: shopTools() },
      { name: "evil", tools: hostileTools() },
    ],
  });
  await runtime.open();
  const keys = new Keys(store.access, systemPorts);
  const { key } = await keys.add({ name: "Ann", scopes: ["admin"] });
  const { key: readerKey } = await keys.add({ name: "Reader", scopes: ["read"] });
  const auth: Authenticator = await openServerAccess({ access: store.access }, systemPorts);
  const triggers = createTriggers();
  const agents = {
    clerk: createAgent({ session: runtime.session("desk"), model: clerkModel(), triggers }),
    writer: createAgent({ session: runtime.session("letters"), model: slowModel() }),
  };
  for (const agent of Object.values(agents)) agent.start();
  const place = basePath === undefined ? {} : { basePath };
  const start = () =>
    createServer(runtime, { auth, dashboard: true, agents, triggers, limits: { graceMs: 50 }, version: "0.1.0", ...place });
  let server = start();
  const { url, port } = await server.listen({ port: 0 });
  return {
    url,
    key,
    readerKey,
    runtime,
    async restart(whileAway) {
      await server.close();
      await whileAway();
      server = start();
      await server.listen({ port });
    },
    async close() {
      await server.close();
      await Promise.all(Object.values(agents).map((agent) => agent.stop()));
      await runtime.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Looks a thing up, and says its price. */
function clerkModel(): ReturnType<typeof scriptedModel> {
  return scriptedModel((_request, index) =>
    index % 2 === 0
      ? { text: "I am looking it up.", calls: [{ name: "shop::price", input: { item: "lamp" } }] }
      : { text: "A lamp is 49.90 euros." },
  );
}

/** Writes a letter word by word. */
function slowModel(): Model {
  const whole = scriptedModel(() => ({ text: Array.from({ length: 60 }, (_, index) => `word${index + 1}`).join(" ") }));
  return {
    ...whole,
    async *stream(request, options) {
      for await (const event of whole.stream(request, options)) {
        if (event.type !== "text-delta") yield event;
        else
          for (const text of event.text.split(/(?<= )/u)) {
            yield { type: "text-delta", text };
            await pause(100, undefined, { signal: options?.signal });
          }
      }
    },
  };
}

type Session = ReturnType<Scene["runtime"]["session"]>;

/** Plays a morning at a shop; when it ends, one call waits for approval and one job runs. */
export async function playShop(runtime: Scene["runtime"], id = "orders"): Promise<Session> {
  const session = runtime.session(id);
  await session.addMessage({ role: "user", content: "Order two lamps and a desk, and tell me when they come." });
  await session.execute([
    { name: "shop::search", input: { words: "lamp", limit: "5" } },
    { name: "shop::search", input: { words: "desk" } },
    { name: "shop::price", input: { item: "lamp" } },
  ]);
  await session.execute([
    { name: "shop::reserve", input: { item: "lamp", count: 2 } },
    { name: "shop::reserve", input: { item: "desk", count: 1 } },
    { name: "shop::reserve", input: { item: "chair", count: 4 } },
    { name: "shop::courier", input: { to: "Unit 4" } },
    { name: "shop::price", input: { item: "lamp" } },
  ]);
  await session.execute([
    { name: "shop::checkout", input: { items: ["lamp", "desk"], note: "Ring twice" } },
    { name: "shop::weather", input: {} },
    { name: "shop::catalogue", input: {} },
  ]);
  await session.execute([{ name: "shop::pack", input: { order: "A-17" } }]);
  await session.addMessage({ role: "assistant", content: "Both are reserved. I am cancelling the chairs now." });
  void session.execute([{ name: "shop::cancel_order", input: { order: "A-17", items: ["chair"], reason: "not wanted" } }]);
  return session;
}

/** Makes calls that no session has, and requests that are refused; they are in the audit when it resolves. */
export async function playAudit({ url, key, readerKey }: Scene): Promise<void> {
  const client = createClient({ url, token: key });
  const calls = Array.from({ length: 120 }, (_, index) => ({ name: "shop::nothing", input: { index } }));
  await client.call("execute", { body: { calls } });
  const search = { calls: [{ name: "shop::search", input: { words: "lamp" } }] };
  await client.call("simulate", { body: search });
  await createClient({ url, token: readerKey })
    .call("execute", { body: search })
    .catch(() => {});
  await createClient({ url, token: "unknown" })
    .call("listTools")
    .catch(() => {});
  const isKept = async (): Promise<boolean> =>
    (await client.call("listAudit", { query: { tool: "shop::search" } })).entries.some(
      (entry) => entry.type === "call" && entry.via === "api",
    );
  while (!(await isKept())) await pause(50);
}

const item = { type: "string", description: "What it is called in the catalogue." } as const;

function shopTools(): ReturnType<typeof defineTool>[] {
  let courierCalls = 0;
  return [
    defineTool({
      name: "search",
      description: "Finds things in the catalogue by words.",
      inputSchema: {
        type: "object",
        properties: {
          words: { type: "string", description: "What is looked for." },
          limit: { type: "integer", minimum: 1, maximum: 50, default: 10, description: "Most results." },
          order: { enum: ["relevance", "price", "newest"], default: "relevance" },
          only: {
            type: "object",
            description: "Narrows the search.",
            properties: {
              maxPrice: { type: "number" },
              inStock: { type: "boolean" },
              colours: { type: "array", items: { type: "string" } },
            },
          },
        },
        required: ["words"],
      },
      effects: readOnly("catalogue"),
      async execute({ words, limit }: { readonly words: string; readonly limit: number }) {
        await pause(90);
        return { found: [`${words} one`, `${words} two`].slice(0, limit), total: 2 };
      },
    }),
    defineTool({
      name: "price",
      description: "Tells the price of one thing.",
      inputSchema: { type: "object", properties: { item }, required: ["item"] },
      effects: readOnly("prices"),
      cache: "session",
      async execute() {
        await pause(60);
        return { euros: 49.9 };
      },
    }),
    defineTool({
      name: "reserve",
      description: "Sets things aside in the storeroom.",
      inputSchema: { type: "object", properties: { item, count: { type: "integer", minimum: 1 } }, required: ["item", "count"] },
      effects: { writes: ["storeroom"] },
      async execute({ item, count }: { readonly item: string; readonly count: number }, { state }) {
        await pause(140);
        if (item === "chair") throw new ToolError("execution_failed", "There are only 3 chairs left.", { hint: "Reserve 3 or fewer." });
        state.update("reserved", (reserved) => ({ ...(reserved as object | undefined), [item]: count }));
        return { reserved: count };
      },
    }),
    defineTool({
      name: "courier",
      description: "Books a courier; its first answer is often lost.",
      inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      effects: { reads: ["couriers"], writes: ["van"], idempotent: true },
      async execute() {
        await pause(70);
        if (courierCalls++ < 2)
          throw new ToolError("unavailable", "The courier did not answer.", { retryable: true, outcome: "not_started" });
        return { pickup: "11:40" };
      },
    }),
    defineTool({
      name: "checkout",
      description: "Pays for what is reserved: three calls of other tools.",
      inputSchema: {
        type: "object",
        properties: { items: { type: "array", items: { type: "string" } }, note: { type: "string" } },
        required: ["items"],
      },
      composite: true,
      async execute({ items }: { readonly items: readonly string[] }, context) {
        const prices = await context.execute(items.map((one) => ({ name: "shop::price", input: { item: one } })));
        await context.execute([{ name: "shop::charge", input: { euros: prices.length * 49.9 } }]);
        return { paid: true };
      },
    }),
    defineTool({
      name: "charge",
      description: "Charges the card on file.",
      inputSchema: { type: "object", properties: { euros: { type: "number" } }, required: ["euros"] },
      effects: { writes: ["till"], external: true },
      async execute() {
        await pause(110);
        return { receipt: "R-2041" };
      },
    }),
    defineTool({
      name: "weather",
      description: "Asks a service that never answers in time.",
      inputSchema: { type: "object", properties: {} },
      effects: pure,
      timeoutMs: 200,
      maxAttempts: 1,
      async execute() {
        await pause(320);
        return "rain";
      },
    }),
    defineTool({
      name: "catalogue",
      description: "Gives the whole catalogue, which is long.",
      inputSchema: { type: "object", properties: {} },
      effects: readOnly("catalogue"),
      execute: () => Array.from({ length: 900 }, (_, index) => `Item ${index + 1}: lamp, brushed steel, ${20 + index} cm`).join("\n"),
    }),
    defineTool({
      name: "nothing",
      description: "Does nothing.",
      inputSchema: { type: "object", properties: { index: { type: "integer" } } },
      effects: pure,
      execute: () => null,
    }),
    defineTool({
      name: "pack",
      description: "Packs an order in the background.",
      inputSchema: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
      effects: { writes: ["bench"] },
      mode: "background",
      async execute({ order }: { readonly order: string }, { output, signal }) {
        for (let box = 1; box <= 400; box++) {
          output(`box ${box} of order ${order} is packed\n`);
          await pause(150, undefined, { signal });
        }
        return { boxes: 400 };
      },
    }),
    defineTool({
      name: "ship",
      description: "Ships an order in the background; there is no ship.",
      inputSchema: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
      effects: { writes: ["harbour"] },
      mode: "background",
      execute: async () => {
        throw new ToolError("execution_failed", "There is no ship in the harbour.");
      },
    }),
    defineTool({
      name: "cancel_order",
      description: "Cancels an order, or items of it, for good.",
      inputSchema: {
        type: "object",
        properties: { order: { type: "string" }, items: { type: "array", items: { type: "string" } }, reason: { type: "string" } },
        required: ["order"],
      },
      outputSchema: { type: "object", properties: { cancelled: { type: "boolean" } }, required: ["cancelled"] },
      effects: { writes: ["orders"], destructive: true },
      execute: ({ items }: { readonly items?: readonly string[] }, { state }) => {
        state.update("cancelled", () => [...(items ?? [])]);
        return { cancelled: true };
      },
    }),
  ] as ReturnType<typeof defineTool>[];
}
