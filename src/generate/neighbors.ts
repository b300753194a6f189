/** Finds the tools most similar to each tool, by their vectors. */
import { COUNT, checkNumber } from "../core/base/number-bounds.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { EMBEDDINGS, ToolVectors } from "./embeddings.ts";
import type { Enrichment, EnrichmentContext, EnrichmentResult } from "./enrichment.ts";
import { yieldToEventLoop } from "./run-limited.ts";
import { cosine } from "./vectors.ts";

/** Options for finding the nearest tools. */
export interface NeighborsOptions {
  /** Number of nearest tools to find for each tool. Integer ≥ 1. @default 20 */
  readonly k?: number;
}

/** A tool, and its similarity to another. */
export interface Neighbor {
  /** The id of the tool. */
  readonly tool: string;
  /** The cosine of the two vectors, from -1 to 1. */
  readonly score: number;
}

export const NEIGHBORS = "neighbors";

/** The artifact of `neighbors()`. */
export class ToolNeighbors {
  readonly #neighbors: ReadonlyMap<string, readonly Neighbor[]>;

  constructor(neighbors: ReadonlyMap<string, readonly Neighbor[]>) {
    this.#neighbors = neighbors;
  }

  /** Returns the nearest tools of a tool, the nearest first. */
  of(tool: string): readonly Neighbor[] {
    return this.#neighbors.get(tool) ?? [];
  }
}

/**
 * Finds the `k` nearest tools of each tool. The artifact is a `ToolNeighbors`; requires `embeddings()`.
 *
 * Compares every pair: 8,000 tools with vectors of 384 numbers take some 25 seconds, during which it yields to the event loop.
 *
 * @throws ToolError `invalid_argument` at once if `k` is not an integer of at least 1
 */
export function neighbors(options: NeighborsOptions = {}): Enrichment {
  checkKnownKeys(options, { k: true }, "neighbors()");
  const { k = 20 } = options;
  checkNumber(k, "k of neighbors()", COUNT);
  return { key: NEIGHBORS, dependsOn: [EMBEDDINGS], enrich: (context) => findNeighbors(k, context) };
}

async function findNeighbors(k: number, context: EnrichmentContext): Promise<EnrichmentResult> {
  const vectors = context.artifacts.require(EMBEDDINGS, ToolVectors).entries();
  const lists = vectors.map(() => new NearestList(k));
  for (const [index, [tool, vector]] of vectors.entries()) {
    for (let before = 0; before < index; before++) {
      const [otherTool, otherVector] = vectors[before] ?? [tool, vector];
      const score = cosine(vector, otherVector);
      lists[index]?.offer(otherTool, score);
      lists[before]?.offer(tool, score);
    }
    context.progress(index + 1, vectors.length);
    if (index % AT_ONCE === 0) await yieldToEventLoop(context.signal);
  }
  return { artifact: new ToolNeighbors(new Map(vectors.map(([tool], index) => [tool, lists[index]?.neighbors ?? []]))) };
}

const AT_ONCE = 16;

/** Keeps the best `k` tools offered, of equal ones the first, in a short sorted array that few offers enter. */
class NearestList {
  readonly neighbors: Neighbor[] = [];
  readonly #k: number;
  #worst = Number.NEGATIVE_INFINITY;

  constructor(k: number) {
    this.#k = k;
  }

  offer(tool: string, score: number): void {
    if (score <= this.#worst) return;
    const { neighbors } = this;
    let at = neighbors.length;
    while (at > 0 && (neighbors[at - 1]?.score ?? 0) < score) at--;
    neighbors.splice(at, 0, { tool, score });
    if (neighbors.length > this.#k) neighbors.pop();
    if (neighbors.length === this.#k) this.#worst = neighbors.at(-1)?.score ?? this.#worst;
  }
}
