/** Counts the requests to models and their results: tokens and cost. */
import { checkNumber } from "../core/base/number-bounds.ts";
import { ToolError } from "../core/error.ts";
import { checkArgument } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { TokenUsage } from "../core/model.ts";

/** Prices of a million tokens, in the currency of the meter. */
export interface ModelPrices {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
  /** @default inputPerMillion */
  readonly cachedInputPerMillion?: number;
  /** @default inputPerMillion */
  readonly cacheWritePerMillion?: number;
}

/** Options of a `UsageMeter`: prices and their currency. */
export interface UsageMeterOptions {
  /** Prices by the name of a model: `anthropic/claude-sonnet`. The cost of a model without prices is not known. */
  readonly prices?: Readonly<Record<string, ModelPrices>>;
  /** The currency of the prices, as it is printed. @default "USD" */
  readonly currency?: string;
  /** Called with every reply that ended. An error that it throws reaches the reader of the reply. */
  readonly onUsage?: (record: UsageRecord) => void;
}

/** The usage of one reply. */
export interface UsageRecord {
  /** The model's name. */
  readonly model: string;
  readonly usage: TokenUsage;
  readonly cost?: number;
}

/** The totals of one model. */
export interface ModelTotals extends Required<TokenUsage> {
  /** Number of requests for a reply; retries are not included. */
  readonly requests: number;
  /** Number of attempts after the first. */
  readonly retries: number;
  /** Number of requests that ended with an error, cancelled ones included. */
  readonly failures: number;
  /** Left out if the model has no prices. */
  readonly cost?: number;
}

const PRICES: OptionNames<ModelPrices> = {
  inputPerMillion: true,
  outputPerMillion: true,
  cachedInputPerMillion: true,
  cacheWritePerMillion: true,
};

const PRICE = { min: 0, max: Number.MAX_VALUE, integer: false } as const;

const ZERO_TOTALS = {
  requests: 0,
  retries: 0,
  failures: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
} as const satisfies ModelTotals;

/** Counts requests, tokens and cost, for one model or many. */
export class UsageMeter {
  readonly #options: UsageMeterOptions;
  readonly #models = new Map<string, ModelTotals>();

  constructor(options: UsageMeterOptions = {}) {
    checkKnownKeys(options, { prices: true, currency: "string", onUsage: "function" }, "new UsageMeter()");
    for (const [model, prices] of Object.entries(options.prices ?? {})) checkPrices(prices, `The prices of ${model}`);
    this.#options = options;
  }

  /** The currency of the prices and costs. @default "USD" */
  get currency(): string {
    return this.#options.currency ?? "USD";
  }

  /** The usage so far, by the name of the model. */
  get models(): ReadonlyMap<string, ModelTotals> {
    return new Map(this.#models);
  }

  /** The totals of all models. `cost` includes only models with prices. */
  get total(): ModelTotals {
    return sumTotals(this.#models.values());
  }

  request(model: string): void {
    this.#add(model, { requests: 1 });
  }

  retry(model: string): void {
    this.#add(model, { retries: 1 });
  }

  failure(model: string): void {
    this.#add(model, { failures: 1 });
  }

  reply(model: string, usage: TokenUsage): void {
    const cost = this.#costOf(model, usage);
    this.#add(model, { ...usage, ...(cost === undefined ? {} : { cost }) });
    this.#options.onUsage?.({ model, usage, ...(cost === undefined ? {} : { cost }) });
  }

  /** The usage as text, one line for each model. */
  toString(): string {
    return [...this.#models].map(([model, totals]) => `${model}: ${this.#describe(totals)}`).join("\n");
  }

  #add(model: string, counts: Partial<ModelTotals>): void {
    this.#models.set(model, addTotals(this.#models.get(model) ?? ZERO_TOTALS, counts));
  }

  #costOf(model: string, usage: TokenUsage): number | undefined {
    const { prices = {} } = this.#options;
    const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
    return price === undefined ? undefined : costOf(usage, price);
  }

  #describe(totals: ModelTotals): string {
    const { requests, retries, failures, inputTokens, cachedInputTokens, outputTokens, reasoningTokens, cost } = totals;
    const { currency } = this;
    return [
      formatCount(requests, "request"),
      ...(retries === 0 ? [] : [retries === 1 ? "1 retry" : `${formatNumber(retries)} retries`]),
      ...(failures === 0 ? [] : [formatCount(failures, "failure")]),
      `${formatCount(inputTokens, "token")} in${cachedInputTokens === 0 ? "" : ` (${formatNumber(cachedInputTokens)} cached)`}`,
      `${formatNumber(outputTokens)} out${reasoningTokens === 0 ? "" : ` (${formatNumber(reasoningTokens)} reasoning)`}`,
      ...(cost === undefined ? [] : [`${cost.toFixed(4)} ${currency}`]),
    ].join(", ");
  }
}

