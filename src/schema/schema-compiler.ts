/** Compiles a schema document to nodes: one pass over its subschemas, then its references. */
import { isJsonObject } from "../core/base/json.ts";
import { type Location, NEVER, type RawSchema, type Rule, SchemaNode, type SchemaResource } from "./compiled-schema.ts";
import { DIALECTS, LATEST, getDialect, findDialectByUri } from "./references/dialects.ts";
import { getOwn } from "../core/base/get-own.ts";
import { type Reference, type SubschemaCompiler, throwInvalidSchema, readStringKeyword } from "./keywords/keyword.ts";
import { checkReferenceGraph } from "./references/reference-graph.ts";
import { DEFAULT_URI, absoluteUri, splitUri, walkPointer } from "./references/reference-uri.ts";
import { RECURSIVE_ANCHOR } from "./keywords/reference-keywords.ts";
import { MAX_SCHEMA_DEPTH, MAX_SCHEMA_VALUES, MAX_SUBSCHEMAS } from "./schema-limits.ts";
import { showValue } from "./schema-problem.ts";

const ROOT: Location = { parent: undefined, keyword: "", step: undefined };
const EMPTY: RawSchema = {};

/**
 * Compiles a whole schema document.
 *
 * @throws ToolError `invalid_schema` with the location, for a schema that is malformed, too large, circular or refers outside of the document
 */
export function compileDocument(schema: unknown, checksFormats: boolean = false): SchemaNode {
  return compileNodes(schema, checksFormats).root;
}

export interface CompiledDocument {
  readonly root: SchemaNode;
  /** The nodes by the schema objects they were made of; without the schemas `true` and `false`. */
  readonly nodes: ReadonlyMap<RawSchema, SchemaNode>;
}

/** Like `compileDocument`, but also returns the subschemas. */
export function compileNodes(schema: unknown, checksFormats: boolean = false): CompiledDocument {
  const compiler = new DocumentCompiler(checksFormats);
  const root = compiler.compile(schema, ROOT, rootResource(schema));
  compiler.resolveReferences();
  return { root, nodes: compiler.nodes };
}

function rootResource(schema: unknown): SchemaResource {
  const raw = isJsonObject(schema) ? schema : EMPTY;
  return newResource(raw, DEFAULT_URI, declaredDialect(raw, ROOT) ?? LATEST.name);
}

function newResource(raw: RawSchema, uri: string, dialect: string): SchemaResource {
  return { uri, dialect, raw, anchors: new Map(), dynamicAnchors: new Map() };
}

function declaredDialect(raw: RawSchema, location: Location): string | undefined {
  const uri = getOwn(raw, "$schema");
  if (uri === undefined) return undefined;
  const found = typeof uri === "string" ? findDialectByUri(uri) : undefined;
  if (found !== undefined) return found.name;
  const known = DIALECTS.map((dialect) => dialect.uri).join(", ");
  return throwInvalidSchema(location, "$schema", `the dialect ${showValue(uri)} is not supported`, `Supported dialects: ${known}.`);
}

class DocumentCompiler implements SubschemaCompiler {
  /** Nodes by the object they were made of, for JSON pointers. */
  readonly nodes = new Map<RawSchema, SchemaNode>();
  /** All nodes: a program may use one object in several places. */
  private readonly allNodes: SchemaNode[] = [];
  private readonly resources = new Map<string, SchemaResource>();
  private readonly references: Reference[] = [];
  readonly checksFormats: boolean;
  private subschemas = 0;
  private values = 0;

  constructor(checksFormats: boolean) {
    this.checksFormats = checksFormats;
  }

  compile(raw: unknown, location: Location, outer: SchemaResource): SchemaNode {
    if (typeof raw !== "boolean" && !isJsonObject(raw)) {
      return throwInvalidSchema(location, "", `a schema must be an object or a boolean, not ${showValue(raw)}`);
    }
    if (++this.subschemas > MAX_SUBSCHEMAS)
      return throwInvalidSchema(location, "", `the schema has more than ${MAX_SUBSCHEMAS} subschemas`);
    const node = new SchemaNode(typeof raw === "boolean" ? EMPTY : raw, location, outer);
    if (node.nesting > MAX_SCHEMA_DEPTH)
      return throwInvalidSchema(location, "", `the schema is nested more than ${MAX_SCHEMA_DEPTH} levels deep`);
    if (typeof raw === "boolean") {
      if (!raw) node.rules = NEVER;
      return node;
    }
    this.nodes.set(raw, node);
    this.allNodes.push(node);
    if (location === ROOT) this.resources.set(outer.uri, outer);
    if (Object.hasOwn(raw, "$id")) this.applyId(node);
    this.compileKeywords(node);
    return node;
  }

  private compileKeywords(node: SchemaNode): void {
    const { raw } = node;
    const { bits, compilers, refSiblingBits } = getDialect(node.resource.dialect);
    let present = 0;
    for (const keyword of Object.keys(raw)) {
      const bit = bits.get(keyword);
      if (bit !== undefined && raw[keyword] !== undefined) present |= bit;
    }
    if (refSiblingBits !== -1 && Object.hasOwn(raw, "$ref")) present &= refSiblingBits;
    if (present === 0) return;
    const rules: Rule[] = [];
    while (present !== 0) {
      const bit = present & -present;
      present ^= bit;
      const rule = compilers[31 - Math.clz32(bit)]?.(node, this);
      if (rule !== undefined) rules.push(rule);
    }
    if (rules.length > 0) node.rules = rules;
    if (node.lateRules.length > 0) node.needsTracking = true;
  }

