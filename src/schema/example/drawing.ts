/** The state that the parts that draw values share. */
import type { JsonValue } from "../../core/base/json.ts";
import type { SchemaNode } from "../compiled-schema.ts";
import type { Part } from "./demand.ts";
import type { Described } from "./described.ts";
import type { Given, Subject } from "./given.ts";
import type { RandomStream } from "./random-stream.ts";

/** Where a value stands. */
export interface Place {
  /** Of the property, or of the list that it is an item of; `""` for the whole. */
  readonly name: string;
  /** The name of the object that it is a property of; `""` for none. */
  readonly whose: string;
  readonly depth: number;
  /** The description of the array that it is an item of; `""` elsewhere. */
  readonly hint: string;
  readonly random: RandomStream;
  readonly given: Given;
  /** The given values speak of this object. */
  readonly isSubject: boolean;
  /** The object that the property belongs to; undefined = none. */
  readonly owner: "subject" | "other" | undefined;
  readonly trail: Trail | undefined;
  /** The name or title of the object that it is a property of, where it is known already. */
  readonly called?: string | undefined;
  /** The nearest object around it that has an id. */
  readonly kin?: Kin | undefined;
}

/** An object with an id: those of the same properties inside of it are other things of its kind. */
export interface Kin {
  readonly properties: string;
  readonly idName: string;
}

/** The subschemas on the way down to a place. */
export interface Trail {
  readonly parts: readonly Part[];
  readonly outer: Trail | undefined;
}

export interface Drawing {
  readonly maxItems: number;
  readonly subject: Subject | undefined;
  /** Decides what is made up of a thing with an id: equal ids, equal facts. Undefined = as of any other object. */
  readonly facts: RandomStream | undefined;
  /** A value that fits, or one that was the best there is; undefined for none. */
  draw(parts: readonly Part[], place: Place): JsonValue | undefined;
  /** The subschema that a keyword holds; undefined where it asks nothing. */
  part(raw: unknown): Part | undefined;
  /** The facts that the descriptions of a place state; undefined for none. */
  told(parts: readonly Part[]): Described | undefined;
  fits(part: Part, value: JsonValue): boolean;
  /** Whether a pattern matches a name; false where the steps for patterns are used up. */
  matches(pattern: string, name: string): boolean;
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
