/** Reads the faults that a configuration file injects into calls. */
import { FAULT_TYPES, type FaultRule, type FaultType } from "../../core/answers/fault.ts";
import { COUNT, MILLISECONDS, FRACTION } from "../../core/base/number-bounds.ts";
import { nearKey } from "../near-key.ts";
import { patternFault } from "./policy-config.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { TableReader } from "../table-reader.ts";

export interface FaultRulesOptions {
  /** Whether unknown types are allowed too, as in a search. @default false */
  readonly otherTypes?: boolean;
  /** For rules that do not set it. @default as for real errors */
  readonly retryable?: boolean;
  /** The message of network errors and broken answers if a rule has none. @default that of real errors */
  readonly message?: string;
}

/**
 * Reads the array under `key`, in order: `type` and `probability` are required, and the other keys are those of `FaultRule`. An invalid rule is
 * reported at its place and left out. Undefined if there is no array.
 */
export function readFaultRules(table: TableReader, key: string, options: FaultRulesOptions = {}): readonly FaultRule[] | undefined {
  return table.tables(key)?.flatMap((rule) => readFaultRule(rule, options) ?? []);
}

function readFaultRule(table: TableReader, options: FaultRulesOptions): FaultRule | undefined {
  const type = readType(table, options.otherTypes === true);
  if (!table.has("probability")) table.report(undefined, '"probability" is missing: how likely it hits a call, from 0 to 1.');
  const probability = table.number("probability", FRACTION);
  const rest = omitUndefined({
    tools: readTools(table),
    message: table.text("message") ?? (GENERAL.has(type ?? "") ? options.message : undefined),
    retryable: table.flag("retryable") ?? options.retryable,
    attempts: table.number("attempts", COUNT),
    delayMs: readDelay(table),
    retryAfterMs: table.number("retryAfterMs", MILLISECONDS),
  });
  table.reportUnknownKeys();
  return type === undefined || probability === undefined ? undefined : { type, probability, ...rest };
}

/** Types whose message is fixed by the format of `error_categories`; others have the message of the real error. */
const GENERAL: ReadonlySet<string> = new Set<FaultType>(["network_error", "schema_violation"]);

function readType(table: TableReader, otherTypes: boolean): string | undefined {
  if (!otherTypes) return table.choice("type", FAULT_TYPES, { required: true });
  const type = table.requiredText("type", "what goes wrong");
  const near = type === undefined || FAULT_TYPES.some((known) => known === type) ? undefined : nearKey(type, FAULT_TYPES);
  // A misspelled type of ours would otherwise fail calls in another way than intended.
  if (near !== undefined) table.report("type", `is ${JSON.stringify(type)}. Did you mean ${JSON.stringify(near)}?`);
  return near === undefined ? type : undefined;
}

function readTools(table: TableReader): string | readonly string[] | undefined {
  const value = table.value("tools");
  if (typeof value !== "string") return table.texts("tools", (pattern) => patternFault(pattern, "tools"));
  const fault = patternFault(value, "tools");
  if (fault !== undefined) table.report("tools", fault);
  return fault === undefined ? value : undefined;
}

function readDelay(table: TableReader): number | readonly [number, number] | undefined {
  const value = table.value("delayMs");
  if (!Array.isArray(value)) return table.number("delayMs", MILLISECONDS);
  const [least, most]: readonly unknown[] = value;
  if (value.length === 2 && isMs(least) && isMs(most) && least <= most) return [least, most];
  table.report("delayMs", `must be a number of milliseconds or two of them, the smaller first, each up to ${MILLISECONDS.max}.`);
  return undefined;
}

function isMs(value: unknown): value is number {
  return typeof value === "number" && value >= MILLISECONDS.min && value <= MILLISECONDS.max;
}
