/** Artifacts in memory. */
import type { Artifact, ArtifactStore } from "../../core/artifact.ts";

export class MemoryArtifacts implements ArtifactStore {
  readonly #kept = new Map<string, { readonly artifact: Artifact; readonly at: number }>();

  async put({ artifact, at }: { readonly artifact: Artifact; readonly at: number }): Promise<void> {
    this.#kept.set(artifact.id, { artifact: this.#kept.get(artifact.id)?.artifact ?? artifact, at });
  }

  async get(id: string): Promise<Artifact | undefined> {
    return this.#kept.get(id)?.artifact;
  }

  async prune({ before }: { readonly before: number }): Promise<number> {
    const old = [...this.#kept].filter(([, { at }]) => at < before);
    for (const [id] of old) this.#kept.delete(id);
    return old.length;
  }
}
