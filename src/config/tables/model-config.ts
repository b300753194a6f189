/** Reads the tables that name the model and limit its loop. */
import { BUDGET_AXES, type BudgetAxis } from "../../compose/loop-budget.ts";
import type { LoopLimits } from "../../compose/loop-limits.ts";
import { REASONING_EFFORTS, type ReasoningEffort } from "../../core/model.ts";
import type { ModelPrices } from "../../model/usage-meter.ts";
import { COUNT, MILLISECONDS } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { checkDelimiters, type Delimiters } from "../../wire/text/delimited-grammar.ts";
import { isTable, type TableReader } from "../table-reader.ts";
import { resolveVariables } from "../variables.ts";

/** A model behind a provider. */
export interface ModelConfig {
  /** `provider/model`: `anthropic/claude-sonnet-5`. */
  readonly name: string;
  /** Replaces the provider's own address. */
  readonly baseUrl?: string;
  /** The text as written; `env:NAME` is resolved when the model is made. */
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** For a model without native tool calls: how it writes them, as the name of a format or as custom delimiters. */
  readonly textFormat?: string | Delimiters;
  /** For each tool, the argument that holds the body of its call, in text formats whose calls have a body. */
  readonly bodyArguments?: Readonly<Record<string, string>>;
  readonly stream?: boolean;
  readonly strict?: boolean;
  readonly maxAttempts?: number;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly reasoningEffort?: ReasoningEffort;
  readonly parallelCalls?: boolean;
  readonly contextTokens?: number;
  readonly prices?: ModelPrices;
  readonly currency?: string;
}

/** Options and limits of a loop. */
export interface LoopConfig extends Pick<LoopLimits, "maxRounds" | "maxCallsPerRound" | "multiAction" | "maxDurationMs" | "idleMs"> {
  /** The system prompt. */
  readonly system?: string;
  readonly earlyDispatch?: boolean;
  readonly budget?: BudgetConfig;
}

export type BudgetConfig = Readonly<Partial<Record<BudgetAxis, { readonly soft?: number; readonly hard?: number }>>>;

/** The temperatures that providers accept. */
export const TEMPERATURE = { min: 0, max: 2, integer: false } as const;
const AMOUNT = { min: 0, max: Number.MAX_SAFE_INTEGER, integer: false } as const;

/** Undefined if the table names no valid model, which is reported. */
export function readModel(table: TableReader): ModelConfig | undefined {
  const name = readModelName(table, "name");
  const settings = omitUndefined({
    baseUrl: readAddress(table, "baseUrl"),
    apiKey: readKey(table, "apiKey"),
    headers: table.textTable("headers"),
    textFormat: isTable(table.value("textFormat")) ? table.section("textFormat", readDelimiters) : table.text("textFormat"),
    bodyArguments: table.textTable("bodyArguments"),
    stream: table.flag("stream"),
    strict: table.flag("strict"),
    maxAttempts: table.number("maxAttempts", { ...COUNT, max: 100 }),
    maxOutputTokens: table.number("maxOutputTokens", COUNT),
    temperature: table.number("temperature", TEMPERATURE),
    reasoningEffort: table.choice("reasoningEffort", REASONING_EFFORTS),
    parallelCalls: table.flag("parallelCalls"),
    contextTokens: table.number("contextTokens", COUNT),
    currency: table.text("currency"),
    prices: table.section("prices", readPrices),
  });
  return name === undefined ? undefined : { name, ...settings };
}

/** Undefined if one of them is missing or invalid, which is reported. */
function readDelimiters(table: TableReader): Delimiters | undefined {
  const start = table.requiredText("start", 'the text before a name, such as "["');
  const end = table.requiredText("end", 'the text after it, such as "]"');
  const slash = table.choice("slash", ["opens", "closes"], { required: true });
  const lines = table.choice("arguments", ["lines", "attributes"], { required: true });
  const others = omitUndefined({ prefix: table.text("prefix"), separator: table.text("separator") });
  if (start === undefined || end === undefined || slash === undefined || lines === undefined) return undefined;
  const delimiters = { start, end, slash, arguments: lines, ...others };
  try {
    checkDelimiters("textFormat", delimiters);
    return delimiters;
  } catch (thrown: unknown) {
    table.report(undefined, ToolError.fromUnknown(thrown).message);
    return undefined;
  }
}

