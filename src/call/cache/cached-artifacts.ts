/** The artifacts that a cached answer refers to: the answer is useless once they were pruned. */
import type { ArtifactStore } from "../../core/artifact.ts";
import type { CachedAnswer } from "../../policy/cache/result-cache.ts";

const ADDRESS = /artifact:([0-9a-f]{64})/gu;

const IDS = new WeakMap<CachedAnswer, readonly string[]>();

/** The ids of the answer's artifacts, without duplicates. */
export function artifactIdsIn(answer: CachedAnswer): readonly string[] {
  let ids = IDS.get(answer);
  if (ids === undefined) {
    const { output, content } = answer;
    ids = [...new Set([...JSON.stringify([output, content]).matchAll(ADDRESS)].map(([, id = ""]) => id))];
    IDS.set(answer, ids);
  }
  return ids;
}

/** Whether the store has all of these artifacts. Rejects if the store does. */
export async function hasAllArtifacts(artifacts: ArtifactStore, ids: readonly string[]): Promise<boolean> {
  for (const id of ids) if ((await artifacts.get(id)) === undefined) return false;
  return true;
}
