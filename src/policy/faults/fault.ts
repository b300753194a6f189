/** Injects failures into calls on purpose. Only a seed decides which call gets which failure. */
import { isObject } from "../../core/base/is-object.ts";
import { COUNT, MILLISECONDS, FRACTION, checkNumber, isWithinBounds, describeBounds } from "../../core/base/number-bounds.ts";
import { checkMs } from "../../core/call-settings.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { FAULT_TYPES, type FaultPlan, type FaultRule } from "../../core/answers/fault.ts";
import { shuffle, seededRandom } from "../../core/base/seeded-random.ts";
import type { CallSample } from "./fault-tally.ts";
import { createNameMatcher, type NameMatcher } from "../permission.ts";

export interface FaultPolicyOptions {
  /** Whether custom fault types are allowed, as `search` has them. @default false */
  readonly otherTypes?: boolean;
  /** The owner of the plan, for messages: `toolset "mail"`. @default "a fault plan" */
  readonly owner?: string;
}

/** A call, as a seed identifies it. */
export interface FaultSubject extends CallSample {
  readonly toolName: string;
  /** Name of its session; "" if it has none. */
  readonly session: string;
}

/** A rule that hits a call. */
export interface Fault {
  readonly rule: FaultRule;
  /** For `latency`: how long the answer is delayed, in milliseconds. */
  readonly delayMs: number;
}

interface CheckedRule {
  readonly rule: FaultRule;
  /** undefined if the rule is for every tool. */
  readonly fits: NameMatcher | undefined;
  readonly leastMs: number;
  readonly mostMs: number;
}

const DEFAULT_DELAY_MS = [100, 1_000] as const;

/**
 * Checks a plan and returns its policy. Later changes to the plan have no effect.
 *
 * @throws ToolError `invalid_argument` with the index of the rule
 */
export function faultPolicy(plan: FaultPlan, options: FaultPolicyOptions = {}): FaultPolicy {
  return new FaultPolicy(plan, options);
}

export class FaultPolicy {
  readonly seed: number | string;
  readonly #rules: readonly CheckedRule[];

  constructor(plan: FaultPlan, { otherTypes = false, owner = "a fault plan" }: FaultPolicyOptions) {
    if (!isObject(plan) || !Array.isArray(plan.rules))
      throw new ToolError("invalid_argument", `The faults of ${owner} must be { seed, rules: [{ type, probability }] }.`);
    checkKnownKeys(plan, { seed: true, rules: true }, `The plan of faults of ${owner}`);
    const { seed = 0 } = plan;
    if (typeof seed !== "string" && !Number.isFinite(seed))
      throw invalidArgumentError(`The seed of ${owner}`, seed, "a number or a string");
    this.seed = seed;
    this.#rules = plan.rules.map((given: unknown, index) => {
      const where = `rules[${index}] of ${owner}`;
      const rule = checkRule(given, where, otherTypes);
      const { tools } = rule;
      const [leastMs, mostMs] = delayOf(rule);
      const patterns = typeof tools === "string" ? [tools] : tools;
      return { rule, fits: patterns === undefined ? undefined : createNameMatcher(patterns, `tools of ${where}`), leastMs, mostMs };
    });
  }

  /** Returns every rule that hits the call, each drawn independently. @param salt makes plans with the same seed differ */
  findFaults(subject: FaultSubject, salt: number): readonly Fault[] {
    const random = seededRandom(toSeedText(subject, ["hit", this.seed, salt]));
    const faults: Fault[] = [];
    for (const { rule, fits, leastMs, mostMs } of this.#rules) {
      // drawn for rules of other tools too, so that the tools of one rule do not change the draws of the next
      const isHit = random.next() < rule.probability;
      const delayMs = leastMs + (mostMs - leastMs) * random.next();
      if (isHit && (fits === undefined || fits(subject.toolName) !== undefined)) faults.push({ rule, delayMs });
    }
    return faults;
  }
}

