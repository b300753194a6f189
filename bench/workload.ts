/** The one call that everybody makes: five fields, one of them a list of objects, and a handler that does next to nothing. */

export const INPUT = {
  id: "order-17",
  amount: 12.5,
  express: true,
  note: "ring twice",
  lines: [
    { sku: "a-1", count: 2 },
    { sku: "b-2", count: 1 },
  ],
};

export interface Order {
  readonly id: string;
  readonly amount: number;
  readonly express: boolean;
  readonly note: string;
  readonly lines: readonly { readonly sku: string; readonly count: number }[];
}

export const SCHEMA = {
  type: "object",
  properties: {
    id: { type: "string" },
    amount: { type: "number" },
    express: { type: "boolean" },
    note: { type: "string" },
    lines: {
      type: "array",
      items: {
        type: "object",
        properties: { sku: { type: "string" }, count: { type: "integer" } },
        required: ["sku", "count"],
        additionalProperties: false,
      },
    },
  },
  required: ["id", "amount", "express", "note", "lines"],
  additionalProperties: false,
} as const;

export function handle(order: Order): { total: number } {
  return { total: order.amount * order.lines.length };
}
