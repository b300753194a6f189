/** Where in a schema the walk is, and what was lost there. */
import { jsonPath, type JsonObject } from "../../core/base/json.ts";
import type { OnLoss } from "./merge-schemas.ts";

/** A part of a schema that a provider does not take. */
export interface SchemaLoss {
  /** `$` path. */
  readonly path: string;
  readonly note: string;
}

export type PathStep = string | number;

export interface Place {
  readonly steps: readonly PathStep[];
  /** Targets of the references that were written out on the way here, the last one first. */
  readonly inside: readonly JsonObject[];
}

export const ROOT: Place = { steps: [], inside: [] };

const MAX_LOSSES = 200;

/** Each loss once, at most 200. */
export class Losses {
  readonly all: SchemaLoss[] = [];
  readonly #told = new Set<string>();

  /** Of a keyword. */
  lose({ steps }: Place, keyword: PathStep, note: string): void {
    this.loseAt([...steps, keyword], note);
  }

  /** Of a schema. */
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
