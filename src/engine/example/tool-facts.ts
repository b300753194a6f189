/** The facts about a tool that all of its made-up answers share. */
import type { JsonObject } from "../../core/base/json.ts";
import { seededRandom } from "../../core/base/seeded-random.ts";
import type { Tool } from "../../core/tool.ts";
import { topicText } from "../../schema/example/topics.ts";
import { saidOf } from "./answer-shape.ts";
import type { ToolIntent } from "./tool-intent.ts";

/** The facts that all calls of a tool share. */
export interface ToolFacts {
  readonly seed: string;
  readonly intent: ToolIntent;
  /** The values that are the same in all answers. */
  readonly house: JsonObject;
  /** The text that tells its topic. */
  readonly about: string;
}

const facts = new WeakMap<Tool, ToolFacts>();

/** Made once for a tool, as long as it is asked for with the same seed and under the same name. */
export function factsOf(seed: string, tool: Tool, intent: ToolIntent): ToolFacts {
  const known = facts.get(tool);
  if (known !== undefined && known.seed === seed && known.intent === intent) return known;
  const house = { currency: currencyOf(seed), ...saidOf(intent, tool) };
  const made = { seed, intent, house, about: topicText(tool, intent.noun) };
  facts.set(tool, made);
  return made;
}

function currencyOf(seed: string): string {
  const currencies = ["EUR", "USD", "GBP"];
  return currencies[Math.floor(seededRandom(`${seed}|currency`).next() * currencies.length)] ?? "EUR";
}
