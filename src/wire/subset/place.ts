/** A position in a schema, and the losses found there. */
import { jsonPath, type JsonObject } from "../../core/base/json.ts";
import type { OnLoss } from "./merge-schemas.ts";

/** A part of a schema that a provider does not accept. */
export interface SchemaLoss {
  /** `$` path. */
  readonly path: string;
  readonly note: string;
}

export type PathStep = string | number;

export interface Place {
  readonly steps: readonly PathStep[];
  /** The targets of the references that were inlined on the path to this place, innermost first. */
  readonly inside: readonly JsonObject[];
}

export const ROOT: Place = { steps: [], inside: [] };

const MAX_LOSSES = 200;

/** Collects losses without duplicates, at most 200. */
export class Losses {
  readonly all: SchemaLoss[] = [];
  readonly #told = new Set<string>();

  /** Adds a loss of a keyword. */
  lose({ steps }: Place, keyword: PathStep, note: string): void {
    this.loseAt([...steps, keyword], note);
  }

  /** Adds a loss of a whole schema. */
  loseAt(steps: readonly PathStep[], note: string): void {
    if (this.all.length >= MAX_LOSSES) return;
    const path = jsonPath(steps);
    if (this.#told.has(`${path} ${note}`)) return;
    this.#told.add(`${path} ${note}`);
    this.all.push({ path, note });
  }

  of(place: Place): OnLoss {
    return (keyword, note) => this.lose(place, keyword, note);
  }
}
