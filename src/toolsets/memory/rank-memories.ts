/** Ranks memories by words, by meaning, or by both. */
import { ToolError } from "../../core/error.ts";
import { DocumentIndex } from "../../engine/search/document-index.ts";
import type { Memory } from "./read-memories.ts";

/** Returns one vector for each text, in order, all of one length. */
export type Embed = (texts: readonly string[], options: { readonly signal: AbortSignal }) => Promise<readonly (readonly number[])[]>;

/** `auto`: both, if there are vectors. */
export type SearchMode = "auto" | "keyword" | "semantic" | "hybrid";

export interface RankRequest {
  readonly query: string;
  readonly mode: SearchMode;
  readonly limit: number;
  readonly embed: Embed | undefined;
  readonly signal: AbortSignal;
}

/** Maximum number of entries that get vectors, the best by words and the latest, so that a search does not embed thousands of texts. */
const MAX_EMBEDDED = 500;
/** The usual constant of reciprocal rank fusion. @see https://dl.acm.org/doi/10.1145/1571941.1572114 */
const FUSION_CONSTANT = 60;
const MAX_VECTORS = 20_000;

/** Vectors by function and text, so that an entry is embedded once. */
const vectorCache = new WeakMap<Embed, Map<string, readonly number[]>>();

/** Returns the best memories first. */
export async function rankMemories(memories: readonly Memory[], request: RankRequest): Promise<readonly Memory[]> {
  const { query, mode, limit, embed } = request;
  const byId = new Map(memories.map((memory) => [memory.id, memory]));
  const index = new DocumentIndex(memories.map(({ id, text, who }) => ({ id, text: `${who} ${text}`, metadata: {} })));
  const isSemantic = embed !== undefined && mode !== "keyword";
  const words = index.rank(query, { limit: isSemantic ? MAX_EMBEDDED : limit, threshold: 0 }).map(({ id }) => id);
  const meaning = isSemantic ? await rankByMeaning(selectCandidates(memories, words, byId), { ...request, embed }) : [];
  const lists = mode === "semantic" ? [meaning] : [words, meaning];
  return fuseRankings(lists)
    .slice(0, limit)
    .flatMap((id) => byId.get(id) ?? []);
}

function selectCandidates(memories: readonly Memory[], words: readonly string[], byId: ReadonlyMap<string, Memory>): readonly Memory[] {
  const half = MAX_EMBEDDED / 2;
  const chosen = new Set([...words.slice(0, half).flatMap((id) => byId.get(id) ?? []), ...memories.slice(-half)]);
  return [...chosen];
}

async function rankByMeaning(
  memories: readonly Memory[],
  { query, embed, signal }: RankRequest & { readonly embed: Embed },
): Promise<readonly string[]> {
  const [asked, ...vectors] = await vectorsFor([query, ...memories.map(({ text }) => text)], embed, signal);
  return memories
    .map(({ id }, at) => ({ id, likeness: cosine(asked ?? [], vectors[at] ?? []) }))
    .filter(({ likeness }) => likeness > 0)
    .sort((one, other) => other.likeness - one.likeness)
    .map(({ id }) => id);
}

async function vectorsFor(texts: readonly string[], embed: Embed, signal: AbortSignal): Promise<readonly (readonly number[])[]> {
  let known = vectorCache.get(embed);
  if (known === undefined) vectorCache.set(embed, (known = new Map()));
  if (known.size + texts.length > MAX_VECTORS) known.clear();
  const vectors = known;
  const missing = [...new Set(texts)].filter((text) => !vectors.has(text));
  if (missing.length > 0) {
    const made = await embed(missing, { signal });
    if (!Array.isArray(made) || made.length !== missing.length || !made.every(isVector))
      throw new ToolError(
        "execution_failed",
        `embed() of memoryToolset() must return one array of numbers for each of its ${missing.length} texts.`,
        { outcome: "failed" },
      );
    for (const [at, text] of missing.entries()) vectors.set(text, made[at] ?? []);
  }
  return texts.map((text) => vectors.get(text) ?? []);
}

function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((one) => typeof one === "number" && Number.isFinite(one));
}

function cosine(one: readonly number[], other: readonly number[]): number {
  let [product, oneSquared, otherSquared] = [0, 0, 0];
  for (const [at, value] of one.entries()) {
    const against = other[at] ?? 0;
    product += value * against;
    oneSquared += value * value;
    otherSquared += against * against;
  }
  return oneSquared === 0 || otherSquared === 0 ? 0 : product / Math.sqrt(oneSquared * otherSquared);
}

/** Reciprocal rank fusion: scores an entry by its ranks in the lists. */
function fuseRankings(lists: readonly (readonly string[])[]): readonly string[] {
  const scores = new Map<string, number>();
  for (const list of lists) for (const [at, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (FUSION_CONSTANT + at + 1));
  return [...scores].sort(([, one], [, other]) => other - one).map(([id]) => id);
}
