/** The tools of a fleet: payments that may not be made twice, and counters behind a service that compares fences. */
import type { ToolContext } from "../../../src/core/context.ts";
import type { Engine } from "../../../src/core/engine.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { Clock } from "../../../src/core/ports.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import type { Bank } from "../bank.ts";
import type { Counters } from "./counters.ts";
import type { FleetSabotage } from "./fleet-sabotage.ts";

export const FLEET_TOOLS = [
  "bank::pay",
  "bank::wire",
  "bank::deposit",
  "bank::balance",
  "counters::bump",
  "counters::bump",
  "counters::peek",
  "notes::note",
] as const;
export const KEYS = ["a", "b"] as const;

export interface FleetOrder {
  /** Tells this call from all others. */
  readonly tag: string;
  readonly key: string;
  /** How long its handler takes. */
  readonly ms: number;
}

/** What tools need of their node. */
export interface FleetHost {
  /** Of this life of the node: another one after a restart. */
  readonly life: number;
  readonly clock: Clock;
  readonly bank: Bank;
  readonly counters: Counters;
  readonly sabotage: FleetSabotage | undefined;
  bumping: number;
  /** The effect of a call that may not be repeated was done. */
  done(tag: string, tool: string): void;
  seen(point: string): void;
}

const BASE = {
  inputSchema: {
    type: "object",
    properties: { tag: { type: "string" }, key: { enum: KEYS }, ms: { type: "integer", minimum: 0, maximum: 10_000 } },
    required: ["tag", "key", "ms"],
    additionalProperties: false,
  },
  maxAttempts: 2,
} as const;

export function fleetToolsets(host: FleetHost): readonly Toolset[] {
  return [
    { name: "bank", tools: [pay(host), wire(host), deposit(host), balance(host)] },
    { name: "counters", shared: true, tools: [bump(host), peek(host)], maxConcurrent: 3, defaults: { deadlineMs: 20_000 } },
    { name: "notes", tools: [note], engine: notes(host) },
  ];
}

function after<T>({ clock }: FleetHost, ms: number, then: () => T): Promise<T> {
  return new Promise<void>((resolve) => clock.timer(resolve, ms)).then(then);
}

function commit(host: FleetHost, tool: string, { tag, key }: FleetOrder, { idempotencyKey }: ToolContext): unknown {
  const version = host.bank.commit({ resource: `account:${key}`, tool, key: idempotencyKey, process: host.life });
  if (version === undefined)
    throw new ToolError("execution_failed", "The bank was told that this request is given up.", { outcome: "failed" });
  host.done(tag, tool);
  return { tag, version };
}

function pay(host: FleetHost): Tool {
  const idempotent = host.sabotage === "repeat what may not be repeated";
  return {
    ...BASE,
    name: "pay",
    description: "Pays.",
    effects: { writes: (input) => [`account:${String(input["key"])}`], idempotent },
    execute: (order: FleetOrder, context: ToolContext) => after(host, order.ms, () => commit(host, "pay", order, context)),
  };
}

/** The service behind it knows what became of a request. */
function wire(host: FleetHost): Tool {
  return {
    ...BASE,
    name: "wire",
    description: "Pays, and can be asked.",
    effects: {
      writes: (input) => [`account:${String(input["key"])}`],
      reconcile: ({ idempotencyKey, input }) => {
        const version = host.bank.reconcile({ tool: "wire", key: idempotencyKey, process: host.life });
        host.seen(version === undefined ? "interrupted payment found not to be made" : "interrupted payment found to be made");
        return version === undefined ? { happened: false } : { happened: true, output: { tag: input["tag"], version } };
      },
    },
    execute: (order: FleetOrder, context: ToolContext) => after(host, order.ms, () => commit(host, "wire", order, context)),
  };
}

function deposit(host: FleetHost): Tool {
  return {
    ...BASE,
    name: "deposit",
    description: "Pays in.",
    effects: { writes: (input) => [`account:${String(input["key"])}`], idempotent: true },
    execute: ({ tag, key, ms }: FleetOrder, { idempotencyKey }: ToolContext) =>
      after(host, ms, () => ({
        tag,
        version: host.bank.commitOnce({ resource: `account:${key}`, tool: "deposit", key: idempotencyKey, process: host.life }),
      })),
  };
}

function balance(host: FleetHost): Tool {
  return {
    ...BASE,
    name: "balance",
    description: "Reads.",
    effects: { reads: (input) => [`account:${String(input["key"])}`], writes: [] },
    execute: ({ tag, key, ms }: FleetOrder) => after(host, ms, () => ({ tag, version: host.bank.version(`account:${key}`) })),
  };
}

/** Reads a counter and writes it later: without a lease, or with one that is over, another's change could be lost. */
function bump(host: FleetHost): Tool {
  return {
    ...BASE,
    name: "bump",
    description: "Adds one.",
    effects: { writes: (input) => [`counter:${String(input["key"])}`] },
    execute: ({ tag, key, ms }: FleetOrder, { fence = 0 }: ToolContext) => {
      const count = host.counters.read(key, fence);
      if (count === undefined) throw new ToolError("execution_failed", "The fence is old.", { outcome: "failed" });
      host.bumping++;
      return after(host, ms, () => {
        host.bumping--;
        if (!host.counters.write(key, { count, fence, life: host.life })) {
          host.seen("holder of an old lease refused by its fence");
          throw new ToolError("execution_failed", "The lease was lost.", { outcome: "failed" });
        }
        host.done(tag, "bump");
        return { tag, version: count + 1 };
      });
    },
  };
}

function peek(host: FleetHost): Tool {
  return {
    ...BASE,
    name: "peek",
    description: "Reads a counter.",
    effects: { reads: (input) => [`counter:${String(input["key"])}`], writes: [] },
    execute: ({ tag, key, ms }: FleetOrder) => after(host, ms, () => ({ tag, version: host.counters.count(key) })),
  };
}

const note: Tool = { ...BASE, name: "note", description: "Notes.", effects: { writes: ["session:notes"] } };

/** Keeps in the session's state what it was given. */
function notes(host: FleetHost): Engine {
  return {
    kind: "notes",
    order: "sequential",
    state: "value",
    call: ({ parsed }, context) => {
      const { tag, ms } = parsed as FleetOrder; // the schema vouches for it
      return after(host, ms, () => {
        context.state.update("notes", (list) => [...(Array.isArray(list) ? list : []), tag]);
        return { tag, version: 0 };
      });
    },
  };
}
