import { expect, test } from "vitest";
import { EmergencyStop } from "../../src/compose/emergency-stop.ts";
import { tool } from "../runtime/bench-runtime.ts";
import { notes, testLoop } from "./bench-loop.ts";

const call = (name: string, input: Readonly<Record<string, unknown>> = {}) => ({ name, input });
const count = tool("count", ({ n }) => n);

test("F3.34 each result has the context utilization, and the model gets one note when a level is reached", async () => {
  const tokens = [600, 700, 750, 900, 960, 100, 850];
  const { loop, model } = testLoop({
    tools: [count],
    limits: { contextTokens: 1_000 },
    earlyDispatch: false,
    script: (_request, index) =>
      tokens[index] === undefined
        ? { text: "Done." }
        : { calls: [call("count", { n: index })], usage: { inputTokens: tokens[index] - 50, outputTokens: 50 } },
  });
  const { results } = await loop.run("go");
  expect(results.map(({ metadata }) => metadata?.["contextAdvisory"])).toEqual([
    { level: "ok", utilization: 0.6, usedTokens: 600, contextTokens: 1_000 },
    { level: "warning", utilization: 0.7, usedTokens: 700, contextTokens: 1_000 },
    { level: "warning", utilization: 0.75, usedTokens: 750, contextTokens: 1_000 },
    { level: "danger", utilization: 0.9, usedTokens: 900, contextTokens: 1_000 },
    { level: "critical", utilization: 0.96, usedTokens: 960, contextTokens: 1_000 },
    { level: "ok", utilization: 0.1, usedTokens: 100, contextTokens: 1_000 },
    { level: "danger", utilization: 0.85, usedTokens: 850, contextTokens: 1_000 },
  ]);
  expect(notes(model.requests.at(-1)).map((note) => note.slice(0, 28))).toEqual([
    "70 % of your context is used",
    "90 % of your context is used",
    "96 % of your context is used",
    "85 % of your context is used",
  ]);
});

test("F3.34 an early read has the utilization of the reply before it, and without contextTokens there is none", async () => {
  const script = (_request: unknown, index: number) =>
    index === 2 ? { text: "Done." } : { calls: [call("count", { n: index })], usage: { inputTokens: 800, outputTokens: 0 } };
  const told = await testLoop({ tools: [count], limits: { contextTokens: 1_000 }, script }).loop.run("go");
  expect(told.results.map(({ metadata }) => metadata)).toEqual([
    undefined,
    { contextAdvisory: { level: "warning", utilization: 0.8, usedTokens: 800, contextTokens: 1_000 } },
  ]);
  const untold = await testLoop({ tools: [count], script }).loop.run("go");
  expect(untold.results.map(({ metadata }) => metadata)).toEqual([undefined, undefined]);
});

const flaky = tool("flaky", ({ n }) => {
  if (Number(n) % 5 === 4) return "ok";
  throw new Error(`broken ${String(n)}`);
});
const failing = tool("failing", ({ n }) => {
  throw new Error(`broken: ${"x".repeat(Number(n))}`);
});

test("F3.35 five failed calls in a row end the run, and no further run starts until the stop is cleared", async () => {
  const { loop, model } = testLoop({ tools: [failing], script: (_request, index) => ({ calls: [call("failing", { n: index })] }) });
  const result = await loop.run("go");
  expect([result.reason, result.rounds, result.detail]).toEqual([
    "emergency-stop",
    5,
    "5 calls failed in a row, the last one default::failing: broken: xxxx",
  ]);
  expect(await loop.run("again")).toMatchObject({ reason: "emergency-stop", rounds: 0, results: [] });
  expect(model.requests).toHaveLength(5);
  loop.emergencyStop?.clear();
  expect(await loop.run("again")).toMatchObject({ reason: "emergency-stop", rounds: 5 });
});

test("F3.35 a successful call restarts the count", async () => {
  const { loop } = testLoop({
    tools: [flaky],
    runtime: { circuit: false },
    limits: { maxRounds: 20 },
    script: (_request, index) => ({ calls: [call("flaky", { n: index })] }),
  });
  expect(await loop.run("go")).toMatchObject({ reason: "max-rounds", rounds: 20 });
});

test("F3.35 an emergency stop can be shared between loops or left out, and does not count the loop's own refusals", async () => {
  const emergencyStop = new EmergencyStop({ errors: 2 });
  const script = (_request: unknown, index: number) => ({ calls: [call("failing", { n: index })] });
  expect((await testLoop({ tools: [failing], emergencyStop, script }).loop.run("go")).rounds).toBe(2);
  expect((await testLoop({ tools: [failing], emergencyStop, script }).loop.run("go")).rounds).toBe(0);
  const without = testLoop({ tools: [failing], emergencyStop: false, limits: { maxRounds: 8 }, script });
  expect([without.loop.emergencyStop, (await without.loop.run("go")).reason]).toEqual([undefined, "max-rounds"]);
  const refused = testLoop({
    tools: [count],
    limits: { maxCallsPerRound: 1 },
    script: [{ calls: [1, 2, 3, 4, 5, 6, 7].map((n) => call("count", { n })) }, {}],
  });
  expect((await refused.loop.run("go")).reason).toBe("answered");
  expect(() => new EmergencyStop({ errors: 0 })).toThrow("integer from 1");
});
