/** Reads what a schema requires of one value: follows references and chooses branches. */
import { type SchemaNode, type SchemaResource, TYPE_BITS, type RawSchema } from "../compiled-schema.ts";
import { dialectNamed } from "../references/dialects.ts";
import { RECURSIVE_ANCHOR } from "../keywords/reference-keywords.ts";
import type { CompiledDocument } from "../schema-compiler.ts";
import { own } from "../../core/base/own.ts";
import { Demand, type Part, asObject } from "./demand.ts";

/** How the branches of a schema are chosen in one reading. */
export interface Choosing {
  /** Number of the attempt, from 0; each attempt chooses differently. */
  readonly attempt: number;
  /** Offset of the first choice, so that not all examples take the first branch. Integer ≥ 0. */
  readonly start: number;
  /** Whether the smallest branch is preferred. */
  readonly lean: boolean;
}

/** Maximum number of subschemas read for one value. */
const MAX_VISITS = 2_000;
const LISTED = ["allOf", "anyOf", "oneOf"];

export class DemandReader {
  /** Number of subschemas read so far. */
  visits = 0;
  readonly #document: CompiledDocument;
  /** Demands of single subschemas that leave no choice. */
  readonly #known = new Map<SchemaNode, Demand>();

  constructor(document: CompiledDocument) {
    this.#document = document;
  }

  /** Returns the subschema of a keyword; undefined if it requires nothing. */
  part(raw: unknown): Part | undefined {
    if (raw === false) return false;
    return typeof raw === "object" && raw !== null ? this.#document.nodes.get(raw as RawSchema) : undefined; // only used as a key
  }

  /** Returns the cached demand of a single subschema that leaves no choice. */
  known(parts: readonly Part[]): Demand | undefined {
    const [first] = parts;
    return parts.length === 1 && first !== undefined && first !== false ? this.#known.get(first) : undefined;
  }

  /** Returns the combined demand of the parts; undefined if no value can match. */
  read(parts: readonly Part[], choosing: Choosing): Demand | undefined {
    const [first] = parts;
    const single = parts.length === 1 && first !== undefined && first !== false ? first : undefined;
    const reading = new Reading(this, this.#document.root.resource, choosing);
    for (const part of parts) if (part === false || !reading.visit(part)) return undefined;
    const { demand } = reading;
    if (single !== undefined && !demand.choosing) this.#known.set(single, demand);
    return demand;
  }
}

class Reading {
  readonly demand = new Demand();
  readonly #reader: DemandReader;
  readonly #outermost: SchemaResource;
  readonly #choosing: Choosing;
  readonly #seen = new Set<SchemaNode>();
  #choices = 0;

  constructor(reader: DemandReader, outermost: SchemaResource, choosing: Choosing) {
    this.#reader = reader;
    this.#outermost = outermost;
    this.#choosing = choosing;
  }

  /** Adds a subschema to the demand. False if no value can match. */
  visit(node: SchemaNode): boolean {
    if (this.#seen.has(node)) return true;
    if (this.#seen.size >= MAX_VISITS) return false;
    this.#seen.add(node);
    this.#reader.visits++;
    const { raw } = node;
    const hidesSiblings = dialectNamed(node.resource.dialect).besideRef !== -1 && Object.hasOwn(raw, "$ref");
    if (!hidesSiblings) this.demand.add(raw);
    for (const target of this.#targets(node)) if (!this.visit(target)) return false;
    return hidesSiblings || (this.#visitBranches(raw) && this.#visitConditions(raw) && this.#visitDependent(raw) && this.#refuse(raw));
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
    const uri = own(raw, "$dynamicRef");
    const name = typeof uri === "string" ? uri.slice(uri.indexOf("#") + 1) : RECURSIVE_ANCHOR;
    return this.#outermost.dynamicAnchors.get(name) ?? resource.dynamicAnchors.get(name);
  }

  #visitBranches(raw: RawSchema): boolean {
    for (const keyword of LISTED) {
      const list = own(raw, keyword);
      if (!Array.isArray(list)) continue;
      if (keyword === "allOf") {
        for (const branch of list) if (!this.#visitRaw(branch)) return false;
        continue;
      }
      this.demand.needsCheck = true;
      this.demand.choosing = true;
      if (!this.#visitRaw(this.#chosen(list))) return false;
    }
    return true;
  }

  #visitRaw(raw: unknown): boolean {
    const part = this.#reader.part(raw);
    return part === undefined || (part !== false && this.visit(part));
  }

  /** Chooses a branch. Branches for null come last, or first if the smallest is preferred. */
  #chosen(branches: readonly unknown[]): unknown {
    const allowed = branches.filter((branch) => branch !== false);
    const isNull = (branch: unknown): boolean => own(asObject(branch), "type") === "null" || own(asObject(branch), "const") === null;
    const usual = allowed.filter((branch) => !isNull(branch));
    const nulls = allowed.filter(isNull);
    const { attempt, start, lean } = this.#choosing;
    const shift = lean ? 0 : start + this.#choices++;
    const turned = usual.map((_, index) => usual[(index + shift) % usual.length]);
    const ordered = lean ? [...nulls, ...turned.toSorted((a, b) => weight(a) - weight(b))] : [...turned, ...nulls];
    return ordered.length === 0 ? false : ordered[attempt % ordered.length];
  }

  #visitConditions(raw: RawSchema): boolean {
    const condition = own(raw, "if");
    if (condition === undefined || (own(raw, "then") === undefined && own(raw, "else") === undefined)) return true;
    this.demand.needsCheck = true;
    this.demand.choosing = true;
    if ((this.#choosing.attempt + this.#choosing.start) % 2 === 1) return this.#visitRaw(own(raw, "else") ?? true);
    return this.#visitRaw(condition) && this.#visitRaw(own(raw, "then") ?? true);
  }

  #visitDependent(raw: RawSchema): boolean {
    for (const keyword of ["dependentSchemas", "dependencies"]) {
      for (const [name, schema] of Object.entries(asObject(own(raw, keyword)))) {
        if (Array.isArray(schema)) continue;
        this.demand.needsCheck = true;
        if (!this.demand.required.has(name)) this.demand.avoided.add(name);
        else if (!this.#visitRaw(schema)) return false;
      }
    }
    return true;
  }

  /** Adds the simple cases of a `not` to the demand; the rest is left to the check of the value. */
  #refuse(raw: RawSchema): boolean {
    const refused = own(raw, "not");
    if (refused === undefined) return true;
    if (refused === true) return false;
    const schema = asObject(refused);
    this.demand.needsCheck = refused !== false;
    this.demand.choosing = true;
    const keywords = Object.keys(schema);
    const type = own(schema, "type");
    if (keywords.length === 1 && type !== undefined) {
      const names: readonly unknown[] = Array.isArray(type) ? type : [type];
      for (const name of names) this.demand.types &= ~(typeof name === "string" ? (TYPE_BITS.get(name) ?? 0) : 0);
    }
    const required = own(schema, "required");
    if (keywords.length === 1 && Array.isArray(required)) for (const name of required) this.demand.avoided.add(String(name));
    return true;
  }
}

/** Estimates the size of a branch; branches with references count as the largest. */
function weight(branch: unknown): number {
  const raw = asObject(branch);
  if (Object.hasOwn(raw, "$ref") || Object.hasOwn(raw, "$dynamicRef")) return 1_000;
  return Object.keys(asObject(own(raw, "properties"))).length + (Object.hasOwn(raw, "items") ? 10 : 0);
}
