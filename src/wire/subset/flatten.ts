/** Merges the schemas that apply to the same value: inlines references and `allOf` where the subset does not allow them. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { isTrivialConstraint } from "./description.ts";
import { CONSTRAINT_KEYWORDS } from "../../schema/keyword-names.ts";
import { joinRootUnion, mergeSchemas } from "./merge-schemas.ts";
import type { LossCollector, SchemaPosition } from "./schema-losses.ts";
import { References } from "../../schema/references/references.ts";
import { declaredTypes, objectOf, schemasOf, omitKeywords } from "./schema-node.ts";
import type { SubsetRules } from "./subset-rules.ts";

/** Maximum number of schemas in the result, after references are inlined. */
const MAX_NODES = 20_000;
/** Maximum number of properties, names and values that may be merged. */
const MAX_MERGED_FIELDS = 200_000;
/** Maximum length of a chain of references and `allOf`. */
const MAX_CHAIN_LENGTH = 128;

export interface FitterOptions {
  readonly references: SubsetRules["references"];
  /** How many levels deep a recursive schema is inlined. */
  readonly maxRecursion: number;
}

interface FlatSchema {
  readonly node: JsonObject;
  /** As in `SchemaPosition`. */
  readonly inlinedTargets: readonly JsonObject[];
}

export class Flattener {
  /** Whether a recursive schema was cut off. */
  isCutOff = false;
  readonly references: References;
  readonly #rules: SubsetRules;
  readonly #options: FitterOptions;
  readonly #losses: LossCollector;
  #nodesLeft = MAX_NODES;
  #mergesLeft = MAX_MERGED_FIELDS;

  constructor(root: JsonObject, rules: SubsetRules, { losses, ...options }: FitterOptions & { readonly losses: LossCollector }) {
    this.references = new References(root);
    this.#rules = rules;
    this.#options = options;
    this.#losses = losses;
  }

  /** Merges two schemas. @throws ToolError `invalid_schema` if the limit of merged fields is exceeded */
  merge(one: JsonObject, other: JsonObject, position: SchemaPosition): JsonObject {
    this.#mergesLeft -= 1 + countFields(one) + countFields(other);
    if (this.#mergesLeft < 0) throw new ToolError("invalid_schema", "The schema has too much to merge, through allOf or references.");
    return mergeSchemas(one, other, this.#losses.callbackFor(position));
  }

  /** Counts one more schema. @throws ToolError `invalid_schema` if there are too many */
  countSchema(): void {
    if (--this.#nodesLeft < 0)
      throw new ToolError("invalid_schema", `The schema has more than ${MAX_NODES} parts once its references are resolved.`);
  }

  /** Returns the schema without `allOf` if the subset does not allow it, and without `$ref` if the subset does not allow it or `deeply` is true. */
  flatten(schema: JsonObject, position: SchemaPosition, deeply: boolean): FlatSchema {
    let node = schema;
    let { inlinedTargets } = position;
    const keepsAllOf = this.#rules.allowedKeywords.has("allOf") && !deeply;
    for (let turns = 0; turns < MAX_CHAIN_LENGTH; turns++) {
      this.countSchema();
      const { $ref: reference, allOf } = node;
      const rest = omitKeywords(node, "$ref", "$defs", "definitions", "$schema", "$id", "$anchor");
      const constrained = Object.keys(rest).some((keyword) => CONSTRAINT_KEYWORDS.has(keyword));
      if (
        typeof reference === "string" &&
        (deeply || this.#options.references === "inline" || (constrained && this.#rules.bareReferences === true))
      ) {
        const target = this.#resolveTarget(reference, { ...position, inlinedTargets });
        if (target.schema !== undefined) inlinedTargets = [target.schema, ...inlinedTargets];
        node = this.merge(rest, target.node, position);
      } else if (isJsonArray(allOf) && !keepsAllOf) {
        node = omitKeywords(node, "allOf");
        for (const part of allOf) {
          const flat = isJsonObject(part)
            ? this.flatten(part, { ...position, inlinedTargets }, deeply || allOf.length > 1 || Object.keys(node).length > 0)
            : undefined;
          if (flat !== undefined) inlinedTargets = flat.inlinedTargets;
          node = this.merge(node, flat?.node ?? {}, position);
        }
      } else return { node, inlinedTargets };
    }
    throw new ToolError("invalid_schema", "The references form a cycle.");
  }

  #resolveTarget(reference: string, position: SchemaPosition): { readonly node: JsonObject; readonly schema?: JsonObject } {
    const target = this.references.resolve(reference);
    if (!isJsonObject(target)) {
      if (target !== true) this.#losses.addKeywordLoss(position, "$ref", "It refers to nothing.");
      return { node: {} };
    }
    if (position.inlinedTargets.filter((schema) => schema === target).length <= this.#options.maxRecursion)
      return { node: omitKeywords(target, "$defs", "definitions", "$schema", "$id", "$anchor"), schema: target };
    this.isCutOff = true;
    this.#losses.addKeywordLoss(position, "$ref", "The schema is recursive and is cut off here.");
    return { node: { type: declaredTypes(target)?.[0] ?? "object", description: "The same again, as deep as needed." } };
  }

  /** Returns the root as an object without unions, as every provider requires it. */
  flattenRoot(root: JsonObject, position: SchemaPosition): JsonObject {
    const { node } = this.flatten(root, position, true);
    const types = declaredTypes(node);
    if (types !== undefined && !types.includes("object"))
      throw new ToolError("invalid_schema", `The root of an input schema is an object, not ${JSON.stringify(node["type"])}.`);
    let plain: JsonObject = { ...node, type: "object" };
    for (const keyword of ["anyOf", "oneOf"]) {
      if (!Object.hasOwn(node, keyword)) continue;
      const members = schemasOf(node[keyword])
        .filter(isJsonObject)
        .map((member) => this.flatten(member, position, true).node)
        .filter((member) => declaredTypes(member)?.includes("object") !== false);
      plain = omitKeywords(plain, keyword);
      const [only, ...others] = members;
      if (only !== undefined && others.length === 0) plain = this.merge(plain, only, position);
      else plain = joinRootUnion(plain, members);
      if (others.length > 0)
        this.#losses.addKeywordLoss(position, keyword, "A union cannot be at the root: the combinations of properties are not sent.");
    }
    for (const keyword of ["not", "enum", "const"]) {
      if (Object.hasOwn(plain, keyword)) this.#losses.addKeywordLoss(position, keyword, "It cannot be at the root.");
    }
    return omitKeywords(plain, "not", "enum", "const");
  }

  pickRootKeywords(node: JsonObject, kept: ReadonlySet<string>, position: SchemaPosition): JsonObject {
    for (const [keyword, value] of Object.entries(node)) {
      if (!kept.has(keyword) && CONSTRAINT_KEYWORDS.has(keyword) && !isTrivialConstraint(keyword, value))
        this.#losses.addKeywordLoss(position, keyword, "It cannot be at the root.");
    }
    return Object.fromEntries(Object.entries(node).filter(([keyword]) => kept.has(keyword) || keyword === "description"));
  }
}

function countFields({ properties, required, enum: members }: JsonObject): number {
  return Object.keys(objectOf(properties)).length + schemasOf(required).length + schemasOf(members).length;
}
