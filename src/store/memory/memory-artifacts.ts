/** Artifacts in memory. */
import type { Artifact, ArtifactStore } from "../../core/artifact.ts";

export class MemoryArtifacts implements ArtifactStore {
  readonly #artifacts = new Map<string, { readonly artifact: Artifact; readonly at: number }>();

  async put({ artifact, at }: { readonly artifact: Artifact; readonly at: number }): Promise<void> {
    this.#artifacts.set(artifact.id, { artifact: this.#artifacts.get(artifact.id)?.artifact ?? artifact, at });
  }

  async get(id: string): Promise<Artifact | undefined> {
    return this.#artifacts.get(id)?.artifact;
  }

  async prune({ before }: { readonly before: number }): Promise<number> {
    const old = [...this.#artifacts].filter(([, { at }]) => at < before);
    for (const [id] of old) this.#artifacts.delete(id);
    return old.length;
  }
}
