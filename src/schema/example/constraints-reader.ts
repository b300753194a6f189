/** Reads what a schema requires of one value: follows references and chooses branches. */
import { type SchemaNode, type SchemaResource, TYPE_BITS, type RawSchema } from "../compiled-schema.ts";
import { getDialect } from "../references/dialects.ts";
import { RECURSIVE_ANCHOR } from "../keywords/reference-keywords.ts";
import type { CompiledDocument } from "../schema-compiler.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { Constraints, type Part, toRawSchema } from "./constraints.ts";

/** How the branches of a schema are chosen in one reading. */
export interface BranchChoice {
  /** Number of the attempt, from 0; each attempt chooses differently. */
  readonly attempt: number;
  /** Offset of the first choice, so that not all examples take the first branch. Integer ≥ 0. */
  readonly start: number;
  /** Whether the smallest branch is preferred. */
  readonly isMinimal: boolean;
}

/** Maximum number of subschemas read for one value. */
const MAX_VISITS = 2_000;
const LISTED = ["allOf", "anyOf", "oneOf"];

export class ConstraintsReader {
  /** Number of subschemas read so far. */
  visits = 0;
  readonly #document: CompiledDocument;
  /** Constraints of single subschemas that leave no choice. */
  readonly #cachedConstraints = new Map<SchemaNode, Constraints>();

  constructor(document: CompiledDocument) {
    this.#document = document;
  }

  /** Returns the subschema of a keyword; undefined if it requires nothing. */
  findSubschema(raw: unknown): Part | undefined {
    if (raw === false) return false;
    return typeof raw === "object" && raw !== null ? this.#document.nodes.get(raw as RawSchema) : undefined; // only used as a key
  }

  /** Returns the cached constraints of a single subschema that leaves no choice. */
  findCached(parts: readonly Part[]): Constraints | undefined {
    const [first] = parts;
    return parts.length === 1 && first !== undefined && first !== false ? this.#cachedConstraints.get(first) : undefined;
  }

  /** Returns the combined constraints of the parts; undefined if no value can match. */
  read(parts: readonly Part[], choice: BranchChoice): Constraints | undefined {
    const [first] = parts;
    const single = parts.length === 1 && first !== undefined && first !== false ? first : undefined;
    const reading = new Reading(this, this.#document.root.resource, choice);
    for (const part of parts) if (part === false || !reading.visit(part)) return undefined;
    const { constraints } = reading;
    if (single !== undefined && !constraints.hasChoices) this.#cachedConstraints.set(single, constraints);
    return constraints;
  }
}

class Reading {
  readonly constraints = new Constraints();
  readonly #reader: ConstraintsReader;
  readonly #outermost: SchemaResource;
  readonly #choice: BranchChoice;
  readonly #seen = new Set<SchemaNode>();
  #choices = 0;
  #turns = 0;

  constructor(reader: ConstraintsReader, outermost: SchemaResource, choice: BranchChoice) {
    this.#reader = reader;
    this.#outermost = outermost;
    this.#choice = choice;
  }

