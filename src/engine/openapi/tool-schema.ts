/** Completes the schemas of tools with the definitions that they refer to. */
import type { JsonObject } from "../../core/base/json.ts";
import { ANY_SCHEMA_PART, type SchemaConverter, type SchemaPart } from "./schema-converter.ts";
import { ROOT, type Warnings } from "./warnings.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

export interface DefinitionLimits {
  /** The weight at which further definitions accept any value. */
  readonly maxWeight: number;
  readonly warnings: Warnings;
}

/** Maximum weight of the definitions of an input; far below the limit of the validator. */
export const MAX_INPUT_WEIGHT = 8_000;
/** Maximum weight of the definitions of an output, which is low, as some documents would otherwise add all their objects to each tool. */
export const MAX_OUTPUT_WEIGHT = 600;
/** Maximum number of definitions for all tools of a document together. */
const MAX_DEFINITIONS = 8_000_000;

/** Completes the schemas of one document, in one direction. */
export class ToolSchemas {
  readonly converter: SchemaConverter;
  readonly #limits: DefinitionLimits;
  /** The definitions by the names that a tool refers to: many tools refer to the same. */
  readonly #definitionsCache = new Map<string, JsonObject>();
  #definitionsLeft = MAX_DEFINITIONS;

  constructor(converter: SchemaConverter, limits: DefinitionLimits) {
    this.converter = converter;
    this.#limits = limits;
  }

  /** Adds `$defs`, nearest first, up to the maximum weight. Definitions beyond it accept any value. */
  withDefinitions({ schema, references }: SchemaPart): boolean | JsonObject {
    if (typeof schema === "boolean" || references.length === 0) return schema;
    const names = references.toSorted();
    const definitions = getOrAdd(this.#definitionsCache, names.join("\n"), () => this.#collectDefinitions(names));
    return Object.freeze({ ...schema, $defs: definitions });
  }

  #collectDefinitions(references: readonly string[]): JsonObject {
    const definitions: Record<string, boolean | JsonObject> = {};
    const names = new Set(references);
    let weight = 0;
    for (const name of names) {
      const known = this.converter.getDefinition(name);
      const isTooMuch = weight + known.weight > this.#limits.maxWeight || --this.#definitionsLeft < 0;
      const part = isTooMuch ? ANY_SCHEMA_PART : known;
      weight += part.weight;
      definitions[name] = part.schema;
      for (const reference of part.references) names.add(reference);
    }
    if (this.#definitionsLeft < 0) {
      this.#limits.warnings.add(ROOT, `its operations refer to more than ${MAX_DEFINITIONS} schemas in all; some are left open.`);
    }
    return Object.freeze(definitions);
  }
}
