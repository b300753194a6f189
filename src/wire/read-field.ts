/** Reads fields of a provider's JSON; a value of another type counts as missing. */
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { TokenUsage } from "../core/model.ts";

export function asString(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function asNonEmptyString(value: JsonValue | undefined): string | undefined {
  return value === "" ? undefined : asString(value);
}

export function numberField(object: JsonObject, key: string): number | undefined {
  const value = object[key];
  return typeof value === "number" ? value : undefined;
}

/** Returns the counts that are numbers, by name. */
export function tokenCounts(counts: Readonly<Partial<Record<keyof TokenUsage, JsonValue | undefined>>>): Partial<TokenUsage> {
  const numbers: Record<string, number> = {};
  for (const [name, count] of Object.entries(counts)) if (typeof count === "number") numbers[name] = count;
  return numbers;
}

/** Returns the token counts of a provider whose `input` excludes tokens read from or written to the cache. */
export function tokenCountsWithCache(
  counts: Readonly<Partial<Record<"input" | "output" | "read" | "write" | "thinking", JsonValue | undefined>>>,
): Partial<TokenUsage> {
  const { input, output, read, write, thinking } = counts;
  const cachedTokens = (typeof read === "number" ? read : 0) + (typeof write === "number" ? write : 0);
  return tokenCounts({
    inputTokens: typeof input === "number" ? input + cachedTokens : undefined,
    outputTokens: output,
    cachedInputTokens: read,
    cacheWriteTokens: write,
    reasoningTokens: thinking,
  });
}

/** Returns an index; some servers send it as a string of digits. */
export function asIndex(value: JsonValue | undefined): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d{1,9}$/u.test(value) ? Number(value) : undefined;
}

/** Whether it is the first of several replies; a reply without an index is. */
export function isFirstCandidate(candidate: JsonValue): boolean {
  return isJsonObject(candidate) && (candidate["index"] === undefined || candidate["index"] === null || asIndex(candidate["index"]) === 0);
}
