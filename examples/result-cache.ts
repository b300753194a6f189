/** Caches results: equal calls are answered from the cache until a resource that they read is written. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, type ToolCall } from "haft";

const prices = new Map([["apples", 2]]);
const item = { type: "object", properties: { item: { type: "string" } }, required: ["item"] } as const;

const price = defineTool({
  name: "price",
  description: "Looks a price up.",
  inputSchema: item,
  effects: { reads: "price:{item}", writes: [] },
  cache: { scope: "runtime", ttlMs: 60_000 },
  execute: (input) => prices.get(input.item) ?? 0,
});
const raise = defineTool({
  name: "raise",
  description: "Raises a price by one.",
  inputSchema: item,
  effects: { writes: "price:{item}" },
  execute: (input) => void prices.set(input.item, (prices.get(input.item) ?? 0) + 1),
});
const basket = defineTool({
  name: "basket",
  description: "Shows the basket of the user.",
  effects: { reads: ["baskets"], writes: [] },
  cache: { scope: "runtime", identity: ["user"] },
  execute: (_, { data }) => `basket of ${String(data["user"])}`,
});

const runtime = createRuntime({ tools: [price, raise, basket] });
async function call(name: string, input: ToolCall["input"] = {}, user = "ada"): Promise<void> {
  const { output, origin } = await runtime.execute({ name, input }, { data: { user } });
  console.log(`${name} (${origin}): ${JSON.stringify(output)}`);
}

await call("price", { item: "apples" });
await call("price", { item: "apples" });
await call("raise", { item: "pears" }); // writes another price: the result for apples stays cached
await call("price", { item: "apples" });
await call("raise", { item: "apples" });
await call("price", { item: "apples" });
for (const user of ["ada", "grace", "ada"]) await call("basket", {}, user);
const batch = await runtime.execute(["pears", "pears", "pears"].map((name) => ({ name: "price", input: { item: name } })));
console.log("at once:", batch.map(({ origin, attempts }) => `${origin} ${attempts}`).join(", "));
assert.equal(runtime.counters.attempts, 7);
await runtime.close();

/* Prints:
price (live): 2
price (cache): 2
raise (live): null
price (cache): 2
raise (live): null
price (live): 3
basket (live): "basket of ada"
basket (live): "basket of grace"
basket (cache): "basket of ada"
at once: live 1, cache 0, cache 0
*/
