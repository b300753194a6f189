/** The tools of a simulated process: of every kind that the runtime treats in a way of its own. */
import type { ToolContext } from "../../src/core/context.ts";
import type { Effects } from "../../src/core/resources/effects.ts";
import type { Engine } from "../../src/core/engine.ts";
import { RemoteJob } from "../../src/core/jobs/remote-job.ts";
import type { Clock } from "../../src/core/ports.ts";
import type { CacheSettings, Tool } from "../../src/core/tool.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import type { Bank } from "./bank.ts";
import { ANSWER_SCHEMA, ORDER_SCHEMA, perform, type Deed, type Order } from "./deeds.ts";
import type { Sabotage } from "./sabotage.ts";

export interface ToolRules {
  readonly maxAttempts: number;
  /** At most so many at a time; undefined = no limit of its own. */
  readonly maxConcurrent?: number;
  readonly cache?: CacheSettings;
  /** What it writes, without the key. */
  readonly writes?: "account" | "doc";
  /** A service behind it may be asked what became of a request. */
  readonly reconciles?: boolean;
  readonly idempotent?: boolean;
  readonly destructive?: boolean;
  /** It says nothing of what it touches. */
  readonly undeclared?: boolean;
  readonly reads?: "account" | "doc" | "nothing";
}

/** What the checkers hold the runtime to. */
export const RULES: Readonly<Record<string, ToolRules>> = {
  "bank::pay": { maxAttempts: 3, writes: "account" },
  "bank::wire": { maxAttempts: 3, writes: "account", reconciles: true },
  "bank::deposit": { maxAttempts: 3, writes: "account", idempotent: true },
  "bank::balance": { maxAttempts: 4, reads: "account" },
  "bank::raw": { maxAttempts: 2, undeclared: true },
  "docs::put": { maxAttempts: 3, writes: "doc", idempotent: true },
  "docs::drop": { maxAttempts: 1, writes: "doc", destructive: true },
  "docs::of_turn": { maxAttempts: 2, reads: "doc", cache: { scope: "turn" } },
  "docs::of_session": { maxAttempts: 2, reads: "doc", cache: { scope: "session", ttlMs: 150 } },
  "docs::of_runtime": { maxAttempts: 2, reads: "doc", cache: { scope: "runtime", identity: ["user"] } },
  "docs::of_store": { maxAttempts: 2, reads: "doc", cache: { scope: "persistent", ttlMs: 400 } },
  "net::fetch": { maxAttempts: 4, reads: "nothing" },
  "net::ping": { maxAttempts: 9, reads: "nothing" },
  "work::narrow": { maxAttempts: 2, maxConcurrent: 2, reads: "nothing" },
  "work::one": { maxAttempts: 2, maxConcurrent: 1, reads: "nothing" },
  "work::begin": { maxAttempts: 2, reads: "nothing" },
};

/** Most handlers at a time of a toolset, and of the runtime. */
export const TOOLSET_LIMITS: Readonly<Record<string, number>> = { bank: 4, work: 3 };
export const RUNTIME_LIMIT = 6;

/** One effect on a document or an account, which may have been there before where the tool is idempotent. */
export interface Write {
  readonly callId: string;
  readonly resource: string;
  /** That it left. */
  readonly version: number;
  /** The order that it carried out, and the key that it was done under. */
  readonly tag: string;
  readonly key: string;
  readonly idempotent: boolean;
}

/** What tools need of their process. */
export interface ToolHost {
  readonly number: number;
  readonly clock: Clock;
  readonly bank: Bank;
  readonly sabotage: Sabotage | undefined;
  /** A handler begins; the returned function says that it has come to its end. */
  enter(toolName: string, deed: Deed, context: ToolContext): () => void;
  /** A write was done by this call. */
  wrote(write: Write): void;
  seen(point: string): void;
  /** Ends the process. */
  poison(callId: string): void;
  /** Runs calls in the session of a handler. */
  call(context: ToolContext, order: Order): Promise<unknown>;
}

const BASE = { inputSchema: ORDER_SCHEMA, outputSchema: ANSWER_SCHEMA };

