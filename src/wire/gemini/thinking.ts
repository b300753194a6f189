/** The thinking efforts that can be requested of Gemini, by the model's name. */
import type { JsonObject } from "../../core/base/json.ts";
import { mapEfforts, type EffortFields } from "../reasoning-effort.ts";
import type { ReasoningEffort } from "../../core/model.ts";
import { NEW_MODEL } from "./gemini-model.ts";

/** Models whose thinking is controlled by a token budget. */
const WITH_BUDGET = /(?:^|\/)gemini-2\.5-/u;
/** Models that do not think. */
const WITHOUT_THINKING = /(?:^|\/)(?:gemini-(?:1|2\.0)|gemma-[123](?!\d))/u;

/**
 * The token budget of each effort, as Google itself maps them.
 *
 * @see https://ai.google.dev/gemini-api/docs/openai#thinking
 */
const BUDGETS = { minimal: 1_024, low: 1_024, medium: 8_192, high: 24_576 } as const;

/** The smaller models of Gemini 3 before 3.8, which have the level `minimal`. */
const WITH_MINIMAL = /(?:^|\/)gemini-3(?:\.[0-7])?-flash/u;

/**
 * Returns the levels of a model. The larger models of Gemini 3, and all from 3.8 on, do not have `minimal`; the first of the larger ones does not
 * have `medium` either.
 *
 * @see https://ai.google.dev/gemini-api/docs/thinking
 */
export function geminiLevels(model: string, write: (effort: ReasoningEffort) => JsonObject): EffortFields {
  if (WITHOUT_THINKING.test(model)) return { none: {} };
  if (!NEW_MODEL.test(model) && WITH_BUDGET.test(model)) return {};
  if (/(?:^|\/)gemini-3-pro/u.test(model)) return mapEfforts(write, ["low", "high"]);
  return mapEfforts(write, WITH_MINIMAL.test(model) ? ["minimal", "low", "medium", "high"] : ["low", "medium", "high"]);
}

/** Returns the fields of `generationConfig`: a level, or a budget for models before levels. Thinking of Pro models cannot be turned off. */
export function geminiEfforts(model: string): EffortFields {
  if (!WITH_BUDGET.test(model)) return geminiLevels(model, (thinkingLevel) => ({ thinkingConfig: { thinkingLevel } }));
  const budget = (thinkingBudget: number): JsonObject => ({ thinkingConfig: { thinkingBudget } });
  const { minimal, low, medium, high } = BUDGETS;
  const budgets = { minimal: budget(minimal), low: budget(low), medium: budget(medium), high: budget(high) };
  return /2\.5-pro/u.test(model) ? budgets : { none: budget(0), ...budgets };
}
