/** The budget of a loop: a note at the soft limit, refused calls at the hard limit, the end of the run at 1.5 × the hard limit. */
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Clock } from "../core/ports.ts";

/** The axes of a loop's budget. */
export const BUDGET_AXES = ["rounds", "wallMs", "calls", "tokens", "cost"] as const;
/**
 * `rounds`: requests to the model; `wallMs`: milliseconds since the run began; `calls`: calls that were not refused; `tokens`: input and output;
 * `cost`: the amounts that `cost` returns.
 */
export type BudgetAxis = (typeof BUDGET_AXES)[number];

/** The two limits of one axis of a loop's budget. */
export interface BudgetLimit {
  /** From this amount on, the model is asked once to finish. */
  readonly soft?: number;
  /** From this amount on, every call is refused, and the model has one more message to answer in. At 1.5 × this amount the run ends at once. */
  readonly hard?: number;
}

/** The limits of a loop's budget, by axis. */
export type LoopBudgetLimits = Readonly<Partial<Record<BudgetAxis, BudgetLimit>>>;

/** How much of a budget is used: below the soft limit, from the soft limit, from the hard limit, or from 1.5 × the hard limit. */
export type BudgetLevel = "ok" | "soft" | "hard" | "crash";

const CRASH_FACTOR = 1.5;
const LEVELS: readonly BudgetLevel[] = ["ok", "soft", "hard", "crash"];
const AXES: OptionNames<LoopBudgetLimits> = { rounds: true, wallMs: true, calls: true, tokens: true, cost: true };
const UNITS: Readonly<Record<BudgetAxis, string>> = {
  rounds: "rounds",
  wallMs: "milliseconds",
  calls: "tool calls",
  tokens: "tokens",
  cost: "of the cost",
};

/** Counts what one run of a loop uses. */
export class LoopBudget {
  readonly #limits: readonly (BudgetLimit & { readonly axis: BudgetAxis })[];
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #used: Record<BudgetAxis, number> = { rounds: 0, wallMs: 0, calls: 0, tokens: 0, cost: 0 };
  #notedLevel: BudgetLevel = "ok";

  /** @throws ToolError `invalid_argument` */
  constructor(limits: LoopBudgetLimits, clock: Clock) {
    checkBudgetLimits(limits);
    this.#limits = BUDGET_AXES.flatMap((axis) => (limits[axis] === undefined ? [] : [{ axis, ...limits[axis] }]));
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** Adds an amount. Amounts of 0 or less are ignored, so nothing that a program or a provider reports gives budget back. */
  spend(axis: Exclude<BudgetAxis, "wallMs">, amount: number): void {
    if (amount > 0) this.#used[axis] += amount;
  }

  used(axis: BudgetAxis): number {
    return axis === "wallMs" ? this.#clock.now() - this.#startedAt : this.#used[axis];
  }

  /** The highest level of all axes. */
  get level(): BudgetLevel {
    let worst = 0;
    for (const limit of this.#limits) worst = Math.max(worst, LEVELS.indexOf(this.#levelOf(limit)));
    return LEVELS[worst] ?? "ok";
  }

  /** Returns the note for the model when a new level is reached, once for each level. */
  newLevelNote(): string | undefined {
    const { level } = this;
    if (LEVELS.indexOf(level) <= LEVELS.indexOf(this.#notedLevel)) return undefined;
    this.#notedLevel = level;
    const advice = level === "soft" ? "Finish soon: make only the calls that the answer needs." : ANSWER_IN_TEXT;
    return `The budget of this task is ${level === "soft" ? "running out" : "used up"} (${this.describeExceeded()}). ${advice}`;
  }

  /** Returns why calls are refused; undefined while they are allowed. */
  refusal(): ToolError | undefined {
    if (this.#limits.length === 0 || LEVELS.indexOf(this.level) < LEVELS.indexOf("hard")) return undefined;
    return new ToolError("limit_exceeded", `The call was not made: the budget of this task is used up (${this.describeExceeded()}).`, {
      hint: ANSWER_IN_TEXT,
    });
  }

  /** Lists the axes beyond a limit with the amounts used: `12 of 10 tool calls`. */
  describeExceeded(): string {
    return this.#limits
      .filter((limit) => this.#levelOf(limit) !== "ok")
      .map(({ axis, soft, hard }) => `${round(this.used(axis))} of ${hard ?? soft ?? 0} ${UNITS[axis]}`)
      .join(", ");
  }

  #levelOf({ axis, soft = Infinity, hard = Infinity }: BudgetLimit & { readonly axis: BudgetAxis }): BudgetLevel {
    const used = this.used(axis);
    if (used >= hard * CRASH_FACTOR) return "crash";
    if (used >= hard) return "hard";
    return used >= soft ? "soft" : "ok";
  }
}

/** Returns after how many milliseconds a run is ended whatever it does; undefined without a hard limit of time. */
export function crashAfterMs(limits: LoopBudgetLimits): number | undefined {
  const hard = limits.wallMs?.hard;
  return hard === undefined ? undefined : hard * CRASH_FACTOR;
}

const ANSWER_IN_TEXT = "Make no more calls. Answer in text now, with what you have.";

function round(amount: number): number {
  return Math.round(amount * 10_000) / 10_000;
}

/** @throws ToolError `invalid_argument` */
export function checkBudgetLimits(limits: LoopBudgetLimits): void {
  checkKnownKeys(limits, AXES, "createLoop({ limits: { budget } })");
  for (const [axis, limit] of Object.entries(limits)) {
    if (limit !== undefined) checkKnownKeys(limit, { soft: true, hard: true }, `The budget ${axis}`);
    const { soft = 0, hard = Infinity } = limit ?? {};
    if (!(soft >= 0 && hard > 0 && soft <= hard))
      throw new ToolError("invalid_argument", `The budget ${axis} takes soft ≥ 0 and hard > 0, soft ≤ hard; not ${soft} and ${hard}.`);
  }
}