/** The totals of several meters. `cost` includes only meters with the given currency. */
export function sumMeters(meters: readonly UsageMeter[], currency: string): ModelTotals {
  return sumTotals(meters.map(({ total, currency: own }) => (own === currency ? total : withoutCost(total))));
}

function withoutCost(totals: ModelTotals): ModelTotals {
  const { cost: _cost, ...counts } = totals;
  return counts;
}

function sumTotals(totals: Iterable<ModelTotals>): ModelTotals {
  return [...totals].reduce(addTotals, ZERO_TOTALS);
}

/** The cost of a reply, in the currency of the prices. */
export function costOf(usage: TokenUsage, prices: ModelPrices): number {
  checkArgument(
    typeof usage?.inputTokens === "number",
    "costOf(usage, prices)",
    "the usage of a reply",
    usage,
    "{ inputTokens, outputTokens }",
  );
  checkPrices(prices, "costOf()");
  const { inputPerMillion, outputPerMillion, cachedInputPerMillion = inputPerMillion, cacheWritePerMillion = inputPerMillion } = prices;
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  const plain = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens);
  const parts =
    plain * inputPerMillion +
    cachedInputTokens * cachedInputPerMillion +
    cacheWriteTokens * cacheWritePerMillion +
    outputTokens * outputPerMillion;
  return parts / 1_000_000;
}

/** @throws ToolError `invalid_argument`; a cost of NaN would never use up a budget */
function checkPrices(prices: ModelPrices, owner: string): void {
  checkKnownKeys(prices, PRICES, owner);
  for (const name of ["inputPerMillion", "outputPerMillion"] as const)
    if (prices[name] === undefined) throw new ToolError("invalid_argument", `${owner} has no ${name}: the price of a million tokens.`);
  for (const name of Object.keys(PRICES) as (keyof ModelPrices)[]) checkNumber(prices[name], `${name} of ${owner}`, PRICE);
}

function addTotals(one: ModelTotals, other: Partial<ModelTotals>): ModelTotals {
  const cost = one.cost === undefined && other.cost === undefined ? undefined : (one.cost ?? 0) + (other.cost ?? 0);
  return {
    requests: one.requests + (other.requests ?? 0),
    retries: one.retries + (other.retries ?? 0),
    failures: one.failures + (other.failures ?? 0),
    inputTokens: one.inputTokens + (other.inputTokens ?? 0),
    outputTokens: one.outputTokens + (other.outputTokens ?? 0),
    cachedInputTokens: one.cachedInputTokens + (other.cachedInputTokens ?? 0),
    cacheWriteTokens: one.cacheWriteTokens + (other.cacheWriteTokens ?? 0),
    reasoningTokens: one.reasoningTokens + (other.reasoningTokens ?? 0),
    ...(cost === undefined ? {} : { cost }),
  };
}

function formatCount(amount: number, noun: string): string {
  return `${formatNumber(amount)} ${noun}${amount === 1 ? "" : "s"}`;
}

function formatNumber(amount: number): string {
  return amount.toLocaleString("en-US");
}
