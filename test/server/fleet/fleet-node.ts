/**
 * A server of a fleet: `node fleet-node.ts <settings as JSON>`. It prints a line of JSON when it listens, and one for each write of a session that
 * was refused because another node has claimed it.
 */
import { createChain } from "../../../src/compose/chain/chain.ts";
import { delegateTool } from "../../../src/compose/delegate/delegate.ts";
import { programToolset } from "../../../src/compose/program/program-toolset.ts";
import { readOnly } from "../../../src/core/resources/effects.ts";
import type { EventLog, Store } from "../../../src/core/store/store.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { isToolError } from "../../../src/core/error.ts";
import { defineTool } from "../../../src/registry/define-tool.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { createServer } from "../../../src/server/create-server.ts";
import { staticToken } from "../../../src/server/auth/static-token.ts";
import { postgresStore } from "../../../src/store/postgres-store.ts";

export interface FleetNodeSettings {
  readonly number: number;
  readonly host: string;
  readonly port: number;
  readonly hosts: readonly string[];
  readonly token: string;
  /** Of the database, by the way of this node. */
  readonly url: string;
  /** Of the service that counts effects, by the way of this node. */
  readonly effects: string;
  readonly leaseMs: number;
  readonly graceMs: number;
  /** How far its clock is ahead. */
  readonly aheadMs: number;
}

const settings = JSON.parse(process.argv[2] ?? "{}") as FleetNodeSettings; // as the drill wrote it

function say(what: unknown): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

/** Asks the service; no answer means that the effect may have happened. */
async function ask(path: string, body: unknown): Promise<{ readonly count: number }> {
  const answer = await fetch(`${settings.effects}${path}`, {
    method: "POST",
    body: JSON.stringify({ node: settings.number, ...Object(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as { readonly count: number }; // as the service writes it
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const inputSchema = {
  type: "object",
  properties: { tag: { type: "string" }, ms: { type: "integer", minimum: 0, maximum: 60_000 } },
  required: ["tag", "ms"],
} as const;

const pay = defineTool({
  name: "pay",
  description: "Pays once.",
  inputSchema,
  effects: { writes: ["account:{tag}"], external: true },
  async execute({ tag, ms }) {
    await pause(ms);
    await ask("/pay", { tag });
    return { tag };
  },
});
const close = defineTool({
  name: "close",
  description: "Closes an account, once a person has allowed it.",
  inputSchema,
  effects: { writes: ["account:{tag}"], external: true, destructive: true },
  async execute({ tag, ms }) {
    await pause(ms);
    await ask("/pay", { tag });
    return { tag };
  },
});
const look = defineTool({
  name: "look",
  description: "Reads.",
  inputSchema,
  effects: readOnly("account"),
  execute: ({ tag, ms }) => pause(ms).then(() => ({ tag })),
});
const bump = defineTool({
  name: "bump",
  description: "Adds one to a counter, under a lease.",
  inputSchema,
  effects: { writes: ["counter:main"] },
  async execute({ tag, ms }, { fence = 0 }) {
    const { count } = await ask("/read", { fence });
    await pause(ms);
    await ask("/write", { tag, fence, count });
    return { tag };
  },
});

// Three tools that make the same calls: one after the other, by a model, and by a program (see fleet-orders.ts).
const chain = createChain([
  { tool: "bank::pay", inputMapping: { tag: "tag", ms: "ms" } },
  { tool: "bank::look", inputMapping: { tag: "tag", ms: "ms" } },
  { tool: "bank::close", inputMapping: { tag: "closes", ms: "ms" } },
]).toTool({ name: "chain", description: "Pays, looks, and closes an account." });
const delegate = delegateTool({
  name: "delegate",
  description: "Pays, looks, and closes an account.",
  inputSchema: { type: "object" },
  maxRunning: 100,
  model: scriptedModel(({ messages }) => {
    const task = messages.find(({ role }) => role === "user");
    const { tag = "", closes = "", ms = 0 } = JSON.parse(task?.role === "user" ? String(task.content) : "{}") as JsonObject; // the arguments of its call
    const results = messages.flatMap((message) => (message.role === "result" ? [message.result] : []));
    const failed = results.find(({ error }) => error !== undefined);
    if (failed !== undefined) return { text: `It failed: ${failed.error?.message}` };
    const calls = [
      { name: "bank::pay", input: { tag, ms } },
      { name: "bank::look", input: { tag, ms } },
      { name: "bank::close", input: { tag: closes, ms } },
    ];
    const next = calls[results.length];
    return next === undefined ? { text: "done" } : { calls: [next] };
  }),
});

/** Says when a write is refused because of a later claim. */
function watched(log: EventLog): EventLog {
  const refused = (error: unknown): never => {
    if (isToolError(error) && error.code === "conflict") say({ refused: log.sessionId });
    throw error;
  };
  return new Proxy(log, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (key === "whenDurable") return () => target.whenDurable()?.catch(refused);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const opened = postgresStore({ url: settings.url, leaseMs: settings.leaseMs, answerTimeoutMs: 5_000, connectTimeoutMs: 2_000 });
const store: Store = new Proxy(opened, {
  get(target, key) {
    if (key === "create") return (...given: Parameters<Store["create"]>) => watched(target.create(...given));
    if (key === "claim") return async (...given: Parameters<Store["claim"]>) => watched(await target.claim(...given));
    const value: unknown = Reflect.get(target, key);
    return typeof value === "function" ? value.bind(target) : value;
  },
});
const clock = Object.assign(Object.create(systemPorts.clock), { wallTime: () => systemPorts.clock.wallTime() + settings.aheadMs });
const runtime = createRuntime({
  store,
  ports: { clock },
  toolsets: [
    { name: "bank", tools: [pay, close, look] },
    { name: "composite", tools: [chain, delegate] },
    programToolset(),
    { name: "counters", shared: true, tools: [bump], defaults: { deadlineMs: 60_000 } },
  ],
  approval: { approve: "inbox" },
  jobs: { maxRunning: 20, maxQueued: 200 },
});
const server = createServer(runtime, {
  auth: staticToken({ token: settings.token }),
  allowedHosts: settings.hosts,
  limits: { graceMs: settings.graceMs }, // a person may take longer to answer
  ports: { clock },
});
const { host, port } = settings;
await server.listen({ host, port, address: `http://${host}:${port}` });
process.once("SIGTERM", () => {
  void server
    .close()
    .then(() => runtime.close())
    .then(() => process.exit(0));
});
say({ listening: port });
