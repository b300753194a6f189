/** How probable the tokens of a choice were, as servers of Chat Completions tell it. */
import { isJsonArray, isJsonObject } from "../../core/base/json.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";

/**
 * Tells the sum over the tokens of a choice, or of a piece of one, where there are any.
 *
 * `logprobs: { content: [{ logprob }], refusal }`; Together's own is `logprobs: { token_logprobs: [] }`.
 */
export function readLogProbability({ logprobs }: JsonObject, tell: (sum: number) => void): void {
  if (!isJsonObject(logprobs)) return;
  const { content, refusal, token_logprobs: plain } = logprobs;
  const values = [content, refusal, plain].flatMap((tokens) => (isJsonArray(tokens) ? tokens.map(valueOf) : []));
  const known = values.filter((value) => value !== undefined);
  if (known.length > 0) tell(known.reduce((sum, value) => sum + value, 0));
}

function valueOf(token: JsonValue): number | undefined {
  const value = isJsonObject(token) ? token["logprob"] : token;
  return typeof value === "number" ? value : undefined;
}
