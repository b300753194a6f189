/** The contract of every store of artifacts, as cases for any test runner. */
import { deepEqual, equal } from "node:assert/strict";
import { artifactId, artifactOf, artifactUri, type ArtifactStore } from "../core/artifact.ts";

/** One case of the contract that every `ArtifactStore` keeps. */
export interface ArtifactStoreCase {
  /** The promise that is checked. */
  readonly title: string;
  /** Rejects if the promise is broken; the error says how. @param artifacts is empty */
  run(artifacts: ArtifactStore): Promise<void>;
}

const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte);

/** The cases. Each needs an empty store of its own. */
export const artifactStoreContract: readonly ArtifactStoreCase[] = [
  caseOf("an artifact is found by its id with every byte and its type", async (artifacts) => {
    const kept = artifactOf("image/png", ALL_BYTES);
    await artifacts.put({ artifact: kept, at: 1 });
    deepEqual(await artifacts.get(kept.id), kept);
    equal(artifactId(artifactUri(kept.id)), kept.id);
  }),
  caseOf("an empty file, and one of some megabytes, are kept", async (artifacts) => {
    for (const bytes of [new Uint8Array(), new Uint8Array(3_000_001).fill(7)]) {
      const artifact = artifactOf("application/octet-stream", bytes);
      await artifacts.put({ artifact, at: 1 });
      deepEqual(await artifacts.get(artifact.id), artifact);
    }
  }),
  caseOf("bytes are kept whatever media type they came with", async (artifacts) => {
    for (const [index, mediaType] of ["", "image/png\u0000", "image/\ud800", "x".repeat(1_000), "text/plain; charset=utf-8"].entries()) {
      const artifact = artifactOf(mediaType, Uint8Array.of(index));
      await artifacts.put({ artifact, at: 1 });
      deepEqual(await artifacts.get(artifact.id), artifact);
    }
  }),
  caseOf("an unknown or invalid id is undefined", async (artifacts) => {
    for (const id of ["0".repeat(64), "", "../secret", "a".repeat(10_000), "__proto__"]) equal(await artifacts.get(id), undefined);
  }),
  caseOf("the same bytes are kept once, with their first type, and side by side as well", async (artifacts) => {
    const artifact = artifactOf("image/png", ALL_BYTES);
    await artifacts.put({ artifact, at: 1 });
    await Promise.all([2, 3].map((at) => artifacts.put({ artifact: { ...artifact, mediaType: "text/html" }, at })));
    deepEqual(await artifacts.get(artifact.id), artifact);
  }),
  caseOf("bytes that several calls answer with at the same moment are kept", async (artifacts) => {
    const artifact = artifactOf("image/png", new Uint8Array(100_000).fill(7));
    await Promise.all(Array.from({ length: 20 }, () => artifacts.put({ artifact, at: 1 })));
    deepEqual(await artifacts.get(artifact.id), artifact);
  }),
  caseOf("artifacts last stored before a time are removed, the rest stays", async (artifacts) => {
    const [old, again, young] = ["old", "again", "young"].map((text) => artifactOf("text/plain", Buffer.from(text)));
    if (old === undefined || again === undefined || young === undefined) return;
    for (const artifact of [old, again]) await artifacts.put({ artifact, at: 1_000_000 });
    for (const artifact of [again, young]) await artifacts.put({ artifact, at: 3_000_000 });
    deepEqual([await artifacts.prune({ before: 2_000_000 }), await artifacts.prune({ before: 2_000_000 })], [1, 0]);
    deepEqual([await artifacts.get(old.id), await artifacts.get(again.id), await artifacts.get(young.id)], [undefined, again, young]);
  }),
];

function caseOf(title: string, run: ArtifactStoreCase["run"]): ArtifactStoreCase {
  return { title, run };
}
