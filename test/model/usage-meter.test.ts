import { expect, test } from "vitest";
import { collectReply } from "../../src/core/model.ts";
import { meteredModel } from "../../src/model/metered-model.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { UsageMeter, costOf, sumMeters, type UsageRecord } from "../../src/model/usage-meter.ts";

const PRICES = { inputPerMillion: 3, outputPerMillion: 15, cachedInputPerMillion: 0.3, cacheWritePerMillion: 3.75 };
const USAGE = { inputTokens: 1_000_000, outputTokens: 100_000, cachedInputTokens: 600_000, cacheWriteTokens: 200_000 };

test("cached input and cache writes have their own prices, or else that of the input", () => {
  expect(costOf(USAGE, PRICES)).toBeCloseTo(0.2 * 3 + 0.6 * 0.3 + 0.2 * 3.75 + 0.1 * 15, 12);
  expect(costOf(USAGE, { inputPerMillion: 3, outputPerMillion: 15 })).toBeCloseTo(4.5, 12);
});

test("the cost is not negative when a provider reports cached input separately from the input", () => {
  expect(costOf({ inputTokens: 10, outputTokens: 0, cachedInputTokens: 1_000_000 }, PRICES)).toBeCloseTo(0.3, 12);
});

test("a meter counts requests, failures, tokens and cost of every model, and reports each reply", async () => {
  const records: UsageRecord[] = [];
  const meter = new UsageMeter({ prices: { priced: PRICES }, currency: "EUR", onUsage: (record) => records.push(record) });
  const priced = meteredModel(scriptedModel([{ usage: USAGE }, { usage: { ...USAGE, reasoningTokens: 7 } }], { name: "priced" }), meter);
  const free = meteredModel(scriptedModel([{ text: "Hi", usage: { inputTokens: 1, outputTokens: 2 } }], { name: "constructor" }), meter);
  await collectReply(priced.stream({ messages: [] }));
  await collectReply(priced.stream({ messages: [] }));
  await expect(collectReply(priced.stream({ messages: [] }))).rejects.toMatchObject({ code: "model_failed" });
  await collectReply(free.stream({ messages: [] }));

  expect(Object.fromEntries(meter.models)).toEqual({
    priced: {
      requests: 3,
      retries: 0,
      failures: 1,
      inputTokens: 2_000_000,
      outputTokens: 200_000,
      cachedInputTokens: 1_200_000,
      cacheWriteTokens: 400_000,
      reasoningTokens: 7,
      cost: 2 * costOf(USAGE, PRICES),
    },
    constructor: {
      requests: 1,
      retries: 0,
      failures: 0,
      inputTokens: 1,
      outputTokens: 2,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
    },
  });
  expect(meter.total).toMatchObject({ requests: 4, inputTokens: 2_000_001, cost: 2 * costOf(USAGE, PRICES) });
  expect(records.map(({ model, cost }) => ({ model, cost }))).toEqual([
    { model: "priced", cost: costOf(USAGE, PRICES) },
    { model: "priced", cost: costOf(USAGE, PRICES) },
    { model: "constructor", cost: undefined },
  ]);
  expect(String(meter)).toBe(
    [
      "priced: 3 requests, 1 failure, 2,000,000 tokens in (1,200,000 cached), 200,000 out (7 reasoning), 6.0600 EUR",
      "constructor: 1 request, 1 token in, 2 out",
    ].join("\n"),
  );
});

test("totals of several meters do not add costs in different currencies", () => {
  const meters = ["EUR", "USD", "USD"].map((currency) => {
    const meter = new UsageMeter({ currency, prices: { "a/b": { inputPerMillion: 1, outputPerMillion: 0 } } });
    meter.reply("a/b", { inputTokens: 1_000_000, outputTokens: 0 });
    return meter;
  });
  expect(sumMeters(meters, "EUR")).toMatchObject({ inputTokens: 3_000_000, cost: 1 });
  expect(sumMeters(meters, "USD")).toMatchObject({ inputTokens: 3_000_000, cost: 2 });
});
