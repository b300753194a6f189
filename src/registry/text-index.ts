/** Ranks tools by a text. Indexes the stems of words in names, titles, tags, descriptions and parameters, weighted by rarity. */
import { isJsonObject } from "../core/base/json.ts";
import type { JsonSchema } from "../core/tool.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import { splitWords } from "./split-words.ts";
import { stemWord } from "./stem-word.ts";
import { addTo } from "../core/base/add-to.ts";

/** The weight of a word by its place. The total weight of a word in one tool is capped at 63, to fit into its posting. */
const WEIGHTS = { name: 8, title: 4, tags: 4, toolset: 2, description: 2, parameter: 2, parameterText: 1 } as const;
const WEIGHT_BITS = 6;
const MAX_WEIGHT = (1 << WEIGHT_BITS) - 1;
/** Maximum length of the indexed part of a description, in UTF-16 code units. */
const MAX_TEXT_LENGTH = 4_096;
const MAX_QUERY_LENGTH = 1_024;
const MAX_QUERY_WORDS = 64;
/** Maximum number of indexed parameters of a tool, and the maximum indexed length of each one's description. */
const MAX_PARAMETERS = 64;
const MAX_PARAMETER_TEXT = 512;
/** Maximum number of cached stems; the cache is then cleared. Most tools use the same words. */
const MAX_STEMS = 20_000;
/** The usual constants of BM25: how fast repetitions stop counting (1.2 for the weight of a description), and the penalty of long texts. */
const SATURATION = 1.2 * WEIGHTS.description;
const LENGTH_PENALTY = 0.75;

/**
 * A BM25 index that grows and shrinks with the registry.
 *
 * A posting is one number, `document << 6 | weight`, which allows 33 million documents. A removed tool leaves a hole; the index is rebuilt when half
 * of it is holes.
 */
export class TextIndex {
  #documents: (RegisteredTool | undefined)[] = [];
  #lengths: number[] = [];
  #positions = new Map<RegisteredTool, number>();
  #postings = new Map<string, number[]>();
  #totalLength = 0;
  readonly #weights = new Map<string, number>();
  readonly #stems = new Map<string, string>();

  static from(tools: Iterable<RegisteredTool>): TextIndex {
    const index = new TextIndex();
    for (const registered of tools) index.add(registered);
    return index;
  }

  add(registered: RegisteredTool): void {
    const { tool } = registered;
    const weights = this.#weights;
    weights.clear();
    let length = 0;
    const take = (text: string, weight: number): void => {
      splitWords(text.length > MAX_TEXT_LENGTH ? text.slice(0, MAX_TEXT_LENGTH) : text, (word) => {
        const stem = this.#stem(word);
        weights.set(stem, (weights.get(stem) ?? 0) + weight);
        length += weight;
      });
    };
    take(tool.name, WEIGHTS.name);
    take(registered.toolset.name, WEIGHTS.toolset);
    if (tool.title !== undefined) take(tool.title, WEIGHTS.title);
    for (const tag of tool.tags ?? []) take(tag, WEIGHTS.tags);
    take(tool.description, WEIGHTS.description);
    for (const [name, text] of parametersOf(tool.inputSchema)) {
      take(name, WEIGHTS.parameter);
      take(text, WEIGHTS.parameterText);
    }
    this.#store(registered, length);
  }

