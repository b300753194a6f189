/** The context that the functions which draw values share. */
import type { JsonValue } from "../../core/base/json.ts";
import type { SchemaNode } from "../compiled-schema.ts";
import type { Part } from "./constraints.ts";
import type { ParsedDescription } from "./parsed-description.ts";
import type { GivenValues, Subject } from "./given-values.ts";
import type { RandomStream } from "./random-stream.ts";

/** The place of a value. */
export interface ValuePlace {
  /** Name of the property, or of the array that the value is an item of; `""` for the root. */
  readonly name: string;
  /** Name of the object that the property belongs to; `""` if there is none. */
  readonly ownerName: string;
  readonly depth: number;
  /** Description of the array that the value is an item of; else `""`. */
  readonly hint: string;
  readonly random: RandomStream;
  readonly given: GivenValues;
  /** Whether the given values describe this object. */
  readonly isSubject: boolean;
  /** Whether the property belongs to the subject or to another object; undefined = to none. */
  readonly owner: "subject" | "other" | undefined;
  readonly trail: Trail | undefined;
  /** Name or title of the object that the property belongs to, if it is known already. */
  readonly ownerTitle?: string | undefined;
  /** The nearest enclosing object with an id. */
  readonly identifiedObject?: IdentifiedObject | undefined;
}

/** An object with an id. Nested objects with the same properties are other things of its kind. */
export interface IdentifiedObject {
  readonly properties: string;
  readonly idName: string;
}

/** The subschemas on the path from the root to a place. */
export interface Trail {
  readonly parts: readonly Part[];
  readonly outer: Trail | undefined;
}

export interface DrawContext {
  readonly maxItems: number;
  readonly subject: Subject | undefined;
  /** Seeds the values of objects with an id: equal ids, equal values. undefined = ids have no effect. */
  readonly facts: RandomStream | undefined;
  /** Returns a value that matches, else the best one found; undefined if there is none. */
  draw(parts: readonly Part[], place: ValuePlace): JsonValue | undefined;
  /** Returns the subschema of a keyword; undefined if it requires nothing. */
  findSubschema(raw: unknown): Part | undefined;
  /** Returns what the descriptions of a place state; undefined if there are none. */
  parseDescriptions(parts: readonly Part[]): ParsedDescription | undefined;
  matchesSchema(part: Part, value: JsonValue): boolean;
  /** Whether a pattern matches a name; false if the steps for patterns are used up. */
  matchesPattern(pattern: string, name: string): boolean;
  /** Charges for work other than drawing; one unit is some microseconds. */
  spend(work: number): void;
}

/** How one value is drawn in one attempt. */
export interface DrawMode {
  readonly attempt: number;
  /** Whether only required parts are drawn. */
  readonly isMinimal: boolean;
}

export function isOnTrail(parts: readonly Part[], trail: Trail | undefined): boolean {
  const nodes = parts.filter((part): part is SchemaNode => part !== false);
  for (let at = trail; at !== undefined; at = at.outer) if (at.parts.some((part) => part !== false && nodes.includes(part))) return true;
  return false;
}
