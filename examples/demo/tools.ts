/** The demo's own functions: one works, one sometimes fails, one hangs and one is destructive. */
import { setTimeout } from "node:timers/promises";
import { ToolError, defineTool } from "haft";

const CITIES = new Map([
  ["Oslo", { celsius: -3, sky: "snow" }],
  ["Lima", { celsius: 22, sky: "clear" }],
]);

export const weather = defineTool({
  name: "weather",
  description: "The weather in a city now.",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 7 } },
    required: ["city"],
    additionalProperties: false,
  },
  outputSchema: {
    type: "object",
    properties: { celsius: { type: "number" }, sky: { type: "string" }, days: { type: "integer" } },
    required: ["celsius", "sky", "days"],
  },
  effects: { reads: "weather:{city}" },
  tags: ["weather"],
  async execute({ city, days = 1 }) {
    await setTimeout(300);
    const report = CITIES.get(city);
    if (report === undefined) {
      throw new ToolError("execution_failed", `No station in ${city}.`, {
        outcome: "failed",
        hint: `Stations: ${[...CITIES.keys()].join(", ")}.`,
      });
    }
    return { ...report, days };
  },
});

let failuresLeft = 2;

export const exchangeRate = defineTool({
  name: "exchange_rate",
  description: "How many units of `to` one unit of `from` buys. Its service is shaky.",
  inputSchema: {
    type: "object",
    properties: { from: { type: "string", pattern: "^[A-Z]{3}$" }, to: { type: "string", pattern: "^[A-Z]{3}$" } },
    required: ["from", "to"],
    additionalProperties: false,
  },
  effects: { reads: ["rates:all"] },
  tags: ["money"],
  async execute({ from, to }) {
    if (failuresLeft-- > 0) throw new ToolError("network_error", "The rates service hung up.");
    return { from, to, rate: 11.42 };
  },
});

export const slowReport = defineTool({
  name: "slow_report",
  description: "Writes the yearly report. It does not listen when told to stop.",
  inputSchema: { type: "object", properties: { year: { type: "integer" } }, required: ["year"], additionalProperties: false },
  effects: { writes: ["report:yearly"] },
  timeoutMs: 500,
  tags: ["reports"],
  async execute({ year }) {
    await setTimeout(900); // a well-behaved handler would pass context.signal here
    return { year, pages: 212 };
  },
});

export const deleteReport = defineTool({
  name: "delete_report",
  description: "Deletes the report of a year for good.",
  inputSchema: { type: "object", properties: { year: { type: "integer" } }, required: ["year"], additionalProperties: false },
  effects: { writes: ["archive:reports"], destructive: true },
  tags: ["reports"],
  execute: ({ year }) => ({ deleted: year }),
});
