/** The tools of a configuration: every export that is a tool is registered. */
import { defineTool, pure } from "haft";

export const convert = defineTool({
  name: "convert",
  description: "Converts an amount of euros to another currency.",
  inputSchema: {
    type: "object",
    properties: { euros: { type: "number", minimum: 0 }, to: { enum: ["NOK", "USD"] } },
    required: ["euros", "to"],
  },
  effects: pure,
  tags: ["money"],
  execute: ({ euros, to }) => ({ amount: Math.round(euros * (to === "NOK" ? 11.42 : 1.08) * 100) / 100, currency: to }),
});
