/** Finds similar texts between two arrays: by their words, or by vectors from a function that the program provides. */
import { splitWords } from "../registry/split-words.ts";
import { embedAll, cosine, type EmbedOptions } from "./vectors.ts";
import { yieldToEventLoop } from "./run-limited.ts";
import { addTo } from "../core/base/add-to.ts";

export interface TextMatch {
  /** The index of an input text. */
  readonly text: number;
  /** Above 0; 1 = the same. */
  readonly similarity: number;
}

/** Two arrays of texts, each as indexes of its distinct texts, and the similarity of the distinct texts. */
export interface TextMatcher {
  readonly outputs: readonly number[];
  readonly inputs: readonly number[];
  /** Returns the input texts that are at least as similar to an output text as required. */
  matches(output: number): readonly TextMatch[];
}

export interface MatchOptions {
  /** Minimum similarity of a match. */
  readonly minSimilarity: number;
}

function distinctTexts(texts: readonly string[]): { readonly distinct: readonly string[]; readonly indexes: readonly number[] } {
  const known = new Map<string, number>();
  const indexes = texts.map((text) => {
    const index = known.get(text) ?? known.size;
    known.set(text, index);
    return index;
  });
  return { distinct: [...known.keys()], indexes };
}

type WordVector = ReadonlyMap<string, number>;

/**
 * Compares texts by their common words, as the cosine of vectors in which rare words weigh more.
 *
 * Uses an index of words, so that texts without a common word are never compared. A word in more than 2,000 distinct input texts counts as a filler:
 * it is ignored for texts that have other words as well.
 */
export function matchByWords(outputTexts: readonly string[], inputTexts: readonly string[], { minSimilarity }: MatchOptions): TextMatcher {
  const outputs = distinctTexts(outputTexts.map(toWordsKey));
  const inputs = distinctTexts(inputTexts.map(toWordsKey));
  const rarity = computeRarity([...outputs.distinct, ...inputs.distinct]);
  const postings = new Map<string, { readonly text: number; readonly weight: number }[]>();
  for (const [text, words] of inputs.distinct.entries()) {
    for (const [word, weight] of createVector(words, rarity)) {
      addTo(postings, word, { text, weight });
    }
  }
  const same = new Map(inputs.distinct.map((words, text) => [words, text]));
  const scores = new Float64Array(inputs.distinct.length);
  return {
    outputs: outputs.indexes,
    inputs: inputs.indexes,
    matches(output) {
      const words = outputs.distinct[output] ?? "";
      const vector = createVector(words, rarity);
      const touched: number[] = [];
      for (const [word, weight] of vector) {
        const found = postings.get(word) ?? [];
        if (found.length > MAX_POSTINGS && vector.size > 1) continue;
        for (const posting of found) {
          const before = scores[posting.text] ?? 0;
          if (before === 0) touched.push(posting.text);
          scores[posting.text] = before + weight * posting.weight;
        }
      }
      const found = collectMatches(scores, touched, minSimilarity);
      const equal = words === "" ? undefined : same.get(words);
      return equal === undefined ? found : [{ text: equal, similarity: 1 }, ...found.filter(({ text }) => text !== equal)];
    },
  };
}

const MAX_POSTINGS = 2_000;
const MAX_WORDS = 64;

/** Returns the matches and resets their scores to 0. */
function collectMatches(scores: Float64Array, touched: readonly number[], minSimilarity: number): readonly TextMatch[] {
  const found: TextMatch[] = [];
  for (const text of touched) {
    const similarity = Math.min(1, scores[text] ?? 0);
    scores[text] = 0;
    if (similarity >= minSimilarity) found.push({ text, similarity });
  }
  return found;
}

/** Returns the distinct words of a name or of prose, sorted; `userId`, `user_id` and `User ID` are the same. */
function toWordsKey(text: string): string {
  const words = new Set<string>();
  const separated = text.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2").replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2");
  splitWords(separated, (word) => {
    if (words.size < MAX_WORDS) words.add(word);
  });
  return [...words].sort().join(" ");
}

function computeRarity(keys: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of new Set(keys)) for (const word of splitKey(key)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map(Array.from(counts, ([word, count]) => [word, Math.log(1 + keys.length / count)]));
}

function splitKey(key: string): readonly string[] {
  return key === "" ? [] : key.split(" ");
}

/** Returns the weighted words as a vector of length 1. */
function createVector(key: string, rarity: ReadonlyMap<string, number>): WordVector {
  const words = splitKey(key);
  const length = Math.hypot(...words.map((word) => rarity.get(word) ?? 0));
  return new Map(words.map((word) => [word, (rarity.get(word) ?? 0) / length]));
}

/**
 * Compares texts by vectors: the cosine of every pair of distinct texts, so the time grows with the product of the two lengths.
 *
 * @throws ToolError as `embedAll`, as a rejection
 */
export async function matchByVectors(
  outputTexts: readonly string[],
  inputTexts: readonly string[],
  { minSimilarity, ...options }: MatchOptions & EmbedOptions,
): Promise<TextMatcher> {
  const outputs = distinctTexts(outputTexts);
  const inputs = distinctTexts(inputTexts);
  const vectors = await embedAll([...outputs.distinct, ...inputs.distinct], options);
  const inputVectors = vectors.slice(outputs.distinct.length);
  const found: (readonly TextMatch[])[] = [];
  for (let output = 0; output < outputs.distinct.length; output++) {
    const vector = vectors[output] ?? new Float32Array();
    const matches = inputVectors.map((other, text) => ({ text, similarity: cosine(vector, other) }));
    found.push(matches.filter(({ similarity }) => similarity > 0 && similarity >= minSimilarity));
    await yieldToEventLoop(options.signal);
  }
  return { outputs: outputs.indexes, inputs: inputs.indexes, matches: (output) => found[output] ?? [] };
}
