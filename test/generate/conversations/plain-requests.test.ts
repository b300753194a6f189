/** Requests that the code writes from the values of calls. */
import { expect, test } from "vitest";
import type { Tool } from "../../../src/core/tool.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import { formatRequest } from "../../../src/generate/conversations/words/format-request.ts";

function requestFor(name: string, description: string, given: Readonly<Record<string, number>>): string {
  const properties = Object.fromEntries(Object.keys(given).map((one) => [one, { type: "integer" }]));
  const tool: Tool = { name, description, inputSchema: { type: "object", properties } };
  const call = { tool, qualifiedName: `shop::${name}`, given, taken: {}, parallel: false };
  return formatRequest({ index: 0, calls: [call] }, seededRandom("request"));
}

test.each([
  ["create_order", "Order tea.", { count: 3, size: 42 }, /with the (?:count 3 and the size 42|size 42 and the count 3)/u],
  ["resize_volume", "Resizes the volume.", { size: 10, max: 94 }, /the size 10 and the max 94/u],
  ["roll_dice", "Rolls dice.", { count: 5 }, /the count 5/u],
  ["list_orders", "Lists the orders.", { count: 5 }, /at most 5 results/u],
  ["book_finder", "Find books in the catalogue.", { size: 5 }, /at most 5 results/u],
  ["create_report", "Create a report of the orders.", { limit: 5 }, /at most 5 results/u],
] as const)("L22 the request for %s speaks of results only where the number is one of results", (name, description, given, wanted) => {
  expect(requestFor(name, description, given)).toMatch(wanted);
});
