/** A shop whose answers depend on seed, session and input alone, for tests of generated conversations. */
import { readFileSync } from "node:fs";
import type { ToolContext } from "../../../src/core/context.ts";
import type { Engine, EngineRequest } from "../../../src/core/engine.ts";
import { ToolError } from "../../../src/core/error.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../src/runtime/runtime.ts";

const ID = { type: "string", pattern: "^O-[0-9]{4}$" } as const;

const tools: readonly Tool[] = [
  {
    name: "create_order",
    description: "Order an article. It is sent the same day.",
    inputSchema: {
      type: "object",
      properties: { article: { type: "string" }, count: { type: "integer", minimum: 1, maximum: 9 } },
      required: ["article", "count"],
    },
    outputSchema: { type: "object", properties: { id: ID, price: { type: "integer" } }, required: ["id", "price"] },
  },
  {
    name: "get_order",
    description: "Look an order up.",
    inputSchema: { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"], additionalProperties: false },
    outputSchema: { type: "object", properties: { id: { type: "string" }, state: { enum: ["new", "sent"] } }, required: ["id", "state"] },
  },
  {
    name: "list_articles",
    description: "List what is sold",
    inputSchema: { type: "object" },
    outputSchema: { type: "array", items: { type: "string" } },
  },
  { name: "fail", description: "Always fails.", inputSchema: { type: "object" } },
];

/** What the engine answers; a number of milliseconds makes answers come in another order. */
export type Answer = (request: EngineRequest, context: ToolContext) => unknown;

export function shop(answer: Answer = plainAnswer, options: RuntimeOptions = {}): Runtime {
  const engine: Engine = { kind: "shop", origin: "simulated", effectFree: true, call: answer };
  return createRuntime({
    ports: { log: { debug() {}, warn() {} } },
    answers: { engines: { example: engine }, rules: [{ tools: "*", from: "example" }] },
    ...options,
    toolsets: [{ name: "shop", tools }],
  });
}

export function plainAnswer({ tool, input }: EngineRequest, { sessionId }: ToolContext): unknown {
  const { next } = seededRandom(`${sessionId} ${tool.name} ${JSON.stringify(input)}`);
  const number = Math.floor(next() * 9_000) + 1_000;
  if (tool.name === "create_order") return { id: `O-${number}`, price: number };
  if (tool.name === "get_order") return { id: input["order_id"], state: number % 2 === 0 ? "new" : "sent" };
  if (tool.name === "list_articles") return ["tea", "milk"];
  throw new ToolError("unavailable", "The shop is closed.", { retryable: false });
}

/** Slower for some sessions than for others. */
export async function unevenAnswer(request: EngineRequest, context: ToolContext): Promise<unknown> {
  const index = Number(/\d+$/u.exec(context.sessionId)?.[0] ?? 0);
  for (let turns = (index * 7) % 5; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
  return plainAnswer(request, context);
}

// oxlint-disable-next-line typescript/no-explicit-any -- what a line holds is what the tests look at
export function linesOf(path: string): readonly any[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