/** Reads `provider/model`. A name without a slash is reported and still returned. */
export function readModelName(table: TableReader, key: string): string | undefined {
  const name = table.requiredText(key, 'provider and model, such as "anthropic/claude-sonnet-5"');
  if (name !== undefined && !/^[^/]+\/.+$/su.test(name))
    table.report(key, `must be provider and model with a slash between them, not ${JSON.stringify(name)}.`);
  return name;
}

export function readAddress(table: TableReader, key: string): string | undefined {
  const address = table.text(key);
  if (address === undefined) return undefined;
  const protocol = URL.canParse(address) ? new URL(address).protocol : undefined;
  if (protocol === "http:" || protocol === "https:") return address;
  table.report(key, `must be an address that begins with http:// or https://, not ${JSON.stringify(address)}.`);
  return undefined;
}

/** Reads a reference to a key, which is resolved later, so that commands that use no model need no key. A key in the file itself is refused. */
export function readKey(table: TableReader, key: string): string | undefined {
  const written = table.text(key);
  if (written === undefined) return undefined;
  const name = written.startsWith("env:") ? written.slice("env:".length) : undefined;
  const resolved = name === undefined ? undefined : resolveVariables(written, { [name]: "" });
  if (resolved !== undefined && "text" in resolved) return written;
  table.report(
    key,
    "must name an environment variable that holds the key, such as env:ANTHROPIC_API_KEY: a key does not belong in a file.",
  );
  return undefined;
}

function readPrices(table: TableReader): ModelPrices | undefined {
  const price = (key: keyof ModelPrices): number | undefined => table.number(key, AMOUNT);
  const [inputPerMillion, outputPerMillion] = [price("inputPerMillion"), price("outputPerMillion")];
  const others = omitUndefined({
    cachedInputPerMillion: price("cachedInputPerMillion"),
    cacheWritePerMillion: price("cacheWritePerMillion"),
  });
  if (inputPerMillion !== undefined && outputPerMillion !== undefined) return { inputPerMillion, outputPerMillion, ...others };
  for (const key of ["inputPerMillion", "outputPerMillion"])
    if (!table.has(key)) table.report(undefined, `"${key}" is missing: the price of a million tokens.`);
  return undefined;
}

export function readLoop(table: TableReader): LoopConfig {
  return omitUndefined({
    system: table.text("system"),
    maxRounds: table.number("maxRounds", COUNT),
    maxCallsPerRound: table.number("maxCallsPerRound", COUNT),
    multiAction: table.flag("multiAction"),
    maxDurationMs: table.number("maxDurationMs", MILLISECONDS),
    idleMs: table.number("idleMs", MILLISECONDS),
    earlyDispatch: table.flag("earlyDispatch"),
    budget: table.section("budget", readBudget),
  });
}

function readBudget(table: TableReader): BudgetConfig {
  const budget: [axis: string, limit: { readonly soft?: number; readonly hard?: number }][] = [];
  for (const axis of BUDGET_AXES) {
    const limit = table.section(axis, readLimit);
    if (limit !== undefined) budget.push([axis, limit]);
  }
  return Object.fromEntries(budget);
}

function readLimit(table: TableReader): { readonly soft?: number; readonly hard?: number } {
  const limit = omitUndefined({ soft: table.number("soft", AMOUNT), hard: table.number("hard", AMOUNT) });
  if (limit.soft !== undefined && limit.hard !== undefined && limit.soft > limit.hard)
    table.report("soft", `must not be above hard, which is ${limit.hard}, but is ${limit.soft}.`);
  return limit;
}
