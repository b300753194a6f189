/** Ranks documents by the words they share with a query (Okapi BM25). */
import type { SearchDocument } from "./document.ts";
import { addTo } from "../../core/base/add-to.ts";

export interface FoundDocument extends SearchDocument {
  /** Between 0 and 1, both excluded: the share of the highest possible score for the query. */
  readonly score: number;
}

export interface RankOptions {
  /** Integer ≥ 1. */
  readonly limit: number;
  /** Lowest score of a document that is found. */
  readonly threshold: number;
}

/** The usual constants: how soon repetitions of a word stop to count, and how much long texts lose. */
const SATURATION = 1.2;
const LENGTH_PENALTY = 0.75;
const MAX_QUERY_LENGTH = 4_096;
/** Matches letters and digits with their marks, one emoji, or one flag. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*|\p{Extended_Pictographic}|\p{Regional_Indicator}{2}/gu;
/** Scripts that do not separate words: each character counts as one. */
const UNSPACED_SCRIPTS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const UNSPACED_BOUNDARY =
  /(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])|(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])/u;
/** A posting is one number, `document * 64 + count`; a word counts at most 63 times. */
const MAX_COUNT = 63;

/**
 * An index over documents that do not change.
 *
 * A document's score is its BM25 score, divided by the limit for a document that repeats every word of the query endlessly, including words that no
 * document contains. So scores of different queries are comparable, and a threshold means the same for all.
 */
export class DocumentIndex {
  readonly #documents: readonly SearchDocument[];
  readonly #lengths: readonly number[];
  readonly #meanLength: number;
  readonly #postings = new Map<string, number[]>();
  readonly #scores: Float64Array;

  constructor(documents: readonly SearchDocument[]) {
    this.#documents = documents;
    this.#scores = new Float64Array(documents.length);
    this.#lengths = documents.map(({ text }, document) => this.#add(text, document));
    this.#meanLength =
      Math.max(
        1,
        this.#lengths.reduce((sum, length) => sum + length, 0),
      ) / Math.max(1, documents.length);
  }

  /** The best documents first, equal ones in the order of the corpus; [] for a query without words. */
  rank(query: string, { limit, threshold }: RankOptions): readonly FoundDocument[] {
    const scores = this.#scores.fill(0);
    let most = 0;
    for (const word of new Set(wordsOf(query.slice(0, MAX_QUERY_LENGTH)))) {
      const postings = this.#postings.get(word) ?? [];
      const rarity = Math.log(1 + (this.#documents.length - postings.length + 0.5) / (postings.length + 0.5));
      most += rarity * (SATURATION + 1);
      for (const posting of postings) {
        const document = Math.floor(posting / (MAX_COUNT + 1));
        const count = posting % (MAX_COUNT + 1);
        const penalty = 1 - LENGTH_PENALTY + (LENGTH_PENALTY * (this.#lengths[document] ?? 0)) / this.#meanLength;
        scores[document] = (scores[document] ?? 0) + (rarity * count * (SATURATION + 1)) / (count + SATURATION * penalty);
      }
    }
    return bestDocuments(scores, { limit, least: threshold * most }).flatMap(({ document, score }) => {
      const found = this.#documents[document];
      return found === undefined ? [] : [{ ...found, score: score / most }];
    });
  }

  /** Adds a text to the index. Returns its number of words. */
  #add(text: string, document: number): number {
    const counts = new Map<string, number>();
    let length = 0;
    for (const word of wordsOf(text)) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
      length++;
    }
    for (const [word, count] of counts) {
      const posting = document * (MAX_COUNT + 1) + Math.min(count, MAX_COUNT);
      addTo(this.#postings, word, posting);
    }
    return length;
  }
}

interface ScoredDocument {
  readonly document: number;
  readonly score: number;
}

/** The highest scores above 0, in a short sorted array, which most documents never enter. */
function bestDocuments(
  scores: Float64Array,
  { limit, least }: { readonly limit: number; readonly least: number },
): readonly ScoredDocument[] {
  const found: ScoredDocument[] = [];
  for (const [document, score] of scores.entries()) {
    if (score === 0 || score < least || (found.length === limit && score <= (found.at(-1)?.score ?? 0))) continue;
    let at = found.length;
    while (at > 0 && (found[at - 1]?.score ?? 0) < score) at--;
    found.splice(at, 0, { document, score });
    if (found.length > limit) found.pop();
  }
  return found;
}

function* wordsOf(text: string): Generator<string, void, undefined> {
  for (const [word] of text.normalize("NFC").toLowerCase().matchAll(WORD)) {
    if (UNSPACED_SCRIPTS.test(word)) yield* word.split(UNSPACED_BOUNDARY);
    else yield singular(word);
  }
}

/** Reduces a plural in s, so that singular and plural find each other. */
function singular(word: string): string {
  if (word.length < 4 || !word.endsWith("s") || /(?:ss|us|is)$/u.test(word)) return word;
  return word.endsWith("ies") && word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}
