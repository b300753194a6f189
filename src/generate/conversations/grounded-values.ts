/** Checks whether claims are grounded: the numbers and ids in a text, against the values they may come from. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";

/** Matches words of letters and digits, with the punctuation inside ids, dates, amounts and addresses. */
const TOKEN = /[\p{L}\p{N}][\p{L}\p{N}._:@/+#-]*/gu;
const DIGIT = /\d/u;
const MAX_DEPTH = 64;
const MAX_VALUES = 100_000;

/** Returns the normalized numbers and ids in a text. */
function extractClaims(text: string): readonly string[] {
  if (!DIGIT.test(text)) return [];
  const claims: string[] = [];
  const plain = text.includes(",") ? text.replaceAll(/(?<=\d),(?=\d{3}\b)/gu, "") : text;
  for (const token of plain.match(TOKEN) ?? []) if (DIGIT.test(token)) claims.push(normalizeClaim(token));
  return claims;
}

/** The values that a text may claim. */
export class GroundedValues {
  readonly #tokens = new Set<string>();
  readonly #texts: string[] = [];

  /** Adds every scalar in the value, and the lengths of its arrays. */
  addValue(value: JsonValue | undefined): void {
    let left = MAX_VALUES;
    const visit = (one: JsonValue, depth: number): void => {
      if (depth > MAX_DEPTH || left-- <= 0) return;
      if (typeof one === "string") this.addText(one);
      else if (typeof one === "number") this.#tokens.add(normalizeClaim(String(Math.abs(one))));
      else if (isJsonArray(one)) {
        this.#tokens.add(String(one.length));
        for (const item of one) visit(item, depth + 1);
      } else if (isJsonObject(one)) {
        for (const name in one) {
          if (DIGIT.test(name)) this.addText(name);
          const inner = one[name];
          if (inner !== undefined) visit(inner, depth + 1);
        }
      }
    };
    if (value !== undefined) visit(value, 0);
  }

  /** Adds the content of a result, in any form. */
  addResult({ output, content, error }: Pick<ToolResult, "output" | "content" | "error">): void {
    this.addValue(output);
    for (const part of content ?? []) if (part.type === "text") this.addText(part.text);
    if (error !== undefined) this.addText(error.message);
  }

  addText(text: string): void {
    if (text === "") return;
    this.#texts.push(text);
    if (!DIGIT.test(text)) return;
    for (const token of extractClaims(text)) {
      this.#tokens.add(token);
      for (const [time] of token.matchAll(TIME)) this.#tokens.add(time);
      if (!PLAIN_NUMBER.test(token))
        for (const part of token.split(/[^\p{L}\p{N}.]+|(?<=\d)t(?=\d)/u)) if (DIGIT.test(part)) this.#tokens.add(normalizeClaim(part));
    }
  }

  hasClaim(claim: string): boolean {
    return this.#tokens.has(claim);
  }

  /** Whether the text is in one of those that were added, or equals one of the values. */
  contains(text: string): boolean {
    return this.#tokens.has(normalizeClaim(text.replace(/^-(?=\d)/u, ""))) || this.#texts.some((known) => known.includes(text));
  }

  /** Returns the claims of a text that are not grounded. */
  findUngrounded(text: string): readonly string[] {
    return extractClaims(text.replaceAll(LIST_MARK, "")).filter((claim) => !this.#tokens.has(claim));
  }
}

/** Hours and minutes of a timestamp: people leave out its seconds. */
const TIME = /(?<=\dt)\d{2}:\d{2}(?=:\d{2})/gu;
/** The number of a list item, which is not a claim. */
const LIST_MARK = /^[ \t]*\d{1,3}[.)][ \t]+/gmu;
const PLAIN_NUMBER = /^\d+(?:\.\d+)?$/u;

/** Normalizes a claim: `1.50` and `1.5` are the same number, `12.` at the end of a sentence is 12. */
function normalizeClaim(token: string): string {
  const bare = /[\p{L}\p{N}]$/u.test(token) ? token : token.replace(/(?<![._:@/+#-])[._:@/+#-]+$/u, "");
  return PLAIN_NUMBER.test(bare) ? String(Number(bare)) : bare.toLowerCase();
}
