/** What the parts that draw values share. */
import type { JsonValue } from "../../core/base/json.ts";
import type { SchemaNode } from "../compiled-schema.ts";
import type { Part } from "./demand.ts";
import type { Given, Subject } from "./given.ts";
import type { RandomStream } from "./random-stream.ts";

/** Where a value stands. */
export interface Place {
  /** Of the property, or of the list that it is an item of; `""` for the whole. */
  readonly name: string;
  /** The name of the object that it is a property of; `""` for none. */
  readonly whose: string;
  readonly depth: number;
  readonly random: RandomStream;
  readonly given: Given;
  /** The given values speak of this object. */
  readonly isSubject: boolean;
  /** Whose property it is: of that object, or of another; undefined = of none. */
  readonly owner: "subject" | "other" | undefined;
  readonly trail: Trail | undefined;
}

/** The subschemas on the way down to a place. */
export interface Trail {
  readonly parts: readonly Part[];
  readonly outer: Trail | undefined;
}

export interface Drawing {
  readonly maxItems: number;
  readonly subject: Subject | undefined;
  /** A value that fits, or one that was the best there is; undefined for none. */
  draw(parts: readonly Part[], place: Place): JsonValue | undefined;
  /** The subschema that a keyword holds; undefined where it asks nothing. */
  part(raw: unknown): Part | undefined;
  fits(part: Part, value: JsonValue): boolean;
  /** Charges for work that is not drawing: one unit is some microseconds. */
  spend(work: number): void;
}

/** How one value is drawn this time. */
export interface Manner {
  readonly attempt: number;
  /** Only what must be there. */
  readonly lean: boolean;
}

export function isOnTrail(parts: readonly Part[], trail: Trail | undefined): boolean {
  const nodes = parts.filter((part): part is SchemaNode => part !== false);
  for (let at = trail; at !== undefined; at = at.outer) if (at.parts.some((part) => part !== false && nodes.includes(part))) return true;
  return false;
}