export function toolsetsOf(host: ToolHost): readonly Toolset[] {
  const tools = (name: string): readonly Tool[] =>
    Object.entries(RULES).flatMap(([qualified, rules]) => {
      const [toolset, tool = ""] = qualified.split("::");
      return toolset === name ? [toolOf(host, { qualified, name: tool, rules })] : [];
    });
  const limit = (name: string): { readonly maxConcurrent?: number } => {
    const maxConcurrent = TOOLSET_LIMITS[name];
    return maxConcurrent === undefined ? {} : { maxConcurrent };
  };
  return [
    { name: "bank", tools: tools("bank"), ...limit("bank") },
    { name: "docs", tools: tools("docs") },
    { name: "net", tools: tools("net"), defaults: { deadlineMs: 250 } },
    { name: "work", tools: tools("work"), engine: jobs(host), ...limit("work") },
    { name: "notes", tools: [note, recall], engine: notes(host) },
    { name: "parts", tools: [compose(host), talk(host), poison(host)] },
  ];
}

function toolOf(
  host: ToolHost,
  { qualified, name, rules }: { readonly qualified: string; readonly name: string; readonly rules: ToolRules },
): Tool {
  const { maxConcurrent, maxAttempts, cache } = rules;
  const forgetsLimit = host.sabotage === "forget a limit";
  const isJob = qualified === "work::begin";
  return {
    ...BASE,
    name,
    description: `Does as ordered: ${name}.`,
    maxAttempts: host.sabotage === "forget the attempts" ? 9 : maxAttempts,
    ...(maxConcurrent === undefined || forgetsLimit ? {} : { maxConcurrent }),
    ...(cache === undefined ? {} : { cache }),
    ...effectsOf(host, name, rules),
    ...(isJob ? {} : { execute: (order: Order, context: ToolContext) => handle(host, { qualified, order, context }) }),
  };
}

function effectsOf(host: ToolHost, tool: string, rules: ToolRules): { readonly effects?: Effects } {
  const { writes, reads, idempotent = false, destructive = false, reconciles = false, undeclared = false } = rules;
  if (undeclared) return {};
  if (writes === undefined)
    return { effects: { reads: reads === "nothing" ? [] : (input) => [`${reads}:${String(input["key"])}`], writes: [] } };
  const unseen = host.sabotage === "write unseen" && writes === "doc";
  return {
    effects: {
      writes: (input) => [unseen ? "elsewhere" : `${writes}:${String(input["key"])}`],
      idempotent,
      destructive,
      ...(reconciles ? { reconcile: ({ idempotencyKey, input }) => reconcile(host, { tool, key: idempotencyKey, input }) } : {}),
    },
  };
}

function reconcile(
  host: ToolHost,
  { tool, key, input }: { readonly tool: string; readonly key: string; readonly input: Readonly<Record<string, unknown>> },
): { readonly happened: true; readonly output: unknown } | { readonly happened: false } {
  const version = host.bank.reconcile({ tool, key, process: host.number });
  host.seen(version === undefined ? "interrupted call found not to have happened" : "interrupted call found to have happened");
  if (version === undefined) return { happened: false };
  return { happened: true, output: { tag: input["tag"], key: input["key"], version } };
}

function handle(
  host: ToolHost,
  { qualified, order, context }: { readonly qualified: string; readonly order: Order; readonly context: ToolContext },
): unknown {
  const leave = host.enter(qualified, order.deed, context);
  return perform(order, context, { clock: host.clock, leave, effect: () => effect(host, { qualified, order, context }) });
}

function effect(
  host: ToolHost,
  { qualified, order, context }: { readonly qualified: string; readonly order: Order; readonly context: ToolContext },
): Readonly<Record<string, unknown>> {
  const { bank, number } = host;
  const rules = RULES[qualified] ?? { maxAttempts: 1 };
  const where = rules.writes ?? (rules.undeclared === true ? "account" : rules.reads);
  const resource = `${where}:${order.key}`;
  const answer = {
    tag: order.tag,
    key: order.key,
    session: context.sessionId,
    turn: context.turnId,
    process: number,
    user: context.data["user"],
    at: host.clock.now(),
  };
  if (rules.writes === undefined && rules.undeclared !== true) return { ...answer, version: bank.version(resource) };
  const request = { resource, tool: qualified.split("::")[1] ?? "", key: context.idempotencyKey, process: number };
  const version = rules.idempotent === true ? bank.commitOnce(request) : bank.commit(request);
  if (version === undefined) throw new Error("The bank was told that this request is given up.");
  const { callId, idempotencyKey: key } = context;
  host.wrote({ callId, resource, version, tag: order.tag, key, idempotent: rules.idempotent === true });
  return { ...answer, version };
}