  /** Adds a subschema to the constraints. False if no value can match. */
  visit(node: SchemaNode): boolean {
    if (this.#seen.has(node)) return true;
    if (this.#seen.size >= MAX_VISITS) return false;
    this.#seen.add(node);
    this.#reader.visits++;
    const { raw } = node;
    const hidesSiblings = getDialect(node.resource.dialect).refSiblingBits !== -1 && Object.hasOwn(raw, "$ref");
    if (!hidesSiblings) this.constraints.add(raw);
    for (const target of this.#targets(node)) if (!this.visit(target)) return false;
    return hidesSiblings || (this.#visitBranches(raw) && this.#visitConditions(raw) && this.#visitDependent(raw) && this.#applyNot(raw));
  }

  /** Returns the targets of a subschema's references. */
  #targets(node: SchemaNode): readonly SchemaNode[] {
    const { raw } = node;
    const isDynamic = Object.hasOwn(raw, "$dynamicRef") || Object.hasOwn(raw, "$recursiveRef");
    if (!isDynamic && !Object.hasOwn(raw, "$ref")) return [];
    const targets = node.inPlace.filter(({ parent, keyword }) => parent !== node || keyword === "$defs" || keyword === "definitions");
    const dynamic = isDynamic ? this.#dynamicTarget(node) : undefined;
    return dynamic === undefined ? targets : [...targets, dynamic];
  }

  #dynamicTarget({ raw, resource }: SchemaNode): SchemaNode | undefined {
    const uri = getOwn(raw, "$dynamicRef");
    const name = typeof uri === "string" ? uri.slice(uri.indexOf("#") + 1) : RECURSIVE_ANCHOR;
    return this.#outermost.dynamicAnchors.get(name) ?? resource.dynamicAnchors.get(name);
  }

  #visitBranches(raw: RawSchema): boolean {
    for (const keyword of LISTED) {
      const list = getOwn(raw, keyword);
      if (!Array.isArray(list)) continue;
      if (keyword === "allOf") {
        for (const branch of list) if (!this.#visitRaw(branch)) return false;
        continue;
      }
      this.constraints.needsCheck = true;
      this.constraints.hasChoices = true;
      if (!this.#visitRaw(this.#chooseBranch(list))) return false;
    }
    return true;
  }

  #visitRaw(raw: unknown): boolean {
    const part = this.#reader.findSubschema(raw);
    return part === undefined || (part !== false && this.visit(part));
  }

  /** Chooses a branch. Branches for null come last, or first if the smallest is preferred. */
  #chooseBranch(branches: readonly unknown[]): unknown {
    const allowed = branches.filter((branch) => branch !== false);
    const isNull = (branch: unknown): boolean =>
      getOwn(toRawSchema(branch), "type") === "null" || getOwn(toRawSchema(branch), "const") === null;
    const usual = allowed.filter((branch) => !isNull(branch));
    const nulls = allowed.filter(isNull);
    const { attempt, start, isMinimal } = this.#choice;
    const shift = isMinimal ? 0 : start + this.#choices++;
    const turned = usual.map((_, index) => usual[(index + shift) % usual.length]);
    const ordered = isMinimal ? [...nulls, ...turned.toSorted((a, b) => branchSize(a) - branchSize(b))] : [...turned, ...nulls];
    return ordered.length === 0 ? false : ordered[this.#turn(ordered.length, attempt)];
  }

  /** Returns each option in turn, then any: choices that turned together would never be made in some combinations. */
  #turn(options: number, attempt: number): number {
    const ordinal = this.#turns++;
    return attempt < options ? attempt : mix(attempt, ordinal) % options;
  }

  #visitConditions(raw: RawSchema): boolean {
    const condition = getOwn(raw, "if");
    if (condition === undefined || (getOwn(raw, "then") === undefined && getOwn(raw, "else") === undefined)) return true;
    this.constraints.needsCheck = true;
    this.constraints.hasChoices = true;
    if ((this.#turn(2, this.#choice.attempt) + this.#choice.start) % 2 === 1) return this.#visitRaw(getOwn(raw, "else") ?? true);
    return this.#visitRaw(condition) && this.#visitRaw(getOwn(raw, "then") ?? true);
  }

  #visitDependent(raw: RawSchema): boolean {
    for (const keyword of ["dependentSchemas", "dependencies"]) {
      for (const [name, schema] of Object.entries(toRawSchema(getOwn(raw, keyword)))) {
        if (Array.isArray(schema)) continue;
        this.constraints.needsCheck = true;
        if (!this.constraints.required.has(name)) this.constraints.avoidedNames.add(name);
        else if (!this.#visitRaw(schema)) return false;
      }
    }
    return true;
  }

  /** Adds the simple cases of a `not` to the constraints; the rest is left to the check of the value. */
  #applyNot(raw: RawSchema): boolean {
    const refused = getOwn(raw, "not");
    if (refused === undefined) return true;
    if (refused === true) return false;
    const schema = toRawSchema(refused);
    this.constraints.needsCheck = refused !== false;
    this.constraints.hasChoices = true;
    const keywords = Object.keys(schema);
    const type = getOwn(schema, "type");
    if (keywords.length === 1 && type !== undefined) {
      const names: readonly unknown[] = Array.isArray(type) ? type : [type];
      for (const name of names) this.constraints.types &= ~(typeof name === "string" ? (TYPE_BITS.get(name) ?? 0) : 0);
    }
    const required = getOwn(schema, "required");
    if (keywords.length === 1 && Array.isArray(required)) for (const name of required) this.constraints.avoidedNames.add(String(name));
    return true;
  }
}

/** Returns an integer ≥ 0 that looks random, the same for the same numbers. */
function mix(attempt: number, ordinal: number): number {
  const mixed = Math.imul(attempt + 1, 0x9e3779b1) ^ Math.imul(ordinal + 1, 0x85ebca6b);
  return Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d) >>> 8;
}

/** Estimates the size of a branch; branches with references count as the largest. */
function branchSize(branch: unknown): number {
  const raw = toRawSchema(branch);
  if (Object.hasOwn(raw, "$ref") || Object.hasOwn(raw, "$dynamicRef")) return 1_000;
  return Object.keys(toRawSchema(getOwn(raw, "properties"))).length + (Object.hasOwn(raw, "items") ? 10 : 0);
}