  remove(registered: RegisteredTool): void {
    const position = this.#positions.get(registered);
    if (position === undefined) return;
    this.#positions.delete(registered);
    this.#documents[position] = undefined;
    this.#totalLength -= this.#lengths[position] ?? 0;
    if (this.#positions.size * 2 < this.#documents.length) this.#rebuild();
  }

  /** Calls `take` for every tool with at least one word of the text, in no particular order. Scores are above 0 and comparable within one text. */
  rank(text: string, take: (registered: RegisteredTool, score: number) => void): void {
    const scores = new Float64Array(this.#documents.length);
    for (const stem of this.#queryStems(text)) this.#addScores(stem, scores);
    for (let position = 0; position < scores.length; position++) {
      const score = scores[position] ?? 0;
      const registered = score > 0 ? this.#documents[position] : undefined;
      if (registered !== undefined) take(registered, score);
    }
  }

  /** The stems of a query, without stop words unless there are no other words. */
  #queryStems(text: string): ReadonlySet<string> {
    const stems = new Set<string>();
    const rest = new Set<string>();
    splitWords(text.slice(0, MAX_QUERY_LENGTH), (word) => {
      const target = STOP_WORDS.has(word) ? rest : stems;
      if (target.size < MAX_QUERY_WORDS) target.add(this.#stem(word));
    });
    return stems.size === 0 ? rest : stems;
  }

  #stem(word: string): string {
    let stem = this.#stems.get(word);
    if (stem === undefined) {
      if (this.#stems.size >= MAX_STEMS) this.#stems.clear();
      this.#stems.set(word, (stem = stemWord(word)));
    }
    return stem;
  }

  #addScores(word: string, scores: Float64Array): void {
    const postings = this.#postings.get(word);
    if (postings === undefined) return;
    // postings of removed tools remain, so holes are counted in both numbers
    const rarity = Math.log(1 + (this.#documents.length - postings.length + 0.5) / (postings.length + 0.5));
    const meanLength = this.#totalLength / Math.max(1, this.#positions.size);
    for (const posting of postings) {
      const position = posting >>> WEIGHT_BITS;
      const weight = posting & MAX_WEIGHT;
      const penalty = 1 - LENGTH_PENALTY + (LENGTH_PENALTY * (this.#lengths[position] ?? 0)) / meanLength;
      scores[position] = (scores[position] ?? 0) + (rarity * weight * (SATURATION + 1)) / (weight + SATURATION * penalty);
    }
  }

  #store(registered: RegisteredTool, length: number): void {
    const position = this.#documents.length;
    this.#documents.push(registered);
    this.#lengths.push(length);
    this.#positions.set(registered, position);
    this.#totalLength += length;
    for (const [word, weight] of this.#weights) {
      const posting = (position << WEIGHT_BITS) | Math.min(weight, MAX_WEIGHT);
      addTo(this.#postings, word, posting);
    }
  }

  #rebuild(): void {
    const left = [...this.#positions.keys()];
    this.#documents = [];
    this.#lengths = [];
    this.#positions = new Map();
    this.#postings = new Map();
    this.#totalLength = 0;
    for (const registered of left) this.add(registered);
  }
}

/** The parameters of the outermost object, each with its description. Schemas may be third-party, so nothing in them is trusted. */
function* parametersOf(schema: JsonSchema): Generator<readonly [name: string, text: string]> {
  const properties: unknown = typeof schema === "object" ? schema["properties"] : undefined;
  if (!isJsonObject(properties)) return;
  let count = 0;
  for (const name in properties) {
    if (!Object.hasOwn(properties, name)) continue;
    if (++count > MAX_PARAMETERS) return;
    const property = properties[name];
    const text = isJsonObject(property) ? property["description"] : undefined;
    yield [name, typeof text === "string" ? text.slice(0, MAX_PARAMETER_TEXT) : ""];
  }
}

/** English function words, which carry no meaning for a search: people ask in sentences, and some tools contain many of them by chance. */
const FUNCTION_WORDS =
  "a an the and or but if of in on at to for from by with without about into over under between as is are was were be been being am do does " +
  "did done have has had having will would shall should can could may might must i me my we us our you your he him his she her it its they " +
  "them their this that these those there here who whom whose which what when where why how all any each every some such no not only own " +
  "same so than too very just also please s t m re ll ve d im";

/** Words that occur in any request. */
const REQUEST_WORDS = "let lets like want wants need needs looking look planning plan help give provide show tell know using use thanks";

const STOP_WORDS: ReadonlySet<string> = new Set(`${FUNCTION_WORDS} ${REQUEST_WORDS}`.split(" "));
