/** Ids in the addresses of operations, whose names do not say that they are ids. */
import { expect, test } from "vitest";
import type { Tool } from "../../../src/core/tool.ts";
import { exampleEngine } from "../../../src/engine/example.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { generated } from "./generated.ts";

const text = { type: "string" } as const;
const object = (properties: object) => ({ type: "object", properties, required: Object.keys(properties) }) as const;
const order = object({ id: text, total: { type: "number" } });

function operation(name: string, path: string, outputSchema?: object): Tool {
  const inputs = Object.fromEntries([...path.matchAll(/\{(\w+)\}/gu)].map(([, input = ""]) => [input, text]));
  return {
    name,
    description: `Does ${name.replaceAll("_", " ")}.`,
    inputSchema: object(inputs),
    metadata: { http: { method: "GET", path } },
    ...(outputSchema === undefined ? {} : { outputSchema: { ...outputSchema } }),
  };
}

const TOOLS = [
  operation("list_orders", "/orders", object({ orders: { type: "array", items: order } })),
  operation("get_order", "/orders/{order}", order),
  operation("delete_order", "/orders/{order}"),
  operation("get_city", "/cities/{city}", object({ name: text, population: { type: "integer" } })),
];

interface Played {
  readonly tool: string;
  readonly input: Readonly<Record<string, string>>;
  readonly output: unknown;
}

interface WrittenMessage {
  readonly role: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: Played["input"] }[];
  readonly id?: string;
  readonly output?: unknown;
}

function callsOf(line: string): readonly Played[] {
  const { messages } = JSON.parse(line) as { readonly messages: readonly WrittenMessage[] };
  const outputs = new Map(messages.flatMap(({ role, id = "", output }) => (role === "tool" ? [[id, output] as const] : [])));
  return messages.flatMap(({ calls = [] }) => calls).map(({ id, name, input }) => ({ tool: name, input, output: outputs.get(id) }));
}

test("F0.23 the order of /orders/{order} is an id from a result or a new one, and a city without ids keeps its name", async () => {
  const toolsets = [{ name: "shop", engine: exampleEngine({ seed: 1 }), tools: TOOLS }];
  const runtime = createRuntime({ toolsets, ports: { log: { debug() {}, warn() {} } } });
  const { lines, summary } = await generated({ runtime, plan: { kind: "sampled", count: 20, calls: 4 } });
  expect(summary.notes.join(" ")).not.toContain("No tool takes what another returns");
  for (const line of lines) {
    const listed = new Set<string>();
    for (const { tool, input, output } of callsOf(line)) {
      const { order: id, city } = input;
      if (tool === "shop::list_orders") for (const one of (output as { orders: { id: string }[] }).orders) listed.add(one.id);
      if (id !== undefined) expect(listed.has(id) || /^order_[0-9a-f]{8}$/u.test(id), line).toBe(true);
      if (tool === "shop::get_order" && output !== undefined) expect(output).toMatchObject({ id });
      if (city !== undefined) expect(city).toMatch(/^\D+$/u);
    }
  }
  expect(lines.some((line) => callsOf(line).some(({ input: { order: id = "" } }) => id !== "" && !id.startsWith("order_")))).toBe(true);
});