  /** Gives a subschema with an `$id` its own resource, or, up to draft-07, an anchor. */
  private applyId(node: SchemaNode): void {
    const outer = node.resource;
    const { idDefinesAnchors, refSiblingBits } = getDialect(outer.dialect);
    if (refSiblingBits !== -1 && Object.hasOwn(node.raw, "$ref")) return;
    const id = readStringKeyword(node, "$id") ?? "";
    const { base, fragment } = splitUri(id);
    if (fragment !== "" && !idDefinesAnchors) {
      return throwInvalidSchema(
        node,
        "$id",
        `$id must not have a fragment, but ${showValue(id)} has one`,
        "Name a part of a schema with $anchor.",
      );
    }
    const uri = base === "" ? outer.uri : absoluteUri(base, outer.uri);
    if (uri === undefined) return throwInvalidSchema(node, "$id", `${showValue(id)} is not a URI reference`);
    if (uri !== outer.uri) this.addResource(node, newResource(node.raw, uri, declaredDialect(node.raw, node) ?? outer.dialect));
    if (fragment !== "") this.addAnchor(node, "$id", fragment, false);
  }

  private addResource(node: SchemaNode, resource: SchemaResource): void {
    if (this.resources.has(resource.uri)) throwInvalidSchema(node, "$id", `the $id ${showValue(resource.uri)} is used twice`);
    this.resources.set(resource.uri, resource);
    node.resource = resource;
  }

  compileChild(parent: SchemaNode, keyword: string, raw: unknown, step?: string | number): SchemaNode {
    return this.compile(raw, { parent, keyword, step }, parent.resource);
  }

  compileInPlaceChild(parent: SchemaNode, keyword: string, raw: unknown, step?: string | number): SchemaNode {
    const node = this.compileChild(parent, keyword, raw, step);
    parent.inPlace.push(node);
    return node;
  }

  addReference(from: SchemaNode, keyword: string, uri: string): Reference {
    const reference: Reference = { from, keyword, uri, target: undefined, dynamicAnchor: undefined };
    this.references.push(reference);
    return reference;
  }

  addAnchor(node: SchemaNode, keyword: string, name: string, dynamic: boolean): void {
    const { anchors, dynamicAnchors } = node.resource;
    const known = anchors.get(name);
    if (known !== undefined && known !== node) throwInvalidSchema(node, keyword, `the anchor ${showValue(name)} is used twice`);
    anchors.set(name, node);
    if (dynamic) dynamicAnchors.set(name, node);
  }

  spend(node: SchemaNode, keyword: string, values: number): void {
    this.values += values;
    if (this.values <= MAX_SCHEMA_VALUES) return;
    throwInvalidSchema(
      node,
      keyword,
      `the schema has too many names, values and patterns: more than ${MAX_SCHEMA_VALUES}, where a pattern counts as several`,
    );
  }

  /** Finds the target of every reference. A target that is not compiled yet, in an unknown keyword, is compiled now and may add more references. */
  resolveReferences(): void {
    if (this.references.length === 0) return;
    let isDynamic = false;
    for (const reference of this.references) {
      const { base, fragment } = splitUri(reference.uri);
      const target = this.findTarget(reference, base, fragment);
      reference.target = target;
      reference.dynamicAnchor = dynamicAnchorOf(reference, target, fragment);
      if (reference.dynamicAnchor === undefined) reference.from.inPlace.push(target);
      else isDynamic = true;
    }
    if (isDynamic) for (const node of this.allNodes) node.needsTracking = true;
    checkReferenceGraph(this.allNodes);
  }

  private findTarget(reference: Reference, base: string, fragment: string): SchemaNode {
    const { from, keyword, uri } = reference;
    const resource = base === "" ? from.resource : this.resources.get(absoluteUri(base, from.resource.uri) ?? "");
    if (resource === undefined) {
      return throwInvalidSchema(
        from,
        keyword,
        `${showValue(uri)} is not part of this schema, and schemas are never fetched`,
        "Put that schema under $defs and refer to it as #/$defs/name.",
      );
    }
    const target = this.findWithin(resource, fragment);
    return target ?? throwInvalidSchema(from, keyword, `${showValue(uri)} does not point to anything`);
  }

  private findWithin(resource: SchemaResource, fragment: string): SchemaNode | undefined {
    const root = this.nodes.get(resource.raw);
    if (fragment === "") return root;
    if (!fragment.startsWith("/")) return resource.anchors.get(fragment);
    let nearest = root;
    const found = walkPointer(resource.raw, fragment, (raw) => (nearest = this.nodes.get(raw) ?? nearest));
    if (found === undefined || nearest === undefined) return undefined;
    if (isJsonObject(found) && this.nodes.get(found) === nearest) return nearest;
    return this.compile(found, { parent: nearest, keyword: "", step: fragment.slice(fragment.lastIndexOf("/") + 1) }, nearest.resource);
  }
}

/** Returns the anchor of a reference that is looked up in each validation; undefined if its static target is not a dynamic anchor. */
function dynamicAnchorOf(reference: Reference, target: SchemaNode, fragment: string): string | undefined {
  if (reference.keyword === "$ref") return undefined;
  const name = reference.keyword === "$recursiveRef" ? RECURSIVE_ANCHOR : fragment;
  return target.resource.dynamicAnchors.get(name) === target ? name : undefined;
}
