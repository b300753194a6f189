/** The artifacts of enrichments, by their keys. */
import { ToolError } from "../core/error.ts";

/** A class, abstract ones included. */
export type ArtifactType<Artifact> = abstract new (...parameters: never[]) => Artifact;

/** The artifacts of one run. Nothing is ever added to what a reader holds: another run makes others. */
export class Artifacts {
  readonly #values: ReadonlyMap<string, unknown>;

  constructor(values: ReadonlyMap<string, unknown>) {
    this.#values = values;
  }

  /** As it was made; undefined when there is none of this key. */
  get(key: string): unknown {
    return this.#values.get(key);
  }

  keys(): readonly string[] {
    return [...this.#values.keys()];
  }

  /** The artifact of this key. @throws ToolError `not_found` when there is none, or it is of another type */
  require<Artifact>(key: string, type: ArtifactType<Artifact>): Artifact {
    const value = this.#values.get(key);
    if (value instanceof type) return value;
    const known = this.keys();
    throw new ToolError(
      "not_found",
      value === undefined
        ? `There is no artifact ${JSON.stringify(key)}.`
        : `The artifact ${JSON.stringify(key)} is no ${type.name}, so another enrichment made it.`,
      { hint: `Run the enrichment that makes it. There ${known.length === 0 ? "are none" : `is ${known.join(", ")}`}.` },
    );
  }
}
