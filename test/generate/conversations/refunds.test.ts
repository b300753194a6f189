import { expect, test } from "vitest";
import { exampleEngine } from "../../../src/engine/example.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { generated } from "./generated.ts";

const MONEY = { type: "number", minimum: 1, maximum: 1_000 } as const;
const BUY = {
  name: "buy_ticket",
  description: "Buy a ticket for a concert.",
  inputSchema: { type: "object", properties: { concert: { type: "string" } }, required: ["concert"] },
  outputSchema: {
    type: "object",
    properties: { ticket_id: { type: "string", minLength: 6 }, total: MONEY },
    required: ["ticket_id", "total"],
  },
};
const REFUND = {
  name: "refund_ticket",
  description: "Refund a ticket, in whole or in part.",
  inputSchema: { type: "object", properties: { ticket_id: { type: "string" }, amount: MONEY }, required: ["ticket_id", "amount"] },
  outputSchema: { type: "object", properties: { refunded: { type: "boolean" } }, required: ["refunded"] },
};

test("issue 16.3 no refund that a user requests exceeds the price paid", async () => {
  const runtime = createRuntime({
    toolsets: [{ name: "box", tools: [BUY, REFUND] }],
    answers: { engines: { example: exampleEngine({ seed: 2 }) }, rules: [{ tools: "*", from: "example" }] },
  });
  const { lines } = await generated({ runtime, plan: { kind: "sampled", count: 60, calls: 4 }, seed: 5 });
  let compared = 0;
  for (const { messages } of lines.map((line) => JSON.parse(line))) {
    const paid = new Map<string, number>();
    for (const { calls = [], output } of messages) {
      if (output?.ticket_id !== undefined) paid.set(output.ticket_id, output.total);
      for (const { name, input } of calls) {
        const most = name === "box::refund_ticket" ? paid.get(input.ticket_id) : undefined;
        if (most === undefined) continue;
        compared++;
        expect(input.amount).toBeLessThanOrEqual(most);
      }
    }
  }
  expect(compared).toBeGreaterThan(40);
});
