/** A position in a schema, and the losses found there. */
import { formatJsonPath, type JsonObject } from "../../core/base/json.ts";
import type { OnLoss } from "./merge-schemas.ts";

/** A part of a schema that a provider does not accept. */
export interface SchemaLoss {
  /** `$` path. */
  readonly path: string;
  readonly note: string;
}

export type PathStep = string | number;

export interface SchemaPosition {
  readonly steps: readonly PathStep[];
  /** The targets of the references that were inlined on the path to this place, innermost first. */
  readonly inlinedTargets: readonly JsonObject[];
}

export const ROOT: SchemaPosition = { steps: [], inlinedTargets: [] };

const MAX_LOSSES = 200;

/** Collects losses without duplicates, at most 200. */
export class LossCollector {
  readonly all: SchemaLoss[] = [];
  readonly #seen = new Set<string>();

  /** Adds a loss of a keyword. */
  addKeywordLoss({ steps }: SchemaPosition, keyword: PathStep, note: string): void {
    this.addLossAt([...steps, keyword], note);
  }

  /** Adds a loss of a whole schema. */
  addLossAt(steps: readonly PathStep[], note: string): void {
    if (this.all.length >= MAX_LOSSES) return;
    const path = formatJsonPath(steps);
    if (this.#seen.has(`${path} ${note}`)) return;
    this.#seen.add(`${path} ${note}`);
    this.all.push({ path, note });
  }

  callbackFor(position: SchemaPosition): OnLoss {
    return (keyword, note) => this.addKeywordLoss(position, keyword, note);
  }
}