/** Draws the one fault of a call among those that hit it, from all plans. The index of a plan is its salt. */
export function drawFault(policies: readonly (FaultPolicy | undefined)[], subject: FaultSubject): Fault | undefined {
  const hits = policies.flatMap((policy, place) => policy?.findFaults(subject, place) ?? []);
  if (hits.length < 2) return hits[0];
  const seeds = policies.map((policy) => policy?.seed ?? null);
  const [chosen] = shuffle(seededRandom(toSeedText(subject, ["choice", ...seeds])), hits);
  return chosen;
}

function toSeedText({ session, toolName, digest, earlier }: FaultSubject, salt: readonly unknown[]): string {
  return JSON.stringify([salt, session, toolName, digest, earlier]);
}

function delayOf({ delayMs = DEFAULT_DELAY_MS }: FaultRule): readonly [number, number] {
  return typeof delayMs === "number" ? [delayMs, delayMs] : delayMs;
}

const RULE_NAMES: OptionNames<FaultRule> = {
  type: true,
  probability: true,
  tools: true,
  message: true,
  retryable: true,
  attempts: true,
  delayMs: true,
  retryAfterMs: true,
};

function checkRule(given: unknown, where: string, otherTypes: boolean): FaultRule {
  if (!isObject(given)) throw invalidArgumentError(where, given, "an object with a type and a probability");
  checkKnownKeys<Partial<Record<keyof FaultRule, unknown>>>(given, RULE_NAMES, where);
  const { type, probability, tools, message, retryable, attempts, delayMs, retryAfterMs }: Partial<Record<keyof FaultRule, unknown>> =
    given;
  if (typeof type !== "string" || type === "") throw invalidArgumentError(`type of ${where}`, type, `one of ${FAULT_TYPES.join(", ")}`);
  if (!otherTypes && !FAULT_TYPES.some((known) => known === type)) throw unknownType(type, where);
  if (!isWithinBounds(probability, FRACTION)) throw invalidArgumentError(`probability of ${where}`, probability, describeBounds(FRACTION));
  if (message !== undefined && typeof message !== "string") throw invalidArgumentError(`message of ${where}`, message, "a string");
  if (retryable !== undefined && typeof retryable !== "boolean")
    throw invalidArgumentError(`retryable of ${where}`, retryable, "a boolean");
  checkNumber(attempts, `attempts of ${where}`, COUNT);
  checkMs(retryAfterMs, "retryAfterMs", where);
  checkDelay(delayMs, where);
  if (tools !== undefined && typeof tools !== "string" && !Array.isArray(tools))
    throw invalidArgumentError(`tools of ${where}`, tools, "a pattern over qualified names, or an array of them");
  return Object.freeze({ ...given, type, probability });
}

function checkDelay(delayMs: unknown, where: string): void {
  if (!Array.isArray(delayMs)) return checkMs(delayMs, "delayMs", where);
  const [least, most]: readonly unknown[] = delayMs;
  for (const bound of delayMs) checkMs(bound, "delayMs", where);
  if (delayMs.length !== 2 || !isWithinBounds(least, MILLISECONDS) || !isWithinBounds(most, { ...MILLISECONDS, min: least }))
    throw invalidArgumentError(`delayMs of ${where}`, delayMs, "a number of milliseconds, or two of them, the smaller first");
}

function unknownType(type: string, where: string): ToolError {
  const alike = FAULT_TYPES.filter((known) => normalizeType(known).slice(0, 3) === normalizeType(type).slice(0, 3));
  const near = alike.length === 1 ? ` Did you mean ${JSON.stringify(alike[0])}?` : "";
  return new ToolError("invalid_argument", `type of ${where} is ${JSON.stringify(type)}, which is not a fault.${near}`, {
    hint: `Known faults: ${FAULT_TYPES.join(", ")}.`,
  });
}

function normalizeType(type: string): string {
  return type.replaceAll(/[\s_.-]+/gu, "").toLowerCase();
}

function invalidArgumentError(what: string, value: unknown, wanted: string): ToolError {
  return new ToolError("invalid_argument", `${what} is ${shown(value)}; it takes ${wanted}.`);
}

function shown(value: unknown): string {
  if (typeof value !== "string" && !isObject(value)) return String(value);
  try {
    return JSON.stringify(value).slice(0, 200);
  } catch {
    return "a value that is not JSON";
  }
}
