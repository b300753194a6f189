import type { Random } from "../../../core/ports.ts";
import type { Tool } from "../../../core/tool.ts";
import { getPurpose, formatPurpose } from "./tool-purpose.ts";
import { joinList, pickOne } from "./format-value.ts";

export const MAX_MENTIONED_PURPOSE = 80;
/** Matches parts of a description that would be a claim: a number or a name in it is not from a result. */
export const CLAIM_PATTERN = /[\d"]|[A-Z]/u;

/** Writes which requested calls were not made because an earlier result had no value to continue with. */
export function formatUnmadeCalls(tools: readonly Tool[], random: Random): string {
  const wanted = tools
    .map((tool) => formatPurpose(getPurpose(tool)))
    .filter((words) => words.length <= MAX_MENTIONED_PURPOSE && !CLAIM_PATTERN.test(words));
  const opening = pickOne(random, ["So I couldn't", "I could not go on to", "That is why I did not"]);
  return wanted.length === 0 ? pickOne(random, UNMADE) : `${opening} ${joinList(wanted, "or")}.`;
}

const UNMADE = [
  "So I could not do the rest.",
  "That leaves nothing to go on with.",
  "The rest needs a result that is missing.",
  "Without it I could not go on.",
  "I have not done the rest, which needs it.",
  "So the rest is not done.",
] as const;

/** Writes about a background call that has not ended. */
export function formatUnfinishedCall(random: Random): string {
  return pickOne(random, ["That is still running.", "I started that; it is not done yet.", "That has been started and continues."]);
}
