/** Whatever the example engine answers keeps to the output schema, if any value that it would make up alone does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import { exampleEngine } from "../../src/engine/example.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { exampleValue } from "../../src/schema/example/example-value.ts";
import { arbitrarySchema } from "../schema/arbitrary-schema.ts";
import { inCI } from "../ci.ts";

const ID: JsonObject = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const NUMBERED: JsonObject = { type: "object", properties: { id: { type: "integer" }, name: { type: "string" } }, required: ["id"] };
const VERBS = ["list_orders", "search_orders", "create_order", "get_order", "update_order", "delete_order", "rate"];

/** One tool of each kind with this output schema: what each answers, one after the other, and again. */
async function statuses(outputSchema: JsonObject, seed: string): Promise<readonly string[]> {
  const tools: Tool[] = VERBS.map((name) => ({ name, description: name, inputSchema: {}, outputSchema }));
  const runtime = createRuntime({ toolsets: [{ name: "shop", tools, engine: exampleEngine({ seed }) }] });
  await runtime.open();
  const session = runtime.session("s");
  const calls = [...VERBS, ...VERBS.slice(0, 4)].map((name, at) => ({
    id: `c${at}`,
    name: `shop::${name}`,
    input: { order_id: `o${at % 3}`, name: "Ada", limit: 2, page: 1 },
  }));
  const results = await session.execute(calls);
  await runtime.close();
  return results.flatMap(({ status, name, output, error }) =>
    status === "ok" || error?.code === "not_found" ? [] : [`${name} ${status} ${JSON.stringify(output)} ${error?.details?.[0]}`],
  );
}

function listWith(next: string, schema: JsonObject): JsonObject {
  return { type: "object", properties: { orders: { type: "array", items: ID }, [next]: schema }, required: ["orders", next] };
}

test.each<readonly [what: string, schema: JsonObject]>([
  ["a next page that is an integer", listWith("next_page", { type: "integer" })],
  ["a next page from 1", listWith("next_page", { type: "integer", minimum: 1 })],
  ["a next offset that is an integer", listWith("next_offset", { type: "integer" })],
  ["a next cursor of some length", listWith("next_cursor", { type: "string", minLength: 3 })],
  ["a next link that is an object", listWith("next", { type: "object", properties: { href: { type: "string" } }, required: ["href"] })],
  [
    "two lists of which one holds",
    {
      oneOf: [
        { type: "array", items: ID },
        { type: "array", items: NUMBERED },
      ],
    },
  ],
  [
    "two lists of which one holds, inside",
    {
      type: "object",
      properties: {
        orders: {
          oneOf: [
            { type: "array", items: ID },
            { type: "array", items: NUMBERED },
          ],
        },
      },
      required: ["orders"],
    },
  ],
  [
    "two lists that only their items tell apart",
    {
      oneOf: [
        { type: "array", items: { type: "string" } },
        { type: "array", items: { type: "object" } },
      ],
    },
  ],
])("an answer matches its schema: %s", async (_, schema) => {
  for (const seed of ["a", "b", "c"]) expect(await statuses(schema, seed)).toEqual([]);
});

const RUNS = inCI ? 120 : 25;

test("an answer matches any schema for which a valid example value can be generated", { timeout: 240_000 }, async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(arbitrarySchema, fc.nat(1_000), async (schema, seed) => {
      if (![0, 1, 2].every((number) => exampleValue(schema, { random: seededRandom(`${seed} ${number}`) }).valid)) return;
      compared++;
      expect(await statuses(schema, String(seed))).toEqual([]);
    }),
    { numRuns: RUNS },
  );
  expect(compared).toBeGreaterThan(RUNS / 5);
});
