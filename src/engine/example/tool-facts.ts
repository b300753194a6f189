/** The facts about a tool that all of its generated answers share. */
import type { JsonObject } from "../../core/base/json.ts";
import { seededRandom } from "../../core/base/seeded-random.ts";
import type { Tool } from "../../core/tool.ts";
import { topicText } from "../../schema/example/topics.ts";
import { callStatusFields } from "./answer-shape.ts";
import type { ToolIntent } from "./tool-intent.ts";

export interface ToolFacts {
  readonly seed: string;
  readonly intent: ToolIntent;
  /** The values that are the same in all answers. */
  readonly sharedValues: JsonObject;
  /** The text from which its topic is derived. */
  readonly topic: string;
}

const facts = new WeakMap<Tool, ToolFacts>();

/** The facts of a tool, cached as long as the seed and the intent stay the same. */
export function factsOf(seed: string, tool: Tool, intent: ToolIntent): ToolFacts {
  const known = facts.get(tool);
  if (known !== undefined && known.seed === seed && known.intent === intent) return known;
  const sharedValues = { currency: currencyOf(seed), ...callStatusFields(intent, tool) };
  const made = { seed, intent, sharedValues, topic: topicText(tool, intent.noun) };
  facts.set(tool, made);
  return made;
}

function currencyOf(seed: string): string {
  const currencies = ["EUR", "USD", "GBP"];
  return currencies[Math.floor(seededRandom(`${seed}|currency`).next() * currencies.length)] ?? "EUR";
}
