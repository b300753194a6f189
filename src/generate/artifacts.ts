/** The artifacts of enrichments, by key. */
import { ToolError } from "../core/error.ts";

/** A class, possibly abstract. */
export type ArtifactType<Artifact> = abstract new (...parameters: never[]) => Artifact;

/** The artifacts of one run. Immutable: another run creates new ones. */
export class Artifacts {
  readonly #values: ReadonlyMap<string, unknown>;

  constructor(values: ReadonlyMap<string, unknown>) {
    this.#values = values;
  }

  /** Returns the artifact with this key; undefined if there is none. */
  get(key: string): unknown {
    return this.#values.get(key);
  }

  keys(): readonly string[] {
    return [...this.#values.keys()];
  }

  /** Returns the artifact with this key. @throws ToolError `not_found` if there is none, or if it is of another type */
  require<Artifact>(key: string, type: ArtifactType<Artifact>): Artifact {
    const value = this.#values.get(key);
    if (value instanceof type) return value;
    const known = this.keys();
    throw new ToolError(
      "not_found",
      value === undefined
        ? `There is no artifact ${JSON.stringify(key)}.`
        : `The artifact ${JSON.stringify(key)} is not of the type ${type.name}, so another enrichment made it.`,
      { hint: `Run the enrichment that makes it. ${known.length === 0 ? "There are none yet." : `Known artifacts: ${known.join(", ")}.`}` },
    );
  }
}