const note: Tool = { ...BASE, name: "note", description: "Notes.", maxAttempts: 1, effects: { writes: ["session:notes"] } };
const recall: Tool = {
  ...BASE,
  name: "recall",
  description: "Recalls.",
  maxAttempts: 1,
  effects: { reads: ["session:notes"], writes: [] },
};

/** Keeps what it was told in the session's state, and answers one call after the other. */
function notes(host: ToolHost): Engine {
  return {
    kind: "notes",
    order: "sequential",
    state: "value",
    call: ({ tool, parsed }, context) => {
      const order = parsed as Order; // the schema vouches for it
      const leave = host.enter(`notes::${tool.name}`, order.deed, context);
      const effect = (): Readonly<Record<string, unknown>> => {
        const before = context.state.get("notes");
        const version = Array.isArray(before) ? before.length : 0;
        if (tool.name === "note") context.state.update("notes", (list) => [...(Array.isArray(list) ? list : []), order.tag]);
        if (tool.name === "note") context.state.update(`last ${order.key}`, () => order.tag);
        return { tag: order.tag, key: order.key, version };
      };
      return perform(order, context, { clock: host.clock, leave, effect });
    },
  };
}

/** Answers with jobs, which can be asked to end. */
function jobs(host: ToolHost): Engine {
  return {
    kind: "jobs",
    call: ({ tool, parsed }, context) => {
      const order = parsed as Order; // the schema vouches for it
      const qualified = `work::${tool.name}`;
      const ended = Promise.withResolvers<unknown>();
      const leave = host.enter(qualified, order.deed, context);
      const answer = perform(order, context, {
        clock: host.clock,
        leave,
        effect: () => effect(host, { qualified, order, context }),
      });
      Promise.resolve(answer).then(ended.resolve, ended.reject);
      return new RemoteJob({
        id: context.callId,
        result: ended.promise,
        cancel: async () => {
          host.seen("job asked to end");
          if (order.deed === "wait") ended.reject(new Error("ended as asked"));
        },
      });
    },
  };
}

/** Calls another tool in the session it was called in. */
function compose(host: ToolHost): Tool {
  return {
    ...BASE,
    name: "compose",
    description: "Calls another tool.",
    maxAttempts: 1,
    timeoutMs: 200,
    effects: { reads: [], writes: [] },
    execute: async (order: Order, context: ToolContext) => {
      host.enter("parts::compose", order.deed, context)(); // its call borrows what it holds, and runs in its place
      const version = await host.call(context, order);
      return { tag: order.tag, key: order.key, version };
    },
  };
}

/** Ends its process. */
function poison(host: ToolHost): Tool {
  return {
    name: "poison",
    description: "Ends the process.",
    mode: "background",
    inputSchema: { type: "object" },
    maxAttempts: 1,
    effects: { reads: [], writes: [] },
    execute: (_input: object, { callId }: ToolContext) => {
      host.poison(callId);
      return new Promise(() => {});
    },
  };
}

/** Asks twice, and changes the session's state between. */
function talk(host: ToolHost): Tool {
  return {
    ...BASE,
    name: "talk",
    description: "Asks.",
    mode: "stateful",
    maxAttempts: 1,
    timeoutMs: 300,
    effects: { reads: [], writes: ["session:talk"] },
    execute: async function* (order: Order, context: ToolContext) {
      const leave = host.enter("parts::talk", order.deed, context);
      try {
        context.output("begun\n");
        yield "And then?";
        context.state.update("talk", () => order.tag);
        yield "And now?";
        return { tag: order.tag, key: order.key, version: 0 };
      } finally {
        leave();
      }
    },
  };
}
