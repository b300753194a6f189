/** How probable Gemini's candidates are, put together from what each chunk says. */
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { numberIn } from "../read-field.ts";

/** @see https://ai.google.dev/api/generate-content#LogprobsResult */
export class CandidateProbability {
  /** Of the tokens reported one by one. */
  #tokens: number | undefined;
  /** The average over the whole candidate, times its tokens. */
  #average: number | undefined;

  add(candidate: JsonObject): void {
    const { logprobsResult } = candidate;
    const average = numberIn(candidate, "avgLogprobs");
    const count = numberIn(candidate, "tokenCount");
    if (average !== undefined && count !== undefined) this.#average = average * count;
    const chosen = isJsonObject(logprobsResult) ? logprobsResult["chosenCandidates"] : undefined;
    for (const token of isJsonArray(chosen) ? chosen : []) {
      const value = isJsonObject(token) ? numberIn(token, "logProbability") : undefined;
      if (value !== undefined) this.#tokens = (this.#tokens ?? 0) + value;
    }
  }

  /** Over all tokens; undefined where Gemini does not tell. */
  get sum(): number | undefined {
    return this.#tokens ?? this.#average;
  }
}
